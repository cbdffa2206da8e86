"""Intensities of a model at given values, of all waves or of some."""

import dataclasses

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.engine.likelihood.intensity import ModelIntensity
from ctpwa.spin.rotate import RowRotation
from fitting.cases import WITH_BASIS as MODEL

PHI, PLUS, MINUS = "phi(1680)[K+ K-] (1,1)(1,0)", "K(2)*(1430)+[K+ eta] (2,2)(2,0)", "K(2)*(1430)-[K- eta] (2,2)(2,0)"
SPLINE = "S[K+ K-] (3,3)(3,0)"
VALUES = {PHI: 0.7 - 0.2j, PLUS: -0.4 + 0.9j}


@pytest.fixture(scope="module")
def model():
    return ctpwa.load_model(MODEL)


@pytest.fixture(scope="module")
def events(model):
    return ctpwa.generate_phase_space(model, 400, seed=3)


def by_definition(model, events, **couplings):
    """I of the likelihood's reference engine at these couplings, divided out of its normalisation to the reference wave."""
    likelihood = ctpwa.build_likelihood(model, events, events, engine="reference")
    c = {name: couplings.get(name, 1.0) for name in likelihood.coupling_names}
    scale = c[likelihood.coupling_names[0]]
    return likelihood.intensity(ctpwa.engine.free_parameters(likelihood, c)) * abs(scale) ** 2


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_the_whole_is_what_the_likelihood_sees(model, events, engine, double):
    I = ModelIntensity(model, couplings=VALUES, engine=engine, device="cpu")(events)
    double(I)
    torch.testing.assert_close(I, by_definition(model, events, **VALUES), rtol=1e-11, atol=0)


def test_values_of_the_model_file_are_the_defaults(events):
    values = {PHI: "0.7-0.2j", PLUS: [-0.4, 0.9]}
    I = ModelIntensity(ctpwa.load_model(MODEL | {"couplings": values}), device="cpu")
    expected = ModelIntensity(ctpwa.load_model(MODEL), couplings=VALUES, device="cpu")
    assert torch.equal(I(events), expected(events))
    assert I.couplings[PLUS] == -0.4 + 0.9j
    assert I.couplings[f"{SPLINE}:{list(I.couplings)[-1].split(':')[1]}"] == 1


@pytest.mark.parametrize("name", ["phi(1680).mass", "phi(1680).width", "K(2)*(1430).mass"])
def test_parameters_floating_or_fixed_can_be_given(model, events, name):
    """A changed parameter is the same as a changed model file."""
    resonance, key = name.split(".")
    changed = MODEL["resonances"] | {resonance: MODEL["resonances"][resonance] | {key: 1.2}}
    expected = ModelIntensity(ctpwa.load_model(MODEL | {"resonances": changed}), device="cpu")(events)
    torch.testing.assert_close(ModelIntensity(model, parameters={name: 1.2}, device="cpu")(events), expected, rtol=1e-12, atol=0)


def test_one_wave_alone(model, events):
    only = ctpwa.load_model(MODEL | {"resonances": {"phi(1680)": MODEL["resonances"]["phi(1680)"]}})
    I = ModelIntensity(model, couplings=VALUES, device="cpu")(events, waves=[PHI])
    expected = ModelIntensity(only, couplings={PHI: VALUES[PHI]}, device="cpu")(events)
    torch.testing.assert_close(I, expected, rtol=1e-11, atol=1e-14 * float(expected.max()))


def test_tied_waves_can_be_separated_and_interfere_with_the_right_sign(model, events):
    """|a + b|² + |a − b|² = 2|a|² + 2|b|², where b with the other sign is a model without the tie."""
    I = ModelIntensity(model, couplings=VALUES, device="cpu")
    both, plus, minus = I(events, [PLUS, MINUS]), I(events, [PLUS]), I(events, [MINUS])
    untied = ctpwa.load_model(MODEL | {"tie_conjugates": False})
    opposite = ModelIntensity(untied, couplings={PLUS: VALUES[PLUS], MINUS: VALUES[PLUS]}, device="cpu")(events, [PLUS, MINUS])
    torch.testing.assert_close(both + opposite, 2 * plus + 2 * minus, rtol=1e-11, atol=1e-14 * float(both.max()))
    assert not torch.allclose(both, opposite, atol=0)


def test_selections_by_name_by_function_and_by_coupling(model, events):
    I = ModelIntensity(model, couplings=VALUES, device="cpu")
    named = I(events, [PLUS, MINUS])
    assert torch.equal(I(events, lambda wave: wave.resonances[0].name == "K(2)*(1430)"), named)
    assert I.waves_of(PLUS) == [PLUS, MINUS]
    assert torch.equal(I(events, I.waves_of(PLUS)), named)
    assert torch.equal(I(events, lambda wave: True), I(events))
    assert not I(events, []).any()


def test_functions_of_a_basis_add_up_to_their_wave(model, events):
    """Amplitudes add up, not intensities."""
    I = ModelIntensity(model, device="cpu")
    parts = [name for name in I.couplings if name.startswith(SPLINE)]
    assert len(parts) == 4
    found = I.components(events, {"all": [SPLINE], "named": parts} | {part: [part] for part in parts})
    assert torch.equal(found["all"], found["named"])
    assert (found[parts[0]] > 0).any()
    assert not torch.allclose(sum(found[part] for part in parts), found["all"], atol=0)


def test_components_are_the_intensities_of_each_group(model, events):
    I = ModelIntensity(model, couplings=VALUES, device="cpu")
    found = I.components(events, {"total": None, "phi": [PHI]})
    assert torch.equal(found["total"], I(events))
    assert torch.equal(found["phi"], I(events, [PHI]))


def test_chunks_change_nothing(model, events):
    whole = ModelIntensity(model, couplings=VALUES, device="cpu")(events)
    many = {name: events[name].repeat(6, 1) for name in events}
    chunked = ModelIntensity(model, couplings=VALUES, device="cpu", chunk_bytes=1)
    torch.testing.assert_close(chunked(many), whole.repeat(6), rtol=1e-13, atol=0)


def test_no_events(model):
    none = {name: torch.zeros(0, 4, dtype=torch.float64) for name in model.final_names}
    assert ModelIntensity(model, device="cpu")(none).shape == (0,)


def test_first_events_that_need_fewer_rows_than_others(model, events):
    """If later events need more polarisation rows than the first ones, all rows are kept, and nothing else changes."""
    I = ModelIntensity(model, couplings=VALUES, device="cpu")
    expected = I(events)
    again = ModelIntensity(model, couplings=VALUES, device="cpu")
    needed = I._ready[1].n_rows
    again._prepare(RowRotation(needed, torch.full((len(I._ready[1].structures),), 1e-30)))  # any left-over rounding now counts as a row
    torch.testing.assert_close(again(events), expected, rtol=1e-11, atol=1e-14 * float(expected.max()))
    assert again._ready[1].n_rows > needed


def test_lineshapes_without_a_formula(events):
    def peak(s, q2, parameters):
        return 1 / (parameters["pole"] ** 2 - s - 0.1j)

    model = ctpwa.load_model(MODEL | {"resonances": {"phi(1680)": {"in": "K+ K-"}}})
    (wave,) = model.waves
    resonance = dataclasses.replace(
        wave.resonances[0], lineshape=peak, options={"parameters": ["pole"]}, parameters={"pole": 1.7}, floating=("pole",)
    )
    own = dataclasses.replace(model, waves=(dataclasses.replace(wave, resonances=(resonance,)),), resonances={"phi(1680)": resonance})
    ratio = ModelIntensity(own, parameters={"phi(1680).pole": 1.5}, device="cpu")(events) / ModelIntensity(own, device="cpu")(events)
    s = (events["K+"] + events["K-"])[:, 0] ** 2 - (events["K+"] + events["K-"])[:, 1:].square().sum(dim=1)
    torch.testing.assert_close(ratio, ((1.7**2 - s) ** 2 + 0.01) / ((1.5**2 - s) ** 2 + 0.01), rtol=1e-11, atol=0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"couplings": {"phi(1680)": 1}}, "no coupling is called 'phi(1680)'\n fix: did you mean"),
        ({"couplings": {MINUS: 1}}, f"no coupling is called {MINUS!r}\n fix: did you mean {PLUS!r}"),
        ({"couplings": {PHI: float("nan")}}, "is nan\n fix: give a finite number"),
        ({"parameters": {"phi(1680).mas": 1}}, "no lineshape parameter is called 'phi(1680).mas'\n fix: did you mean 'phi(1680).mass'"),
        ({"parameters": {"phi(1680).width": -1}}, "'phi(1680).width' is -1\n fix: give a number from 0 to inf"),
        ({"parameters": {"phi(1680).width": np.nan}}, "'phi(1680).width' is nan"),
    ],
)
def test_wrong_values_are_refused(model, arguments, message):
    with pytest.raises(ctpwa.base.PhysicsError) as error:
        ModelIntensity(model, **arguments)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("waves", "message"), [(["phi(1680)"], "no wave is called 'phi(1680)'\n fix: did you mean"), (PHI, "is one text, not a list")]
)
def test_wrong_selections_are_refused(model, events, waves, message):
    with pytest.raises(ctpwa.base.PhysicsError) as error:
        ModelIntensity(model, device="cpu")(events, waves)
    assert message in str(error.value)


def test_wrong_names_of_couplings_are_refused(model):
    with pytest.raises(ctpwa.base.PhysicsError, match="no coupling is called 'phi'"):
        ModelIntensity(model, device="cpu").waves_of("phi")
