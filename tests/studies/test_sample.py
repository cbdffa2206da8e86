"""The posterior: density and gradient by hand, known distributions, chains that go on."""

import numpy as np
import pytest

from ctpwa.base.errors import DataError
from ctpwa.studies import Sample, load_study, sample
from ctpwa.studies.baseline import baseline
from ctpwa.studies.convergence import Convergence
from ctpwa.studies.diagnostics import effective_size, split_r_hat
from ctpwa.studies.posterior import Limited, Posterior, draw
from ctpwa.studies.sample_study import Marginal

BOUNDS = np.array([[-np.inf, np.inf], [0.0, np.inf], [-np.inf, 2.0], [-1.0, 3.0]])
X = np.array([1000.0, 0.5, 1.5, 2.0])


class TestLimited:
    def test_there_and_back(self):
        limited = Limited(BOUNDS)
        assert limited.from_real(limited.to_real(X))[0] == pytest.approx(X, rel=1e-13)

    def test_slopes_are_those_of_differences(self):
        limited, h = Limited(BOUNDS), 1e-6
        u = limited.to_real(X)
        _, slope, log, dlog = limited.from_real(u)
        up, down = (limited.from_real(u + sign * h) for sign in (1, -1))
        assert (up[0] - down[0]) / (2 * h) == pytest.approx(slope, rel=1e-6)
        assert log == pytest.approx(np.log(np.abs(slope)), abs=1e-13)
        assert (up[2] - down[2]) / (2 * h) == pytest.approx(dlog, abs=1e-8)

    def test_a_point_at_a_limit_moves_inside(self):
        inside = Limited(BOUNDS).inside(np.array([0.0, 0.0, 2.0, 3.0]))
        assert np.isfinite(Limited(BOUNDS).to_real(inside)).all()


class Quadratic:
    """−ln L of a normal distribution with limits, of the interface that ``Posterior`` needs."""

    names = ("a", "b")
    unit = 2.0
    H = np.array([[4.0, 1.0], [1.0, 2.0]])

    def __init__(self, bounds):
        self.bounds = np.array(bounds)

    def value(self, x):
        return self.unit * x @ self.H @ x / 2

    def value_and_grad(self, x):
        return self.value(x), self.unit * self.H @ x

    def value_grad_hessian(self, x):
        return *self.value_and_grad(x), self.unit * self.H


def points(bounds, n=1500):
    posterior = Posterior(Quadratic(bounds), np.array([0.5, 0.5]))
    z, step, accepted = draw(posterior, np.zeros(2), n, [1], None, 100)
    assert 0.5 < accepted <= 1
    assert step > 0
    return np.array([posterior.x(own) for own in z])


class Banana:
    """a is normal, and b normal about a²."""

    names = ("a", "b")
    unit = 1.0
    bounds = np.array([[-np.inf, np.inf]] * 2)
    width = 1.0

    def value(self, x):
        return x[0] ** 2 / 2 + ((x[1] - x[0] ** 2) / self.width) ** 2 / 2

    def value_and_grad(self, x):
        d = (x[1] - x[0] ** 2) / self.width**2
        return self.value(x), np.array([x[0] - 2 * x[0] * d, d])

    def value_grad_hessian(self, x):
        w = 1 / self.width**2
        H = np.array([[1 - 2 * w * (x[1] - x[0] ** 2) + 4 * w * x[0] ** 2, -2 * w * x[0]], [-2 * w * x[0], w]])
        return *self.value_and_grad(x), H


class TestPosterior:
    def test_a_banana(self):
        """Means of a, a², b, b² and (b − a²)² within four of their Monte Carlo errors, from chains that have converged."""
        posterior, width = Posterior(Banana(), np.zeros(2)), Banana.width
        chains = []
        for k in range(4):
            z, _, _ = draw(posterior, np.random.default_rng(k).normal(size=2), 500, [k], None, 100)
            chains.append([posterior.x(own) for own in z])
        a, b = np.array(chains).transpose(2, 0, 1)
        expected = {"a": (a, 0.0), "aa": (a**2, 1.0), "b": (b, 1.0), "bb": (b**2, 3 + width**2), "d": ((b - a**2) ** 2, width**2)}
        for name, (values, mean) in expected.items():
            error = values.std() / np.sqrt(effective_size(values))
            assert abs(values.mean() - mean) < 4 * error, name
            assert error < 0.1 * (1 + mean)
            assert split_r_hat(values) < 1.05

    def test_a_normal_distribution(self):
        x = points([[-np.inf, np.inf]] * 2)
        assert np.cov(x.T) == pytest.approx(np.linalg.inv(Quadratic.H), abs=0.06)
        assert x.mean(axis=0) == pytest.approx([0, 0], abs=0.08)

    def test_one_that_limits_cut(self):
        """x > 0: the mean of a density by a sum over a grid."""
        x = points([[0, np.inf], [0, 1.5]])
        a, b = np.meshgrid(np.linspace(0, 5, 1001), np.linspace(0, 1.5, 1001), indexing="ij")
        density = np.exp(-(Quadratic.H[0, 0] * a**2 + 2 * Quadratic.H[0, 1] * a * b + Quadratic.H[1, 1] * b**2) / 2)
        expected = [(density * own).sum() / density.sum() for own in (a, b)]
        assert x.mean(axis=0) == pytest.approx(expected, abs=0.04)
        assert (x > 0).all()
        assert (x[:, 1] < 1.5).all()

    def test_the_gradient_of_a_fit_is_that_of_differences(self, plain):
        own = baseline(plain, progress=False)
        posterior = Posterior(own.likelihood, own.x)
        z = np.random.default_rng(0).normal(size=len(own.x))
        h = 1e-5
        found = [(posterior.value(z + h * e) - posterior.value(z - h * e)) / (2 * h) for e in np.eye(len(z))]
        assert posterior.gradient(z)[0] == pytest.approx(found, abs=1e-5)
        assert posterior.x(posterior.z(posterior.x(z))) == pytest.approx(posterior.x(z), rel=1e-10)


class TestDiagnostics:
    def test_chains_that_agree(self):
        chains = np.random.default_rng(0).normal(size=(4, 1000))
        assert split_r_hat(chains) == pytest.approx(1, abs=0.01)
        assert effective_size(chains) == pytest.approx(4000, rel=0.15)

    def test_chains_that_do_not(self):
        chains = np.random.default_rng(0).normal(size=(4, 1000)) + np.arange(4)[:, None]
        assert split_r_hat(chains) > 1.3
        assert effective_size(chains) < 20

    def test_a_chain_with_memory(self):
        """x_t = a x_{t−1} + noise: the size is n (1 − a)/(1 + a)."""
        a, random = 0.8, np.random.default_rng(1)
        noise = random.normal(size=(4, 20_000))
        chains = np.zeros_like(noise)
        for t in range(1, noise.shape[1]):
            chains[:, t] = a * chains[:, t - 1] + noise[:, t]
        assert effective_size(chains) == pytest.approx(chains.size * (1 - a) / (1 + a), rel=0.15)

    def test_constant_chains(self):
        assert split_r_hat(np.ones((2, 10))) == 1


class TestConvergence:
    """What is said about chains, the reason and the advice."""

    def marginal(self, shift=0.0, width=1.0, memory=0.0, name="a", n=500):
        random = np.random.default_rng(0)
        noise = width * random.normal(size=(4, n))
        for t in range(1, n):
            noise[:, t] = memory * noise[:, t - 1] + np.sqrt(1 - memory**2) * noise[:, t]
        return Marginal(name, "parameter", (0.0, 1.0), noise + shift * np.arange(4)[:, None])

    def test_they_have(self):
        found = Convergence([self.marginal()], 500)
        assert found.reached
        assert not Convergence([], 0).reached

    def test_they_are_short(self):
        found = Convergence([self.marginal(), self.marginal(memory=0.98, name="slow")], 500)
        assert not found.reached
        assert [own.name for own in found.bad] == ["slow"]
        assert "for slow and must not be above 1.01" in found.warning
        assert "points are needed: --points " in found.warning

    def test_they_are_apart(self):
        assert (
            "Chains stay at different values of far, as between several minima"
            in Convergence([self.marginal(shift=1.0, name="far")], 500).warning
        )

    def test_they_are_wide(self):
        warning = Convergence([self.marginal(width=9.0, memory=0.97, name="wide")], 500).warning
        assert "wide: up to " in warning
        assert "Give it limits or a constraint in the model file" in warning


class TestSample:
    def test_chains_go_on_with_nothing_lost(self, plain, tmp_path):
        options = {"chains": 1, "warm_up": 10, "progress": False}
        short = sample(plain, 25, path=tmp_path / "s.parquet", **options)
        longer = sample(plain, 50, path=tmp_path / "s.parquet", **options)
        whole = sample(plain, rounds=(25, 50), **options)  # which have not converged after 25
        assert [len(chain) for chain in longer.chains] == [50]
        values = [[point.values for point in chain] for chain in longer.chains]
        assert [own[:25] for own in values] == [[point.values for point in chain] for chain in short.chains]
        assert values == [[point.values for point in chain] for chain in whole.chains]
        loaded = load_study(tmp_path / "s.parquet")
        assert isinstance(loaded, Sample)
        assert str(loaded) == str(longer)
        assert set(longer.figures()) == {"sample-corner", "sample-chains"}
        assert longer.headline.startswith("NOT converged, do not use the intervals: R-hat is ")
        assert "which continues" in longer.headline
        widths = [own.width / own.fitted[1] for own in longer.marginals if own.kind == "parameter"]
        assert np.mean(widths) == pytest.approx(1, abs=0.5)

    def test_unknown_names(self, plain):
        with pytest.raises(DataError, match="no free parameter is called 'phi'"):
            sample(plain, shown=["phi"])
