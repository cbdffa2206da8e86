"""Couplings of charge states tied by isospin."""

from __future__ import annotations

from collections.abc import Hashable

from ctpwa.decay.isospin_ties import charge_states
from ctpwa.model.model import Model

SAME = 1e-9  # ratios that differ by less are the same
DIGITS = 12


def isospin_ties(model: Model, conserved: bool) -> dict[str, tuple[str, float]]:
    """Couplings that are a number times another one by isospin: coupling → (other coupling, factor).

    Args:
        model:      the model, whose waves are without bases
        conserved:  whether the parent's decay conserves isospin
    """
    groups: dict[Hashable, dict[str, list[float]]] = {}
    for wave in model.waves:
        own = charge_states(wave.chain, conserved)
        if own is not None and not any(resonance.labels for resonance in wave.resonances):
            ratios = groups.setdefault((own.key, wave.ls), {}).setdefault(wave.coupling, [])
            ratios.append(own.factor / wave.factor)
    ties: dict[str, tuple[str, float]] = {}
    for group in groups.values():
        (first, (of_first, *more)), *others = group.items()
        consistent = all(abs(x - ratios[0]) < SAME for ratios in ([of_first, *more], *(ratios for _, ratios in others)) for x in ratios)
        if consistent and first not in ties:
            ties |= {name: (first, round(ratios[0] / of_first, DIGITS)) for name, ratios in others if name not in ties}
    return ties
