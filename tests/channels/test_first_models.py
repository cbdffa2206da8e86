"""First models of decays that are well known: the states that an expert would start with, and how large each of them is."""

from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

import ctpwa
from ctpwa.analysis.start_couplings import start_couplings
from ctpwa.cli.main import app
from ctpwa.cli.settings import CommandSettings
from ctpwa.config.propose.resonances import MOST, propose_resonances
from ctpwa.config.propose.text import proposal_text
from ctpwa.config.propose.ties import isospin_ties

# what is in use: names, and the lineshapes that are no Breit-Wigners with a running width
STATES = {
    # f2'(1525) decays to pi pi in 0.8 %, f0(1370) is wide and disputed, f2(2010), f2(2300) and f2(2340) are seen in phi phi
    "J/psi -> gamma pi+ pi-": {
        "f(0)(500)": "bugg_sigma", "f(0)(980)": "flatte", "f(2)(1270)": "", "f(0)(1500)": "", "f(0)(1710)": "",
    },
    # K0*(700) is in the LASS shape; rho(1450) and K*(1410) at the edge of phase space
    "D0 -> K- pi+ pi0": {"K*(892)": "", "K(0)*(1430)": "lass", "K(2)*(1430)": "", "rho(770)": "gounaris_sakurai"},
    # the exotic pi1(1600) is left for later
    "chi(c1)(1P) -> eta pi+ pi-": {
        "a(0)(980)": "flatte", "a(2)(1320)": "", "f(0)(500)": "bugg_sigma", "f(0)(980)": "flatte", "f(2)(1270)": "", "f(0)(1500)": "",
        "f(0)(1710)": "",
    },
    # omega(1650) at phi(1680), a0(980) at f0(980)
    "B+ -> K+ K- K+": {"f(0)(980)": "flatte", "phi(1020)": "", "f(2)'(1525)": "", "f(0)(1500)": "", "phi(1680)": "", "f(0)(1710)": ""},
    "D(s)+ -> K+ K- pi+": {
        "f(0)(980)": "flatte", "phi(1020)": "", "f(2)'(1525)": "", "f(0)(1500)": "", "phi(1680)": "", "f(0)(1710)": "",
        "K*(892)": "", "K(0)*(1430)": "lass", "K(2)*(1430)": "",
    },
    # K2*(1430) -> K eta in 0.2 %, K3*(1780) -> K eta in 30 %
    "J/psi -> K+ K- eta": {"phi(1020)": "", "phi(1680)": "", "K*(1680)": "", "K(3)*(1780)": "", "K(2)*(1980)": ""},
    # Lambda(1600) and Delta(1600) have four stars
    "Lambda(c)+ -> p K- pi+": {
        "Lambda(1405)": "flatte", "Lambda(1520)": "", "Lambda(1600)": "", "Lambda(1670)": "", "Lambda(1690)": "",
        "Delta(1232)": "", "Delta(1600)": "", "Delta(1700)": "", "K*(892)": "", "K(0)*(1430)": "lass",
    },
    # J/psi is held at its mass
    "psi(2S) -> pi+ pi- J/psi(1S); J/psi(1S) -> mu+ mu-": {"f(0)(500)": "bugg_sigma"},
    "Lambda(b)0 -> J/psi(1S) p K-; J/psi(1S) -> mu+ mu-": {
        "Lambda(1405)": "flatte", "Lambda(1520)": "", "Lambda(1600)": "", "Lambda(1670)": "", "Lambda(1690)": "",
    },
    # three stars are enough for baryons with a heavy quark
    "Lambda(b)0 -> Lambda(c)+ pi- pi0": {"Sigma(c)(2455)": "", "Sigma(c)(2520)": "", "rho(770)": "gounaris_sakurai"},
    # one strong state is joined by those with smaller couplings; rho(1700) overlaps rho(1450), and their shares have several solutions
    "tau- -> pi- pi0 nu(tau)": {"rho(770)": "gounaris_sakurai", "rho(1450)": ""},
    # the lepton and its neutrino are one current, whose form factor between mesons without spin has one pole
    "D0 -> K- mu+ nu(mu)": {"W": "1/(1 - s/pole**2)"},
    "D+ -> K- pi+ mu+ nu(mu)": {"K*(892)": "", "K(0)*(1430)": "lass", "K(2)*(1430)": "", "W": "constant"},
    "D0 -> K- pi+ pi+ pi-": {
        "K*(892)": "", "K(0)*(1430)": "lass", "f(0)(500)": "bugg_sigma", "rho(770)": "gounaris_sakurai",
        "K(1)(1270)": "breit_wigner_constant_width", "K(1)(1400)": "breit_wigner_constant_width",
        "a(1)(1260)": "breit_wigner_constant_width",
    },
    "J/psi -> pi+ pi- pi+ pi- pi0": {
        "f(0)(500)": "bugg_sigma", "f(2)(1270)": "", "rho(770)": "gounaris_sakurai", "a(2)(1320)": "breit_wigner_constant_width",
        "omega(782)": "breit_wigner_constant_width", "b(1)(1235)": "breit_wigner_constant_width",
    },
}  # fmt: skip
COUPLINGS = {"D0 -> K- pi+ pi+ pi-": 21, "J/psi -> pi+ pi- pi+ pi- pi0": 12}
SMALL = ["J/psi -> K+ K- eta", "D(s)+ -> K+ K- pi+"]  # in which fractions are computed here

proposal_of = cache(propose_resonances)


def model_of(decay, folder):
    (folder / "bare.yml").write_text(proposal_text(proposal_of(decay)), encoding="utf-8")
    return ctpwa.load_model(folder / "bare.yml")


@pytest.mark.parametrize("decay", STATES)
def test_the_states_in_use(decay, tmp_path):
    model = model_of(decay, tmp_path)
    held = {state.particle.name for state in model.decay.held}
    shapes = {name: resonance.lineshape for name, resonance in model.resonances.items() if name not in held}
    assert shapes == {name: shape or "breit_wigner" for name, shape in STATES[decay].items()}
    assert len(shapes) <= MOST[len(model.decay.final)]
    if decay in COUPLINGS:
        assert len(model.couplings) == COUPLINGS[decay]


def test_omega_and_b1_of_five_pions_have_their_chains():
    chains = [chain.text for chain in proposal_of("J/psi -> pi+ pi- pi+ pi- pi0").chains if not chain.reasons]
    tops = list(dict.fromkeys(text.partition(";")[0] for text in chains))
    assert set(tops) == {
        "J/psi(1S) -> omega(782) f(0)(500)",
        "J/psi(1S) -> omega(782) f(2)(1270)",
        "J/psi(1S) -> a(2)(1320)+ rho(770)-",
        "J/psi(1S) -> a(2)(1320)- rho(770)+",
        "J/psi(1S) -> a(2)(1320)0 rho(770)0",
        "J/psi(1S) -> b(1)(1235)+ pi-",
        "J/psi(1S) -> b(1)(1235)- pi+",
    }
    assert all("omega(782) pi" in text for text in chains if "b(1)" in text)
    assert sorted(chains, key=lambda text: tops.index(text.partition(";")[0])) == chains


def test_isospin_leaves_five_couplings_of_five_pions(tmp_path):
    """omega f0, omega f2, a2 rho, and b1 -> omega pi in S and D wave."""
    model = model_of("J/psi -> pi+ pi- pi+ pi- pi0", tmp_path)
    assert len(model.couplings) - len(isospin_ties(model, conserved=True)) == 5


@pytest.mark.parametrize("decay", SMALL)
def test_start_couplings_give_comparable_fractions(decay, tmp_path):
    """Over flat phase space that the couplings have not seen."""
    model = model_of(decay, tmp_path)
    couplings = start_couplings(model)
    intensity = ctpwa.ModelIntensity(model, couplings=couplings, engine="reference")
    events = ctpwa.generate_phase_space(model, 4000, seed=3)
    groups = {name: intensity.waves_of(name) for name in model.couplings}
    parts = intensity.components(events, {"all": None, **groups})
    fractions = {name: float(parts[name].mean() / parts["all"].mean()) for name in groups}
    equal = 1 / len(groups)
    narrow = {name for name in groups if name.startswith("phi(1020)")}  # too few flat events are at its peak
    assert all(0.4 * equal < fraction < 2.5 * equal for name, fraction in fractions.items() if name not in narrow)
    assert 0.6 < sum(fractions.values()) < 1.5


FITTED = {  # events of the toy, of phase space
    "D0 -> K- mu+ nu(mu)": (200, 1000),
    "J/psi -> K+ K- eta": (200, 2000),
    "J/psi -> gamma pi+ pi-": (300, 2000),
    "D0 -> K- pi+ pi0": (300, 2000),
    "chi(c1)(1P) -> eta pi+ pi-": (300, 2000),
    "B+ -> K+ K- K+": (300, 2000),
    "Lambda(c)+ -> p K- pi+": (1500, 3000),
    "psi(2S) -> pi+ pi- J/psi(1S); J/psi(1S) -> mu+ mu-": (200, 1000),
    "Lambda(b)0 -> J/psi(1S) p K-; J/psi(1S) -> mu+ mu-": (800, 2000),
    "J/psi -> pi+ pi- pi+ pi- pi0": (100, 1000),
}


@pytest.mark.parametrize("decay", FITTED)
def test_from_the_file_to_the_report_without_an_edit(decay, tmp_path):
    """Few events, so that it takes seconds; more of them are only a matter of time."""
    n_data, n_phase_space = FITTED[decay]
    model, proposal = model_of(decay, tmp_path), proposal_of(decay)
    ties = isospin_ties(model, proposal.isospin_conserved)
    text = proposal_text(proposal, data="data.npz", couplings=start_couplings(model, ties), ties=ties)
    (tmp_path / "model.yml").write_text(text.replace("generate: 500000", f"generate: {n_phase_space}"), encoding="utf-8")
    analysis = ctpwa.load_analysis(tmp_path / "model.yml")
    ctpwa.write_events(tmp_path / "data.npz", ctpwa.generate_toy(analysis.model, n_data, seed=2, engine="reference"))
    result = analysis.fit(starts=1, engine="reference", progress=False)
    assert result.verdict.good, result.verdict
    assert apart(result).sum < 1.5
    ctpwa.write_report(result, tmp_path / "report.html", engine="reference", progress=False)
    check_page(tmp_path / "report.html")


def check_page(path):
    page = path.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert all(f'id="{part}"' in page for part in ("parameters", "fractions", "goodness"))


def apart(result):
    """Fractions of groups in which every wave counts once."""
    groups = result.fractions[0].groups
    return groups.get("chains") or groups["resonances"]


@pytest.mark.parametrize("decay", ["tau- -> pi- pi0 nu_tau"])
def test_from_the_decay_to_the_report_by_commands(decay, tmp_path, monkeypatch):
    """Twenty starts at random; of two states in one partial wave, either solution is one that an analyst can read."""
    monkeypatch.chdir(tmp_path)
    commands = [
        ["init", decay, "--data", "data.root"],
        ["generate", "model.yml", "-n", "1500", "-o", "data.root", "--seed", "1"],
        ["fit", "model.yml", "--engine", "reference"],
        ["report", "model.result.json"],
    ]
    for command in commands:
        if command[0] == "fit":
            text = Path("model.yml").read_text(encoding="utf-8")
            Path("model.yml").write_text(text.replace("generate: 500000", "generate: 10000"), encoding="utf-8")
        done = CliRunner().invoke(app, command, obj=CommandSettings(toy_engine="reference"))
        assert done.exit_code == 0, done.output
    result = ctpwa.FitResult.load("model.result.json")
    assert result.verdict.good
    assert result.n_starts == 20
    assert apart(result).sum < 1.5
    check_page(Path("model.result.html"))
