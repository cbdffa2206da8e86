"""Fits in bins: numbers of events as of an extended likelihood, phases that follow from bin to bin, and bins that do no harm to others."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import ctpwa
from ctpwa.base.errors import CtpwaError, DataError
from ctpwa.cli.main import make_app
from ctpwa.fitting.event_couplings import event_couplings
from ctpwa.studies import Bins, bins, load_study
from ctpwa.studies.bin_axes import BinAxis, all_bins
from ctpwa.studies.bin_records import TOTAL, bin_groups
from ctpwa.studies.bin_solutions import apart, unwrapped
from studies.cases import MODEL as DECAY
from studies.cases import PHASE_SPACE
from studies.produced import MODEL, S_MINUS, D, P, S, amplitudes, factor, mass, write_analysis

IN = "mass(eta, pi0): 1.2..1.6/2"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model file with 1500 events of X between 1.2 and 1.6 GeV."""
    return write_analysis(tmp_path_factory.mktemp("produced")).parent


@pytest.fixture(scope="module")
def study(folder):
    return bins(folder / "model.yml", IN, starts=4, bootstrap=3, path=folder / "model.bins.parquet", progress=False)


@pytest.fixture(scope="module")
def fitted(folder):
    """A fit of all events, with its likelihood and samples."""
    analysis = ctpwa.load_analysis(folder / "model.yml")
    likelihood = analysis.likelihood(progress=False)
    return likelihood, ctpwa.fit(likelihood, starts=2, seed=1, simulation=False, progress=False), analysis.read()


@pytest.fixture(scope="module")
def model():
    """A decay with an event column."""
    columns, resonances = {"time": {"limits": [0, 20]}}, {"phi(1680)": {"in": "K+ K-"}}
    return ctpwa.load_model({"decay": "J/psi(1S) -> K+ K- eta", "columns": columns, "resonances": resonances})


class TestEventCouplings:
    """Against −Σ ln I + (1/n_generated) Σ_accepted I, written with K alone."""

    def test_they_are_those_of_an_extended_likelihood(self, fitted):
        likelihood, result, samples = fitted
        found = event_couplings(likelihood, result.x, result.covariance, bin_groups(likelihood.model), [samples.truth])
        K, A, B = (likelihood.model.spin_amplitudes(e, barrier=True, progress=False).K.numpy() for e in _of(samples))
        size = np.sqrt((B**2).sum(axis=(1, 2)) / B.shape[2])
        K, A = K / size[:, None, None], A / size[:, None, None]
        norm = np.einsum("are,bre->ab", A, A) / B.shape[2]
        n = len(size)
        free = [k for k in range(2 * n) if k not in (n, n + found.names.index(S_MINUS))]  # references are real

        def derivatives(z):
            c = z[:n] + 1j * z[n:]
            psi = np.einsum("w,wre->re", c, K)
            I = (np.abs(psi) ** 2).sum(axis=0)
            d = 2 * np.concatenate([(psi.conj() * K).real.sum(axis=1), (psi.conj() * 1j * K).real.sum(axis=1)])
            real = np.einsum("are,bre,e->ab", K, K, 1 / I)
            zero = np.zeros((n, n))
            H = (d / I) @ (d / I).T - 2 * np.block([[real, zero], [zero, real]]) + 2 * np.block([[norm, zero], [zero, norm]])
            g = -(d / I).sum(axis=1) + 2 * np.concatenate([norm @ c.real, norm @ c.imag])
            return g[free], H[np.ix_(free, free)]

        z = np.concatenate([found.values.real, found.values.imag])
        g, H = derivatives(z)
        errors = np.sqrt(np.diag(np.linalg.inv(H)))
        assert np.abs(g * errors).max() < 1e-3  # it is at the minimum
        expected = np.linalg.inv(H)
        np.testing.assert_allclose(found.covariance[np.ix_(free, free)], expected, atol=1e-6 * np.abs(expected).max())

    def test_events_of_waves_add_up_to_what_was_generated(self, fitted):
        likelihood, result, samples = fitted
        found = event_couplings(likelihood, result.x, result.covariance, bin_groups(likelihood.model), [samples.truth])
        assert found.events[TOTAL][0] * found.efficiency == pytest.approx(1500, rel=1e-12)
        for name, c in zip(found.names, found.values, strict=True):
            assert found.events[name][0] == pytest.approx(abs(c) ** 2, rel=1e-12)
        total, error = found.events[TOTAL]
        assert error == pytest.approx(total / np.sqrt(1500), rel=0.1)
        assert 0.4 < found.efficiency < 0.8

    @pytest.mark.parametrize("size", [0.0, 0.3, 3.0])
    def test_errors_of_weak_waves_are_those_of_gaussian_couplings(self, fitted, size):
        likelihood, _, samples = fitted
        own = likelihood.with_references([D, S_MINUS])
        result = ctpwa.fit(own, 2, seed=1, simulation=False, progress=False)
        x, V = result.x.copy(), 0.01 * result.covariance  # small: what is left is of second order
        weak = [own.names.index(f"{P}.{part}") for part in ("re", "im")]
        x[weak] = size * np.sqrt(V[weak[0], weak[0]]), 0.0  # so many standard deviations from 0, on the real axis
        wide = (
            3 if size == 0 else np.sqrt(V[weak[0], weak[0]] / V[weak[1], weak[1]])
        )  # at 0 there is no phase; elsewhere it is known as |c| is
        V[weak[1]] *= wide
        V[:, weak[1]] *= wide
        found = event_couplings(own, x, V, bin_groups(own.model), [samples.truth])
        rng = np.random.default_rng(1)
        z = rng.multivariate_normal([*found.values.real, *found.values.imag], found.covariance, 50_000)
        N = rng.normal(1500, np.sqrt(1500), len(z))
        accepted, everywhere = own.integrals(x), own.integrals(x, samples.truth)
        c = (z[:, : len(found.names)] + 1j * z[:, len(found.names) :]) / found.sizes
        I = np.einsum("ea,ab,eb->e", c.conj(), accepted.matrix, c).real / everywhere.weight * accepted.weight
        for name, waves in bin_groups(own.model).items():
            part = c * np.isin(everywhere.wave, waves)
            events = N / I * np.einsum("ea,ab,eb->e", part.conj(), everywhere.matrix, part).real
            assert found.events[name][1] == pytest.approx(events.std(), rel=0.03 if size == 0 and name == P else 0.11), name

    def test_the_error_of_all_events_does_not_depend_on_what_is_undetermined(self, fitted):
        likelihood, result, _ = fitted
        found = event_couplings(likelihood, result.x, 1e4 * result.covariance, {TOTAL: range(4)})
        assert found.events[TOTAL] == pytest.approx((1500, np.sqrt(1500)), rel=1e-9)

    def test_other_references_are_the_same_fit(self, fitted):
        likelihood, result, _ = fitted
        other = likelihood.with_references([D, S_MINUS])
        assert f"{D}.re" not in other.names
        again = ctpwa.fit(other, starts=2, seed=1, simulation=False, progress=False)
        assert again.nll == pytest.approx(result.nll, abs=1e-6)
        first, second = (
            event_couplings(own, r.x, r.covariance, {TOTAL: range(4), P: [2]}) for own, r in ((likelihood, result), (other, again))
        )
        assert second.events[P] == pytest.approx(first.events[P], rel=1e-5)
        with pytest.raises(CtpwaError, match="cannot all be references"):
            likelihood.with_references([D, P])


def _of(samples):
    return samples.data, samples.phase_space, samples.truth


class TestBins:
    def test_events_and_phases_are_those_that_were_generated(self, folder, study):
        assert isinstance(study, Bins)
        model = ctpwa.load_model(folder / "model.yml")
        events = ctpwa.read_events(model, folder / "generated.npz")
        A = amplitudes(model, events)
        share = (np.abs(A) ** 2).sum(axis=1)
        total = (np.abs(A.sum(axis=0)) ** 2).sum(axis=0)
        edges = np.array(study.axes[0].edges)
        pulls = []
        number = np.histogram(mass(events), edges, weights=total)[0]
        found = study.events()
        for k, wave in enumerate(model.waves):
            own, curve = np.histogram(mass(events), edges, weights=share[k])[0], study.events(wave.name)
            pulls += ((curve.values - found.values * own / number) / curve.errors).tolist()
        assert np.abs(pulls).max() < 4
        assert study.references[1] == S_MINUS
        for name, curve in ((P, study.phases(P, D)), (S, study.phases(S, D))):
            centres = curve.centres
            expected = np.degrees(np.angle(factor(name, centres) / factor(D, centres)))
            apart = [(curve.values - sign * expected + 180) % 360 - 180 for sign in (1, -1)]  # its sign is open
            assert min(np.abs(own / np.hypot(curve.errors, 10)).max() for own in apart) < 4

    def test_a_wave_that_may_be_absent_has_no_phase(self, study):
        own = study.solutions[0][0]
        angle, error = own.phase(P, D)
        assert np.isfinite(error)
        for part, known in ((1.9, False), (2.1, True)):
            numbers = dict(own.record.numbers) | {f"error {P}": own.events[P][0] / part}
            weak = replace(own, record=replace(own.record, numbers=numbers))
            assert weak.phase(P, D) == (angle, error if known else np.inf)

    def test_what_it_says(self, study):
        text = str(study)
        assert "2 bins of mass(eta, pi0): 2 fits, 2 good" in text
        assert f"the common sign of all phases relative to {study.references[0]} is open" in text
        assert "phases relative to" in text
        assert "nothing corrects them for acceptance" not in text
        assert "<table" in study._repr_html_()
        view = study.view()
        assert view.title == "Fits in bins"
        assert [own.alt for own in view.figures] == [f"Fits in bins: bins {what}" for what in ("events", "moments", "goodness", "phases")]

    def test_moments(self, study):
        total, own = study.events(), study.moments(0, 0, 0)
        waves = sum(study.events(name).values for name in study.couplings)
        assert own.values == pytest.approx(waves, rel=1e-12)
        assert own.values == pytest.approx(total.values, rel=0.05)  # over finite samples of angles waves are not quite orthogonal
        assert (study.moments(2, 2, 1).errors > 0).all()
        with pytest.raises(DataError, match="no moment H0\\(51\\)"):
            study.moments(0, 5, 1)

    def test_replicas_scatter_as_errors_say(self, study):
        spread = study.scatter("0")
        error = study.events().errors[0]
        assert 0.1 * error < spread[TOTAL] < 4 * error
        assert 0 < study.phase_scatter("0", P, D) < 90
        assert "bootstrap" in str(study)

    def test_its_file_is_read_again(self, folder, study):
        again = load_study(folder / "model.bins.parquet")
        assert isinstance(again, Bins)
        assert str(again) == str(study)

    def test_it_goes_on_where_it_was_killed(self, folder, study, tmp_path):
        part = Bins(study.about, tuple(record for record in study.records if record.key.split()[0] == "1"))
        part.save(tmp_path / "b.parquet")
        again = bins(folder / "model.yml", IN, starts=4, path=tmp_path / "b.parquet", progress=False)
        mine, theirs = again.by_key["0"], study.by_key["0"]
        assert mine.values == theirs.values
        assert mine.nll == theirs.nll
        with pytest.raises(CtpwaError, match="starts was 4 and is 5"):
            bins(folder / "model.yml", IN, starts=5, path=tmp_path / "b.parquet", progress=False)

    def test_processes_share_the_bins(self, folder, study, tmp_path):
        from ctpwa.base.ranks import Ranks

        class Second(Ranks):
            """The second of two processes, alone."""

            def __init__(self):
                self.rank, self.size = 1, 2

            def on_first(self, work):
                return None

        own = bins(folder / "model.yml", IN, starts=4, progress=False, ranks=Second(), path=tmp_path / "b.parquet")
        assert set(own.by_key) == {"1"}  # of which the first process has no neighbour here

    def test_bins_that_cannot_be_fitted_say_why(self, folder, study, tmp_path):
        model = ctpwa.load_model(folder / "model.yml")
        (tmp_path / "model.yml").write_text(MODEL)
        for name in ("data", "accepted", "generated"):
            events = ctpwa.read_events(model, folder / f"{name}.npz")
            m = mass(events)
            few = (m > 1.38) & (m < 1.4)
            cut = (~few | (np.cumsum(few) <= 3)) if name == "data" else m < 1.4
            ctpwa.write_events(tmp_path / f"{name}.npz", events.picked(torch.from_numpy(np.flatnonzero(cut))), model=model)
        own = bins(tmp_path / "model.yml", "mass(eta, pi0): 1.1, 1.2, 1.38, 1.4, 1.6", starts=2, progress=False)
        words = {bin.words: own.by_key[bin.key].reasons for bin in own.bins}
        assert words["1.1 … 1.2"] == "no events"
        assert words["1.38 … 1.4"] == "3 events, fewer than 5 free parameters"
        assert words["1.4 … 1.6"].endswith("no simulation: phase space has no events here")
        assert own.by_key["1"].good
        assert "fewer than 5 free parameters" in str(own)
        assert len(own.events().values) == 1
        assert own.figures()

    def test_two_axes(self, folder):
        own = bins(folder / "model.yml", "mass(eta, pi0): 1.2..1.6/1", "t: 0, 6, 20", starts=2, progress=False)
        assert [bin.key for bin in own.bins] == ["0,0", "0,1"]
        model = ctpwa.load_model(folder / "model.yml")
        events = ctpwa.read_events(model, folder / "data.npz")
        k = events.columns["beam"] - events["eta"] - events["pi0"]
        t = (k[:, 1:] ** 2).sum(dim=1) - k[:, 0] ** 2
        counted = [int(((t >= low) & (t < high)).sum()) for low, high in ((0, 6), (6, 20))]
        assert [own.by_key[bin.key].numbers["data"] for bin in own.bins] == counted
        assert set(own.figures()) == {f"bins-{what}-{k}" for what in ("events", "moments", "goodness") for k in (1, 2)}  # no phase is known
        assert own.by_key["0,1 goodness"].numbers["ndf inside"] > 7  # u, u² and five slopes of one axis, and those of the other

    def test_phases_without_a_point_have_no_panel(self, study):
        errors = [study.phases(*pair, best=False).errors for pair in study._compared()]
        assert [bool((own <= 90).any()) for own in errors] == [False, True]
        figure = study.figures()["bins-phases"]
        assert [axes.get_visible() for axes in figure.axes] == [True]

    def test_moments_that_are_0_for_all_couplings_have_no_panel(self, study):
        """Waves have |m| up to 1, so that moments of M = 3 and 4 are 0."""
        figure = study.figures()["bins-moments"]
        titles = " ".join(axes.get_title() for axes in figure.axes if axes.get_visible())
        assert "H^0(00)" in titles
        assert "H^0(40)" in titles
        assert "H^0(44)" not in titles

    def test_an_ordinary_decay(self, signal, tmp_path):
        samples = f"samples: {{data: {signal / 'signal.npz'}, {PHASE_SPACE}}}"
        (tmp_path / "model.yml").write_text(DECAY.replace("SAMPLES", samples).replace(", float: mass", ""))
        own = bins(tmp_path / "model.yml", "cos_theta(eta): -1..1/2", starts=2, progress=False)
        assert sum(own.by_key[key].numbers["data"] for key in "01") == 500
        assert all(row for row in own.solutions)
        assert own.events().values.sum() == pytest.approx(500, rel=1e-9)
        assert "nothing corrects them for acceptance" in str(own)
        assert not own.solutions[0][0].open_sets
        with pytest.raises(DataError, match="have no moments"):
            own.moments(0, 0, 0)
        assert (own.events("phi(1680)").errors > 0).all()

    def test_the_command(self, folder, study):
        result = CliRunner().invoke(make_app(), ["bins", str(folder / "model.yml"), "--in", IN, "--starts", "4", "--bootstrap", "3"])
        assert result.exit_code == 0, result.output
        assert "2 fits, 2 good" in result.stdout

    def test_a_report_needs_no_fit(self, folder, study):
        run, path = CliRunner().invoke, str(folder / "model.bins.parquet")
        result = run(make_app(), ["report", path, "--figures", str(folder / "figures")])
        assert result.exit_code == 0, result.output
        assert (folder / "figures" / "bins-goodness.pdf").exists()
        page = (folder / "model.bins.html").read_text(encoding="utf-8")
        assert "X -&gt; eta pi0" in page
        assert f'<span title="{study.references[0]}"><math' in page
        assert page.count("<img") == 4
        assert run(make_app(), ["report", path]).exit_code != 0  # it is there already
        for option in (["--paper", str(folder / "paper")], ["--set", "a=1"]):
            refused = run(make_app(), ["report", path, "--force", *option])
            assert refused.exit_code == 2
            assert not (folder / "paper").exists()

    def test_a_truth_that_is_too_small_is_refused(self, folder, tmp_path):
        (tmp_path / "model.yml").write_text(
            MODEL.replace("data.npz", str(folder / "data.npz"))
            .replace("accepted.npz", str(folder / "generated.npz"))
            .replace("truth: generated.npz", f"truth: {folder / 'accepted.npz'}")
        )
        with pytest.raises(DataError, match="give all generated events as truth"):
            bins(tmp_path / "model.yml", IN, progress=False)


class TestAxes:
    def test_edges(self, model):
        axis = BinAxis.read("mass(K+, K-): 1.0..2.0/4", model)
        assert axis.edges == pytest.approx([1, 1.25, 1.5, 1.75, 2])
        assert axis.unit == "GeV"
        assert BinAxis.read("time: 0, 1, 5", model).edges == (0, 1, 5)
        assert [bin.key for bin in all_bins((axis, BinAxis.read("time: 0, 1, 5", model)))][3:6] == ["3,0", "0,1", "1,1"]

    def test_every_event_is_in_one_bin(self, model):
        axis = BinAxis.read("time: 0, 1, 5", model)
        t = torch.tensor([-0.1, 0.0, 0.999, 1.0, 5.0, 5.1], dtype=torch.float64)
        events = ctpwa.Events({"K+": torch.ones(6, 4)}, None, {"time": t})
        assert axis.numbers(events, model).tolist() == [-1, 0, 0, 1, 1, -1]

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("mass(K+, K-)", "does not say which bins"),
            ("mass(K+, K-): 1..2", "does not say which bins"),
            ("mass(K+, K-): 2..1/4", "do not rise"),
            ("mass(K+, K-): 1..2/0", "has 0 bins"),
            ("mess(K+, K-): 1..2/4", "mess"),
            ("t: 0..1/2", "there is no 't'"),
        ],
    )
    def test_what_is_wrong(self, model, text, words):
        with pytest.raises(CtpwaError, match=words):
            BinAxis.read(text, model)


def test_couplings_are_compared_up_to_what_means_nothing():
    u = np.array([1 + 2j, 3 - 1j])
    assert apart(u, np.exp(0.7j) * u, False) == pytest.approx(0, abs=1e-12)
    assert apart(u, u.conj(), True) == pytest.approx(0, abs=1e-12)
    assert apart(u, u.conj(), False) > 1
    assert unwrapped([170.0, -170.0, 100.0, 10.0], [1.0, 1.0, 90.0, 1.0]) == [170.0, 190.0, 100.0, 10.0]
