"""``ctpwa check``: plain when piped, tables on a terminal, JSON for programs."""

import json

import pytest
from typer.testing import CliRunner

import ctpwa
from ctpwa.cli.main import app
from ctpwa.cli.settings import CommandSettings
from ctpwa.fitting.plain import to_plain

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


def run(tmp_path, text, *options, **settings):
    path = tmp_path / "model.yml"
    path.write_text(text)
    return CliRunner().invoke(app, ["check", str(path), *options], obj=CommandSettings(**settings))


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

4 free parameters: 2 of couplings, 2 of lineshapes
"""
    assert run(tmp_path, TIED).stdout.startswith(expected)


def test_tables_on_a_terminal(tmp_path):
    lines = run(tmp_path, TIED, terminal=True).stdout.splitlines()
    rows = [line.split() for line in lines]
    assert ["K(2)*(1430)+[K+", "eta]", "(2,2)", "(2,0)", "c2"] in rows
    assert ["K(2)*(1430)-[K-", "eta]", "(2,2)", "(2,0)", "−c2"] in rows
    assert ["phi(1020).mass", "1.01946", ">", "0", "floating"] in rows
    assert ["K(2)*(1430).width", "0.1", "fixed"] in rows


def test_start_values_of_couplings_are_shown(tmp_path):
    text = TIED + 'couplings: {"K(2)*(1430)+[K+ eta] (2,2)(2,0)": [0.5, -0.25]}\n'
    rows = [line.split() for line in run(tmp_path, text, terminal=True).stdout.splitlines()]
    assert ["K(2)*(1430)-[K-", "eta]", "(2,2)", "(2,0)", "−c2", "-0.5", "+", "0.25i"] in rows
    description = json.loads(run(tmp_path, text, "--json").stdout)
    assert description["couplings"][1] == {"name": "K(2)*(1430)+[K+ eta] (2,2)(2,0)", "re": 0.5, "im": -0.25}


def test_memory_is_that_of_the_rows_a_likelihood_keeps(tmp_path):
    """J/psi -> K+ K- eta needs one polarisation row instead of two."""
    path = tmp_path / "model.yml"
    path.write_text(TIED)
    model = ctpwa.load_model(path)
    events = ctpwa.generate_phase_space(model, 50, seed=1)
    likelihood = ctpwa.build_likelihood(model, events, events, engine="reference")
    assert json.loads(run(tmp_path, TIED, "--json").stdout)["bytes_per_event"] == likelihood.memory().bytes_per_event
    assert f"memory: {likelihood.memory().bytes_per_event} bytes per event" in run(tmp_path, TIED).stdout


def test_mixed_precision_needs_less_memory(tmp_path, with_samples):
    for text in (
        with_samples,
        with_samples.replace(", float: [mass, width]", ""),
    ):  # a normalisation of one matrix is made in double precision
        double, mixed = run(tmp_path, text, "--json"), run(tmp_path, text + "fit: {precision: mixed}\n", "--json")
        memory = ctpwa.load_analysis(tmp_path / "model.yml").likelihood(engine="reference").memory()
        description = json.loads(mixed.stdout)
        assert description["bytes_per_event"] == memory.bytes_per_event < json.loads(double.stdout)["bytes_per_event"]
        assert description["bytes"] == dict(memory.samples) | {"total": memory.total}
    alone = json.loads(run(tmp_path, text + "fit: {precision: mixed}\n", "--json", "--no-samples").stdout)
    assert alone["bytes_per_event"] == memory.bytes_per_event - 8  # without what bounds the subtraction of a sample


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


@pytest.fixture
def with_samples(tmp_path):
    """A model file with 40 events of data, 25 of background and generated phase space."""
    (tmp_path / "bare.yml").write_text(TIED)
    model = ctpwa.load_model(tmp_path / "bare.yml")
    for name, n in (("data.npz", 40), ("sideband.npz", 25)):
        ctpwa.write_events(tmp_path / name, ctpwa.generate_phase_space(model, n, seed=1), model=model)
    return TIED + "samples: {data: data.npz, background: {file: sideband.npz, scale: 0.5}, phase_space: {generate: 300, seed: 2}}\n"


def test_samples_are_read_and_their_memory_is_planned(tmp_path, with_samples):
    result = run(tmp_path, with_samples)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[-5].startswith("data: data.npz, 40 events, m(J/psi(1S)) 3.09690")
    assert lines[-4].startswith("phase space: 300 events")
    assert lines[-3].startswith("background: sideband.npz, 25 events, weights 12.5")
    analysis = ctpwa.load_analysis(tmp_path / "model.yml")
    likelihood = analysis.likelihood(engine="reference")
    assert lines[-2] == f"memory: {likelihood.memory()}"
    size = likelihood.normalisation_size(analysis.start(likelihood))
    least = sorted(size.waves.items(), key=lambda pair: pair[1])[:3]
    waves = ", ".join(f"{number:.3g} for {name}" for name, number in least)
    assert lines[-1] == f"normalisation: at the start values {size.total:.3g} of 300 phase-space events count; {waves}"
    found, own = json.loads(run(tmp_path, with_samples, "--json").stdout)["normalisation"][""], to_plain(size)
    assert found.pop("waves") == pytest.approx(own.pop("waves"), rel=1e-13)
    assert found == pytest.approx(own, rel=1e-13)


def test_samples_can_be_left_alone(tmp_path, with_samples):
    (tmp_path / "data.npz").unlink()
    result = run(tmp_path, with_samples, "--no-samples")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1].startswith("memory: ")
    assert "data.npz" not in result.stdout


def test_a_missing_sample_is_an_error_after_the_model(tmp_path, with_samples):
    (tmp_path / "data.npz").unlink()
    result = run(tmp_path, with_samples)
    assert result.exit_code == 1
    assert "3 waves" in result.stdout
    assert "data.npz" in result.stderr


def test_samples_for_programs(tmp_path, with_samples):
    description = json.loads(run(tmp_path, with_samples, "--json").stdout)
    assert [(sample["name"], sample["n_events"]) for sample in description["samples"]] == [
        ("data", 40),
        ("phase space", 300),
        ("background", 25),
    ]
    per_event = description["bytes_per_event"]
    sizes = {"data": 40, "phase space": 300, "background": 25, "floor": 300, "total": 665}
    assert description["bytes"] == {name: n * per_event for name, n in sizes.items()}
    bare = json.loads(run(tmp_path, with_samples, "--json", "--no-samples").stdout)
    assert (bare["samples"], bare["bytes"], bare["bytes_per_event"]) == (None, None, per_event - 8)  # the same


def test_several_data_sets(tmp_path, with_samples):
    files = {"a": "data.npz", "b": "sideband.npz"}
    text = TIED + "data_sets:\n" + "".join(f"  {year}: {{data: {file}, phase_space: {{generate: 50}}}}\n" for year, file in files.items())
    result = run(tmp_path, text)
    assert result.exit_code == 0
    assert [line.split(":")[0] for line in result.stdout.splitlines()[-7:]] == [
        "a data",
        "a phase space",
        "b data",
        "b phase space",
        "memory",
        "normalisation of a",
        "normalisation of b",
    ]


def test_a_fixed_model_releases_its_phase_space(tmp_path, with_samples):
    result = run(tmp_path, with_samples.replace(", float: [mass, width]", ""))
    assert result.stdout.splitlines()[-1].startswith("no lineshape parameter floats")


def test_ties_and_reference_wave_of_the_fit_count(tmp_path):
    text = TIED + 'fit: {ties: {"K(2)*(1430)+[K+ eta] (2,2)(2,0)": ["phi(1020)[K+ K-] (1,1)(1,0)", 0.5j]}}\n'
    assert json.loads(run(tmp_path, text, "--json").stdout)["free_parameters"] == 2


WEAK = """decay: Lambda(c)+ -> p K- pi+
resonances:
  K*(892): {in: K- pi+}
  Lambda(1520): {in: p K-, float: mass}
samples: {data: data.npz, phase_space: {generate: 100}}
"""
BOTH = (
    WEAK.replace("samples:", "cp: all\ndata_sets:\n  one:")
    + """\
  two: {conjugate: true, data: other.npz, phase_space: {generate: 100, seed: 2}}
"""
)


@pytest.mark.parametrize(
    ("text", "references"),
    [
        (WEAK, ["K*(892)~0[K- pi+] (1,1/2)(1,0).im"]),
        (WEAK + "fit: {representation: polar}\n", ["K*(892)~0[K- pi+] (1,1/2)(1,0).phase"]),
        (WEAK + "fit: {couplings: vertex}\n", ["Lambda(c)+ -> K*(892)~0 p (1,1/2).im"]),
        (WEAK + "fit: {fix: {'K*(892)~0[K- pi+] (1,3/2)(1,0).im': 0}}\n", []),
        (WEAK + "polarisation: [[0.7, 0], [0, 0.3]]\n", []),
        (BOTH, ["K*(892)~0[K- pi+] (1,1/2)(1,0).im", "K*(892)~0[K- pi+] (1,1/2)(1,0).delta.im"]),
    ],
)
def test_waves_that_do_not_interfere(tmp_path, text, references):
    path = tmp_path / "model.yml"
    path.write_text(text)
    model = ctpwa.load_model(path)
    for seed, name in enumerate(["data", "other"], 1):
        events = ctpwa.generate_phase_space(model, 60, seed=seed)
        names = {"p": "p~", "K-": "K+", "pi+": "pi-"} if name == "other" else {label: label for label in events}
        ctpwa.write_events(tmp_path / f"{name}.npz", {names[label]: p for label, p in events.items()})
    result = run(tmp_path, text, "--json", "--no-samples")
    description = json.loads(result.stdout)
    likelihood = ctpwa.load_analysis(path).likelihood(engine="reference")
    assert description["free_parameters"] == len(likelihood.names)
    assert description["reference_phases"] == references
    assert len(description["coherent_sets"]) == (1 if "polarisation" in text else 2)
    assert not set(references) & set(likelihood.names)
    for settings in ({}, {"terminal": True}):
        printed = " ".join(run(tmp_path, text, "--no-samples", **settings).stdout.split())
        assert ("2 sets of waves that do not interfere with each other" in printed) == ("polarisation" not in text)
        for name in references:
            line = f"{name} is fixed as reference" if "delta" in name else f"the phase of {name.rpartition('.')[0]} is fixed at 0"
            assert line in printed
