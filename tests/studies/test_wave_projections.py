"""Coordinates of a posterior: there and back, derivatives, nearly equal poles, and which couplings they are of."""

import numpy as np
import pytest

import ctpwa
from ctpwa.engine.likelihood.build import build_likelihood
from ctpwa.engine.likelihood.likelihood_sum import LikelihoodSum
from ctpwa.studies.posterior import Posterior
from ctpwa.studies.wave_projections import wave_projections

MODEL = """decay: J/psi(1S) -> K+ K- eta
polarisation: transverse
resonances:
  phi(1680):    {in: K+ K-, mass: 1.66, width: 0.16, float: [mass, width]}
  X(1750):      {in: K+ K-, JP: 1-, mass: 1.76, width: 0.13, float: [mass, width]}
  K(2)*(1430):  {in: [K+ eta, K- eta], float: mass}
couplings:
  phi(1680)[K+ K-] (1,1)(1,0): [0.9, 0.2]
  X(1750)[K+ K-] (1,1)(1,0): [-0.1, 0.45]
  K(2)*(1430)+[K+ eta] (2,2)(2,0): [12, -6]
"""
PHI, X, K2 = "phi(1680)[K+ K-] (1,1)(1,0)", "X(1750)[K+ K-] (1,1)(1,0)", "K(2)*(1430)+[K+ eta] (2,2)(2,0)"
MASSES, WIDTHS = ("phi(1680).mass", "X(1750).mass"), ("phi(1680).width", "X(1750).width")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Makes likelihoods of the model with other options, and their free parameters and phase space."""
    file = tmp_path_factory.mktemp("projections") / "model.yml"
    file.write_text(MODEL)
    model = ctpwa.load_model(file)
    data, phase_space = (ctpwa.generate_phase_space(model, n, seed=n, progress=False) for n in (40, 300))
    return lambda **options: (
        build_likelihood(model, data, phase_space, engine="reference", progress=False, **{"reference_wave": K2} | options),
        phase_space,
    )


def projections(likelihood, phase_space, x=None):
    x = likelihood.start if x is None else x
    term = likelihood.terms[0] if isinstance(likelihood, LikelihoodSum) else likelihood
    return wave_projections(term, likelihood.names, x, phase_space), x


@pytest.mark.parametrize(
    "options",
    [{}, {"representation": "polar"}, {"reference_wave": PHI}, {"ties": {X: (PHI, 0.5j)}}],
    ids=["cartesian", "polar", "other", "tied"],
)
class TestMap:
    def test_there_and_back(self, made, options):
        own, x = projections(*made(**options))
        there = x + 0.01 * np.arange(len(x)) / len(x)
        assert own.from_projections(own.to_projections(there)).x == pytest.approx(there, rel=1e-10)

    def test_gradients_are_those_of_differences(self, made, options):
        own, x = projections(*made(**options))
        random, h = np.random.default_rng(1), 1e-6
        y, g = own.to_projections(x * (1 + 0.01 * random.normal(size=len(x)))), random.normal(size=len(x))
        steps = h * np.maximum(np.abs(y), 1)
        found = [(own.from_projections(y + e).x - own.from_projections(y - e).x) @ g / (2 * e.max()) for e in np.diag(steps)]
        assert own.pulled(own.from_projections(y), g) == pytest.approx(found, rel=1e-5, abs=1e-5)


class TestPoles:
    def test_nearly_equal_ones_have_large_couplings_that_make_the_same_amplitude(self, made):
        """ζ grows like the inverse of the difference, and −ln L hardly changes."""
        likelihood, phase_space = made()
        own, x = projections(likelihood, phase_space)
        y, names = own.to_projections(x), list(likelihood.names)
        masses, widths = ([names.index(name) for name in pair] for pair in (MASSES, WIDTHS))

        def at(difference):
            moved = y.copy()
            moved[masses] = 1.71 + np.array([-0.5, 0.5]) * difference
            moved[widths] = 0.145
            return own.from_projections(moved).x

        near, nearer = at(0.001), at(0.0001)
        place = own.places[[likelihood.names[i].startswith("X") for i in own.places[:, 0]]][0]
        assert np.hypot(*nearer[place]) / np.hypot(*near[place]) == pytest.approx(10, rel=0.05)
        assert likelihood.value(nearer) == pytest.approx(likelihood.value(near), abs=0.02)

    def test_a_density_does_not_depend_on_how_couplings_are_written(self, made):
        cartesian, polar = made(), made(representation="polar")
        found = []
        for likelihood, phase_space in (cartesian, polar):
            own, x = projections(likelihood, phase_space)
            posterior = Posterior(likelihood, x, own)
            names = list(likelihood.names)
            moved = x.copy()
            moved[[names.index(name) for name in MASSES]] += [0.02, -0.01]
            found.append(posterior.value(posterior.z(moved)) - posterior.value(posterior.z(x)))
        assert found[0] == pytest.approx(found[1], abs=1e-8)


class TestWhich:
    def test_waves_that_float_alone(self, made):
        likelihood, phase_space = made(fix={name: None for name in (MASSES[0], WIDTHS[0])})
        own, _ = projections(likelihood, phase_space)
        assert {likelihood.names[i] for i in own.places.ravel()} == {f"{X}.re", f"{X}.im"}

    def test_none_where_no_lineshape_floats(self, made):
        likelihood, phase_space = made(fix={name: None for name in (*MASSES, *WIDTHS, "K(2)*(1430).mass")})
        assert projections(likelihood, phase_space)[0] is None

    def test_none_of_couplings_with_limits(self, made):
        likelihood, phase_space = made(limits={f"{name}.re": (-9, 9) for name in (PHI, X)})
        assert projections(likelihood, phase_space)[0] is None

    def test_none_of_couplings_that_are_products(self, made):
        likelihood, phase_space = made(couplings="vertex")
        assert projections(likelihood, phase_space)[0] is None

    def test_those_of_a_sum(self, made):
        likelihood, phase_space = made()
        total = likelihood + made(fix={"K(2)*(1430).mass": None})[0]
        own, x = projections(total, phase_space)
        assert own.from_projections(own.to_projections(x)).x == pytest.approx(x, rel=1e-10)
