"""Random spins, momenta and chains; the same ones in every run."""

import numpy as np
import torch
from hypothesis import settings
from hypothesis import strategies as st

from ctpwa.decay.particle import Particle
from ctpwa.decay.rules import angular_momentum_couplings
from ctpwa.decay.structure import Structure

MAX_TWO_J = 10

same_every_time = settings(max_examples=40)

two_spins = st.integers(0, MAX_TWO_J)
seeds = st.integers(0, 2**32 - 1)
masses = st.floats(0.05, 3.0)
components = st.floats(-3.0, 3.0, allow_subnormal=False)
vectors = st.tuples(components, components, components)


@st.composite
def vertices(draw):
    """(2J, 2s1, 2s2, (L, S)) of any vertex that angular momentum allows, half-integer spins included."""
    two_s1, two_s2 = draw(st.integers(0, 6)), draw(st.integers(0, 5))
    two_J = draw(st.integers(0, MAX_TWO_J // 2)) * 2 + (two_s1 + two_s2) % 2
    two_J = min(two_J, MAX_TWO_J - 1) if two_J % 2 else two_J
    ls = draw(st.sampled_from(angular_momentum_couplings(two_J, two_s1, two_s2)))
    return two_J, two_s1, two_s2, ls


@st.composite
def three_body_chains(draw):
    """A structure P → (1 2) 3 or P → 3 (1 2) with random spins and couplings, and the doubled spins of the final particles."""
    finals = [draw(st.integers(0, 3)) for _ in range(3)]
    two_R = 2 * draw(st.integers(0, 2)) + (finals[0] + finals[1]) % 2
    two_J = 2 * draw(st.integers(0, 2)) + (two_R + finals[2]) % 2
    inner_ls = draw(st.sampled_from(angular_momentum_couplings(two_R, finals[0], finals[1])))
    inner = Structure(two_R, inner_ls, (0, 1) if draw(st.booleans()) else (1, 0), 0.0)
    outer_ls = draw(st.sampled_from(angular_momentum_couplings(two_J, two_R, finals[2])))
    return Structure(two_J, outer_ls, (inner, 2) if draw(st.booleans()) else (2, inner), 0.0), finals


def particle(two_J):
    return Particle(f"s{two_J}", two_J, 1, None, None, None, 0, False, f"s{two_J}", 0, frozenset({(0, 0, 0)}), "")


def random_momenta(seed, number, n_events=3):
    """[4, event] of each particle, masses between 0.1 and 1.5 GeV, different in every event."""
    rng = np.random.default_rng(seed)
    result = []
    for _ in range(number):
        p3, m = rng.normal(size=(3, n_events)), rng.uniform(0.1, 1.5, size=n_events)
        result.append(torch.tensor(np.vstack([np.sqrt((p3**2).sum(axis=0) + m**2), p3])))
    return result


def on_shell(m, p3):
    """[4, 1]."""
    p3 = np.asarray(p3, dtype=float)
    return torch.tensor(np.array([np.sqrt(m * m + p3 @ p3), *p3])[:, None])
