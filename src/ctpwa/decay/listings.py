"""What the Particle Listings and Summary Tables of the PDG say, and the tables of ``particle`` do not.

Masses and widths in ``particle`` are those of the newest table of the PDG for simulations, which has states of the Summary Tables only,
but not all of them; status and stars date from 2008. The numbers here are of the 2025 edition unless said otherwise, rounded, without
errors. Left out are states whose J^P the Listings leave open (Omega(2012), pentaquarks), and those of spin 9/2 and more (N(2220)).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from copy import copy
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from particle import Particle as PdgEntry

# states of the Meson Summary Table without a mass here or in ``particle``, which calls them uncertain: Z(b)(10610) and Z(b)(10650)
ESTABLISHED = {"T(bb1)(10610)", "T(bb1)(10650)"}
# what ``particle`` calls established, and the PDG does not any more
DOUBTED = {"pi(1)(1400)": "one pole with pi(1)(1600)"}
# stars of baryons that have become more since 2008
STARS = {"N(1710)": 4, "Delta(1600)": 4, "Lambda(1600)": 4}
# mass and width in GeV of states that ``particle`` has without them
NUMBERS = {
    "K(1460)": (1.482, 0.336),  # LHCb, EPJC 78, 443 (2018)
    "pi(2)(1880)": (1.874, 0.237),
    "phi(2170)": (2.164, 0.088),
    "D(s1)*(2700)": (2.714, 0.122),
    "D(3)*(2750)": (2.7631, 0.066),
    "D(s3)*(2860)": (2.86, 0.053),
    "psi(3)(3842)": (3.84271, 0.0028),
    "chi(c1)(3872)": (3.87164, 0.00119),
    "T(cc1)(3900)": (3.8871, 0.0284),
    "chi(c0)(3915)": (3.9221, 0.02),
    "chi(c1)(4140)": (4.1465, 0.019),
    "psi(4230)": (4.2222, 0.051),
    "chi(c1)(4274)": (4.286, 0.051),
    "psi(4360)": (4.374, 0.12),
    "T(cc1)(4430)": (4.478, 0.181),
    "psi(4660)": (4.623, 0.055),
}


class Charged(NamedTuple):
    """One charge state: the digits of its quarks, their letters, its charge."""

    digits: str
    quarks: str
    charge: int


class Added(NamedTuple):
    """A state of the Summary Tables that ``particle`` lacks.

    Attributes:
        name:           of the multiplet
        charges:        its charge states that are no antiparticles
        two_J, P, C, G: quantum numbers; C of its neutral member, 0 where undefined
        mass, width:    GeV
        stars:          of a baryon
    """

    name: str
    charges: tuple[Charged, ...]
    two_J: int
    P: int
    C: int
    G: int
    mass: float
    width: float
    stars: int = 0

    @property
    def two_I(self) -> int:
        """Doubled isospin; of mesons, the antiparticle is not among the charge states."""
        return 2 if self.charges is _A else len(self.charges) - 1


_F = (Charged("022", "x(uU+dD)+y(sS)", 0),)
_A = (Charged("011", "(uU-dD)/sqrt(2)", 0), Charged("021", "uD", 1))
_N = (Charged("211", "udd", 0), Charged("221", "uud", 1))
_DELTA = (Charged("111", "ddd", -1), Charged("211", "udd", 0), Charged("221", "uud", 1), Charged("222", "uuu", 2))
_LAMBDA_C = (Charged("412", "udc", 1),)
ADDED = (
    Added("a(0)(1710)", _A, 0, 1, 1, -1, 1.711, 0.106),
    Added("f(0)(1810)", _F, 0, 1, 1, 1, 1.785, 0.137),  # f(0)(1770) before the 2026 edition, from which these numbers are
    Added("eta(1)(1855)", _F, 2, -1, 1, 1, 1.855, 0.188),
    Added("N(1875)", _N, 3, -1, 0, 0, 1.875, 0.2, 3),
    Added("N(1880)", _N, 1, 1, 0, 0, 1.88, 0.3, 3),
    Added("N(1895)", _N, 1, -1, 0, 0, 1.895, 0.12, 4),
    Added("N(1900)", _N, 3, 1, 0, 0, 1.92, 0.2, 4),
    Added("N(2060)", _N, 5, -1, 0, 0, 2.1, 0.4, 3),
    Added("N(2100)", _N, 1, 1, 0, 0, 2.1, 0.26, 3),
    Added("N(2120)", _N, 3, -1, 0, 0, 2.12, 0.3, 3),
    Added("Delta(2200)", _DELTA, 7, -1, 0, 0, 2.2, 0.35, 3),
    Added("Lambda(c)(2860)", _LAMBDA_C, 3, 1, 0, 0, 2.8561, 0.068, 3),
    Added("Lambda(c)(2940)", _LAMBDA_C, 3, -1, 0, 0, 2.9396, 0.02, 3),
)
OWN_IDS = 9_900_000  # identifiers of these states, which nobody else uses, are this number, a counter, digits of quarks, and 2J + 1
UNDEFINED = 5  # a parity in ``particle``
_NAME = re.compile(r"([A-Za-z]+)(?:\((\w{1,2})\))?(\(\d+\))")


def with_listings(entries: Iterable[PdgEntry]) -> list[PdgEntry]:
    """Entries of ``particle`` with the missing masses and widths, and the missing states."""
    found = [_completed(entry) for entry in entries]
    known = {entry.pdg_name for entry in found}
    return found + [entry for entry in _added().values() if entry.pdg_name not in known]


def _completed(entry: PdgEntry) -> PdgEntry:
    if entry.mass is not None or entry.pdg_name not in NUMBERS:
        return entry
    entry = copy(entry)  # the table of ``particle`` stays as it is
    entry.mass, entry.width = (1000 * value for value in NUMBERS[entry.pdg_name])
    return entry


def antiparticle_entry(entry: PdgEntry) -> PdgEntry:
    """The antiparticle of an entry, which may be an added one."""
    return _added().get(-int(entry.pdgid)) or _added().get(int(entry.pdgid)) or entry.invert()


@cache
def _added() -> dict[int, PdgEntry]:
    """The added states and their antiparticles by identifier."""
    found: dict[int, PdgEntry] = {}
    for added in ADDED:
        for state in added.charges:
            number = next(n for k in range(10) if (n := OWN_IDS + 10_000 * k + 10 * int(state.digits) + added.two_J + 1) not in found)
            found[number] = _entry(added, state, number)
            if not _self_conjugate(added, state):
                found[-number] = _entry(added, state, -number)
    return found


def _self_conjugate(added: Added, state: Charged) -> bool:
    return added.stars == 0 and state.charge == 0


def _entry(added: Added, state: Charged, number: int) -> PdgEntry:
    from particle import Particle as Pdg
    from particle.particle.enums import Inv, Status

    baryon, sign = added.stars > 0, 1 if number > 0 else -1
    anti = Inv.Barred if baryon else Inv.Same if _self_conjugate(added, state) else Inv.ChargeInv
    return Pdg(
        pdgid=number,
        pdg_name=added.name,
        mass=1000 * added.mass,
        width=1000 * added.width,
        three_charge=3 * sign * state.charge,
        I=f"{added.two_I}/2" if added.two_I % 2 else str(added.two_I // 2),
        G=added.G or UNDEFINED,
        P=added.P * (sign if added.two_J % 2 else 1),
        C=added.C if added.C and state.charge == 0 else UNDEFINED,
        anti_flag=anti,
        rank=added.stars,
        status=Status.Common,
        quarks=state.quarks if sign > 0 else state.quarks.swapcase(),
        latex_name=_latex(added, sign * state.charge, barred=baryon and sign < 0),
    )


def _latex(added: Added, charge: int, barred: bool) -> str:
    found = _NAME.fullmatch(added.name)
    assert found is not None
    letter, subscript, mass = found.groups()
    symbol = f"\\{letter}" if len(letter) > 1 else letter
    symbol = rf"\overline{{{symbol}}}" if barred else symbol
    several = len(added.charges) > 1 or charge
    sign = f"^{{{abs(charge) * ('+' if charge > 0 else '-') or '0'}}}" if several else ""
    return symbol + (f"_{{{subscript}}}" if subscript else "") + mass + sign
