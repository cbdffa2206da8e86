"""Remarks on the values that a fit ended with."""

from __future__ import annotations

from collections.abc import Mapping

from ctpwa.model.model import Model


def masses_out_of_range(model: Model, values: Mapping[str, float]) -> list[str]:
    """Fitted masses that no event of the decay can have: the resonance is then a broad background, or the fit has lost it.

    Args:
        model:   what was fitted
        values:  free parameters by name
    """
    ranges: dict[str, tuple[float, float]] = {}
    for wave in model.waves:
        for node, resonance in zip(wave.chain.nodes[1:], wave.resonances, strict=True):
            own, (low, high) = model.decay.mass_range(node.leaves), ranges.get(resonance.name, (float("inf"), 0.0))
            ranges[resonance.name] = min(low, own[0]), max(high, own[1])
    remarks = []
    for name, (low, high) in ranges.items():
        mass = values.get(f"{name}.mass")
        if mass is not None and not low <= mass <= high:
            remarks.append(f"{name}.mass is {mass:.4g} GeV, outside {low:.4g} to {high:.4g} GeV, where events are")
    return remarks
