"""Toys and replicas: distributed as they should be, the same for a seed, and none of them lost or repeated."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from scipy.stats import kstest

import ctpwa
from ctpwa.analysis.reopen import open_fit
from ctpwa.base.errors import CtpwaError, DataError
from ctpwa.config.alternatives import jp_alternative
from ctpwa.fitting.fittable import terms_of
from ctpwa.studies import Bootstrap, Toys, bootstrap, load_study, toys
from ctpwa.studies.baseline import baseline
from ctpwa.studies.bootstrap_study import _replica
from ctpwa.studies.fit_record import PARTS, FitRecord
from ctpwa.studies.hypothesis_fits import Hypothesis
from ctpwa.studies.spread import Spread
from ctpwa.studies.toy_data import ToySource
from studies.cases import DENSITY, PLAIN, SUBTRACTED, TWO


def kk_mass(events):
    p = (events["K+"] + events["K-"]).numpy()
    return np.sqrt(p[:, 0] ** 2 - (p[:, 1:] ** 2).sum(axis=1))


class TestToyData:
    def test_events_are_distributed_as_was_fitted(self, plain):
        opened = open_fit(plain)
        (samples,) = opened.read()
        made = [ToySource(opened, seed=1).make(k)[0].data for k in range(10)]
        masses = np.concatenate([kk_mass(events) for events in made])
        weights = samples.phase_space.weights.numpy() * opened.intensity("reference")(samples.phase_space).numpy()
        order = np.argsort(kk_mass(samples.phase_space))
        expected = np.cumsum(weights[order]) / weights.sum()
        grid = kk_mass(samples.phase_space)[order]
        assert kstest(masses, lambda m: np.interp(m, grid, expected)).pvalue > 0.01
        assert np.mean([events.n_events for events in made]) == pytest.approx(500, abs=4 * np.sqrt(500 / 10))

    def test_background_of_a_density_is_in_them(self, fitted):
        opened = open_fit(fitted(DENSITY))
        fraction = opened.result.values["b.fraction"]
        (samples,) = opened.read()
        source = ToySource(opened)
        assert opened.signal(samples) == pytest.approx((1 - fraction) * 600)
        signal, flat = source._components[0]
        assert signal.average == pytest.approx((1 - fraction) * 600)
        assert flat.average == pytest.approx(fraction * 600)
        assert np.diff(flat.sums, prepend=0) == pytest.approx(samples.phase_space.weights.numpy(), rel=1e-12)

    def test_subtracted_events_come_along(self, fitted):
        opened = open_fit(fitted(SUBTRACTED))
        (made,) = ToySource(opened, seed=2).make(0)
        (samples,) = opened.read()
        assert made.background.n_events == pytest.approx(200, abs=4 * np.sqrt(200))
        assert not torch.equal(made.background["K+"][:10], samples.background["K+"][:10])
        assert bool((made.background.weights == 0.5).all())
        assert made.data.n_events == pytest.approx(samples.weight + 100, abs=4 * np.sqrt(600))

    def test_the_same_numbers_give_the_same_events(self, plain):
        opened = open_fit(plain)
        a, b, c = (ToySource(opened, seed=seed).make(k)[0].data for seed, k in ((0, 5), (0, 5), (1, 5)))
        assert torch.equal(a["K+"], b["K+"])
        assert not torch.equal(a["K+"][:10], c["K+"][:10])

    @pytest.mark.parametrize("samples", [PLAIN, DENSITY, SUBTRACTED, TWO], ids=["plain", "density", "subtracted", "two data sets"])
    def test_picked_events_are_those_that_are_made(self, fitted, samples):
        """Rows of the phase-space sample, and spin amplitudes of the events computed again, give the same likelihood."""
        own = baseline(fitted(samples), progress=False)
        source = ToySource(own.opened, seed=3)
        made = source.make(1)
        picked = source.likelihood(own.likelihood, 1)
        again = own.each(lambda i, term: term.with_data(made[i].data, made[i].background))
        assert all(term.picks_events for term in terms_of(own.likelihood))
        for found, expected in zip(picked.value_grad_hessian(own.x), again.value_grad_hessian(own.x), strict=True):
            assert found == pytest.approx(expected, rel=1e-11, abs=1e-11 * np.abs(expected).max())
        assert picked.score_products(own.x) == pytest.approx(again.score_products(own.x), rel=1e-10)
        assert (picked.n_events, picked.weight, picked.unit) == (again.n_events, again.weight, again.unit)
        for a, b in zip(terms_of(picked), terms_of(again), strict=True):
            assert a.distinct_events("data") == b.distinct_events("data")

    @pytest.mark.parametrize("samples", [DENSITY, SUBTRACTED], ids=["density", "subtracted"])
    def test_picked_events_of_another_model(self, fitted, samples):
        """A hypothesis with waves of its own has the same phase space: toys of the fit are picked from it."""
        own = baseline(fitted(samples), progress=False)
        other = Hypothesis(own, "phi(3)(1850)", jp_alternative("5-"), 1, 0, "reference", None).likelihood
        source = ToySource(own.opened, seed=3)
        made, picked = source.make(1), source.likelihood(other, 1)
        again = other.with_data(made[0].data, made[0].background)
        assert set(other.names) != set(own.likelihood.names)
        for found, expected in zip(picked.value_grad_hessian(other.start), again.value_grad_hessian(other.start), strict=True):
            assert found == pytest.approx(expected, rel=1e-11, abs=1e-11 * np.abs(expected).max())

    def test_events_that_cannot_be_picked(self, fitted):
        (term,) = terms_of(baseline(fitted(PLAIN), progress=False).likelihood)
        with pytest.raises(DataError, match="samples that are not there"):
            term.with_picked({"phase space": np.arange(9)}, np.arange(3))
        with pytest.raises(DataError, match="samples that are not there"):
            term.with_picked({"signal": np.arange(9)})
        with pytest.raises(DataError, match="cannot be picked"):
            term.with_still_lineshapes(term.start).with_picked({"phase space": np.arange(9)})

    def test_weighted_data_are_refused(self, fitted, sweights):
        with pytest.raises(DataError.__mro__[1], match="ctpwa bootstrap"):
            ToySource(open_fit(fitted(weights=sweights)))


class TestToys:
    def test_pulls_are_right(self, plain):
        study = toys(plain, 16, seed=1, progress=False)
        assert len(study.good) == len(study.records) == 16
        pulls = np.concatenate([own.pulls for own in study.spreads if own.kind == "parameter"])
        assert abs(pulls.mean()) < 0.35
        assert pulls.std() == pytest.approx(1, abs=0.25)
        assert {own.name for own in study.spreads if own.kind == "fraction"} == {"phi(1680)", "phi(3)(1850)", "K(2)*(1430)"}
        assert "16 toys, all good." in study.headline

    @pytest.mark.parametrize("samples", [DENSITY, SUBTRACTED, TWO], ids=["density", "subtracted", "two data sets"])
    def test_fits_of_every_kind(self, fitted, samples):
        study = toys(fitted(samples), 2, progress=False)
        assert len(study.good) == 2, [record.reasons for record in study.records]
        assert set(study.records[0].values) == set(study.about.base.values)

    def test_it_goes_on_where_it_was_killed(self, plain, tmp_path):
        whole = toys(plain, 4, progress=False)
        first = toys(plain, 2, path=tmp_path / "toys.parquet", progress=False)
        times = [record.seconds for record in first.records]
        again = toys(plain, 4, path=tmp_path / "toys.parquet", progress=False)
        assert [record.seconds for record in again.records][:2] == times  # they are not done again
        assert [record.values for record in again.records] == [record.values for record in whole.records]

    def test_what_is_saved_shows_the_same(self, plain, tmp_path):
        study = toys(plain, 3, progress=False)
        study.save(tmp_path / "a.parquet")
        loaded = load_study(tmp_path / "a.parquet")
        assert isinstance(loaded, Toys)
        assert str(loaded) == str(study)
        assert set(loaded.figures()) == {"toys-pulls", "toys-summary"}
        assert loaded._repr_html_() == study._repr_html_()

    @pytest.mark.parametrize(
        ("n", "mean", "width", "off"),
        [(6, 0, 0.44, False), (6, 0, 0.04, True), (400, 0, 0.8, True), (400, 0, 1.05, False), (400, 0.25, 1, True), (6, 1.2, 1, False)],
    )
    def test_what_chance_hardly_makes_is_named(self, plain, n, mean, width, off):
        """The width of six pulls may be 0.44, that of four hundred not 0.8."""
        scatter = np.resize([-1.0, 1.0], n) * width * np.sqrt((n - 1) / n) + mean
        about = toys(plain, 2, progress=False).about
        name, error = "phi(1680).mass", 0.01
        records = [
            FitRecord(str(k), 0.0, True, "", {name: about.base.values[name] + error * pull}, {name: error})
            for k, pull in enumerate(scatter)
        ]
        study = Toys(about, tuple(records))
        assert (f"off: {name}." in study.headline) == off

    def test_couplings_of_cascades_have_short_names(self, plain):
        study = toys(plain, 2, progress=False)
        assert study.shown() == (study.headline, study.sections())
        long = "a(1)(1260)+[pi+ pi- pi+] rho(770)0[pi+ pi-] (0,1)(0,1)(1,0)"
        old = next(name for name in study.records[0].values if name.endswith(".re"))
        renamed = [
            replace(record, **{part: {f"{long}.re" if n == old else n: v for n, v in getattr(record, part).items()} for part in PARTS})
            for record in (*study.records, study.about.base)
        ]
        cascade = replace(study, records=tuple(renamed[:-1]), about=replace(study.about, base=renamed[-1]))
        assert long in str(cascade.sections())
        for text in (str(cascade), cascade._repr_html_(), str(cascade.view())):
            assert "a(1)(1260)+ rho(770)0 (0,1)(0,1)(1,0).re" in text
            assert long not in text

    @pytest.mark.parametrize("n", [0, -1, 2.5, True])
    def test_wrong_numbers(self, plain, n):
        with pytest.raises(DataError, match="number of toys"):
            toys(plain, n)

    def test_a_fit_that_is_not_good_is_not_studied(self, plain):
        result = ctpwa.FitResult.load(plain)
        bad = replace(result, verdict=replace(result.verdict, good=False, reasons=("why not",)))
        with pytest.raises(CtpwaError, match="did not end good: why not"):
            toys(bad, 2)


class TestBootstrap:
    def test_replicas_move_as_their_gradients_say(self, plain):
        """To first order by −H⁻¹ g, whose scatter is that of weighted events, H⁻¹ S H⁻¹."""
        own = baseline(plain, progress=False)
        inverse = np.linalg.inv(own.likelihood.hessian(own.x))
        replicas = [own.each(partial(_replica, own, 0, k)) for k in range(100)]
        steps = np.array([-inverse @ replica.value_and_grad(own.x)[1] for replica in replicas])
        expected = inverse @ own.likelihood.score_products(own.x) @ inverse
        assert steps.std(axis=0) / np.sqrt(np.diag(expected)) == pytest.approx(1, abs=0.3)
        study = bootstrap(plain, 4, progress=False)
        found = np.array([[record.values[name] for name in own.likelihood.names] for record in study.records]) - own.x
        sigma = np.sqrt(np.diag(expected))
        assert np.corrcoef((found / sigma).ravel(), (steps[:4] / sigma).ravel())[0, 1] > 0.9

    def test_weights_of_a_replica_are_those_of_events_times_how_often_they_count(self, fitted, sweights):
        own = baseline(fitted(weights=sweights), progress=False)
        (term,) = terms_of(own.each(lambda i, term: _replica(own, 0, 3, i, term)))
        often = np.random.default_rng([0, 3, 0, 0]).poisson(1.0, 500)
        (sample,) = term.samples.data.resident
        found = sample.w.numpy() if sample.order is None else sample.w.numpy()[np.argsort(sample.order.numpy())]
        assert found == pytest.approx(sweights * often, rel=1e-15)

    def test_subtracted_events_are_replicated_too(self, fitted):
        own = baseline(fitted(SUBTRACTED), progress=False)
        (term,) = terms_of(own.each(lambda i, term: _replica(own, 0, 1, i, term)))
        often = np.random.default_rng([0, 1, 0, 1]).poisson(1.0, 200)
        assert term.weight == pytest.approx(np.random.default_rng([0, 1, 0, 0]).poisson(1.0, 600).sum() - 0.5 * often.sum())

    @pytest.mark.parametrize("samples", [SUBTRACTED, TWO], ids=["subtracted", "two data sets"])
    def test_fits_of_every_kind(self, fitted, samples, tmp_path):
        study = bootstrap(fitted(samples), 2, path=tmp_path / "b.parquet", progress=False)
        assert len(study.good) == 2, [record.reasons for record in study.records]
        assert isinstance(load_study(tmp_path / "b.parquet"), Bootstrap)
        assert set(study.figures()) == {"bootstrap"}


def test_phases_deviate_by_the_shorter_way():
    own = Spread("a.phase", "parameter", 3.0, np.array([-3.0, 3.1]), np.array([1.0, 1.0]))
    assert own.deviations == pytest.approx([2 * np.pi - 6.0, 0.1])
