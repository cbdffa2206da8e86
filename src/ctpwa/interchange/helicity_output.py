"""Couplings of a model as helicity couplings."""

from __future__ import annotations

import numpy as np

from ctpwa.config.helicity_values import chain_name
from ctpwa.decay.helicity_couplings import NEGLIGIBLE, chain_helicities, chain_matrix, helicities_text
from ctpwa.engine.likelihood.intensity import ModelIntensity
from ctpwa.model.model import Wave


def helicity_couplings(intensity: ModelIntensity) -> dict[str, dict[str, complex]]:
    """Products of the helicity couplings of all vertices of every chain, at the couplings of an intensity.

    A model file takes them as ``helicity_couplings``. Chains with lepton currents, or with lineshapes of several functions, have none.
    Barriers are not in them: waves of different L have different ones.

    Args:
        intensity:  the model with its couplings

    Returns:
        chain → helicities of the daughters of every vertex, such as ``(1/2,0)(0,1/2)`` → their coupling, without those that are forbidden
    """
    chains: dict[str, list[Wave]] = {}
    for wave in intensity.model.waves:
        if not any(node.current for node in wave.chain.nodes) and not any(resonance.labels for resonance in wave.resonances):
            chains.setdefault(chain_name(wave), []).append(wave)
    result = {}
    for name, waves in chains.items():
        rows = chain_helicities(waves[0].chain)
        c = np.array([intensity.coupling_of(wave.name) * wave.factor for wave in waves])
        M = chain_matrix(waves[0].chain, [wave.ls for wave in waves], rows)
        result[name] = {
            helicities_text(row): complex(value)
            for row, value, of_waves in zip(rows, M @ c, M, strict=True)
            if np.abs(of_waves).max() > NEGLIGIBLE
        }
    return result
