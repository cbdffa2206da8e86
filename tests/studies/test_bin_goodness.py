"""Goodness of fit of bins: whether fits describe masses and angles, and whether couplings are constant in a bin."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import ctpwa
from ctpwa.cli.main import make_app
from ctpwa.data.events import concatenate
from ctpwa.observables.cell_variables import cell_variables
from ctpwa.studies import Bins, bins, load_study
from ctpwa.studies.bin_axes import BinAxis, all_bins
from ctpwa.studies.bin_densities import EventDensities
from ctpwa.studies.bin_fit import BinFit, BinOptions
from ctpwa.studies.bin_goodness import BinGoodness
from ctpwa.studies.bin_records import goodness_key
from ctpwa.studies.bin_samples import BinnedSamples
from ctpwa.studies.bin_tests import FALSE_ALARM, BinTests
from ctpwa.studies.fit_record import FitRecord
from studies.produced import MODEL, S_MINUS, D, efficiency, flat, write_samples

IN = "mass(eta, pi0): 1.24..1.4/4"
FEWER = MODEL.replace("    1-: {m: 1, reflectivity: 1}\n    2+: {m: 1, reflectivity: 1}\n", "")
SIDEBAND = MODEL.replace("data: data.npz", "data: both.npz, background: {file: side.npz, scale: 0.5}")
DENSITY = MODEL.replace(
    "truth: generated.npz", "truth: generated.npz, backgrounds: {flat: {density: flat, fraction: {value: 0.3, float: true}}}"
).replace("data: data.npz", "data: both.npz")

FLOATING = MODEL + "resonances: {X: {in: eta pi0, JP: 2+, mass: 1.32, width: 0.11, float: mass}}\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """2000 events of X between 1.2 and 1.4 GeV, alone and with background, and twice as much background in a sideband."""
    made = tmp_path_factory.mktemp("goodness")
    model = ctpwa.load_model(dict_of(MODEL))
    found = write_samples(made, model, 2000, 10_000, 5, 1.2, 1.4)
    rng = np.random.default_rng(3)

    def background(n, seed):
        events = flat(n, seed, 1.2, 1.4)
        return events.picked(torch.from_numpy(np.flatnonzero(rng.random(n) < efficiency(events))))

    ctpwa.write_events(made / "both.npz", concatenate([found["data"], background(1200, 1)]), model=model)
    ctpwa.write_events(made / "side.npz", background(2400, 2), model=model)
    return made


def dict_of(text):
    import yaml

    return yaml.safe_load(text)


def study_of(folder, text, in_=IN, **options):
    path = folder / f"{abs(hash((text, in_)))}.yml"
    path.write_text(text)
    return bins(path, in_, starts=3, sweeps=0, intervals=False, progress=False, **options)


@pytest.fixture(scope="module")
def study(folder):
    return study_of(folder, MODEL)


class TestPValues:
    @pytest.mark.parametrize("text", [MODEL, SIDEBAND, DENSITY])
    def test_where_the_model_is_right(self, folder, text):
        found = study_of(folder, text, "mass(eta, pi0): 1.32..1.4/2").tests
        p = np.concatenate([found.p_values(kind) for kind in ("decay", "inside")])
        assert len(p) == 4
        assert p.min() > found.threshold, p
        assert found.threshold == FALSE_ALARM / 4
        assert not any("p inside" in note or "p decay" in note for note in found.warnings())

    def test_waves_that_are_missing(self, folder):
        found = study_of(folder, FEWER, "mass(eta, pi0): 1.24..1.4/1")
        assert found.tests.p_values("decay")[0] < 1e-3
        (note,) = (note for note in found.warnings if "masses and angles" in note)
        assert "More waves may be needed" in note

    def test_a_bin_that_is_too_wide(self, folder, tmp_path):
        write_samples(tmp_path, ctpwa.load_model(dict_of(MODEL)), 1000, 6000, 5, 0.9, 1.1)  # around a0(980)
        found = study_of(tmp_path, MODEL, "mass(eta, pi0): 0.9..1.1/1")
        assert found.tests.p_values("inside")[0] < 1e-6
        assert found.tests.p_values("decay")[0] > 1e-3  # angles do not show it
        (note,) = (note for note in found.warnings if "not constant" in note)
        assert "within 1 of 1 bin (p inside below 2.5e-02: 0.9 … 1.1)" in note
        assert "Compare with narrower bins" in note
        assert found.solutions[0][0].record.good  # the fit is, and yet its numbers are wrong
        assert "1 fit, 0 good; 1 of them fails a test." in found.headline
        assert found.sections()[0].rows[0][-1] == "couplings not constant"
        for text in (str(found), found._repr_html_(), _page(found, tmp_path)):
            assert -1 < text.find("couplings are not constant") < text.find("1 fit, 0 good")

    def test_the_command_begins_with_it(self, folder, monkeypatch):
        (folder / "few.yml").write_text(FEWER)
        monkeypatch.chdir(folder)
        command = ["bins", "few.yml", "--in", "mass(eta, pi0): 1.24..1.4/1", "--starts", "1", "--no-intervals"]
        lines = CliRunner().invoke(make_app(), command).stdout.splitlines()
        assert lines[1].startswith("warning: the best fit does not describe the masses and angles of 1 bin")
        assert "0 good; 1 of them fails a test" in " ".join(lines[2:4])

    @pytest.mark.parametrize("text", [MODEL, SIDEBAND, DENSITY, FLOATING, DENSITY.replace("reference", "cpu")])
    def test_densities_and_scores_are_those_of_the_likelihood(self, folder, text):
        """Σ w ∂ ln p is the gradient of −ln L, once the mean over phase space is taken away; and ∂ ln p are what differences are."""
        (folder / "scores.yml").write_text(text)
        analysis = ctpwa.load_analysis(folder / "scores.yml")
        axis = BinAxis.read(IN, analysis.model)
        fit = BinFit(BinnedSamples(analysis, (axis,)), BinOptions(1), 1, all_bins((axis,))[1])
        likelihood, rng = fit.likelihood, np.random.default_rng(1)
        x = likelihood.start + 0.1 * rng.normal(size=len(likelihood.names)) * (likelihood.start != 0)
        own = EventDensities(likelihood, fit.samples[0])
        (g, of_model), (p, omega) = own.scores(x), own.at(x)
        exact = len(likelihood.coupling_index) == len(x)
        if text != SIDEBAND:  # a subtraction is bounded
            expected = -(own.weights @ g - own.weights.sum() * (omega @ of_model) / omega.sum())
            np.testing.assert_allclose(
                expected, likelihood.value_and_grad(x)[1], rtol=1e-9 if exact else 1e-5, atol=1e-8 if exact else 1e-4
            )
        for k in range(len(x)):
            step = np.zeros(len(x))
            step[k] = 1e-5 * max(1.0, abs(x[k]))
            close = {"rtol": 1e-5, "atol": 1e-7} if k in likelihood.coupling_index else {"rtol": 2e-3, "atol": 1e-4}
            for slopes, density, above, below in zip((g, of_model), (p, omega), own.at(x + step), own.at(x - step), strict=True):
                np.testing.assert_allclose(slopes[:, k], (above - below) / (2 * step[k]) / density, **close)


def _page(study, folder):
    study.write_report(folder / "page.html")
    text = (folder / "page.html").read_text(encoding="utf-8")
    return text[text.index("<main") :]


class TestStudy:
    def test_what_it_says(self, study):
        text = str(study)
        assert "p decay  p inside  moves" in text
        assert len(study.tests.moves) == 4
        numbers = study.by_key[goodness_key("0")].numbers
        assert {"p decay", "p inside", "chi2 inside", "ndf inside", f"moves {D}", f"moves {S_MINUS}"} <= set(numbers)
        assert "bins-goodness" in study.figures()

    def test_files_of_before_are_read_and_go_on(self, folder, study, tmp_path):
        before = Bins(study.about, tuple(own for own in study.records if "goodness" not in own.key))
        text = str(before)
        assert "p decay" not in text
        assert "bins-goodness" not in before.figures()
        before.save(tmp_path / "b.parquet")
        assert str(load_study(tmp_path / "b.parquet")) == text
        fits = []
        again = study_of(folder, MODEL, path=tmp_path / "b.parquet")
        fits += [own.seconds for own in again.records if own.key in before.by_key]
        assert fits == [own.seconds for own in before.records]  # none of them was done again
        assert again.tests.p_values("inside") == pytest.approx(study.tests.p_values("inside"), rel=1e-6)

    def test_few_events_have_no_cells(self, folder):
        found = study_of(folder, MODEL, "mass(eta, pi0): 1.24, 1.2425, 1.4")
        assert np.isnan(found.tests.p_values("decay")[0])
        assert found.by_key["0"].numbers["data"] < 50
        assert np.isfinite(found.tests.p_values("inside")).all()
        assert "nan" not in str(found.sections()[0])

    def test_nothing_stops_a_study(self, folder, study):
        """Not even numbers that are none."""
        analysis = ctpwa.load_analysis(folder / f"{abs(hash((MODEL, IN)))}.yml")
        fit = BinFit(BinnedSamples(analysis, study.axes), BinOptions(1), 0, study.bins[0])
        best = study.by_key["0"]
        broken = replace(best, numbers=dict(best.numbers) | {f"at {D}.re": float("inf")})
        with np.errstate(all="ignore"):
            record = BinGoodness(fit, broken).record()
        assert not record.good
        assert record.reasons

    def test_a_test_that_cannot_be_done_says_why(self, study):
        key = goodness_key("2")
        records = tuple(own for own in study.records if own.key != key)
        failed = FitRecord.failed(key, "events with a resolution have no test of goodness of fit in bins")
        own = Bins(study.about, (*records, failed))
        assert "bin 2 goodness: events with a resolution" in "\n".join(own.notes)
        assert np.isnan(own.tests.p_values("decay")[2])


def test_notes_name_bins(study):
    def numbers(p, moves):
        return {"p decay": 0.5, "p inside": p, "moves a": moves, "moves b": -0.1}

    bad = {goodness_key(str(k)): FitRecord(goodness_key(str(k)), 0.0, True, numbers=numbers(p, m)) for k, (p, m) in enumerate(RIGHT)}
    (note,) = BinTests(study.bins, bad).warnings()
    assert "within 2 of 4 bins (p inside below 6.3e-03: 1.24 … 1.28; 1.32 … 1.36)" in note
    assert "off by up to 3.0 of their errors, most in 1.32 … 1.36, and by more where" in note
    small = {key: replace(own, numbers=own.numbers | {"moves a": 0.2}) for key, own in bad.items()}
    (note,) = BinTests(study.bins, small).warnings()
    assert "off by up to 0.2 of their errors, and by more where" in note


RIGHT = [(1e-5, 0.2), (0.1, 5.0), (1e-9, -3.0), (0.9, 0.0)]


class TestVariables:
    def test_of_a_production(self, folder):
        model = ctpwa.load_model(folder / f"{abs(hash((MODEL, IN)))}.yml")
        x = cell_variables(model, ctpwa.read_events(model, folder / "data.npz"))
        assert x.shape == (2000, 3)
        assert (np.abs(x[:, 0]) <= 1).all()
        assert (x[:, 2] >= 0).all()
        assert (x[:, 2] <= np.pi).all()

    def test_of_twins(self):
        """Two particles that are alike have no order: neither do variables."""
        text = MODEL.replace("X -> eta pi0", "X -> pi0 pi0").replace("    1-: {m: 1, reflectivity: 1}\n", "")
        model = ctpwa.load_model(dict_of(text) | {"particles": {}})
        first, second = model.decay.labels
        events = flat(50, 1, 1.2, 1.4)
        renamed = replace(events, momenta={first: events["eta"], second: events["pi0"]})
        turned = replace(events, momenta={first: events["pi0"], second: events["eta"]})
        np.testing.assert_allclose(cell_variables(model, renamed), cell_variables(model, turned), atol=1e-9)

    def test_of_a_decay(self):
        model = ctpwa.load_model({"decay": "J/psi(1S) -> K+ K- eta", "resonances": {"phi(1680)": {"in": "K+ K-"}}})
        x = cell_variables(model, ctpwa.generate_phase_space(model, 20, seed=1))
        assert x.shape[0] == 20
        assert x.shape[1] >= 6
        assert cell_variables(model, ctpwa.generate_phase_space(model, 20, seed=1), ["mass(K+, K-)"]).shape[1] == x.shape[1] - 1

    def test_of_a_state_that_is_held(self):
        """Direction of omega and of the normal of its decay, polarisation, angles; neither m(X) nor angles in the laboratory."""
        production = {"kind": "photoproduction", "polarisation": {"degree": 0.3, "angle": 0.5}, "waves": {"1+": {"m": [0, 1]}}}
        production["generate"] = {"energy": 8.5, "recoil": "p", "mass": [1.1, 1.4], "slope": 5}
        line, resonances = "X -> omega pi0; omega -> pi+ pi- pi0", {"NR1": {"in": "pi+ pi-", "JP": "1-", "lineshape": "constant"}}
        model = ctpwa.load_model({"decay": line, "production": production, "resonances": resonances})
        events = ctpwa.generate_phase_space(model, 30, seed=1)
        x = cell_variables(model, events)
        assert x.shape == (30, 8)
        assert np.isfinite(x).all()
        assert len(set(x[:, 0].tolist())) == 30  # of omega

    def test_of_three_particles_that_a_beam_made(self):
        generate = {"energy": 190, "beam": "pi-", "recoil": "p", "mass": [1.1, 1.4], "slope": 8}
        production = {"kind": "diffraction", "waves": {"1+": {"m": 0, "reflectivity": 1}}, "generate": generate}
        model = ctpwa.load_model({"decay": "X -> pi- pi- pi+", "production": production, "resonances": {"rho(770)": {"in": "pi- pi+"}}})
        events = ctpwa.generate_phase_space(model, 30, seed=1)
        assert cell_variables(model, events).shape == (30, 6)  # a direction, two masses, two helicity angles; twins have none
