"""The spin state of the parent in a model file."""

import pytest

from unit.config.refusals import refusals

PHI = "resonances: {phi(1020): {in: K+ K-}}\n"
DECAY = "decay: J/psi(1S) -> K+ K- eta\n"


def polarised(value):
    return DECAY + f"polarisation: {value}\n" + PHI


test_bad_polarisation = refusals(
    polarised,
    """
    [[1, 0], [0, 1]] | 2:15 | the density matrix has shape 2×2 | spin 1 needs 3×3
    [[1, 1, 0], [0, 0, 0], [0, 0, 1]] | 2:15 | not Hermitian | complex conjugate
    [[1, 0, 0.1j], [0, 0, 0], [0.1j, 0, 1]] | 2:15 | not Hermitian | complex conjugate
    [[1, 0, 0], [0, -1, 0], [0, 0, 1]] | 2:15 | not positive: its lowest eigenvalue is -1 | negative
    [[1, 0, 0], [0, 0], [0, 0, 1]] | 2:15 | not a matrix of numbers | 3 rows of 3 numbers
    [[1, 0, a], [0, 0, 0], [a, 0, 1]] | 2:15 | not a matrix of numbers | 0.1+0.2j
    transvers | 2:15 | 'transvers' is not a polarisation | did you mean 'transverse'?
    unpolarized | 2:15 | 'unpolarized' is not a polarisation | did you mean 'unpolarised'?
    longitudinal | 2:15 | 'longitudinal' is not a polarisation | or a density matrix
    1 | 2:15 | 1 is not a polarisation | or a density matrix
    [1, 0, 1] | 2:15 | is not a polarisation | or a density matrix
    """,
)


def test_transverse_needs_spin_one(refused):
    text = "decay: D0 -> K- pi+ pi0\npolarisation: transverse\nresonances: {rho(770): {in: pi+ pi0}}\n"
    refused(text, "2:15", "D0 (0⁻) has no states m = ±1", "write unpolarised")


def test_default_is_unpolarised(load):
    assert load(DECAY + PHI).production.kind == "unpolarised"


def test_density_matrix_with_complex_entries(load):
    rho = load(DECAY + "polarisation: [[0.5, 0, 0.1+0.2j], [0, 0, 0], [0.1-0.2j, 0, 0.5]]\n" + PHI).production.rho
    assert rho[0, 2] == 0.1 + 0.2j
    assert rho[2, 0] == 0.1 - 0.2j


LAMBDAC = "decay: Lambda(c)+ -> p K- pi+\n"
KSTAR = "resonances: {K*(892): {in: K- pi+}}\n"


def elements(model):
    return {p.name: (p.value, p.fixed, p.lower, p.upper) for p in model.parameters}


def test_names_of_elements_that_float(load):
    vector = load(LAMBDAC + "polarisation: [P_x, P_y, P_z]\n" + KSTAR)
    assert elements(vector) == {name: (0.0, False, -1.0, 1.0) for name in ("P_x", "P_y", "P_z")}
    assert str(vector.production) == "density matrix of P_x, P_y, P_z"
    assert elements(load(LAMBDAC + "polarisation: float\n" + KSTAR)) == elements(vector)
    alone = load(DECAY + "polarisation: rho_00\n" + PHI)
    assert elements(alone) == {"rho_00": (pytest.approx(1 / 3), False, 0.0, 1.0)}
    assert alone.production.rows(alone.decay).real
    assert len(elements(load(DECAY + "polarisation: float\n" + PHI))) == 8


def test_values_limits_and_what_is_fixed(load):
    given = "polarisation: {P_x: 0.6, P_y: 0, P_z: {value: 0.1, float: true, limits: [-0.5, 0.9]}}\n"
    found = elements(load(LAMBDAC + given + KSTAR))
    assert found["P_x"] == (0.6, True, -1.0, 1.0)
    value, fixed, lower, upper = found["P_z"]
    assert (value, fixed, lower) == (0.1, False, -0.5)
    assert upper == pytest.approx(0.8, abs=2e-6)  # what P_x = 0.6 leaves
    assert upper < 0.8
    found = elements(load(LAMBDAC + "polarisation: [P_x, P_z]\nfit: {fix: {P_x: 0.6}}\n" + KSTAR))
    assert found["P_x"][:2] == (0.6, True)
    assert found["P_z"][3] == pytest.approx(0.8, abs=2e-6)


def test_an_element_that_is_equal_to_another(load):
    model = load(DECAY + "polarisation: {rho_11: float, rho_-1-1: rho_11}\n" + PHI)
    (name, (_, fixed, lower, upper)) = elements(model).popitem()
    assert (name, fixed, lower) == ("rho_11", False, 0.0)
    assert upper == pytest.approx(0.5, abs=2e-6)
    assert model.production.density.even


def test_formulas_of_elements(load):
    text = LAMBDAC + "polarisation: {P_x: 0, P_z: float}\nfit: {relations: {P_x: 0.5*P_z}, constraints: {P_z: [0.1, 0.2]}}\n" + KSTAR
    assert load(text).relations == {"P_x": "0.5*P_z"}


test_bad_elements = refusals(
    polarised,
    """
    P_z | 2:15 | 'P_z' is no element of the density matrix of a parent with spin 1 | the elements are rho_11, rho_00
    {rho_01.re: float} | 2:16 | 'rho_01.re' is no element | write rho_10.re: elements below the diagonal are the complex
    {rho_10: float} | 2:16 | 'rho_10' is no element | rho_10.re and rho_10.im
    {rho_22: 0.1} | 2:16 | 'rho_22' is no element | did you mean 'rho_11'
    {rho_00: 1.2} | 2:24 | 'rho_00' is 1.2 | give a number from 0 to 1
    {rho_00: {value: 0.5, limits: [0, 2]}} | 2:45 | the limits of 'rho_00' are 0 and 2 | within 0 to 1
    {rho_00: 0.9, rho_1-1.re: 0.3} | 2:15 | its lowest eigenvalue is -0.25 at rho_00 = 0.9, rho_1-1.re = 0.3 | negative
    {rho_11: float, rho_00: float, rho_-1-1: 0.1} | 2:15 | all 3 diagonal elements are named | leave one of them out
    {rho_00: yes} | 2:24 | true is not what 'rho_00' can be | write a number, float
    {rho_00: {valu: 1}} | 2:25 | unknown key 'valu' | did you mean 'value'?
    {rho_00: rho_12} | 2:24 | 'rho_00' is 'rho_12' | another diagonal element that it is equal to
    {rho_11: 0.2, rho_-1-1: {value: rho_11, float: true}} | 2:39 | equal to 'rho_11', and has nothing of its own | let it float
    {} | 2:15 | 'polarisation' names no element | rho_11: float
    """,
)


test_bad_vectors = refusals(
    lambda value: LAMBDAC + f"polarisation: {value}\n" + KSTAR,
    r"""
    {P_x: 0.8, P_z: 0.8} | 2:15 | not positive | not longer than 1
    [P_x, P_z]\nfit: {start: {P_x: 0.8, P_z: 0.8}} | 2:15 | at P_x = 0.8, P_z = 0.8 | not longer than 1
    {P_x: {value: 0.6, float: true}, P_z: {value: 0.8, float: true}}
        | 2:15 | at the edge of what is physical where the fit starts | start inside
    {P_x: 0.6, P_y: 0.8, P_z: float} | 2:15 | 'P_z' has no room | not longer than 1
    {P_x: 0, P_z: float}\nfit: {start: {P_x: 0.5}} | 3:15 | 'P_x' is not a free parameter | P_x: float
    P_z\nparameters: {P_z: 1} | 2:15 | one of the 'parameters' as well | rename
    {P_z: float}\nfit: {relations: {P_z: 0.5*P_x}} | 3:19 | 'P_z' is a formula and cannot float | let the parameters in it float
    """,
)


@pytest.mark.parametrize("value", ["float", "rho_00"])
def test_spin_zero_has_no_elements(refused, value):
    text = f"decay: D0 -> K- pi+ pi0\npolarisation: {value}\nresonances: {{rho(770): {{in: pi+ pi0}}}}\n"
    refused(text, "2:15", "D0 (0⁻) has spin 0 and no polarisation", "leave 'polarisation' out")
