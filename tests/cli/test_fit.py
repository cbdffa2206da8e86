"""``ctpwa fit``: what is written is the result of Python, and it survives interruption."""

import hashlib
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

import ctpwa
from ctpwa.cli.main import app
from ctpwa.cli.settings import CommandSettings
from ctpwa.fitting.checkpoint import Checkpoint, hash_of_model
from ctpwa.fitting.remarks import ONE_START
from ctpwa.fitting.search_settings import SearchSettings

PHI, PHI3, KSTAR = "phi(1680)[K+ K-] (1,1)(1,0)", "phi(3)(1850)[K+ K-] (3,3)(3,0)", "K(2)*(1430)+[K+ eta] (2,2)(2,0)"
MASS = "phi(1680).mass"


def fit(*options, **settings):
    return CliRunner().invoke(app, ["fit", "model.yml", *options], obj=CommandSettings(**settings))


def files(folder):
    return sorted(path.name for path in folder.iterdir() if path.name not in ("model.yml", "data.npz"))


def load(name="model.result.json"):
    return ctpwa.FitResult.load(name)


def change(folder, old, new):
    text = (folder / "model.yml").read_text()
    assert old in text
    (folder / "model.yml").write_text(text.replace(old, new))


def send(number):
    os.kill(os.getpid(), number)


class AtPoint:
    """Does something when a fit finds its n-th better point; ``seen`` are the values of all of them."""

    def __init__(self, n, action):
        self.n, self.action, self.seen = n, action, []

    def __call__(self, x, value):
        self.seen.append(value)
        if len(self.seen) == self.n:
            self.action()


def test_the_file_has_the_result_of_python(small):
    result = fit()
    assert (result.exit_code, result.stderr) == (0, "")
    assert files(small) == ["model.result.json"]
    found, expected = load(), ctpwa.load_analysis("model.yml").fit()
    assert found.nll == expected.nll
    assert found.names == expected.names
    np.testing.assert_array_equal(found.x, expected.x)
    np.testing.assert_array_equal(found.covariance, expected.covariance)
    lines = result.stdout.splitlines()
    analysis = ctpwa.load_analysis("model.yml")
    assert lines[:2] == [str(summary) for summary in analysis.summaries]
    assert lines[2] == f"memory: {analysis.likelihood().memory()}"
    assert result.stdout.endswith(f"\n\n{found}\n\nwritten to model.result.json\n")


@pytest.mark.parametrize(
    ("options", "distance"), [(["--minima"], 12.5), (["--minima-within", "500"], 500), (["--minima", "--minima-within", "500"], 500)]
)
def test_all_minima(small, options, distance):
    result = fit("--starts", "4", *options)
    found, expected = load(), ctpwa.load_analysis("model.yml").fit(starts=4, search=SearchSettings(distance=distance))
    assert result.exit_code == 0, result.stderr
    assert found.settings["minima"] == distance
    assert [minimum.values for minimum in found.minima] == [minimum.values for minimum in expected.minima]
    assert all(minimum.refined for minimum in found.minima if minimum.nll - found.nll < distance)


def test_a_distance_of_minima_is_positive(small):
    result = fit("--starts", "4", "--minima-within", "-1")
    assert result.exit_code == 1
    assert "give a number above 0" in result.stderr


def test_a_result_holds_all_that_is_needed_to_find_it_again(small):
    fit("--seed", "5", "--starts", "2")
    found = load()
    data, phase_space = found.samples
    assert data["files"][0]["sha256"] == hashlib.sha256((small / "data.npz").read_bytes()).hexdigest()
    assert phase_space["n_events"] == 500
    assert phase_space["notes"] == ("generated, seed 2",) or phase_space["notes"] == ["generated, seed 2"]
    assert list(phase_space["notes"]) == ["generated, seed 2"]
    expected = {"starts": 2, "seed": 5, "minos": [], "engine": "reference", "device": "cpu", "representation": "cartesian"}
    assert {key: found.settings[key] for key in expected} == expected
    again = ctpwa.load_analysis(found.model).fit(starts=2, seed=5, start={p.name: p.start for p in found.parameters})
    assert again.nll == found.nll
    np.testing.assert_array_equal(again.x, found.x)


def test_json_is_the_file(small):
    result = fit("--json", "-o", "a.json")
    assert (result.exit_code, result.stderr) == (0, "")
    printed = json.loads(result.stdout)
    assert printed.pop("file") == "a.json"
    assert printed == json.loads((small / "a.json").read_text())


def test_options_win_over_the_model_file(small):
    newton = ctpwa.load_analysis("model.yml").fit(starts=2, seed=3)
    result = fit("--method", "lbfgs", "--starts", "2", "--seed", "3", "--minos", f"{KSTAR}.im", "--minos", f"{PHI3}.re", "--out", "b.json")
    assert result.exit_code == 0
    found = load("b.json")
    assert (found.method, found.n_starts, found.settings["seed"]) == ("lbfgs", 2, 3)
    assert found.nll == pytest.approx(newton.nll, abs=1e-6)
    assert [p.name for p in found.parameters if p.minos is not None] == [f"{PHI3}.re", f"{KSTAR}.im"]
    assert "MINOS " in result.stdout


def test_data_sets_have_names_and_truth(small):
    with np.load(small / "data.npz") as whole:
        np.savez(small / "half.npz", **{name: p[::2] for name, p in whole.items()})
        np.savez(small / "rest.npz", **{name: p[1::2] for name, p in whole.items()})
    text = "data_sets: {y1: {data: half.npz, phase_space: {generate: 300}}, y2: {data: rest.npz, phase_space: {generate: 300}, truth: "
    change(small, "samples: {data: data.npz, phase_space: {generate: 500, seed: 2, proposal: flat}}", text + "{generate: 200}}}")
    result = fit()
    assert result.exit_code == 0
    assert [(entry.data_set, entry.over) for entry in load().fractions] == [("y1", "phase space"), ("y2", "truth")]
    assert "memory: " in result.stdout
    assert "y2 phase space " in result.stdout.splitlines()[5]


def test_a_verdict_that_is_not_good_is_exit_code_3_and_a_file(small):
    change(small, "  K(2)*(1430): ", "  twin: {particle: phi(1680), in: K+ K-, mass: 1.68, width: 0.15}\n  K(2)*(1430): ")
    result = fit()
    assert result.exit_code == 3
    assert "verdict: NOT good" in result.stdout
    assert result.stderr.startswith("the fit has ended, but its verdict is not good: the likelihood does not determine")
    assert not load().verdict.good
    assert files(small) == ["model.result.json"]


def test_quiet_without_a_terminal(small):
    result = fit("--starts", "2")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "\x1b" not in result.stdout


def test_tables_and_progress_on_a_terminal(small):
    result = fit(terminal=True)
    assert "fit of 4 parameters to " in result.stderr
    rows = [line.split() for line in result.stdout.splitlines()]
    assert ["parameter", "value", "of", "which"] in rows
    assert ["resonance", "fraction", "yield"] in rows


# files that are there already


def test_a_result_is_only_overwritten_on_demand(small):
    assert fit().exit_code == 0
    before, model = (small / "model.result.json").read_text(), (small / "model.yml").read_text()
    (small / "model.yml").write_text("decay: nothing")  # which is not even read
    result = fit()
    (small / "model.yml").write_text(model)
    assert result.exit_code == 1
    assert "'model.result.json' already exists\n fix: add --resume to continue it, --force to start over" in result.stderr
    assert (small / "model.result.json").read_text() == before
    assert fit("--force", "--seed", "7").exit_code == 0
    assert load().settings["seed"] == 7


def test_the_checkpoint_of_a_killed_fit_is_not_overlooked(small):
    Checkpoint(("a",), (1.0,), 0.0, "", "").save("model.result.partial.json")
    result = fit()
    assert result.exit_code == 1
    assert "'model.result.partial.json' already exists: a fit has not finished\n fix: add --resume" in result.stderr
    assert fit("--force").exit_code == 0
    assert files(small) == ["model.result.json"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "nowhere/a.json"], "there is no folder 'nowhere'"),
        (["-o", "model.yml"], "'model.yml' is an input of this command, and would be overwritten\n fix: name another file with --out"),
        (["-o", ".."], "cannot write '..'"),
        (["--minos", f"{KSTAR}.r"], f"MINOS of '{KSTAR}.r', which is not a free parameter\n fix: did you mean '{KSTAR}.re'"),
        (["--device", "abacus"], "unknown device 'abacus'\n fix: choose cpu"),
        (["--from", "no.json"], "cannot read 'no.json'"),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_is_written(small, options, message):
    result = fit(*options)
    assert (result.exit_code, files(small)) == (1, [])
    assert message in result.stderr


@pytest.mark.parametrize(
    "options",
    [
        ["--starts", "0"],
        ["--method", "simplex"],
        ["--engine", "abacus"],
        ["--seed", "-1"],
        ["--resume", "--force"],
        ["--resume", "--from", "x"],
    ],
)
def test_wrong_usage(small, options):
    assert fit(*options).exit_code == 2
    assert files(small) == []


def test_no_samples(small):
    change(small, "samples: {data: data.npz, phase_space: {generate: 500, seed: 2, proposal: flat}}\n", "")
    result = fit()
    assert result.exit_code == 1
    assert "model.yml: nothing to fit, there are no samples\n fix: add  samples:" in result.stderr


def test_no_data_file(small):
    (small / "data.npz").unlink()
    result = fit()
    assert (result.exit_code, files(small)) == (1, [])
    assert "data.npz" in result.stderr


# --from


def test_start_from_a_result(fitted, small):
    """The first value is the minimum that was found before."""
    watch = AtPoint(99, lambda: None)
    result = fit("--from", "model.result.json", "-o", "again.json", watch=watch)
    assert result.exit_code == 0
    assert "start: model.result.json, 4 couplings and parameters\n" in result.stdout
    assert watch.seen[0] == pytest.approx(fitted.nll, abs=1e-9)
    assert load("again.json").settings["from"]["file"] == "model.result.json"


def test_reference_wave_and_representation_may_change(fitted, small):
    change(small, "starts: 1", f"starts: 1, representation: polar, reference_wave: '{KSTAR}'")
    watch = AtPoint(99, lambda: None)
    assert fit("--from", "model.result.json", "-o", "again.json", watch=watch).exit_code == 0
    assert watch.seen[0] == pytest.approx(fitted.nll, abs=1e-9)
    assert load("again.json").nll == pytest.approx(fitted.nll, abs=1e-7)


def test_names_that_are_missing_are_listed(fitted, small):
    change(small, "  phi(3)(1850): {in: K+ K-}\n", "  rho(3)(2250): {in: K+ K-, JP: 3-, mass: 2.248, width: 0.185, float: width}\n")
    change(small, ", float: mass", "")
    change(small, "starts: 1", "starts: 1, start: {rho(3)(2250).width: 0.2}")
    result = fit("--from", "model.result.json", "-o", "other.json")
    line = next(line for line in result.stdout.splitlines() if line.startswith("start: "))
    new = "rho(3)(2250)[K+ K-] (3,3)(3,0), rho(3)(2250).width"
    assert line == f"start: model.result.json, 2 couplings and parameters; not in it: {new}; not fitted here: {PHI3}, {MASS}"
    found = load("other.json")
    assert found[f"{KSTAR}.re"].start == fitted[f"{KSTAR}.re"].value
    assert (found["rho(3)(2250).width"].start, found["rho(3)(2250)[K+ K-] (3,3)(3,0).re"].start) == (0.2, 1.0)
    assert found.settings["from"]["not_here"] == [PHI3, MASS]


def test_nothing_in_common(fitted, small):
    text = "decay: J/psi(1S) -> K+ K- eta\nresonances: {phi(1020): {in: K+ K-}, NR3: {in: K+ K-, JP: 3-, lineshape: constant}}\n"
    (small / "model.yml").write_text(text + "samples: {data: data.npz, phase_space: {generate: 50}}\nfit: {engine: reference}\n")
    result = fit("--from", "model.result.json", "-o", "other.json")
    assert result.exit_code == 1
    assert "no coupling and no parameter of the result is fitted here\n fix: take a result with the same names" in result.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not a result of a fit"),
        ('{"schema": 0}', "has schema 0, and this ctpwa reads schema 2"),
        ('{"schema": 2}', "was changed after it was written"),
        ("[]", "is not a result of a fit: it has no schema"),
        ('{"checkpoint": 1}', "is the checkpoint of an unfinished fit"),
    ],
)
@pytest.mark.parametrize("option", ["--from", "--resume"])
def test_broken_results(small, text, message, option):
    (small / "model.result.json").write_text(text)
    result = fit("--resume") if option == "--resume" else fit("--from", "model.result.json", "-o", "x.json")
    assert result.exit_code == 1
    assert f"'model.result.json' {message}" in result.stderr
    assert (small / "model.result.json").read_text() == text


def test_one_start_is_still_one_when_it_is_continued(small):
    content = yaml.safe_load((small / "model.yml").read_text())
    content.pop("couplings", None)
    (small / "model.yml").write_text(yaml.safe_dump(content))
    fit("--starts", "1")
    assert ONE_START in load().verdict.reasons
    fit("--resume")
    assert ONE_START in load().verdict.reasons
    fit("--resume", "--starts", "4")
    assert ONE_START not in load().verdict.reasons


# interruption


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_fits_are_written_and_resumed(small, number):
    watch = AtPoint(2, lambda: send(number))
    result = fit(watch=watch)
    assert result.exit_code == 130
    assert result.stderr == "interrupted: model.result.json has the best point so far; continue with --resume\n"
    assert files(small) == ["model.result.json"]
    stopped = load()
    assert "interrupted" in stopped.verdict.reasons
    assert not stopped.verdict.good
    assert stopped.nll == watch.seen[1]
    assert signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL)
    again = fit("--resume")
    assert again.exit_code == 0
    assert f"start: continues from model.result.json, -ln L = {stopped.nll:.6f}\n" in again.stdout
    assert [p.start for p in load().parameters] == stopped.x.tolist()
    assert load().settings["resumed"] == {"file": "model.result.json", "nll": stopped.nll}
    assert load().nll < stopped.nll


def test_an_interrupted_search_of_many_starts_ends_with_a_point_of_all_events(small, at_step):
    at_step("search", lambda: send(signal.SIGINT))
    result = fit("--starts", "4", "--json")
    assert result.exit_code == 130
    found = load()
    assert "interrupted" in found.verdict.reasons
    likelihood = ctpwa.load_analysis("model.yml").likelihood()
    assert likelihood.value(found.x) == pytest.approx(found.nll, abs=1e-9)


def test_what_was_converged_before_is_kept_when_a_later_start_is_interrupted(small, at_step):
    """The best of the fits that ended, but the verdict says that not all of them did."""
    at_step("fit", lambda: send(signal.SIGINT))
    result = fit("--starts", "3", search=SearchSettings(same_value=0.0))  # every start is a minimum of its own
    assert result.exit_code == 130
    found = load()
    assert found.verdict.edm < 1e-6
    assert [minimum.refined for minimum in found.minima].count(True) < 3


def test_a_second_interruption_ends_at_once_and_leaves_a_checkpoint(small, monkeypatch, at_step):
    between = []
    watch = AtPoint(2, lambda: send(signal.SIGINT))
    with monkeypatch.context() as patch:
        at_step("errors", lambda: between.extend(files(small)) or send(signal.SIGINT), done=0, patch=patch)
        result = fit(watch=watch, checkpoint_every=np.inf)
    assert result.exit_code == 130
    assert "model.result.partial.json" in between  # since the first one: a third could kill
    assert result.stderr == "interrupted: the best point so far is in model.result.partial.json; continue with --resume\n"
    assert files(small) == ["model.result.partial.json"]
    assert Checkpoint.load("model.result.partial.json").nll == watch.seen[1]
    assert fit("--resume").exit_code == 0
    assert files(small) == ["model.result.json"]
    assert load().settings["resumed"] == {"file": "model.result.partial.json", "nll": watch.seen[1]}


def test_a_second_interruption_writes_what_the_first_could_not(small, monkeypatch, at_step):
    real, tried = Checkpoint.save, []

    def save(self, path):
        tried.append(path)
        if len(tried) == 1:
            raise ctpwa.CtpwaError("the disk is full")
        real(self, path)

    monkeypatch.setattr(Checkpoint, "save", save)
    at_step("errors", lambda: send(signal.SIGINT), done=0)
    watch = AtPoint(2, lambda: send(signal.SIGINT))
    result = fit(watch=watch, checkpoint_every=np.inf)
    assert result.exit_code == 130
    assert result.stderr.splitlines() == [
        "warning: no checkpoint, the disk is full",
        "interrupted: the best point so far is in model.result.partial.json; continue with --resume",
    ]
    assert Checkpoint.load("model.result.partial.json").nll == watch.seen[1]


def test_interruption_of_minos_keeps_the_minimum(small, at_step):
    at_step("MINOS", lambda: send(signal.SIGINT), done=0)
    assert fit("--minos", f"{KSTAR}.re").exit_code == 130
    found = load()
    assert (found.verdict.reasons[0], found[f"{KSTAR}.re"].minos) == ("interrupted", None)
    assert found.verdict.edm < 1e-6


def test_interruption_while_errors_are_computed_computes_them_once_more(small, at_step):
    seen = []
    at_step("errors", lambda: seen.append(1) or (len(seen) == 1 and send(signal.SIGINT)), done=0)
    assert fit().exit_code == 130
    assert (len(seen), load().verdict.reasons[0]) == (2, "interrupted")


def test_mixed_precision(small):
    """On the command line or in the model file; --resume goes on in double precision."""
    result = fit("--precision", "mixed")
    assert (result.exit_code, result.stderr) == (0, "")
    found = load()
    assert found.settings["precision"] == "mixed"
    assert 0 < found.precision.largest < 1e-4
    assert str(found.precision) in result.stdout.splitlines()
    assert f"memory: {ctpwa.load_analysis('model.yml').likelihood(precision='mixed').memory()}" in result.stdout
    shown = CliRunner().invoke(app, ["show", "model.result.json"])
    assert str(found.precision) in shown.stdout.splitlines()
    change(small, "starts: 1", "starts: 1, precision: mixed")
    assert fit("--force").exit_code == 0
    assert load().precision == found.precision
    change(small, "starts: 1, precision: mixed", "starts: 1")
    assert fit("--resume").exit_code == 0
    again = load()
    assert again.precision is None
    assert abs(again.nll - found.nll - found.precision.nll) < 1e-8


def test_unknown_precision(small):
    result = fit("--precision", "single")
    assert result.exit_code == 2
    assert "'single' is not one of double, mixed" in " ".join(result.stderr.replace("│", " ").split())
    assert files(small) == []


def test_interruption_before_the_fit(small, monkeypatch):
    monkeypatch.setattr(ctpwa.Analysis, "likelihood", lambda *_, **__: send(signal.SIGTERM))
    result = fit()
    assert (result.exit_code, result.stderr, files(small)) == (130, "interrupted\n", [])


def test_interruption_while_the_result_is_written_does_not_stop_that(small, monkeypatch):
    real = ctpwa.FitResult.save

    def save(self, path):
        send(signal.SIGINT)
        real(self, path)

    monkeypatch.setattr(ctpwa.FitResult, "save", save)
    assert fit().exit_code == 0
    assert load().verdict.good


def test_a_killed_fit_leaves_a_whole_checkpoint(small):
    code = (
        "import os, signal\nfrom ctpwa.cli.main import app\nfrom ctpwa.cli.settings import CommandSettings\nseen = []\n"
        "def watch(x, value):\n    seen.append(value)\n    if len(seen) == 3:\n        os.kill(os.getpid(), signal.SIGKILL)\n"
        "app(obj=CommandSettings(checkpoint_every=0.0, watch=watch))"
    )
    process = subprocess.run([sys.executable, "-c", code, "fit", "model.yml"], capture_output=True, text=True, check=False)
    assert (process.returncode, process.stderr) == (-signal.SIGKILL, "")
    assert files(small) == [".model.result.json.ctpwa-lock", "model.result.partial.json"]
    killed = Checkpoint.load("model.result.partial.json")
    likelihood = ctpwa.load_analysis("model.yml").likelihood()
    assert killed.names == likelihood.names
    assert likelihood.value(killed.values) == pytest.approx(killed.nll, abs=1e-9)
    assert fit("--resume").exit_code == 0
    assert files(small) == ["model.result.json"]
    assert load().nll < killed.nll


def test_checkpoints_are_written_now_and_then_and_removed_at_the_end(small):
    watch = AtPoint(2, lambda: (small / "quick").write_text(str(files(small))))
    assert fit(checkpoint_every=np.inf, watch=watch).exit_code == 0
    assert "partial" not in (small / "quick").read_text()
    watch = AtPoint(2, lambda: (small / "slow").write_text(str(files(small))))
    assert fit("-o", "x.json", checkpoint_every=0.0, watch=watch).exit_code == 0
    assert "x.partial.json" in (small / "slow").read_text()
    assert files(small) == ["model.result.json", "quick", "slow", "x.json"]


def test_a_checkpoint_that_cannot_be_written_does_not_end_the_fit(small, monkeypatch):
    def full(*_):
        raise ctpwa.CtpwaError("the disk is full")

    monkeypatch.setattr(Checkpoint, "save", full)
    result = fit(checkpoint_every=0.0)
    assert (result.exit_code, result.stderr) == (0, "warning: no checkpoint, the disk is full\n")
    assert load().verdict.good


# --resume


def test_resume_keeps_what_many_starts_found(fitted, small):
    assert fitted.n_starts == 3
    assert fit("--resume").exit_code == 0
    found = load()
    assert (found.n_starts, len(found.minima), found.minima[0].starts) == (3, len(fitted.minima), fitted.minima[0].starts)
    assert found.minima[0].nll == found.nll
    assert fit("--resume", "--starts", "2").exit_code == 0
    assert load().n_starts == 2


def test_there_may_be_nothing_to_resume(small):
    assert fit("--resume").exit_code == 0
    assert load().verdict.good


def test_the_better_point_is_resumed(fitted, small):
    analysis = ctpwa.load_analysis("model.yml")
    of_result = Checkpoint.of(fitted, "model.result.json")
    assert of_result.model_hash == hash_of_model(analysis.description)
    worse = Checkpoint(of_result.names, of_result.values, of_result.nll + 1, of_result.model_hash, of_result.samples_hash)
    worse.save("model.result.partial.json")
    assert "start: continues from model.result.json" in fit("--resume").stdout
    better = Checkpoint(of_result.names, of_result.values, of_result.nll - 1, of_result.model_hash, of_result.samples_hash)
    better.save("model.result.partial.json")
    assert "start: continues from model.result.partial.json" in fit("--resume").stdout


def test_a_model_is_the_same_after_it_was_in_a_file(small):
    """Also with infinities, which JSON does not have."""
    change(small, "data: data.npz", "data: [{file: data.npz, mass_tolerance: .inf, parent_tolerance: 1}]")
    assert fit().exit_code == 0
    assert fit("--resume").exit_code == 0
    assert ctpwa.load_analysis(load().model).read().data.n_events == load().n_events


def test_how_to_fit_may_change_between_fits(fitted, small):
    change(small, "starts: 1", "starts: 7, method: lbfgs, seed: 9")
    assert fit("--resume").exit_code == 0
    assert load().method == "lbfgs"


def test_another_model_or_other_samples_are_not_resumed(fitted, small, monkeypatch):
    before = (small / "model.result.json").read_text()
    text = (small / "model.yml").read_text()
    with monkeypatch.context() as patch:
        patch.setattr(ctpwa.Analysis, "likelihood", lambda *_: pytest.fail("too late"))
        change(small, "width: 0.15", "width: 0.16")
        result = fit("--resume")
    assert result.exit_code == 1
    assert "'model.result.json' was fitted to another model than 'model.yml' is now\n fix: add --force to start over" in result.stderr
    (small / "model.yml").write_text(text)
    model = ctpwa.load_model("model.yml")
    ctpwa.write_events("data.npz", ctpwa.generate_phase_space(model, 100, seed=1), model=model)
    result = fit("--resume")
    assert result.exit_code == 1
    assert "'model.result.json' was fitted to other samples" in result.stderr
    assert (small / "model.result.json").read_text() == before


def test_a_result_without_a_model_cannot_be_resumed(fitted, small):
    fitted.with_origin(model=None).save("model.result.json")
    result = fit("--resume")
    assert result.exit_code == 1
    assert "does not say which model it belongs to\n fix: use --from" in result.stderr


@pytest.mark.parametrize("text", ["{", '{"checkpoint": 2}', '{"checkpoint": 1, "names": []}', "[]", "{}"])
def test_broken_checkpoints(small, text):
    (small / "model.result.partial.json").write_text(text)
    result = fit("--resume")
    assert result.exit_code == 1
    assert "'model.result.partial.json' is " in result.stderr
    assert "fix: remove it to start over:  rm model.result.partial.json" in result.stderr
