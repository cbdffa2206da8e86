"""Semileptonic decays: the lepton and its neutrino come from one weak current, a structure of spin 1 that is called W."""

from __future__ import annotations

from ctpwa.config.propose.candidates import CURRENT as W
from ctpwa.config.propose.nonresonant import NonresonantLine
from ctpwa.decay.chain import Decay
from ctpwa.decay.particle import Flavour, Particle

# GeV: the vector meson of the quarks that change, where the form factor of the current has its pole, by how much strangeness, charm and
# bottomness change: K*(892), D*(2010), D(s)*, B*, and B(c)*, whose mass is not measured but computed
POLES: dict[Flavour, float] = {(1, 0, 0): 0.892, (0, 1, 0): 2.010, (1, 1, 0): 2.112, (0, 0, 1): 5.325, (0, 1, 1): 6.33}


def lepton_pair(decay: Decay) -> tuple[int, int] | None:
    """A charged lepton and the neutrino that comes with it; None if there is no such pair."""
    for i, lepton in enumerate(decay.final):
        for j, neutrino in enumerate(decay.final):
            known = lepton.lepton and lepton.charge and neutrino.neutrino and lepton.lepton == -neutrino.lepton
            if known and f"({lepton.name.rstrip('+-')})" in neutrino.name:
                return i, j
    return None


def without_pair(decay: Decay, pair: tuple[int, int]) -> Decay:
    """The decay with the current as its last particle, as light as the lepton alone: what it leaves to the hadrons is most then."""
    lepton = decay.final[pair[0]]
    rest = [i for i in range(len(decay.final)) if i not in pair]
    charge = lepton.charge
    current = Particle(
        W, 2, None, None, lepton.mass, 0.0, charge, False, W + "~", 0, frozenset({(0, 0, 0)}), f"W^{'+' if charge > 0 else '-'}"
    )
    return Decay(decay.parent, (*(decay.final[i] for i in rest), current), (*(decay.labels[i] for i in rest), W))


def current_line(decay: Decay, pair: tuple[int, int]) -> NonresonantLine:
    """The line of the current: between two mesons of spin 0 it has one form factor, whose pole floats; between others constants."""
    system = (" ".join(decay.labels[i] for i in pair),)
    hadrons = [decay.final[i] for i in range(len(decay.final)) if i not in pair]
    one_factor = len(hadrons) == 1 and decay.parent.two_J == hadrons[0].two_J == 0
    pole = POLES.get(_change(decay.parent, hadrons[0])) if one_factor else None
    if pole is None:
        return NonresonantLine(W, system, "1-", remark="the weak current, with constant form factors")
    shape = f"lineshape: 1/(1 - s/pole**2), parameters: {{pole: {pole:g}}}, float: pole"
    return NonresonantLine(W, system, "1-", shape, "the weak current, with a form factor of one pole")


def _change(parent: Particle, hadron: Particle) -> Flavour:
    """How much strangeness, charm and bottomness change, without signs."""
    changes = [tuple(abs(a - b) for a, b in zip(p, h, strict=True)) for p in parent.flavours for h in hadron.flavours]
    s, c, b = min(changes, key=sum)
    return s, c, b
