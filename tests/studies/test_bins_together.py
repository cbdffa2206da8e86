"""Bins of several data sets, of which each bin has one fit, and bins of events that are several points."""

from shutil import copytree

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.base.errors import CtpwaError, DataError
from ctpwa.engine.likelihood.values import free_parameters
from ctpwa.observe.mass_resolution import MassResolution
from ctpwa.studies import bins
from ctpwa.studies.bin_axes import BinAxis, all_bins
from ctpwa.studies.bin_fit import BinFit, BinOptions
from ctpwa.studies.bin_profiles import BinProfiles
from ctpwa.studies.bin_records import TOTAL, fitted_at, goodness_key
from ctpwa.studies.bin_samples import BinnedSamples
from ctpwa.studies.bin_solutions import Solution
from studies.cases import MODEL as DECAY
from studies.cases import PHASE_SPACE
from studies.produced import MODEL, D, mass, write_samples

IN = "mass(eta, pi0): 1.2..1.6/2"
SAMPLES = "samples: {data: data.npz, phase_space: accepted.npz, truth: generated.npz}"
OF = "{{data: {0}/data.npz, phase_space: {0}/accepted.npz, truth: {0}/generated.npz}}"
QUICK = {"starts": 3, "intervals": False, "progress": False}


def together(*folders):
    """The model file of some folders with a data set each."""
    sets = "".join(f"\n  {name}: {OF.format(folder)}" for name, folder in zip("abc", folders, strict=False))
    return MODEL.replace(SAMPLES, f"data_sets:{sets}")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.yml"
    path.write_text(MODEL)
    return ctpwa.load_model(path)


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    """Two data sets of different sizes."""
    made = tmp_path_factory.mktemp("together")
    for name, n, seed in (("first", 900, 3), ("second", 500, 4)):
        (made / name).mkdir()
        write_samples(made / name, model, n, 4000, seed, 1.2, 1.6)
    (made / "model.yml").write_text(together("first", "second"))
    return made


@pytest.fixture(scope="module")
def study(folder):
    return bins(folder / "model.yml", IN, bootstrap=3, **QUICK)


def cut(model, path, low, high):
    """The events of a file between two masses."""
    events = ctpwa.read_events(model, path)
    m = mass(events)
    return events.picked(torch.from_numpy(np.flatnonzero((m >= low) & (m < high))))


class TestTogether:
    def test_they_are_the_sum_made_by_hand(self, model, folder, study):
        kinds = ("data", "accepted", "generated")
        parts = [[cut(model, folder / name / f"{kind}.npz", 1.2, 1.4) for kind in kinds] for name in ("first", "second")]
        terms = [ctpwa.build_likelihood(model, data, accepted, engine="reference", progress=False) for data, accepted, _ in parts]
        own, best = terms[0] + terms[1], study.solutions[0][0]
        x = free_parameters(own, *fitted_at(best.record))
        assert own.value(x) == pytest.approx(best.record.nll, abs=1e-9)
        result = ctpwa.fit(own, x[None], simulation=False, progress=False)
        assert result.nll == pytest.approx(best.record.nll, abs=1e-6)
        rng = np.random.default_rng(1)
        moved = np.vstack([x, rng.multivariate_normal(x, result.covariance, 4000)])
        names = terms[0].coupling_names
        numbers = {name: np.zeros(len(moved)) for name in (*names, TOTAL)}
        for term, (data, _, generated) in zip(terms, parts, strict=True):
            c = np.array([term.parameters.native(at)[0] for at in moved])
            A, Q = term.integrals(x), term.integrals(x, generated)
            n = np.append(data.n_events, rng.normal(data.n_events, np.sqrt(data.n_events), len(moved) - 1))
            s2 = n * Q.weight / A.weight / np.einsum("ea,ab,eb->e", c.conj(), A.matrix, c).real
            for k, name in enumerate(names):
                numbers[name] += s2 * np.abs(c[:, k]) ** 2 * Q.matrix[k, k].real
            numbers[TOTAL] += s2 * np.einsum("ea,ab,eb->e", c.conj(), Q.matrix, c).real
        for name, found in numbers.items():
            value, error = best.events[name]
            assert value == pytest.approx(found[0], rel=1e-9)
            if name in (D, TOTAL):  # strong ones, whose errors are of first order; simulation adds to those of the study
                assert 0.95 * found[1:].std() < error < 1.35 * found[1:].std()
        for name, c in zip(best.names, best.values, strict=True):
            assert abs(c) ** 2 == pytest.approx(best.events[name][0], rel=1e-9)

    def test_the_same_data_twice_are_twice_as_many(self, folder, tmp_path):
        one, two, first = tmp_path / "one.yml", tmp_path / "two.yml", folder / "first"
        copytree(first, tmp_path / "copy")
        for path, folders in ((one, [first]), (two, [first, "copy"])):
            text = together(*folders)
            path.write_text(text.replace("engine: reference", "engine: reference, errors: {simulation: false}"))
        single, double = (bins(path, IN, **QUICK) for path in (one, two))
        for a, b in zip(single.solutions, double.solutions, strict=True):
            assert b[0].record.nll == pytest.approx(2 * a[0].record.nll, abs=1e-5)
            for name in (D, TOTAL):
                (value, error), (other, of_other) = a[0].events[name], b[0].events[name]
                assert other == pytest.approx(2 * value, rel=1e-4)
                assert of_other == pytest.approx(np.sqrt(2) * error, rel=0.02)
            atol = 0.01 * np.abs(a[0].covariance).max()  # those of √n do not change; signs are open
            np.testing.assert_allclose(np.abs(b[0].covariance), np.abs(a[0].covariance), rtol=0.01, atol=atol)

    def test_it_is_shown_as_one_data_set_is(self, folder, study):
        assert "2 bins of mass(eta, pi0): 2 fits" in str(study)
        assert sum(study.by_key[own.key].numbers["data"] for own in study.bins) == 1400
        for own in study.bins:
            tests = study.by_key[goodness_key(own.key)]
            assert tests.numbers["p decay"] > 1e-3
            assert 0 < tests.numbers["p inside"] < 1
        assert 0.1 < study.scatter("0")[TOTAL] / study.events().errors[0] < 4
        assert study.events().values.sum() == pytest.approx(sum(own[0].events[TOTAL][0] for own in study.solutions))

    def test_profiles_hold_the_sum_of_events(self, folder, study):
        analysis = ctpwa.load_analysis(folder / "model.yml")
        own = study.bins[0]
        best = Solution.of(own, 0, study.by_key["0"], study.couplings, study.about.extent["sets"])
        found = BinProfiles(BinFit(BinnedSamples(analysis, study.axes), BinOptions(1, engine="cpu"), 0, own), [best], study.references)
        for name, walk in found.event_walks.items():
            assert walk.places[0].value ** 2 == pytest.approx(best.events[name][0], rel=1e-9)
        walk, (value, error) = found.event_walks[D], best.events[D]
        for end in (value - error, value + error):
            assert walk.root(np.sqrt(end), walk.places[0].x) / walk.sigmas == pytest.approx(1, abs=0.25)


class TestWhatIsWrong:
    def test_a_bin_that_is_empty_in_one_of_them(self, model, folder, tmp_path):
        (tmp_path / "few").mkdir()
        for kind in ("data", "accepted", "generated"):
            low = 1.4 if kind == "data" else 1.2
            ctpwa.write_events(tmp_path / "few" / f"{kind}.npz", cut(model, folder / "second" / f"{kind}.npz", low, 1.7), model=model)
        (tmp_path / "model.yml").write_text(together(folder / "first", "few"))
        own = bins(tmp_path / "model.yml", IN, sweeps=0, **QUICK)
        assert own.by_key["0"].reasons == "b: no events"
        assert "b: no events" in str(own)
        (tmp_path / "whole.yml").write_text(together(folder / "first", folder / "second"))
        whole = bins(tmp_path / "whole.yml", IN, sweeps=0, **QUICK)
        assert own.by_key["1"].nll == pytest.approx(whole.by_key["1"].nll, abs=1e-9)

    def test_a_bin_without_simulation_in_one_of_them(self, model, folder, tmp_path):
        (tmp_path / "few").mkdir()
        for kind in ("data", "accepted", "generated"):
            high = 1.7 if kind == "data" else 1.4
            ctpwa.write_events(tmp_path / "few" / f"{kind}.npz", cut(model, folder / "second" / f"{kind}.npz", 1.2, high), model=model)
        (tmp_path / "model.yml").write_text(together(folder / "first", "few"))
        own = bins(tmp_path / "model.yml", IN, sweeps=0, **QUICK)
        assert own.by_key["1"].reasons.startswith("b: ")
        assert own.by_key["1"].reasons.endswith("events, and no simulation: phase space has no events here")
        assert own.by_key["0"].good

    def test_a_data_set_without_the_variable(self, folder, tmp_path, model):
        """Columns that bins are of are declared, so that all files must have them."""
        text = together(folder / "first", folder / "second") + "columns: {run: {limits: [0, 10]}}\n"
        (tmp_path / "model.yml").write_text(text)
        with pytest.raises(CtpwaError, match="run") as caught:
            bins(tmp_path / "model.yml", "run: 0, 5, 10", **QUICK)
        assert "fix:" in str(caught.value)

    def test_a_truth_of_one_of_them(self, folder, tmp_path):
        text = together(folder / "first", folder / "second")
        (tmp_path / "model.yml").write_text(text.replace(f", truth: {folder / 'second'}/generated.npz", ""))
        with pytest.raises(DataError, match="'a' has a truth sample or an efficiency, and 'b' has none"):
            bins(tmp_path / "model.yml", IN, **QUICK)

    def test_no_data_set(self, tmp_path):
        (tmp_path / "model.yml").write_text(MODEL.replace(SAMPLES, ""))
        with pytest.raises(DataError, match="no events to be cut into bins"):
            bins(tmp_path / "model.yml", IN, **QUICK)


class TestResolution:
    """Each event is nine points, of the mass of K+ and K-."""

    def model_file(self, path, data, resolution):
        samples = f"samples: {{data: {data}, {PHASE_SPACE}, resolution: {resolution}}}"
        path.write_text(DECAY.replace("SAMPLES", samples).replace(", float: mass", ""))
        return path

    def test_points_that_are_given_are_those_that_are_made(self, signal, tmp_path):
        made = self.model_file(tmp_path / "made.yml", signal / "signal.npz", "{masses: {K+ K-: 0.03}, points: 9}")
        analysis = ctpwa.load_analysis(made)
        events, labels = ctpwa.read_events(analysis.model, signal / "signal.npz"), analysis.model.decay.labels
        points = MassResolution((0, 1), 0.03, 9).points(ctpwa.data.Piece([events[label] for label in labels]))
        v = points.v / points.v.sum(dim=1, keepdim=True)
        rows = ctpwa.Events(dict(zip(labels, points.piece.p4, strict=True)), v.flatten())
        ctpwa.write_events(tmp_path / "rows.npz", rows, model=analysis.model)
        given = self.model_file(tmp_path / "given.yml", "rows.npz", "{rows: 9}")
        options = {"starts": 2, "intervals": False, "progress": False}
        first, second = (bins(path, "cos_theta(eta): -1..1/2", **options) for path in (made, given))
        for own, a, b in zip(first.bins, first.solutions, second.solutions, strict=True):
            assert first.by_key[own.key].numbers["data"] == second.by_key[own.key].numbers["data"] > 200
            for name in first.groups:
                assert b[0].events[name][0] == pytest.approx(a[0].events[name][0], rel=1e-3), name
                assert b[0].events[name][1] == pytest.approx(a[0].events[name][1], rel=0.05), name  # rows have weights
        assert "events with a resolution have no test of goodness of fit in bins" in str(first)
        exact = DECAY.replace("SAMPLES", f"samples: {{data: {signal / 'signal.npz'}, {PHASE_SPACE}}}").replace(", float: mass", "")
        (tmp_path / "exact.yml").write_text(exact)
        other = bins(tmp_path / "exact.yml", "cos_theta(eta): -1..1/2", **options)
        assert np.abs(other.events("phi(1680)").values - first.events("phi(1680)").values).max() > 0.1  # it counts

    def test_the_likelihood_of_a_bin_is_that_of_its_events(self, signal, tmp_path):
        path = self.model_file(tmp_path / "made.yml", signal / "signal.npz", "{masses: {K+ K-: 0.03}, points: 9}")
        analysis = ctpwa.load_analysis(path)
        axes = (BinAxis.read("cos_theta(eta): -1..1/2", analysis.model),)
        fit = BinFit(BinnedSamples(analysis, axes), BinOptions(1), 1, all_bins(axes)[1])
        samples = analysis.read()
        pairs = [(own, axes[0].values(own, analysis.model) >= 0) for own in (samples.data, samples.phase_space)]
        parts = [own.picked(torch.from_numpy(np.flatnonzero(inside))) for own, inside in pairs]
        by_hand = ctpwa.build_likelihood(
            analysis.model, *parts, resolution=MassResolution((0, 1), 0.03, 9), engine="reference", progress=False
        )
        x = by_hand.random_couplings(by_hand.start, 1, seed=1)[0]
        assert fit.likelihood.value(x) == pytest.approx(by_hand.value(x), rel=1e-12)

    def test_bins_of_what_is_not_measured_well_enough_are_refused(self, signal, tmp_path):
        path = self.model_file(tmp_path / "made.yml", signal / "signal.npz", "{masses: {K+ K-: 0.03}, points: 9}")
        with pytest.raises(DataError, match=r"mass\(K\+, K-\) is measured to 0.03, and bins are 0.05 wide") as caught:
            bins(path, "mass(K+, K-): 1.5..1.8/6", progress=False)
        assert "make bins 0.12 wide or more" in str(caught.value)
        assert len(bins(path, "mass(K+, K-): 1.4..1.8/1", starts=1, sweeps=0, intervals=False, progress=False).events().values) == 1
