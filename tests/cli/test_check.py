"""``ctpwa check``: plain when piped, tables on a terminal, JSON for programs."""

import json

from typer.testing import CliRunner

import ctpwa
from ctpwa.cli.main import app

MODEL = """decay: J/psi(1S) -> K+ K- eta
resonances:
  phi(1680): {in: K+ K-, float: mass}
  NR: {in: K+ K-, JP: 3-, lineshape: constant}
"""


TIED = """decay: J/psi(1S) -> K+ K- eta
polarisation: transverse
resonances:
  phi(1020): {in: K+ K-, float: [mass, width]}
  K(2)*(1430): {in: [K+ eta, K- eta]}
"""


def run(tmp_path, text, *options):
    path = tmp_path / "model.yml"
    path.write_text(text)
    return CliRunner().invoke(app, ["check", str(path), *options])


def test_check_shows_waves_parameters_and_memory(tmp_path):
    result = run(tmp_path, MODEL)
    assert result.exit_code == 0
    assert "phi(1680)[K+ K-] (1,1)(1,0)" in result.stdout
    assert "phi(1680).mass" in result.stdout
    assert "floating" in result.stdout
    assert "bytes per event" in result.stdout


def test_explain_shows_the_three_life_cycles(tmp_path):
    result = run(tmp_path, MODEL, "--explain")
    for words in ("every event and iteration: F = 1/(", "once per event:     s", "once per iteration: phi(1680).mass**2"):
        assert words in result.stdout


def test_json_is_for_programs(tmp_path):
    description = json.loads(run(tmp_path, MODEL, "--json").stdout)
    assert [wave["name"] for wave in description["waves"]] == ["phi(1680)[K+ K-] (1,1)(1,0)", "NR[K+ K-] (3,3)(3,0)"]
    assert {p["name"]: p["fixed"] for p in description["parameters"]} == {"phi(1680).mass": False, "phi(1680).width": True}


def test_a_wrong_model_ends_with_exit_code_1_and_the_message(tmp_path):
    result = run(tmp_path, MODEL.replace("float", "flaot"))
    assert result.exit_code == 1
    assert "unknown key 'flaot'" in result.stderr
    assert "did you mean 'float'" in result.stderr


def test_plain_output_is_stable(tmp_path):
    expected = """J/psi(1S) -> K+ K- eta: 3 waves, 2 complex couplings, transverse
  phi(1020)[K+ K-] (1,1)(1,0)
  K(2)*(1430)+[K+ eta] (2,2)(2,0)
  K(2)*(1430)-[K- eta] (2,2)(2,0)   = - K(2)*(1430)+[K+ eta] (2,2)(2,0)

lineshape parameters
  phi(1020).mass                   1.01946      floating > 0
  phi(1020).width                  0.004249     floating > 0
  K(2)*(1430).mass                 1.4273       fixed
  K(2)*(1430).width                0.1          fixed

4 free parameters: 2 for each of 2 couplings but the reference, 2 of lineshapes
"""
    assert run(tmp_path, TIED).stdout.startswith(expected)


def test_tables_on_a_terminal(tmp_path, monkeypatch):
    monkeypatch.setattr("ctpwa.cli.check.is_terminal", lambda: True)
    lines = run(tmp_path, TIED).stdout.splitlines()
    rows = [line.split() for line in lines]
    assert ["K(2)*(1430)+[K+", "eta]", "(2,2)", "(2,0)", "c2"] in rows
    assert ["K(2)*(1430)-[K-", "eta]", "(2,2)", "(2,0)", "−c2"] in rows
    assert ["phi(1020).mass", "1.01946", ">", "0", "floating"] in rows
    assert ["K(2)*(1430).width", "0.1", "fixed"] in rows


def test_start_values_of_couplings_are_shown(tmp_path, monkeypatch):
    monkeypatch.setattr("ctpwa.cli.check.is_terminal", lambda: True)
    text = TIED + 'couplings: {"K(2)*(1430)+[K+ eta] (2,2)(2,0)": [0.5, -0.25]}\n'
    rows = [line.split() for line in run(tmp_path, text).stdout.splitlines()]
    assert ["K(2)*(1430)-[K-", "eta]", "(2,2)", "(2,0)", "−c2", "-0.5", "+", "0.25i"] in rows
    description = json.loads(run(tmp_path, text, "--json").stdout)
    assert description["couplings"][1] == {"name": "K(2)*(1430)+[K+ eta] (2,2)(2,0)", "re": 0.5, "im": -0.25}


def test_memory_is_that_of_the_rows_a_likelihood_keeps(tmp_path):
    """J/psi -> K+ K- eta needs one polarisation row instead of two."""
    path = tmp_path / "model.yml"
    path.write_text(TIED)
    model = ctpwa.load_model(path)
    events = ctpwa.generate_phase_space(model, 50, seed=1)
    likelihood = ctpwa.Likelihood(model, events, events, engine="reference")
    assert json.loads(run(tmp_path, TIED, "--json").stdout)["bytes_per_event"] == likelihood.memory().bytes_per_event
    assert f"memory: {likelihood.memory().bytes_per_event} bytes per event" in run(tmp_path, TIED).stdout


def test_limits_and_number_of_free_parameters_are_for_programs_too(tmp_path):
    description = json.loads(run(tmp_path, TIED, "--json").stdout)
    assert description["parameters"][0] == {"name": "phi(1020).mass", "value": 1.01946, "lower": 0, "upper": None, "fixed": False}
    assert description["free_parameters"] == 4
    assert description["waves"][2] == {
        "name": "K(2)*(1430)-[K- eta] (2,2)(2,0)",
        "ls": [[2, 2.0], [2, 0.0]],
        "coupling": "K(2)*(1430)+[K+ eta] (2,2)(2,0)",
        "factor": -1,
    }
