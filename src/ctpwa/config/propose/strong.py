"""Which states couple strongly to a group of hadrons: what a first model starts with, and why not with others.

A judgement made by hand, not computed from a table. It rests on

* branching fractions and "seen" of the particle listings of the PDG: ππ, K K̄, ηη and ηπ of f0, f2, f4, a0, a2, ρ3; Kπ, Kη, Kππ of K*;
  N K̄, Σπ, Λπ, Λη of Λ and Σ; Nπ, Nη, ΛK of N and Δ. Numbers in the reasons are approximate.
* published amplitude analyses, where listings say no more than "seen": K*(1680) and K2*(1980) → Kη in D0 → K- π+ η (Belle, PRD 102,
  012002), K3*(1780) and K2*(1980) → Kη in ψ(2S) → K+ K- η (BESIII, PRD 101, 032008); a0(980), a2(1320) and, later, a2(1700) in χc1 →
  η π+ π- (BESIII, PRD 95, 032002); Λ, Δ and K* of Λc+ → p K- π+ (LHCb, JHEP 07, 228 (2023)), all but Λ(2000), whose J^P the Listings leave
  open; ηη' of f0(1500) and η1(1855) in J/ψ → γηη' (BESIII, PRL 129, 192002); D D of charmonia in B+ → D+ D- K+ (LHCb, PRD 102, 112003).

States with large couplings but spins of 5/2 and more, such as Λ(1820), come later: none of these analyses needs them first. A group that is
not in the table has no such knowledge: every established state may be in use there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ctpwa.decay.catalogue import hadron
from ctpwa.decay.particle import Particle

PI_PI, K_K, K_PI, ETA_PI, SIGMA_PI, N_K = ("pi", "pi"), ("K", "K"), ("K", "pi"), ("eta", "pi"), ("Sigma", "pi"), ("K", "N")
LASS = "K(0)*(1430)"  # stands for the whole S wave of K pi
LATER = "for when the data ask for it"
EXOTIC = f"exotic quantum numbers; {LATER}"
FOUR_QUARKS = f"made of four quarks; {LATER}"
BESIDE_1710 = "beside f(0)(1710), and data are divided between them tentatively; " + LATER
UNKNOWN = "no strong coupling to {} is known"


class Couplings(NamedTuple):
    """What is known about a group of hadrons.

    Attributes:
        strong:  names of multiplets that a first model uses, the strongest first
        later:   those with smaller or less certain couplings
        why:     reasons of their own, for any others
    """

    strong: tuple[str, ...]
    later: tuple[str, ...] = ()
    why: dict[str, str] = {}

    def reason(self, name: str, group: str) -> str:
        """Why a state is not in use; empty if it is strong."""
        if name in self.strong:
            return ""
        return self.why.get(name) or (LATER if name in self.later else UNKNOWN.format(group))


# by the isospin multiplets of the particles, in alphabetical order
TABLE: dict[tuple[str, ...], Couplings] = {
    PI_PI: Couplings(
        ("rho(770)", "f(0)(500)", "f(2)(1270)", "f(0)(980)", "f(0)(1500)", "f(0)(1710)"),
        ("rho(1450)", "rho(3)(1690)", "rho(1700)", "f(4)(2050)", "f(2)(1950)", "f(0)(2020)", "f(2)(1565)", "f(2)(2150)"),
        {
            "f(0)(1370)": "wide, between f(0)(500) and f(0)(1500), which describe a first fit",
            "f(2)'(1525)": "0.8 % of its decays",
            "f(0)(1810)": BESIDE_1710,
        },
    ),
    K_K: Couplings(
        ("phi(1020)", "f(0)(980)", "f(2)'(1525)", "f(0)(1710)", "phi(1680)", "f(0)(1500)", "a(0)(980)"),
        (
            *("f(2)(1270)", "a(2)(1320)", "a(0)(1450)", "phi(3)(1850)", "rho(1450)", "rho(1700)", "rho(3)(1690)", "f(2)(1950)"),
            *("f(2)(2300)", "a(2)(1700)", "f(2)(2010)", "f(2)(2150)", "a(4)(1970)"),
        ),
        {
            "f(0)(1810)": BESIDE_1710,
            "a(0)(1710)": "looks like f(0)(1710)",
            "f(4)(2050)": "0.7 % of its decays",
            "f(0)(1370)": "wide, between f(0)(980) and f(0)(1500), which describe a first fit",
            "omega(1420)": "wide, and phi(1680) couples more strongly",
            "omega(1650)": "at the mass of phi(1680), which couples more strongly",
        },
    ),
    K_PI: Couplings(
        ("K*(892)", "K(0)*(1430)", "K(2)*(1430)"),
        ("K*(1680)", "K(3)*(1780)", "K(0)*(1950)", "K(2)*(1980)", "K(4)*(2045)"),
        {
            "K(0)*(700)": f"in the lass shape of {LASS}",
            "K*(1410)": "7 % of its decays; " + LATER,
        },
    ),
    ("K", "eta"): Couplings(
        ("K(3)*(1780)", "K(2)*(1980)", "K(0)*(1430)", "K*(1680)"),
        ("K*(1410)", "K(4)*(2045)", "K(0)*(1950)"),
        {"K(2)*(1430)": "0.2 % of its decays"},
    ),
    ("K", "eta'(958)"): Couplings(("K(0)*(1430)",), ("K*(1680)", "K(2)*(1980)", "K(0)*(1950)")),
    ETA_PI: Couplings(
        ("a(0)(980)", "a(2)(1320)"),
        ("a(0)(1450)", "a(0)(1710)", "a(2)(1700)", "a(4)(1970)"),
        {"pi(1)(1600)": EXOTIC},
    ),
    ("eta'(958)", "pi"): Couplings(("a(2)(1320)", "a(0)(1450)"), ("a(2)(1700)", "a(4)(1970)"), {"pi(1)(1600)": EXOTIC}),
    ("eta", "eta"): Couplings(
        ("f(0)(1500)", "f(0)(1710)", "f(2)'(1525)"),
        ("f(0)(2020)", "f(2)(1270)", "f(2)(1950)", "f(2)(2150)", "f(2)(2340)"),
        {"f(0)(1810)": BESIDE_1710},
    ),
    ("eta", "eta'(958)"): Couplings(
        ("f(0)(1500)", "eta(1)(1855)"), ("f(2)(1565)", "f(0)(1810)", "f(0)(2020)", "f(2)(2010)", "f(4)(2050)"), {"f(0)(1710)": "not seen"}
    ),
    ("omega(782)", "pi"): Couplings(("b(1)(1235)",), ("rho(1450)", "rho(1700)", "rho(3)(1690)")),
    ("phi(1020)", "pi"): Couplings(()),
    ("phi(1020)", "phi(1020)"): Couplings(("f(2)(2010)", "f(2)(2300)", "f(2)(2340)"), ("f(0)(2020)",)),
    ("pi", "pi", "pi"): Couplings(
        ("omega(782)", "a(2)(1320)", "pi(2)(1670)", "a(1)(1260)"),
        ("phi(1020)", "h(1)(1170)", "pi(1300)", "pi(1800)", "omega(3)(1670)", "omega(1420)", "omega(1650)", "a(1)(1640)", "a(2)(1700)"),
        {"pi(1)(1600)": EXOTIC},
    ),
    ("pi", "pi", "pi", "pi"): Couplings(("b(1)(1235)",)),
    ("K", "pi", "pi"): Couplings(
        ("K(1)(1270)", "K(1)(1400)", "K(2)*(1430)"),
        ("K*(1410)", "K*(1680)", "K(1460)", "K(1)(1650)", "K(2)(1770)", "K(2)(1820)", "K(3)*(1780)"),
    ),
    ("eta", "pi", "pi"): Couplings(
        ("eta'(958)", "f(1)(1285)", "eta(1405)"), ("eta(1295)", "eta(2)(1645)", "eta(2)(1870)"), {"eta(1475)": "decays to K K pi"}
    ),
    ("K", "K", "pi"): Couplings(("f(1)(1285)", "f(1)(1420)", "eta(1405)", "eta(1475)"), ("h(1)(1415)", "pi(2)(1670)", "phi(1680)")),
    ("J/psi(1S)", "pi"): Couplings((), (), {"T(cc1)(3900)": FOUR_QUARKS, "T(cc1)(4430)": FOUR_QUARKS}),
    ("pi", "psi(2S)"): Couplings(("T(cc1)(4430)",)),
    ("D", "D"): Couplings(
        ("psi(3770)", "chi(c2)(3930)", "chi(c0)(3915)", "psi(4040)", "psi(4160)", "psi(4415)"), ("psi(3)(3842)",), {"psi(4230)": "not seen"}
    ),
    ("J/psi(1S)", "pi", "pi"): Couplings(("psi(2S)", "chi(c1)(3872)"), ("psi(4230)", "psi(4360)")),
    ("N", "pi"): Couplings(
        ("Delta(1232)", "N(1520)", "N(1440)", "N(1535)", "N(1680)", "Delta(1600)", "Delta(1700)", "N(1650)"),
        (
            *("Delta(1620)", "N(1675)", "N(1710)", "N(1720)", "Delta(1905)", "Delta(1910)", "Delta(1950)"),
            *("N(1895)", "N(1900)", "N(2190)"),
        ),
    ),
    ("N", "eta"): Couplings(("N(1535)", "N(1650)", "N(1710)"), ("N(1895)", "N(1900)")),
    N_K: Couplings(
        ("Lambda(1520)", "Lambda(1405)", "Lambda(1670)", "Lambda(1690)", "Lambda(1600)"),
        (
            "Lambda(1820)",
            "Sigma(1775)",
            "Lambda(1800)",
            "Lambda(1810)",
            "Lambda(1890)",
            "Sigma(1670)",
            "Sigma(2030)",
            "Lambda(2100)",
            "Lambda(2110)",
            "Lambda(1830)",
            "Sigma(1915)",
        ),
    ),
    SIGMA_PI: Couplings(
        ("Lambda(1405)", "Lambda(1520)", "Lambda(1670)", "Lambda(1690)", "Sigma(1670)"),
        ("Sigma(1385)", "Lambda(1600)", "Sigma(1660)", "Lambda(1830)", "Lambda(1820)"),
    ),
    ("Lambda", "pi"): Couplings(("Sigma(1385)", "Sigma(1670)", "Sigma(1775)"), ("Sigma(1660)", "Sigma(1915)", "Sigma(2030)")),
    ("K", "Lambda"): Couplings(("N(1650)", "N(1710)", "N(1720)", "N(1900)", "N(1895)", "Xi(1690)", "Xi(1820)")),
    ("Lambda", "eta"): Couplings(("Lambda(1670)",)),
    ("K", "Xi"): Couplings(()),
    ("N", "N"): Couplings(("f(2)(1950)",)),
    ("Xi", "pi"): Couplings(("Xi(1530)",), ("Xi(1690)", "Xi(1820)")),
}


# states in a group that look like another one there: only one of them is in use
TWINS: dict[tuple[str, tuple[str, ...]], str] = {("a(0)(980)", K_K): "f(0)(980)"}


def group_of(particles: Sequence[Particle]) -> tuple[str, ...]:
    """The isospin multiplets of particles in alphabetical order; empty if one is no hadron."""
    members = [hadron(particle) for particle in particles]
    return tuple(sorted(m.isospin.multiplet for m in members if m is not None)) if None not in members else ()


def known_couplings(particles: Sequence[Particle]) -> Couplings | None:
    """What is known about a group of particles."""
    return TABLE.get(group_of(particles))
