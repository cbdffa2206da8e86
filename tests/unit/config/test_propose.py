"""First models of decays: which resonances are proposed, in use or commented out, and why."""

import re
from functools import cache

import pytest
import yaml

import ctpwa
from ctpwa.base.errors import PhysicsError
from ctpwa.config.propose.candidates import regions
from ctpwa.config.propose.resonances import jpc_text, read_decay_text
from ctpwa.config.propose.resonances import propose_resonances as propose
from ctpwa.config.propose.text import proposal_text
from ctpwa.decay.pdg import ParticleTable, normalise
from ctpwa.decay.spin import LS

COMMENTED_OUT = re.compile(r"^  # (?:\S+: +\{|- ).*$", re.MULTILINE)
DECAYS = [
    "J/psi(1S) -> K+ K- eta",
    "J/psi -> gamma pi0 pi0",
    "J/psi -> p p~ eta",
    "Lambda(c)+ -> p K- pi+",
    "D0 -> K- pi+ pi0",
    "D+ -> K0S pi+ pi0",
    "B+ -> J/psi K+ pi+ pi-",
    "J/psi -> pi+ pi- pi+ pi-",
]
FEW_LINES = [
    "B0 -> J/psi K0S",
    "pi0 -> gamma e+ e-",
    "eta -> pi+ pi- pi0",
    "B0 -> K+ pi- mu+ mu-",
    "psi(4160) -> J/psi first:pi0 second:pi0",
]


propose_resonances = cache(propose)


def proposed(text):
    return {resonance.name: resonance for resonance in propose_resonances(text).resonances}


def in_use(text):
    return {name: [region.text for region in resonance.regions] for name, resonance in proposed(text).items() if resonance.active}


def load(tmp_path, text):
    path = tmp_path / "model.yml"
    path.write_text(text, encoding="utf-8")
    return ctpwa.load_model(path)


@pytest.mark.parametrize("decay", DECAYS + FEW_LINES)
def test_the_file_loads_as_written_and_with_every_line_that_is_commented_out(decay, tmp_path):
    proposal = propose_resonances(decay)
    text = proposal_text(proposal)
    model = load(tmp_path, text)
    assert set(model.resonances) == {r.name for r in proposal.resonances if r.active} or not any(r.active for r in proposal.resonances)
    lines = COMMENTED_OUT.findall(text)
    if proposal.chains:  # a chain needs no line of its resonance, but such a line needs a chain
        lines = [line for line in lines if line.startswith("  # - ")]
    names = [re.search(r"  # (\S+):", line)[1] for line in lines]
    assert {r.name for r in proposal.resonances if not r.active} <= set(names) or proposal.chains
    assert len(lines) > 6 or decay in FEW_LINES
    for name, line in zip(names, lines, strict=True):
        more = load(tmp_path, text.replace(line, line.replace("# ", "", 1)))
        assert {normalise(r) for r in more.resonances} - {normalise(r) for r in model.resonances} == {normalise(name)} or proposal.chains
        assert len(more.waves) > len(model.waves)


@pytest.mark.parametrize("decay", ["J/psi(1S) -> K+ K- eta", "Lambda(c)+ -> p K- pi+", "J/psi -> p p~ eta", "B+ -> J/psi K+ pi+ pi-"])
def test_the_ls_of_the_comments_are_those_of_the_model(decay, tmp_path):
    """(L, S) are found with the same functions; this is about the bookkeeping."""
    proposal = propose_resonances(decay)
    model = load(tmp_path, proposal_text(proposal))
    for resonance in (r for r in proposal.resonances if r.active):
        nodes = [(wave, i) for wave in model.waves for i, node in enumerate(wave.chain.nodes) if node.resonance == resonance.name]
        found = {wave.ls[i] for wave, i in nodes}
        assert {ls for pairs in resonance.decays.values() for ls in pairs} <= found
        if len(model.decay.final) == 3:
            assert {ls for pairs in resonance.production.values() for ls in pairs} == {wave.ls[0] for wave, _ in nodes}
            assert {ls for pairs in resonance.decays.values() for ls in pairs} == found


def test_charge_conjugates_stand_in_one_line():
    assert in_use("J/psi -> K+ K- eta") == {
        "phi(1020)": ["K+ K-"],
        "phi(1680)": ["K+ K-"],
        "K*(1680)": ["K+ eta", "K- eta"],
        "K(3)*(1780)": ["K+ eta", "K- eta"],
        "K(2)*(1980)": ["K+ eta", "K- eta"],
    }


def test_conjugate_systems_are_written_in_mirrored_order():
    texts = [region.text for region in regions(read_decay_text("J/psi -> pi+ pi- pi+ pi-"))]
    assert texts == ["pi+ pi-", "pi+ pi+", "pi- pi-", "pi+ pi- pi+", "pi- pi+ pi-"]
    texts = [region.text for region in regions(read_decay_text("J/psi -> K+ pi- K- pi+"))]
    assert texts == ["K+ pi-", "K- pi+", "K+ K-", "K+ pi+", "K- pi-", "pi- pi+", "K+ pi- K-", "K- pi+ K+", "K+ pi- pi+", "K- pi+ pi-"]


def test_charge_states_stand_in_one_line():
    use = in_use("D0 -> K- pi+ pi0")
    assert use["K*(892)"] == ["K- pi+", "K- pi0"]
    assert use["rho(770)"] == ["pi+ pi0"]


def test_the_lines_have_the_numbers_of_the_pdg():
    phi, table = proposed("J/psi -> K+ K- eta")["phi(1020)"], ParticleTable().get("phi(1020)")
    assert (phi.state.mass, phi.state.width, jpc_text(phi.state), phi.two_I) == (table.mass, table.width, "1--", 0)
    assert (phi.production, phi.decays) == ({"eta": (LS(1, 1),)}, {"K+ K-": (LS(1, 0),)})


def test_a_photon_leaves_the_independent_waves():
    f2 = proposed("J/psi -> gamma pi0 pi0")["f(2)(1270)"]
    assert len(f2.production["gamma"]) == 3
    assert f2.decays == {"pi0 pi0": (LS(2, 0),)}


@pytest.mark.parametrize(
    ("decay", "name", "reason"),
    [
        ("J/psi -> K+ K- eta", "rho(1450)", "isospin-violating production"),
        ("J/psi -> K+ K- eta", "phi(3)(1850)", "for when the data ask for it"),
        ("J/psi -> K+ K- eta", "omega(1650)", "at the mass of phi(1680), which couples more strongly"),
        ("J/psi -> K+ K- eta", "K(4)*(2045)", "for when the data ask for it"),
        ("J/psi -> p p~ pi0", "Delta(1232)", "isospin-violating production"),
        ("J/psi -> omega pi+ pi-", "phi(1020)", None),  # C
        ("D0 -> K0S pi+ pi-", "omega(782)", "isospin-violating decay"),
        ("J/psi -> gamma pi0 pi0", "a(0)(980)", "isospin-violating decay"),
        ("J/psi -> gamma pi0 pi0", "f(2)(1565)", "for when the data ask for it"),
        ("J/psi -> gamma pi0 pi0", "omega(782)", "electromagnetic decay"),
        ("J/psi -> gamma pi0 pi0", "rho(770)", None),  # electromagnetic, and too wide for it to be seen
        ("Lambda(c)+ -> p K- pi+", "Lambda(1810)", "3 of 4 stars"),
        ("Lambda(c)+ -> p K- pi+", "Sigma(1385)", "below threshold"),
        ("B0 -> J/psi K+ pi-", "T(cc1)(3900)", "made of four quarks; for when the data ask for it"),
        ("Lambda(c)+ -> p K- pi+", "K*(1680)", "above the upper end"),
        ("D(s)+ -> K+ K- pi+", "a(0)(980)", "looks like f(0)(980)"),
        ("D0 -> K- pi+ pi0", "K(0)*(700)", "in the lass shape of K(0)*(1430)"),
        ("Lambda(c)+ -> p K- pi+", "N(1440)", None),  # p pi+ has charge 2
        ("B+ -> K+ pi+ pi-", "chi(c0)(1P)", "charmonium to light hadrons"),
        ("J/psi -> pi+ pi- pi+ pi-", "f(0)(980)", "not the lightest 0++"),
        ("J/psi -> pi+ pi- pi+ pi-", "f(4)(2050)", "J = 4"),
    ],
)
def test_why_a_resonance_is_not_in_use(decay, name, reason):
    found = proposed(decay).get(name)
    assert (None if found is None else reason in found.reasons) == (None if reason is None else True)


def test_what_isospin_forbids_and_is_too_wide_to_be_seen_is_named():
    proposal = propose_resonances("J/psi -> p p~ eta")
    assert "Delta(1620)" in proposal.left_out["p eta"]
    assert "Delta(1620)" in proposal_text(proposal)
    assert not any(name.startswith("Delta") for name in proposed("J/psi -> p p~ eta"))


def test_isospin_is_not_used_in_production_where_the_final_state_breaks_it():
    """J/psi -> 2(pi+ pi-) breaks G parity as a whole, so a1 pi is as good as anything; D mesons decay weakly."""
    assert not propose_resonances("J/psi -> pi+ pi- pi+ pi-").isospin_conserved
    assert "a(1)(1260)" in in_use("J/psi -> pi+ pi- pi+ pi-")
    assert not propose_resonances("D0 -> K- pi+ pi0").isospin_conserved
    assert propose_resonances("J/psi -> pi+ pi- pi0").isospin_conserved
    assert in_use("J/psi -> pi+ pi- pi0")["rho(770)"] == ["pi+ pi-", "pi+ pi0", "pi- pi0"]


def test_a_below_threshold_resonance_within_its_width_is_in_use():
    assert "Lambda(1405)" in in_use("Lambda(c)+ -> p K- pi+")


def test_what_the_tables_do_not_know_is_named():
    proposal = propose_resonances("B+ -> J/psi K+ pi+ pi-")
    assert proposal.incomplete == {"J/psi pi+ pi-": ("psi(2)(3823)",), "K+ pi+ pi-": ("K(2)(1580)", "K(1830)")}


def test_a_state_that_is_one_of_two_is_named_in_full():
    """K_S pi0 comes from K*(892)0 and from its antiparticle, with the same amplitude."""
    use = in_use("D+ -> K0S pi+ pi0")
    assert use["K*(892)0"] == ["K0S pi0"]
    assert use["K*(892)"] == ["K0S pi+"]


def test_a_lepton_pair_comes_from_the_narrowest_vector():
    use = in_use("B0 -> K+ pi- mu+ mu-")
    assert use["J/psi(1S)"] == ["mu+ mu-"]
    assert set(use) == {"J/psi(1S)", "K*(892)", "K(0)*(1430)", "K(2)*(1430)"}


def test_without_any_resonance_a_structure_without_propagator_stands_in(tmp_path):
    text = proposal_text(propose_resonances("pi0 -> gamma e+ e-"))
    assert [wave.resonances[0].lineshape for wave in load(tmp_path, text).waves][:1] == ["constant"]


def test_nested_structures_where_a_cascade_has_no_resonance(tmp_path):
    text = proposal_text(propose_resonances("eta -> e+ e- mu+ mu-"))
    assert set(load(tmp_path, text).resonances) == {"NR1", "NR2"}


@pytest.mark.parametrize(
    ("parent", "transverse"), [("J/psi", True), ("psi(2S)", True), ("phi", True), ("eta_c", False), ("chi_c1", False), ("D0", False)]
)
def test_vectors_of_electron_positron_annihilation_are_polarised(parent, transverse, tmp_path):
    final = "K- pi+ pi0" if parent == "D0" else "pi+ pi- pi0" if parent == "phi" else "K+ K- pi0"
    text = proposal_text(propose_resonances(f"{parent} -> {final}"))
    assert ("\npolarisation: transverse " in text) is transverse
    assert str(load(tmp_path, text)).splitlines()[0].endswith("transverse" if transverse else "unpolarised")


def test_the_comments_offer_samples_and_a_fit_as_yaml():
    text = proposal_text(propose_resonances("J/psi -> K+ K- eta"), "kk.yml")
    hints = text[text.index("# samples:") :]
    said = yaml.safe_load("\n".join(line.removeprefix("# ") for line in hints.splitlines()))
    assert said == {
        "samples": {"data": "data.root", "phase_space": {"generate": 500000, "seed": 1}},
        "fit": {"method": "newton", "starts": 20},
    }
    analysis = ctpwa.load_analysis(yaml.safe_load(text) | said)  # files are not opened yet
    assert len(analysis.data_sets) == 1
    assert analysis.settings.starts == 20
    assert "ctpwa check kk.yml" in text
    assert "ctpwa fit kk.yml" in text


def test_numbers_are_written_so_that_yaml_reads_numbers(tmp_path):
    """5e-05 would be text."""
    text = proposal_text(propose_resonances("B0 -> K+ pi- mu+ mu-"))
    assert "width: 0.0000926" in text
    assert load(tmp_path, text).resonances["J/psi(1S)"].width == pytest.approx(9.26e-5)


def test_a_held_state_is_a_final_particle():
    text = "Lambda(b)0 -> J/psi(1S) p K-; J/psi(1S) -> mu+ mu-"
    use = in_use(text)
    assert "Lambda(1520)" in use
    assert {system for systems in use.values() for system in systems} == {"p K-"}
    model = ctpwa.load_model(yaml.safe_load(proposal_text(propose_resonances(text))))
    assert model.final_names == ("mu+", "mu-", "p", "K-")
    assert {r.name for wave in model.waves for r in wave.shown} == set(use)
    outer = in_use("Lambda(b)0 -> J/psi(1S) p K-")
    assert use == outer


def test_structures_inside_held_states():
    text = proposal_text(propose_resonances("J/psi -> phi eta; eta -> pi+ pi- pi0; phi -> K+ K-"))
    model = ctpwa.load_model(yaml.safe_load(text))
    assert [wave.name for wave in model.waves] == ["NR1[pi+ pi-] (1,1)(0,0)(0,0)(1,0)"]


def test_a_narrow_state_that_decays_to_leptons_should_be_held():
    text = proposal_text(propose_resonances("psi(2S) -> pi+ pi- mu+ mu-"))
    assert "#   ctpwa init 'psi(2S) -> pi+ pi- J/psi(1S); J/psi(1S) -> mu+ mu-'" in text
    assert "To hold it at its mass" not in proposal_text(propose_resonances("J/psi(1S) -> K+ K- eta"))


def test_tau_decays():
    """One strong state is not enough: it would interfere with nothing. rho(1700) overlaps rho(1450), and there is no spin 3."""
    assert list(in_use("tau- -> pi- pi0 nu(tau)")) == ["rho(770)", "rho(1450)"]


@pytest.mark.parametrize(
    ("decay", "words"),
    [
        (
            "J/psii -> K+ K- eeta",
            ["unknown particle 'J/psii'", "did you mean 'J/psi(1S)'?", "unknown particle 'eeta'", "did you mean 'eta'?"],
        ),
        ("J/psi K+ K-", ["cannot read 'J/psi K+ K-' as a decay", "write it as parent ->"]),
        ("J/psi -> K+ K+ eta", ["charge is not conserved"]),
        ("eta -> K+ K- pi0", ["below threshold"]),
        ("J/psi -> eta eta eta", ["has no wave: C of the parent is -1, C of the final state +1"]),
    ],
)
def test_errors(decay, words):
    with pytest.raises(PhysicsError) as error:
        propose_resonances(decay)
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize(
    ("decay", "pair"),
    [
        ("D+ -> K- pi+ mu+ nu(mu)", "mu+ nu(mu)"),
        ("B- -> pi+ pi- e- nu(e)~", "e- nu(e)~"),
        ("tau- -> nu(tau) mu- nu(mu)~", "mu- nu(mu)~"),  # and not mu- nu(tau)
        ("D0 -> K- pi+ pi- e+ nu(e)", "e+ nu(e)"),
    ],
)
def test_a_lepton_and_its_neutrino_are_one_current(decay, pair):
    """Nothing else decays to a lepton, and every chain has the current; with three hadrons or more it is in the chains."""
    proposal = propose_resonances(decay)
    assert proposal.current.systems == (pair,)
    leptons = set(pair.split())
    assert not any(leptons & {p.name for region in resonance.regions for p in region.particles} for resonance in proposal.resonances)
    assert all(chain.text.endswith(f"; W -> {pair}") for chain in proposal.chains)
    model = ctpwa.load_model(yaml.safe_load(proposal_text(proposal)))
    assert all("W" in [resonance.name for resonance in wave.resonances] for wave in model.waves)


def test_a_tau_that_decays_to_hadrons_has_no_other_current():
    assert propose_resonances("tau- -> pi- pi0 nu(tau)").current is None
    assert propose_resonances("B0 -> K+ pi- mu+ mu-").current is None
