"""laddu for ``peers.py``: its expressions of squared masses, compiled by itself as it chooses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import laddu as ld
import numpy as np

from peers_amplitude import amplitude
from peers_shared import COMPARED, Peer, Samples


def prepare(problem: dict[str, Any], samples: Samples) -> Peer:
    """Its likelihood; without limits its fits end where a momentum is imaginary."""

    def symbol(name: str, value: float, free: bool) -> Any:
        if not free:
            return value
        return ld.parameter(name, initial=value, bounds=None if name.endswith(("re", "im")) else (value / 1.3, value * 1.3))

    root: Callable[[Any], Any] = lambda x: x.sqrt() if hasattr(x, "sqrt") else x**0.5  # noqa: E731
    re, im = amplitude(problem, symbol, lambda pair: ld.scalar(pair), root)
    model = ld.Model(re * re + im * im)
    execution = ld.Execution("auto", threads=1, precision="f64")
    data, flat = (ld.Dataset.from_arrays(p4s={}, scalars=samples[name]) for name in ("data", "flat"))
    likelihood = ld.Likelihood([ld.NLL(model, data=data, accepted_mc=flat)], execution=execution)
    few = ld.Dataset.from_arrays(p4s={}, scalars={name: values[:COMPARED] for name, values in samples["flat"].items()})
    return Peer(
        point=dict,
        value=lambda x: likelihood.value(x) / 2,
        gradient=likelihood.value_and_gradient,
        fit=lambda x: likelihood.fit(x).objective / 2,
        intensities=lambda x: np.asarray(model.evaluate(few, parameters=x, real=True)),
    )
