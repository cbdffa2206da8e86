"""What first models are made of, against the Particle Listings and Summary Tables of the PDG, status of the 2025 and 2026 editions.

The tables here are read from the Listings, and from published analyses where these are named; they are not made with the code they test.
"""

from copy import copy
from functools import cache
from math import atan2, degrees, sqrt

import numpy as np
import pytest
import yaml

import ctpwa
from channels.test_first_models import STATES
from ctpwa.config.propose.resonances import jpc_text, propose_resonances
from ctpwa.config.propose.shapes import FLATTE, shape_of
from ctpwa.config.propose.strong import K_PI, TABLE, group_of
from ctpwa.decay.catalogue import multiplets
from ctpwa.decay.listings import ADDED, NUMBERS, with_listings
from ctpwa.decay.pdg import ParticleTable, normalise, pdg_index
from ctpwa.model.lineshapes.lass import LENGTH, RANGE

proposal_of = cache(propose_resonances)

# mesons without heavy quarks that have a bullet, which means that they are in the Meson Summary Table
MESONS = {
    "pi", "eta", "f(0)(500)", "rho(770)", "omega(782)", "eta'(958)", "f(0)(980)", "a(0)(980)", "phi(1020)", "h(1)(1170)", "b(1)(1235)",
    "a(1)(1260)", "f(2)(1270)", "f(1)(1285)", "eta(1295)", "pi(1300)", "a(2)(1320)", "f(0)(1370)", "eta(1405)", "h(1)(1415)", "f(1)(1420)",
    "omega(1420)", "a(0)(1450)", "rho(1450)", "eta(1475)", "f(0)(1500)", "f(2)'(1525)", "f(2)(1565)", "pi(1)(1600)", "a(1)(1640)",
    "eta(2)(1645)", "omega(1650)", "omega(3)(1670)", "pi(2)(1670)", "phi(1680)", "rho(3)(1690)", "rho(1700)", "a(2)(1700)", "a(0)(1710)",
    "f(0)(1710)", "pi(1800)", "f(0)(1810)", "phi(3)(1850)", "eta(1)(1855)", "eta(2)(1870)", "pi(2)(1880)", "f(2)(1950)", "a(4)(1970)",
    "f(2)(2010)", "f(0)(2020)", "f(4)(2050)", "f(2)(2150)", "phi(2170)", "f(2)(2300)", "f(2)(2340)",
    "K", "K(S)", "K(L)", "K(0)*(700)", "K*(892)", "K(1)(1270)", "K(1)(1400)", "K*(1410)", "K(0)*(1430)", "K(2)*(1430)", "K(1460)",
    "K(1)(1650)", "K*(1680)", "K(2)(1770)", "K(3)*(1780)", "K(2)(1820)", "K(0)*(1950)", "K(2)*(1980)", "K(4)*(2045)",
}  # fmt: skip
# those that the Listings have without one
NO_BULLET = {"pi(1)(1400)", "K(2)(1580)", "K(1830)", "K(2)(2250)", "K(3)(2320)", "K(4)(2500)"}
# stars of baryons without heavy quarks, of those with three or four: the Baryon Summary Table
STARS = {
    4: {
        "p", "n", "N(1440)", "N(1520)", "N(1535)", "N(1650)", "N(1675)", "N(1680)", "N(1710)", "N(1720)", "N(1895)", "N(1900)", "N(2190)",
        "Delta(1232)", "Delta(1600)", "Delta(1620)", "Delta(1700)", "Delta(1905)", "Delta(1910)", "Delta(1950)",
        "Lambda", "Lambda(1405)", "Lambda(1520)", "Lambda(1600)", "Lambda(1670)", "Lambda(1690)", "Lambda(1820)", "Lambda(1830)",
        "Lambda(1890)", "Lambda(2100)", "Sigma", "Sigma(1385)", "Sigma(1670)", "Sigma(1775)", "Sigma(1915)", "Sigma(2030)",
        "Xi", "Xi(1530)", "Omega",
    },
    3: {
        "N(1700)", "N(1875)", "N(1880)", "N(2060)", "N(2100)", "N(2120)", "Delta(1900)", "Delta(1920)", "Delta(1930)", "Delta(2200)",
        "Lambda(1800)", "Lambda(1810)", "Lambda(2110)", "Sigma(1660)", "Sigma(1750)", "Sigma(1910)",
        "Xi(1690)", "Xi(1820)", "Xi(1950)", "Xi(2030)", "Omega(2250)",
    },
}  # fmt: skip
PI_PI, KK, ETA_PI, K_ETA, N_PI, NK = ("pi", "pi"), ("K", "K"), ("eta", "pi"), ("K", "eta"), ("N", "pi"), ("K", "N")
SEEN = None  # without a fraction
# J^PC, mass and width in MeV (2026), and decays with their fraction in per cent (2025), the middle of a range
LISTED = {
    "f(0)(500)": ("0++", 600, 450, {PI_PI: SEEN}),
    "rho(770)": ("1--", 775, 147, {PI_PI: 100}),
    "omega(782)": ("1--", 783, 8.7, {("pi", "pi", "pi"): 89}),
    "K*(892)": ("1-", 895, 47, {K_PI: 100}),
    "f(0)(980)": ("0++", 990, 60, {PI_PI: SEEN, KK: SEEN}),
    "a(0)(980)": ("0++", 980, 75, {ETA_PI: SEEN, KK: SEEN}),
    "phi(1020)": ("1--", 1019.5, 4.25, {KK: 49}),
    "b(1)(1235)": ("1+-", 1230, 142, {("omega(782)", "pi"): SEEN, ("pi", "pi", "pi", "pi"): SEEN}),
    "f(2)(1270)": ("2++", 1275, 187, {PI_PI: 84, KK: 4.6}),
    "a(2)(1320)": ("2++", 1318, 107, {ETA_PI: 14.5, KK: 4.9, ("pi", "pi", "pi"): 70}),
    "K(0)*(1430)": ("0+", 1430, 270, {K_PI: 93}),
    "K(2)*(1430)": ("2+", 1430, 105, {K_PI: 50, K_ETA: 0.15}),
    "rho(1450)": ("1--", 1465, 400, {PI_PI: SEEN}),
    "f(0)(1500)": ("0++", 1522, 108, {PI_PI: 34.5, KK: 8.5}),
    "f(2)'(1525)": ("2++", 1517, 72, {KK: 88, PI_PI: 0.8}),
    "phi(1680)": ("1--", 1680, 150, {KK: SEEN}),
    "f(0)(1710)": ("0++", 1723, 149, {PI_PI: SEEN, KK: SEEN}),
    "K*(1680)": ("1-", 1718, 320, {K_PI: 39, K_ETA: 1.4}),
    "K(3)*(1780)": ("3-", 1779, 161, {K_PI: 19, K_ETA: 30}),
    "K(2)*(1980)": ("2+", 1990, 348, {K_ETA: SEEN}),  # Belle, PRD 102, 012002; BESIII, PRD 101, 032008
    "Delta(1232)": ("3/2+", 1232, 117, {N_PI: 99.4}),
    "Delta(1600)": ("3/2+", 1570, 250, {N_PI: 16}),
    "Delta(1700)": ("3/2-", 1710, 300, {N_PI: 15}),
    "Lambda(1405)": ("1/2-", 1405, 50, {("Sigma", "pi"): 100, NK: SEEN}),  # below threshold: residues of coupled-channel analyses
    "Lambda(1520)": ("3/2-", 1519, 16, {NK: 45}),
    "Lambda(1600)": ("1/2+", 1600, 200, {NK: 22}),
    "Lambda(1670)": ("1/2-", 1674, 30, {NK: 25}),
    "Lambda(1690)": ("3/2-", 1690, 70, {NK: 25}),
}
CHANNELS = [
    "J/psi -> gamma pi+ pi-",
    "D0 -> K- pi+ pi0",
    "psi(2S) -> pi+ pi- J/psi(1S); J/psi(1S) -> mu+ mu-",
    "Lambda(b)0 -> J/psi(1S) p K-; J/psi(1S) -> mu+ mu-",
    "chi(c1)(1P) -> eta pi+ pi-",
    "B+ -> K+ K- K+",
    "J/psi -> pi+ pi- pi+ pi- pi0",
    "tau- -> pi- pi0 nu(tau)",
    "Lambda(c)+ -> p K- pi+",
    "J/psi -> K+ K- eta",
]


def light(baryons):
    """Multiplets without heavy quarks."""
    for multiplet in multiplets():
        state = multiplet.states[0]
        if bool(state.baryon) == baryons and not multiplet.heavy and all(flavour[1:] == (0, 0) for flavour in state.flavours):
            yield multiplet


def test_mesons_of_the_summary_table_are_established():
    found = {multiplet.name: not multiplet.doubt for multiplet in light(baryons=False)}
    assert found == dict.fromkeys(MESONS, True) | dict.fromkeys(NO_BULLET, False)


def test_stars_of_baryons():
    """Four make a state that a first model may use, and three are enough where strangeness is two or more."""
    found = {multiplet.name: multiplet.doubt for multiplet in light(baryons=True)}
    three = {name: "" if name.startswith(("Xi", "Omega")) else "3 of 4 stars" for name in STARS[3]}
    assert found == dict.fromkeys(STARS[4], "") | three


def in_use(decay):
    return [resonance for resonance in proposal_of(decay).resonances if resonance.active]


@pytest.mark.parametrize("decay", CHANNELS)
def test_states_in_use_are_those_of_the_listings(decay):
    """Errors of the Listings, not those of this code, are the reason for the tolerances: numbers move with the editions."""
    assert {resonance.multiplet for resonance in in_use(decay)} == set(STATES[decay])
    for resonance in in_use(decay):
        name = resonance.multiplet
        JPC, mass, width, _ = LISTED[name]
        neutral = next(s for m in multiplets() if m.name == name for s in m.states if s.charge == 0 or "Delta" in name)
        assert jpc_text(neutral) == JPC
        assert 1000 * resonance.state.mass == pytest.approx(mass, rel=0.01)
        assert 1000 * resonance.state.width == pytest.approx(width, rel=0.15)
        assert name in MESONS | STARS[4]


@pytest.mark.parametrize("decay", CHANNELS)
def test_states_in_use_decay_to_their_system(decay):
    """Seen, or in one per cent of the decays or more."""
    for resonance in in_use(decay):
        decays = LISTED[resonance.multiplet][3]
        for region in resonance.regions:
            fraction = decays.get(group_of(region.particles), 0)
            assert fraction is SEEN or fraction >= 1, (resonance.name, region.text)


def test_states_that_couple_strongly_are_established():
    doubts = {multiplet.name: multiplet.doubt for multiplet in multiplets()}
    assert {name: doubts[name] for known in TABLE.values() for name in known.strong if doubts[name]} == {}
    assert {name for known in TABLE.values() for name in (*known.later, *known.why)} <= set(doubts)


@pytest.mark.parametrize(
    ("decay", "names"),
    [  # what published analyses of these decays found
        ("J/psi -> gamma eta eta'", {"eta(1)(1855)", "f(0)(1500)"}),  # BESIII, PRL 129, 192002
        ("B+ -> J/psi phi K+", {"chi(c1)(4140)", "chi(c1)(4274)", "K(1)(1650)"}),  # LHCb, PRL 127, 082001
        ("B0 -> psi(2S) K+ pi-", {"T(cc1)(4430)", "K*(892)"}),  # LHCb, PRL 112, 222002
        ("Lambda(b)0 -> D0 p pi-", {"Lambda(c)(2860)", "Lambda(c)(2880)", "Lambda(c)(2940)"}),  # LHCb, JHEP 05, 030 (2017)
        ("psi(2S) -> K- Lambda Xi~+", {"Xi(1820)"}),  # BESIII, PRD 91, 092006
        ("B- -> D*(2010)+ pi- pi-", {"D(1)(2420)", "D(1)(2430)", "D(2)*(2460)"}),  # LHCb, PRD 101, 032005
        ("B+ -> D+ D- K+", {"psi(3770)", "chi(c0)(3915)", "chi(c2)(3930)"}),  # LHCb, PRD 102, 112003
        ("J/psi -> p K- Lambda~", {"N(1720)", "N(1895)", "N(1900)"}),
    ],
)
def test_states_that_other_tables_lack_are_proposed(decay, names):
    assert names <= {resonance.name for resonance in in_use(decay)}


def test_states_beside_others_are_listed_with_the_reason():
    proposed = {resonance.name: resonance.reasons for resonance in proposal_of("B+ -> K+ K- K+").resonances}
    assert proposed["a(0)(1710)"] == ("looks like f(0)(1710)",)
    assert "beside f(0)(1710)" in proposed["f(0)(1810)"][0]
    proposed = {resonance.name: resonance.reasons for resonance in proposal_of("chi(c1)(1P) -> eta pi+ pi-").resonances}
    assert proposed["a(0)(1710)"] == ("for when the data ask for it",)


@pytest.mark.parametrize("added", ADDED, ids=lambda added: added.name)
def test_added_states_are_particles_like_others(added):
    multiplet = next(multiplet for multiplet in multiplets() if multiplet.name == added.name)
    conjugates = sum(state.antiparticle != state.name for state in multiplet.states) // 2
    assert len(multiplet.states) == len(added.charges) + conjugates
    for state in multiplet.states:
        assert ParticleTable().get(state.name) == state
        assert ParticleTable().get(state.antiparticle).antiparticle == state.name
        assert (state.mass, state.width, state.two_J) == (added.mass, added.width, added.two_J)
        assert added.P * (-1 if state.baryon < 0 else 1) == state.P == pdg_index().by_spelling[normalise(state.name)].P
        assert state.charge in {
            state.baryon * own.charge if state.baryon else sign * own.charge for own in added.charges for sign in (1, -1)
        }


def test_added_states_by_name_in_a_model():
    """f(0)(1770) is the name of f(0)(1810) before the 2026 edition."""
    text = "decay: J/psi -> p K- Lambda~\nresonances: {N(1900): {in: K- Lambda~}}"
    wave = ctpwa.load_model(yaml.safe_load(text)).waves[0]
    assert (wave.resonances[0].mass, wave.resonances[0].width) == (1.92, 0.2)
    assert wave.chain.nodes[1].particle.name == "N(1900)~-"
    assert wave.chain.nodes[1].particle.latex == r"\overline{N}(1900)^{-}"
    assert ParticleTable().get("f0(1770)").name == "f(0)(1810)"
    assert ParticleTable().get("a0(1710)-").latex == "a_{0}(1710)^{-}"
    assert ParticleTable().get("a0(1710)0").C == 1


@pytest.mark.parametrize("name", NUMBERS)
def test_states_without_numbers_in_the_tables_have_those_of_the_listings(name):
    """The number in the name is the mass when it was found: within 60 MeV of the one now."""
    multiplet = next(multiplet for multiplet in multiplets() if multiplet.name == name)
    assert not multiplet.doubt
    for state in multiplet.states:
        assert (state.mass, state.width) == NUMBERS[name]
        assert abs(1000 * state.mass - int(name[-5:-1])) < 60


def test_the_tables_of_particle_stay_as_they_are():
    """What they have one day is not replaced, and their own entries are not changed."""
    bare, added = (copy(pdg_index().by_spelling[normalise(name)]) for name in ("K(1460)+", "N(1900)+"))
    bare.mass = bare.width = None
    added.mass = 1910
    found = with_listings([bare, added])
    assert (found[0].mass, found[0].width, bare.mass) == (1482, 336, None)
    assert [entry.mass for entry in found if entry.pdg_name == "N(1900)"] == [1910]


def momentum(m, first, second):
    return sqrt((m**2 - (first + second) ** 2) * (m**2 - (first - second) ** 2)) / (2 * m)


@pytest.mark.parametrize(
    ("name", "mass", "first", "ratio"),
    [
        ("f(0)(980)", 0.965, 0.165, 4.21),  # BES, PLB 607, 243 (2005): 965 ± 10 MeV, 0.165 ± 0.018, 4.21 ± 0.33
        ("a(0)(980)", 0.990, 0.341, 0.892),  # BESIII, PRD 95, 032002 (2017): 990 ± 1 MeV, 0.341 ± 0.004, 0.892 ± 0.022
        ("Lambda(1405)", 1.4051, 0.328, 1),  # LHCb, PRL 115, 072001 (2015): the same coupling twice
    ],
)
def test_couplings_of_states_at_a_threshold(name, mass, first, ratio):
    couplings = [g for _, g, _ in FLATTE[name].channels.values()]
    assert FLATTE[name].mass == mass
    assert couplings[0] == first
    assert couplings[1] / couplings[0] == pytest.approx(ratio, abs=0.005)


def test_the_open_channel_of_the_lambda_1405_has_its_width():
    """m0 Γ0 = g ρ with ρ = 2q/√s: 50.5 MeV in Sigma pi."""
    m = FLATTE["Lambda(1405)"].mass
    _, g, masses = next(iter(FLATTE["Lambda(1405)"].channels.values()))
    assert g * 2 * momentum(m, *masses) / m / m == pytest.approx(0.0505, rel=0.01)


def test_the_s_wave_of_k_pi_has_the_phases_of_lass():
    """Two published sets of four numbers describe the same data, so their phases agree within 4°; a mixture of them is 9° off."""
    (line,) = (r for r in proposal_of("D0 -> K- pi+ pi0").resonances if r.multiplet == "K(0)*(1430)")
    shape = yaml.safe_load("{" + shape_of(line.multiplet, line.regions, line.state) + "}")
    ours = shape["mass"], shape["width"], LENGTH.default, RANGE.default
    masses = np.linspace(0.7, 1.5, 17)
    difference = [phase(m, *ours) - phase(m, 1.435, 0.279, 1.95, 1.76) for m in masses]
    mixed = [phase(m, 1.435, 0.279, *ours[2:]) - phase(m, *ours) for m in masses]
    assert np.abs(difference).max() < 4
    assert np.abs(mixed).max() > 8


def phase(m, m0, gamma0, a, r):
    """δ_B + δ_R in degrees, with q cot δ_B = 1/a + r q²/2."""
    q, q0 = momentum(m, 0.4937, 0.1396), momentum(m0, 0.4937, 0.1396)
    background = atan2(q, 1 / a + r * q**2 / 2)
    resonance = atan2(m0 * gamma0 * (q / m) * (m0 / q0), m0**2 - m**2)
    return degrees(background + resonance)
