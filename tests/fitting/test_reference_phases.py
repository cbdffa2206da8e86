"""Fits of waves in sets that do not interfere: all parameters are determined, and counted."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import ctpwa
from ctpwa.base.errors import PhysicsError
from ctpwa.engine import free_parameters, model_values
from ctpwa.engine.plan.channels import model_channels
from ctpwa.fitting.native_values import fitted_parameters, ordered
from ctpwa.fitting.one_form import one_form
from ctpwa.fitting.take_over import fitted_values, take_over
from ctpwa.generate.toys import generate_toy
from ctpwa.observables.closure import Closure
from ctpwa.observables.nested import extra_parameters

K0, K1, K13, K2 = (f"K*(892)~0[K- pi+] {ls}(1,0)" for ls in ("(0,1/2)", "(1,1/2)", "(1,3/2)", "(2,3/2)"))
L1, L2 = (f"Lambda(1520)[p K-] {ls}(2,1/2)" for ls in ("(1,3/2)", "(2,3/2)"))
TRUTH = {K0: 1, K1: 3 + 2j, K13: -1 + 4j, K2: 5 - 9j, L1: 12 - 8j, L2: -30 - 50j}
MODEL = ctpwa.load_model(
    {
        "decay": "Lambda(c)+ -> p K- pi+",
        "resonances": {"K*(892)": {"in": "K- pi+"}, "Lambda(1520)": {"in": "p K-", "width": 0.1}},
        "couplings": {name: [complex(c).real, complex(c).imag] for name, c in TRUTH.items()},
    }
)


@cache
def likelihood(**options):
    data = generate_toy(MODEL, 1500, seed=1, engine="reference", progress=False)
    return ctpwa.build_likelihood(MODEL, data, ctpwa.generate_phase_space(MODEL, 4000, seed=2), engine="reference", **options)


@cache
def result(**options):
    return ctpwa.fit(likelihood(**options), progress=False)


def free_again(own):
    """The likelihood with every phase free, as if nothing were known about sets."""
    return replace(own, parameters=own.phases.released(own.parameters), phases=type(own.phases)())


@pytest.mark.parametrize("options", [{}, {"representation": "polar"}], ids=str)
def test_a_fit_ends_good(options):
    found = result(**options)
    assert found.verdict.good
    assert len(found.names) == 9
    part = "phase" if options else "im"
    assert found.fixed[f"{K1}.{part}"] == 0
    own = {c.name: c for c in found.couplings}[K1]
    assert (own.phase, own.phase_error) == (0, 0)
    assert own.magnitude_error > 0
    assert "0 (fixed)" in next(line for line in str(found).splitlines() if line.startswith(f"  {K1} "))


def test_without_references_it_is_the_same_minimum_with_one_parameter_too_many():
    found, free = result(), ctpwa.fit(free_again(likelihood()), progress=False)
    assert free.nll == pytest.approx(found.nll, abs=1e-7)
    assert not free.verdict.good
    assert len(free.verdict.flat) == 1
    assert found.aic == pytest.approx(free.aic - 2, abs=1e-6)
    for own, other in zip(found.fractions[0].groups["resonances"].errors, free.fractions[0].groups["resonances"].errors, strict=True):
        assert own == pytest.approx(other, rel=1e-4)


@pytest.mark.parametrize("options", [{}, {"representation": "polar"}, {"couplings": "vertex"}], ids=str)
def test_references_are_positive_in_the_end(options):
    """The other sign of a real reference is the same point with its set turned by π."""
    own = likelihood(**options)
    x = own.random_couplings(own.start, 1, seed=2)[0]
    (reference,) = own.phases.references
    size = own.names.index(f"{reference}.{'abs' if own.parameters.representation == 'polar' else 're'}")
    x[size] *= -1
    found = one_form(own, x)
    assert found[size] == -x[size]
    assert own.value(found) == pytest.approx(own.value(x), rel=1e-12)
    np.testing.assert_allclose(one_form(own, found), found, atol=1e-15)


@pytest.mark.parametrize("options", [{}, {"representation": "polar"}, {"reference_wave": K13}], ids=str)
def test_results_with_other_phases_are_taken_over(options):
    """Of fits that knew nothing of sets, or had another reference wave."""
    free = ctpwa.fit(free_again(likelihood()), progress=False)
    own = likelihood(**options)
    start = take_over(own, free).values
    x = np.array([start.get(name, value) for name, value in zip(own.names, own.start, strict=True)])
    assert own.value(x) == pytest.approx(free.nll, abs=1e-7)


def test_what_follows_from_a_result():
    """Couplings with their derivatives, and the truth of toys."""
    found, own = result(), likelihood()
    parameters = fitted_parameters(found, MODEL, model_channels(MODEL))
    assert set(parameters.names) == set(own.names)
    values = fitted_values(found, MODEL)
    np.testing.assert_allclose(free_parameters(own, values.couplings, values.parameters), found.x, rtol=1e-9)
    c, _ = parameters.native(ordered(found, parameters))
    np.testing.assert_allclose(c, list(values.couplings.values()), rtol=1e-9)


def test_a_value_of_a_reference_is_refused():
    with pytest.raises(PhysicsError, match="not a free parameter") as caught:
        ctpwa.fit(likelihood(), start={f"{K1}.im": 1.0}, progress=False)
    assert "reference of waves that do not interfere" in str(caught.value)
    with pytest.raises(PhysicsError, match="reference of waves that do not interfere"):
        ctpwa.fit(likelihood(), minos=[f"{K1}.im"], progress=False)


def test_closure_compares_in_the_same_phases():
    closure = Closure(MODEL, 400, 800, n_reference=1000, engine="reference", seed=3)
    true = model_values(closure.reference, closure.truth).couplings
    assert true[K1] == pytest.approx(abs(TRUTH[K1]))
    assert true[K13] / true[K1] == pytest.approx(TRUTH[K13] / TRUTH[K1])
    toy = closure.run(0)
    assert toy.likelihood_ratio > 0
    assert np.isfinite(toy.chi2)
    assert closure.run(0, random_starts=2).result.nll <= toy.result.nll + 1e-3


def test_parameters_between_nested_models():
    """Two couplings more, one in either set: four real numbers; one that is a set of its own has no phase."""
    whole = likelihood()
    settings = {"couplings": "wave"}
    larger = result().with_origin(settings=settings)
    fewer = ctpwa.fit(whole.without(["Lambda(1520)"]), progress=False).with_origin(settings=settings)
    assert extra_parameters(fewer, larger).couplings == 4
    alone = whole.without([K1, K13, K2, L1])
    assert alone.names == (f"{L2}.re",)
