import json

from typer.testing import CliRunner

from ctpwa.cli.main import app

MODEL = """decay: J/psi(1S) -> K+ K- eta
resonances:
  phi(1680): {in: K+ K-, float: mass}
  NR: {in: K+ K-, JP: 3-, lineshape: constant}
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
