"""TF-PWA for ``peers.py``: a configuration in its format, events as text files, its own amplitudes from four-momenta."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tf_pwa.config_loader import ConfigLoader

from peers_shared import COMPARED, Peer, Samples
from peers_tfpwa_config import configuration, parameters


def prepare(problem: dict[str, Any], samples: Samples) -> Peer:
    """Its likelihood, with graphs of TensorFlow; Hessians without: they split events anew, for which no graph is ready."""
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    folder = Path.cwd()
    for which in ("data", "flat"):
        rows = np.stack([samples[f"p4 {which}"][name] for name in problem["particles"]], axis=1)
        np.savetxt(folder / f"{which}.dat", rows.reshape(-1, 4), fmt="%.17g")

    def configured(name: str, *, graphs: bool) -> ConfigLoader:
        (folder / name).write_text(configuration(problem, folder, graphs=graphs), encoding="utf-8")
        return ConfigLoader(str(folder / name))

    config = configured("config.yml", graphs=True)
    amplitude, likelihood = config.get_amplitude(), config.get_fcn()
    likelihood.nll_grad({})  # the second call with the same events makes the graph

    @functools.cache
    def without_graphs() -> Any:
        return configured("plain.yml", graphs=False).get_fcn()

    def fit(x: dict[str, float]) -> float:
        config.set_params(x)
        return float(config.fit().min_nll)

    def intensities(x: dict[str, float]) -> np.ndarray:
        config.set_params(x)
        few = config.data.cal_angle([tf.constant(samples["p4 flat"][name][:COMPARED]) for name in problem["particles"]])
        return np.asarray(amplitude(few))

    return Peer(
        point=lambda values: parameters(problem, values),
        value=lambda x: float(likelihood(x)),
        gradient=likelihood.nll_grad,
        hessian=lambda x: without_graphs().nll_grad_hessian(x),
        fit=fit,
        intensities=intensities,
    )
