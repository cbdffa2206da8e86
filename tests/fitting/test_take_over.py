"""A likelihood that takes over a result has the −ln L of that result, however its parameters are written."""

from functools import cache

import numpy as np
import pytest

import ctpwa
from ctpwa.fitting.take_over import take_over

MODEL = {
    "decay": "J/psi(1S) -> pi+ pi- pi+ pi-",
    "polarisation": "transverse",
    "resonances": {"a(1)(1260)": {}, "rho(770)": {}},
    "chains": [
        "J/psi(1S) -> a(1)(1260)+ pi-_2 ; a(1)(1260)+ -> rho(770)0 pi+_2 ; rho(770)0 -> pi+_1 pi-_1",
        "J/psi(1S) -> a(1)(1260)- pi+_2 ; a(1)(1260)- -> rho(770)0 pi-_2 ; rho(770)0 -> pi+_1 pi-_1",
    ],
}
LAST = "a(1)(1260)+[pi+_1 pi-_1 pi+_2] rho(770)0[pi+_1 pi-_1] (2,1)(2,1)(1,0)"


@cache
def likelihood(**options):
    model = ctpwa.load_model(MODEL)
    data, phase_space = (ctpwa.generate_phase_space(model, n, seed=n) for n in (30, 40))
    return ctpwa.build_likelihood(model, data, phase_space, engine="reference", **options)


@pytest.fixture(scope="module")
def result():
    """Of couplings that are products over vertices, so that they follow from one another."""
    found = ctpwa.fit(likelihood(couplings="vertex"), max_iterations=2)
    return found.with_origin(settings=dict(found.settings) | {"couplings": "vertex"})


@pytest.mark.parametrize("options", [{}, {"couplings": "vertex"}, {"representation": "polar"}, {"reference_wave": LAST}], ids=str)
def test_every_form_of_couplings(result, options):
    own = likelihood(**options)
    taken = take_over(own, result)
    assert (taken.not_there, taken.not_here) == ((), ())
    assert set(taken.values) == set(own.names)
    x = np.array([taken.values[name] for name in own.names])
    assert own.value(x) == pytest.approx(result.nll, abs=1e-10)


def test_a_sum_takes_over_what_its_terms_do(result):
    one = likelihood(representation="polar")
    assert take_over(one + one, result).values == take_over(one, result).values
