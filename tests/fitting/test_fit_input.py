"""What ``ctpwa.fit`` is given: refused with a message before anything takes time."""

import numpy as np
import pytest

import ctpwa
from fitting.cases import ONE_MASS as MODEL

RE, IM, MASS = "K(2)*(1430)+[K+ eta] (2,2)(2,0).re", "K(2)*(1430)+[K+ eta] (2,2)(2,0).im", "phi(1680).mass"


@pytest.fixture(scope="module")
def likelihood():
    model = ctpwa.load_model(MODEL)
    data, phase_space = (ctpwa.generate_phase_space(model, n, seed=n) for n in (40, 60))
    return ctpwa.build_likelihood(model, data, phase_space, engine="reference")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"starts": 0}, "0 starts\n fix: give at least 1"),
        ({"starts": -2}, "-2 starts"),
        ({"starts": True}, "True starts"),
        ({"starts": 2.5}, "starts have shape (1, 1)\n fix: give how many"),
        ({"starts": "many"}, "starts: 'many' is not made of numbers"),
        ({"starts": [[1.0, 2.0]]}, "starts have shape (1, 2)"),
        ({"starts": [[1.0, 2.0, np.nan]]}, "starts have shape (1, 3)\n fix: give how many, or finite numbers"),
        ({"starts": [[1.0, 2.0, 1.7]], "start": [1.0, 2.0, 1.7]}, "both start and points to start from are given"),
        ({"method": "newtn"}, "unknown method 'newtn'\n fix: did you mean 'newton'?"),
        ({"seed": -1}, "the seed is -1"),
        ({"seed": 0.5}, "the seed is 0.5"),
        ({"minos": MASS}, f"minos is the text {MASS!r}\n fix: give a list"),
        ({"minos": ["phi(1680).mas"]}, "MINOS of 'phi(1680).mas', which is not a free parameter\n fix: did you mean 'phi(1680).mass'?"),
        ({"tolerance": 0}, "the tolerance is 0"),
        ({"tolerance": np.nan}, "the tolerance is nan"),
        ({"max_iterations": 0}, "max_iterations is 0"),
        ({"start": [1.0, 2.0]}, "the start has shape (2,)\n fix: give 3 numbers"),
        ({"start": ["a", "b", "c"]}, "the start: ['a', 'b', 'c'] is not made of numbers"),
        ({"start": {MASS: np.inf}}, f"the start of {MASS!r} is inf\n fix: give a finite number"),
        ({"start": {"phi(1680).mas": 1.7}}, "start value of 'phi(1680).mas', which is not a free parameter\n fix: did you mean"),
        ({"start": {MASS: -1.7}}, f"the start of {MASS!r} is -1.7, outside its limits 0 to inf"),
        ({"starts": [[1.0, 2.0, 1.7], [1.0, 2.0, -1.7]]}, f"the start of {MASS!r} is -1.7, outside"),
        ({"truth": {"K+": np.ones((3, 4))}}, "truth: momenta of K-, eta are missing"),
        ({"truth": [None, None]}, "2 truth samples for 1 likelihood\n"),
    ],
)
def test_what_cannot_be_meant_is_refused_at_once(likelihood, arguments, message):
    with pytest.raises(ctpwa.CtpwaError) as caught:
        ctpwa.fit(likelihood, watch=lambda *_: pytest.fail("too late"), **arguments)
    assert message in str(caught.value)


def test_truth_without_weight(likelihood):
    events = ctpwa.generate_phase_space(likelihood.model, 5, seed=1)
    with pytest.raises(ctpwa.base.DataError, match=r"truth: there are no events, or their weights do not add up to more than 0"):
        ctpwa.fit(likelihood, truth=ctpwa.Events(dict(events), np.array([1.0, -1, 1, -1, 0])))


def test_nothing_to_fit():
    model = ctpwa.load_model({"decay": "J/psi(1S) -> K+ K- eta", "resonances": {"phi(1020)": {"in": "K+ K-"}}})
    events = ctpwa.generate_phase_space(model, 20, seed=1)
    with pytest.raises(ctpwa.base.PhysicsError, match="there is nothing to fit: no parameter is free\n fix: add waves"):
        ctpwa.fit(ctpwa.build_likelihood(model, events, events, engine="reference"))


def test_start_values_by_name_are_those_of_a_vector(likelihood):
    by_name = ctpwa.fit(likelihood, start={MASS: 1.75, IM: 3.0}, max_iterations=1)
    assert [p.start for p in by_name.parameters] == [1.0, 3.0, 1.75]
    in_order = ctpwa.fit(likelihood, start=[1.0, 3.0, 1.75], max_iterations=1)
    assert in_order.nll == by_name.nll


def test_a_likelihood_that_is_not_finite(likelihood, monkeypatch):
    n = len(likelihood.names)
    broken = (np.nan, np.full(n, np.nan), np.full((n, n), np.nan))
    monkeypatch.setattr(ctpwa.Likelihood, "value_grad_hessian", lambda *_: broken)
    with pytest.raises(ctpwa.base.DataError, match=r"not finite where the fit ended .*\n fix: check the start values"):
        ctpwa.fit(likelihood)


def test_settings_tell_how_it_was_fitted(likelihood):
    points = [[1.0, 2.0, 1.7], [0.5, -2.0, 1.6]]
    settings = ctpwa.fit(likelihood, points, max_iterations=2, seed=4).settings
    assert (settings["starts"], settings["seed"], settings["max_iterations"]) == (2, 4, 2)
    assert (settings["engine"], settings["device"]) == ("reference", "cpu")
    assert np.array_equal(settings["points"], points)
