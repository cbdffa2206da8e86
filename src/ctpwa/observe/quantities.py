"""What can be computed from the momenta of the final state: masses, energies, momenta and angles.

Groups of particles are separated by ``;``:

    mass(A)  mass2(A)                      invariant mass of the particles A and its square
    E(A; F)  p(A; F)  px py pz pt          energy and momentum of A in the frame F; without F in the rest frame of the parent
    cos_theta(A)  phi(A)                   polar angle and azimuth of A in the rest frame of the parent; z (and x) as momenta were given
    cos_theta(A; F)  phi(A; F)             helicity angles of A in the rest frame of F
    cos_theta(A; F; Z)  phi(A; F; Z; X)    angles in the frame F, with z along Z and x on the side of X
    chi(A; B)                              angle between the planes in which the pairs A and B decay

A frame is a group of particles, ``parent`` or ``lab``; an axis is a group of particles, ``x``, ``y`` or ``z``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import pi

import numpy as np
from torch import Tensor

from ctpwa.base.errors import DataError
from ctpwa.base.words import counted
from ctpwa.decay.chain import Decay
from ctpwa.kinematics.lorentz import mass_squared
from ctpwa.observe.errors import VariableError, error_at
from ctpwa.observe.frames import AXES, LAB, PARENT, ROUNDING, Momenta, azimuth, dot, fixed_axis
from ctpwa.observe.particles import Group

FRAMES = (PARENT, LAB)
REST_OF_PARENT = Group((), PARENT, "", PARENT, 0)
Limits = tuple[float, float] | None


@dataclass(frozen=True)
class Quantity:
    """One quantity of some particles.

    Attributes:
        name:    such as ``mass``
        groups:  what is between its brackets
        text:    as written
    """

    name: str
    groups: tuple[Group, ...]
    text: str

    def value(self, momenta: Momenta) -> np.ndarray:
        """Its value for every event."""
        return KINDS[self.name].value(momenta, self.groups).cpu().numpy()

    @property
    def latex(self) -> str:
        """``M(K^{+}K^{-})``, or ``cos θ`` with the particle as subscript."""
        kind = KINDS[self.name]
        names = [group.latex for group in self.groups]
        if kind.angle and len(names) > 1:
            return f"{kind.latex}_{{{names[0]}}}({'; '.join(names[1:])})"
        return f"{kind.latex}({'; '.join(names)})"


@dataclass(frozen=True)
class QuantityKind:
    """How a quantity is computed and written.

    Attributes:
        value:   momenta and groups → value for every event
        latex:   LaTeX name
        power:   power of GeV it has; None for radians
        counts:  how many groups it takes
        usage:   how it is written
        words:   for each group, which words it may be instead of particles
        angle:   whether it is an angle of the first group in the frame of the second
    """

    value: Callable[[Momenta, Sequence[Group]], Tensor]
    latex: str
    power: float | None
    counts: tuple[int, ...]
    usage: str
    words: tuple[tuple[str, ...], ...] = ((),)
    angle: bool = False


def _frame(groups: Sequence[Group]) -> Group:
    return groups[1] if len(groups) > 1 else REST_OF_PARENT


def _is_helicity_frame(momenta: Momenta, groups: Sequence[Group]) -> bool:
    return len(groups) == 2 and 0 < len(groups[1].members) < len(momenta.p4)


def _energy(momenta: Momenta, groups: Sequence[Group]) -> Tensor:
    return momenta.in_frame(groups[0].members, _frame(groups))[0]


def _component(*which: int) -> Callable[[Momenta, Sequence[Group]], Tensor]:
    def value(momenta: Momenta, groups: Sequence[Group]) -> Tensor:
        p4 = momenta.in_frame(groups[0].members, _frame(groups))
        return p4[which[0]] if len(which) == 1 else p4[list(which)].square().sum(dim=0).sqrt()

    return value


def _z_axis(momenta: Momenta, groups: Sequence[Group]) -> Tensor:
    if len(groups) > 2:
        return momenta.axis(groups[2], groups[1])
    return momenta.helicity_axis(groups[1]) if _is_helicity_frame(momenta, groups) else fixed_axis("z", momenta.p4[0])


def _cos_theta(momenta: Momenta, groups: Sequence[Group]) -> Tensor:
    direction = momenta.unit(momenta.in_frame(groups[0].members, _frame(groups))[1:], groups[0].text)
    cosine = dot(direction, _z_axis(momenta, groups))
    excess = cosine.abs() - 1
    if bool((excess > ROUNDING).any()):
        raise DataError(f"a cosine of {groups[0].text} is beyond 1 by {float(excess.max()):.3g}\n fix: check the momenta")
    return cosine.clamp(-1, 1)


def _phi(momenta: Momenta, groups: Sequence[Group]) -> Tensor:
    """Azimuth; x on the side of a given axis, else so that y = z_given × z, the helicity frame of Jacob and Wick."""
    p3 = momenta.in_frame(groups[0].members, _frame(groups))[1:]
    z3 = _z_axis(momenta, groups)
    if len(groups) > 3:
        x3 = momenta.axis(groups[3], groups[1])
    elif _is_helicity_frame(momenta, groups) or (len(groups) == 3 and groups[2].word != "z"):
        x3 = -fixed_axis("z", p3)
    else:
        x3 = fixed_axis("x", p3)
    return azimuth(p3, z3, x3)


def _chi(momenta: Momenta, groups: Sequence[Group]) -> Tensor:
    """Azimuth of the first particle of B around the flight of A, from the first particle of A, where A and B together are at rest."""
    first, second = groups
    both = Group((*first.members, *second.members), "", "", f"{first.text} {second.text}", first.start)
    z3 = momenta.unit(momenta.in_frame(first.members, both)[1:], first.text)
    a, b = (momenta.in_frame(group.members[:1], both)[1:] for group in groups)
    return azimuth(b, z3, a)


_GROUP, _IN_FRAME = ((),), ((), FRAMES)
_ANGLES = ((), FRAMES, AXES, AXES)
KINDS: dict[str, QuantityKind] = {
    "mass": QuantityKind(lambda momenta, groups: momenta.mass(groups[0]), "M", 1, (1,), "mass(A)", _GROUP),
    "mass2": QuantityKind(lambda momenta, groups: mass_squared(momenta.sum(groups[0].members)), "M^{2}", 2, (1,), "mass2(A)", _GROUP),
    "E": QuantityKind(_energy, "E", 1, (1, 2), "E(A) or E(A; frame)", _IN_FRAME),
    "p": QuantityKind(_component(1, 2, 3), "p", 1, (1, 2), "p(A) or p(A; frame)", _IN_FRAME),
    "px": QuantityKind(_component(1), "p_{x}", 1, (1, 2), "px(A) or px(A; frame)", _IN_FRAME),
    "py": QuantityKind(_component(2), "p_{y}", 1, (1, 2), "py(A) or py(A; frame)", _IN_FRAME),
    "pz": QuantityKind(_component(3), "p_{z}", 1, (1, 2), "pz(A) or pz(A; frame)", _IN_FRAME),
    "pt": QuantityKind(_component(1, 2), "p_{T}", 1, (1, 2), "pt(A) or pt(A; frame)", _IN_FRAME),
    "cos_theta": QuantityKind(
        _cos_theta, r"\cos\theta", 0, (1, 2, 3), "cos_theta(A), cos_theta(A; frame) or cos_theta(A; frame; axis)", _ANGLES[:3], True
    ),
    "phi": QuantityKind(
        _phi, r"\phi", None, (1, 2, 3, 4), "phi(A), phi(A; frame), phi(A; frame; axis) or phi(A; frame; axis; side)", _ANGLES, True
    ),
    "chi": QuantityKind(_chi, r"\chi", None, (2,), "chi(A; B) with two particles in A and two in B", ((), ())),
}


def check_groups(text: str, start: int, name: str, groups: tuple[Group, ...], decay: Decay) -> None:
    """Refuse what has no meaning whatever the momenta are.

    Args:
        text:    the whole text of the variable
        start:   where the quantity starts in it
        name:    its name
        groups:  what is between its brackets
        decay:   the decay
    """
    kind = KINDS[name]
    if len(groups) not in kind.counts:
        given = f"{counted(len(groups), 'group')} of particles"
        raise error_at(text, start, name, f"{name!r} has {given}", f"write {kind.usage}; groups are separated by ;")
    if name == "chi":
        _check_pairs(text, groups)
        return
    if len(kind.words) < 2 or len(groups) < 2:
        if kind.angle and len(groups[0].members) == len(decay.final):
            raise _at_rest(text, groups[0], PARENT)
        return
    frame = groups[1]
    if len(frame.members) == 1 and decay.final[frame.members[0]].massless:
        raise error_at(text, frame.start, frame.text, f"{frame.text!r} is massless and has no rest frame", "choose another frame")
    at_rest = frozenset(range(len(decay.final))) if frame.word == PARENT else frame.set
    for group in (groups[0], *groups[2:]):
        if kind.angle and group.members and group.set == at_rest:
            raise _at_rest(text, group, frame.text)
    if kind.angle:
        _check_axes(text, groups, decay)


def _check_axes(text: str, groups: tuple[Group, ...], decay: Decay) -> None:
    """The particle, the z axis and the x axis are three different directions."""
    rest = frozenset(range(len(decay.final))) - groups[1].set
    axes = [(groups[0].set, "")]
    axes += [(group.set, group.word) for group in groups[2:]] if len(groups) > 2 else [(rest if groups[1].members else frozenset(), "z")]
    for i, (members, word) in enumerate(axes):
        if (members or word) and (members, word if not members else "") in [(m, "" if m else w) for m, w in axes[:i]]:
            group = groups[min(i + 1, len(groups) - 1)]
            raise error_at(text, group.start, group.text, "an angle between a direction and itself", "choose another axis or frame")


def _check_pairs(text: str, groups: tuple[Group, ...]) -> None:
    for group in groups:
        if len(group.members) != 2:
            raise error_at(text, group.start, group.text, f"{group.text!r} is not a pair", f"write {KINDS['chi'].usage}")
    if groups[0].set & groups[1].set:
        raise error_at(text, groups[1].start, groups[1].text, "the two pairs share a particle", "name four different particles")


def _at_rest(text: str, group: Group, frame: str) -> VariableError:
    what = f"{group.text!r} is at rest in the frame {frame!r} and has no direction there"
    return error_at(text, group.start, group.text, what, "name a part of it, or choose another frame")


def limits(name: str, groups: tuple[Group, ...], decay: Decay) -> Limits:
    """Between which values kinematics keeps a quantity at nominal masses; None if that is not known."""
    if name == "cos_theta":
        return -1.0, 1.0
    if KINDS[name].power is None:
        return -pi, pi
    masses, parent = [particle.mass for particle in decay.final], decay.parent.mass
    if name not in ("mass", "mass2") or parent is None or None in masses or not 1 < len(groups[0].members) < len(masses):
        return None
    low, high = decay.mass_range(groups[0].members)
    power = 1 if name == "mass" else 2
    return (low**power, high**power) if low < high else None
