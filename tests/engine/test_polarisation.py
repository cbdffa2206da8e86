"""Spin density matrices whose elements are parameters: −ln L and its derivatives against I = Σ ρ_mm' A_m conj(A_m') in torch."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.engine.likelihood.build import build_likelihood
from ctpwa.engine.likelihood.collapsed import Collapsed
from ctpwa.engine.likelihood.values import free_parameters, model_values
from ctpwa.engine.plan.channels import model_channels
from ctpwa.fitting.fractions import FractionCalculator
from ctpwa.spin import Polarisation
from engine.cases import CUDA, assert_close, example
from engine.oracle import Oracle

AUTOGRAD, SAME = 1e-10, 1e-12


def lambdac(polarisation, floating=(), **more):
    description = example("lambdac_p_k_pi")
    for name in ("Lambda(1405)", "Lambda(1670)"):
        del description["resonances"][name]
    description["resonances"]["Lambda(1520)"]["float"] = list(floating)
    return description | {"polarisation": polarisation} | more


def jpsi(polarisation):
    resonances = {
        "phi(1680)": {"in": "K+ K-", "mass": 1.68, "width": 0.15},
        "NR3": {"in": "K+ K-", "JP": "3-", "lineshape": "constant"},
        "K(2)*(1430)": {"in": ["K+ eta", "K- eta"], "mass": 1.43, "width": 0.1, "float": "mass"},
    }
    return {"decay": "J/psi(1S) -> K+ K- eta", "polarisation": polarisation, "resonances": resonances}


def spin_three_halves(polarisation):
    """Parity is not conserved, and the proton has spin: every element of ρ can be seen."""
    return {
        "decay": "X -> p K- pi+",
        "weak": True,
        "polarisation": polarisation,
        "particles": {"X": {"JP": "3/2+", "mass": 2.3, "charge": 1}},
        "resonances": {"K*(892)": {"in": "K- pi+", "production_ls": [[0, "3/2"], [1, "1/2"], [1, "3/2"]]}},
    }


def vector(P_x=0.0, P_y=0.0, P_z=0.0):
    return [[(1 + P_z) / 2, (P_x - 1j * P_y) / 2], [(P_x + 1j * P_y) / 2, (1 - P_z) / 2]]


def spin_one(v):
    """All elements; the last diagonal one is what the others leave."""
    a, b, c = (v(f"rho_{name}.re") + 1j * v(f"rho_{name}.im") for name in ("10", "1-1", "0-1"))
    one, zero = v("rho_11"), v("rho_00")
    return [[one, a, b], [a.conj(), zero, c], [b.conj(), c.conj(), 1 - one - zero]]


def spin_three_halves_rho(v):
    pairs = {(0, 1): "31", (0, 2): "3-1", (0, 3): "3-3", (1, 2): "1-1", (1, 3): "1-3", (2, 3): "-1-3"}
    above = {place: v(f"rho_{name}.re") + 1j * v(f"rho_{name}.im") for place, name in pairs.items()}
    diagonal = [v("rho_33"), v("rho_11"), v("rho_-1-1")]
    diagonal.append(1 - sum(diagonal))
    return [[diagonal[i] if i == j else above[i, j] if i < j else above[j, i].conj() for j in range(4)] for i in range(4)]


def even(v):
    return [[(1 - v("rho_00")) / 2, 0, 0], [0, v("rho_00"), 0], [0, 0, (1 - v("rho_00")) / 2]]


def floats(**values):
    return {name: {"value": value, "float": True} for name, value in values.items()}


# description, ρ by hand, and whether K is real
CASES = {
    "vector": (
        lambdac(floats(P_x=0.2, P_y=-0.3, P_z=0.4), ["mass", "width"]),
        lambda v: vector(v("P_x"), v("P_y"), v("P_z")),
        False,
    ),
    "P_z": (lambdac(floats(P_z=0.3)), lambda v: vector(P_z=v("P_z")), False),
    "one of two": (lambdac({"P_x": 0.5, "P_y": "float"}), lambda v: vector(v("P_x"), v("P_y")), False),
    "rho_00": (jpsi(floats(rho_00=0.2)), even, True),
    "spin 1": (jpsi("float"), spin_one, False),
    "spin 3/2": (spin_three_halves("float"), spin_three_halves_rho, False),
}
each_case = pytest.mark.parametrize("name", CASES)


@cache
def model(name):
    return ctpwa.load_model(CASES[name][0])


@cache
def samples(name):
    return {key: ctpwa.generate_phase_space(model(name), n, seed=n) for key, n in (("data", 12), ("phase_space", 13))}


@cache
def likelihood(name, engine="reference", **options):
    return build_likelihood(model(name), **samples(name), engine=engine, **options)


def point(like, seed=0):
    """Couplings of order one, and elements of the density matrix that are still physical."""
    random = np.random.default_rng(seed)
    elements = like.parameters.feeds.names
    step = random.normal(size=len(like.names))
    small = np.array([(0.03 if name.startswith("rho") else 0.1) if name in elements else 0.0 for name in like.names])
    other = np.array([0.01 if name.endswith((".mass", ".width")) else 0.7 for name in like.names])
    return like.start + np.where(small > 0, small, other) * step


class DensityOracle(Oracle):
    """The amplitudes of an unpolarised parent, all m and final spins, and ρ written out."""

    def __init__(self, name, like):
        _, self.rho, _ = CASES[name]
        own = model(name)
        self.fixed = {p.name: p.value for p in own.parameters}
        plain = replace(own, production=Polarisation.of("unpolarised", own.decay.parent), parameters=())
        super().__init__(plain, like.names, samples(name))
        self.A = {key: plain.spin_amplitudes(sample, barrier=True).values for key, sample in samples(name).items()}
        self.of_wave = {spec.wave: spec for spec in self.channels.specs}
        assert len(self.of_wave) == len(self.channels.specs)  # no identical particles: every wave is one term

    def intensity(self, x, key):
        values = {p.name: torch.tensor(p.value, dtype=torch.float64) for p in self.channels.theta}
        values |= {n: torch.tensor(v, dtype=torch.float64) for n, v in self.fixed.items()} | dict(zip(self.names, x, strict=True))
        c = self.couplings(values)
        psi = 0
        for number, wave in enumerate(self.model.waves):
            spec, F = self.of_wave[number], 1
            for propagator in spec.propagators:
                F = F * self.propagator(key, propagator, values)
            psi = psi + wave.factor * c[spec.coupling] * F * self.A[key][number]
        rho = [[torch.as_tensor(entry, dtype=torch.complex128) for entry in row] for row in self.rho(values.__getitem__)]
        rho = torch.stack([torch.stack(row) for row in rho])
        A = psi.unflatten(0, (len(rho), -1))
        return torch.einsum("mn,mse,nse->e", rho, A, A.conj()).real


@cache
def exact(name):
    like = likelihood(name)
    return DensityOracle(name, like).expand(point(like))


@each_case
@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_value_gradient_and_hessian_equal_automatic_differentiation(name, engine):
    like = likelihood(name, engine)
    assert like.plan.real == CASES[name][2]
    scale = like.n_events
    for found, expected in zip(like.value_grad_hessian(point(like)), exact(name), strict=True):
        assert_close(found, expected, AUTOGRAD, scale)


@pytest.mark.parametrize("name", ["rho_00", "P_z"])
@pytest.mark.parametrize("engine", [CUDA])
def test_on_a_gpu(name, engine):
    like = likelihood(name, engine)
    for found, expected in zip(like.value_grad_hessian(point(like)), exact(name), strict=True):
        assert_close(found, expected, AUTOGRAD, like.n_events)


@each_case
def test_a_fixed_matrix_is_the_same(name):
    """The model with this density matrix as it is, at the same couplings."""
    like, own = likelihood(name), model(name)
    x = point(like)
    feeds, values = like.parameters.feeds, dict(zip((p.name for p in like.parameters.all), like.parameters.full(x), strict=True))
    rho = feeds.whole(np.array([values[name] for name in feeds.names]))
    assert np.trace(rho) == pytest.approx(1, abs=1e-15)
    fixed = replace(own, production=Polarisation.of(rho.tolist(), own.decay.parent), parameters=())
    other = build_likelihood(fixed, **samples(name), engine="reference")
    at = {name: value for name, value in zip(like.names, x, strict=True) if name in other.names}
    y = np.array([at[name] for name in other.names])
    index = [like.names.index(name) for name in other.names]
    value, grad, H = other.value_grad_hessian(y)
    assert like.value(x) == pytest.approx(value, abs=SAME * like.n_events)
    assert_close(like.value_and_grad(x)[1][index], grad, SAME, like.n_events)
    assert_close(like.hessian(x)[np.ix_(index, index)], H, SAME, like.n_events)


@pytest.mark.parametrize("options", [{"representation": "polar"}, {"couplings": "vertex"}])
def test_other_couplings(options):
    """Products over vertices and polar numbers times what the density matrix makes of them: derivatives against differences."""
    like = build_likelihood(model("P_z"), **samples("P_z"), engine="reference", **options)
    x, h = point(like), 1e-5
    _, grad, H = like.value_grad_hessian(x)
    steps = h * np.eye(len(x))
    assert_close([(like.value(x + s) - like.value(x - s)) / (2 * h) for s in steps], grad, 1e-7)
    assert_close([(like.value_and_grad(x + s)[1] - like.value_and_grad(x - s)[1]) / (2 * h) for s in steps], H, 1e-6)


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_the_normalisation_stays_one_matrix_and_a_batch_shares_its_passes(engine):
    like = likelihood("P_z", engine)
    assert isinstance(like.norm.source, Collapsed)
    x = np.array([point(like, seed) for seed in range(3)])
    found = like.value_grad_hessian(x)
    for k, row in enumerate(x):
        for one, other in zip(found, like.value_grad_hessian(row), strict=True):
            assert_close(one[k], other, SAME, like.n_events)


def test_couplings_are_those_of_waves():
    like = likelihood("vector")
    assert set(like.coupling_names) == set(model("vector").couplings)
    assert like.plan.n_couplings == 3 * len(like.coupling_names)
    x = point(like)
    values = model_values(like, x)
    np.testing.assert_allclose(free_parameters(like, values.couplings, values.parameters), x, rtol=1e-12)
    intensity = ctpwa.ModelIntensity(model("vector"), couplings=values.couplings, parameters=values.parameters, engine="reference")
    np.testing.assert_allclose(intensity(samples("vector")["data"]), like.intensity(x), rtol=1e-12)


def test_intensity_of_some_waves():
    """Σ ρ A A* of groups of waves, whole and chunk by chunk."""
    own = model("vector")
    rho = np.array(vector(0.2, -0.3, 0.4))
    fixed = replace(own, production=Polarisation.of(rho.tolist(), own.decay.parent), parameters=())
    groups = {"K*": lambda wave: wave.name.startswith("K*"), "rest": [w.name for w in own.waves if not w.name.startswith("K*")]}
    ours, theirs = (ctpwa.ModelIntensity(m, engine="reference") for m in (own, fixed))
    data = samples("vector")["data"]
    found, expected = ours.components(data, groups), theirs.components(data, groups)
    for name in groups:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-12)
    ((one,), (other,)) = (list(intensity.sums(data, groups)) for intensity in (ours, theirs))
    np.testing.assert_allclose(one.psi.abs().square().sum(dim=1), other.psi.abs().square().sum(dim=1), rtol=1e-12)
    assert ours.waves_of(own.couplings[0]) == [own.couplings[0]]


def test_no_intensity_of_what_is_not_physical():
    with pytest.raises(ctpwa.CtpwaError, match=r"not positive at P_x = 0\.8, P_y = -0\.3, P_z = 0\.8"):
        ctpwa.ModelIntensity(model("vector"), parameters={"P_x": 0.8, "P_z": 0.8}, engine="reference")(samples("vector")["data"])


def test_not_a_number_outside_of_what_is_physical():
    like = likelihood("vector")
    x = point(like)
    x[[like.names.index(name) for name in ("P_x", "P_y", "P_z")]] = 0.6
    value, grad, _ = like.value_grad_hessian(x)
    assert np.isnan(value)
    assert np.isnan(grad).any()


def test_fractions_and_their_slopes():
    """Against a matrix of fixed numbers, and against differences."""
    like = likelihood("vector")
    x, h = point(like), 1e-5
    groups = {wave.name: [i] for i, wave in enumerate(model("vector").waves)}
    values, slopes = FractionCalculator(like, x).values_and_slopes(groups)
    for k in (0, like.names.index("P_x"), like.names.index("P_z")):
        step = h * np.eye(len(x))[k]
        ends = [FractionCalculator(like, x + sign * step).values_and_slopes(groups)[0] for sign in (1, -1)]
        np.testing.assert_allclose(slopes[:, k], (ends[0] - ends[1]) / (2 * h), rtol=1e-6, atol=1e-8)
    waves, at = list(groups), model_values(like, x)
    intensity = ctpwa.ModelIntensity(model("vector"), couplings=at.couplings, parameters=at.parameters, engine="reference")
    flat = samples("vector")["phase_space"]
    assert values[1] == pytest.approx(float(intensity(flat, [waves[1]]).sum() / intensity(flat).sum()), rel=1e-12)


def test_relatives():
    like = likelihood("vector")
    x = point(like)
    held = like.fixed({"P_x": float(x[like.names.index("P_x")])})
    index = [i for i, name in enumerate(like.names) if name != "P_x"]
    for found, expected in zip(held.value_grad_hessian(x[index]), like.value_grad_hessian(x), strict=True):
        part = expected if np.ndim(expected) == 0 else expected[index] if np.ndim(expected) == 1 else expected[np.ix_(index, index)]
        assert_close(found, part, SAME, like.n_events)
    fewer = like.without(["Delta(1232)"])
    whole = lambdac(floats(P_x=0.2, P_y=-0.3, P_z=0.4), ["mass", "width"])
    del whole["resonances"]["Delta(1232)"]
    other = build_likelihood(ctpwa.load_model(whole), **samples("vector"), engine="reference")
    assert fewer.names == other.names
    y = point(other)
    for found, expected in zip(fewer.value_grad_hessian(y), other.value_grad_hessian(y), strict=True):
        assert_close(found, expected, SAME, like.n_events)
    collapsed = likelihood("P_z").without(["Delta(1232)"])
    assert np.isfinite(collapsed.value_grad_hessian(collapsed.start)[2]).all()


def test_how_many_events_count_and_random_couplings_do_not_know_of_feeds():
    own = model("P_z")
    fixed = replace(own, production=Polarisation.of(vector(P_z=0.3), own.decay.parent), parameters=())
    ours, theirs = likelihood("P_z"), build_likelihood(fixed, **samples("P_z"), engine="reference")
    assert ours.names[:-1] == theirs.names
    found, expected = ours.normalisation_size(ours.start), theirs.normalisation_size(theirs.start)
    assert found.total == pytest.approx(expected.total, rel=1e-12)
    assert found.waves == pytest.approx(expected.waves, rel=1e-12)
    np.testing.assert_allclose(ours.random_couplings(ours.start, 2)[:, :-1], theirs.random_couplings(theirs.start, 2), rtol=1e-12)


def test_formulas_of_elements():
    """P_x = 0.4 sin t, P_z = 0.4 cos t against the likelihood of P_x and P_z."""
    fit = {"relations": {"P_x": "0.4*sin(t)", "P_z": "0.4*cos(t)"}}
    description = lambdac({"P_x": 0.0, "P_z": 0.0}, parameters={"t": {"value": 0.5, "float": True}}, fit=fit)
    like = build_likelihood(ctpwa.load_model(description), **samples("P_z"), engine="reference")
    plain = build_likelihood(ctpwa.load_model(lambdac(floats(P_x=0.1, P_z=0.1))), **samples("P_z"), engine="reference")
    x = point(like)
    at = dict(zip(like.names, x, strict=True)) | {"P_x": 0.4 * np.sin(x[-1]), "P_z": 0.4 * np.cos(x[-1])}
    value, grad, H = plain.value_grad_hessian(np.array([at[name] for name in plain.names]))
    slope = np.array([at["P_z"], -at["P_x"]])
    curve = -np.array([at["P_x"], at["P_z"]])
    ours = like.value_grad_hessian(x)
    assert ours[0] == pytest.approx(value, abs=SAME * like.n_events)
    assert ours[1][-1] == pytest.approx(grad[-2:] @ slope, rel=1e-10)
    assert ours[2][-1, -1] == pytest.approx(slope @ H[-2:, -2:] @ slope + grad[-2:] @ curve, rel=1e-10)


def test_elements_fixed_at_the_edge_have_no_slopes():
    """ρ_00 = 0 is the transverse parent."""
    like = likelihood("rho_00").fixed({"rho_00": 0.0})
    own = model("rho_00")
    plain = build_likelihood(
        replace(own, production=Polarisation.of("transverse", own.decay.parent), parameters=()), **samples("rho_00"), engine="reference"
    )
    assert like.names == plain.names
    x = plain.start + 0.1
    for found, expected in zip(like.value_grad_hessian(x), plain.value_grad_hessian(x), strict=True):
        assert_close(found, expected, SAME, like.n_events)


def test_fits_keep_away_from_the_edge():
    like = likelihood("rho_00")
    np.testing.assert_allclose(like.bounds[like.names.index("rho_00")], [1e-6, 1 - 1e-6], rtol=1e-12)
    assert model_channels(model("rho_00")).theta[-1].lower == 0.0
