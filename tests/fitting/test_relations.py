"""Fits in which parameters follow from others: derived values with their errors, files, poles, and results that are opened again."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.engine.plan.channels import model_channels
from ctpwa.fitting.derived import derived_parameters
from ctpwa.fitting.native_values import fitted_parameters, ordered
from ctpwa.fitting.result import FitResult
from ctpwa.fitting.take_over import fitted_values, take_over
from ctpwa.observables.nested import extra_parameters
from ctpwa.observables.poles import poles
from ctpwa.report.export.csv_files import csv_tables
from ctpwa.report.export.latex import latex_tables

A, B = "phi(1680)[K+ K-] (1,1)(1,0)", "X[K+ K-] (1,1)(1,0)"
K = "K(2)*(1430)+[K+ eta] (2,2)(2,0)"
DESCRIPTION = {
    "decay": "J/psi(1S) -> K+ K- eta",
    "polarisation": "transverse",
    "parameters": {"ratio": 1.5},
    "resonances": {
        "phi(1680)": {"in": "K+ K-", "mass": 1.659, "width": 0.164, "float": ["mass", "width"]},
        "X": {
            "in": "K+ K-",
            "JP": "1--",
            "mass": "phi(1680).mass + 0.3",
            "width": "ratio*phi(1680).width",
            "lineshape": "breit_wigner_constant_width",
        },
        "K(2)*(1430)": {"in": ["K+ eta", "K- eta"], "float": "pdg"},
    },
    "couplings": {B: {"abs": 0.8, "phase": 0.5}, K: [10, 4]},
    "samples": {"data": "data.npz", "phase_space": {"generate": 800, "seed": 2, "proposal": "flat"}},
    "fit": {
        "engine": "reference",
        "starts": 1,
        "representation": "polar",
        "relations": {f"{K}.phase": f"{B}.phase - 0.2"},
        "constraints": {"K(2)*(1430).width": [0.11, 0.002]},
    },
}


pytestmark = pytest.mark.usefixtures("_here")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("relations")


@pytest.fixture(scope="module")
def analysis(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        model = ctpwa.load_model(DESCRIPTION)
        flat = ctpwa.generate_phase_space(model, 2500, seed=3)
        I = ctpwa.ModelIntensity(model, engine="reference")(flat).numpy()
        kept = np.random.default_rng(1).random(len(I)) * I.max() < I
        ctpwa.write_events("data.npz", ctpwa.Events({name: p[torch.from_numpy(kept)] for name, p in flat.items()}))
        return ctpwa.load_analysis(DESCRIPTION)


@pytest.fixture
def _here(folder, analysis, monkeypatch):
    monkeypatch.chdir(folder)


@pytest.fixture(scope="module")
def result(folder, analysis):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        found = analysis.fit()
        found.save("result.json")
        return found


def test_derived_values_and_errors(result):
    assert result.verdict.good
    derived = {p.name: p for p in result.derived}
    assert list(derived) == [f"{K}.phase", "X.mass", "X.width"]
    mass, width, phase = (result[name] for name in ("phi(1680).mass", "phi(1680).width", f"{B}.phase"))
    assert (derived["X.mass"].value, derived["X.mass"].error) == pytest.approx((mass.value + 0.3, mass.error), rel=1e-13)
    assert (derived["X.width"].value, derived["X.width"].error) == pytest.approx((1.5 * width.value, 1.5 * width.error), rel=1e-13)
    assert (derived[f"{K}.phase"].value, derived[f"{K}.phase"].error) == pytest.approx((phase.value - 0.2, phase.error), rel=1e-13)
    assert derived["X.width"].formula == "ratio*phi(1680).width"
    assert not set(derived) & {*result.names, *result.fixed}
    assert result.fixed["ratio"] == 1.5
    couplings = {c.name: c for c in result.couplings}
    assert np.exp(1j * (couplings[K].phase - couplings[B].phase + 0.2)) == pytest.approx(1, abs=1e-12)
    assert couplings[K].phase_error == pytest.approx(phase.error, rel=1e-9)


def test_errors_of_several_parameters_add_with_their_covariance(analysis, result):
    like = analysis.likelihood()
    both = like.model.relations | {"X.mass": "phi(1680).mass*phi(1680).width + 1.6"}
    like = replace(
        like, parameters=replace(like.parameters, all=tuple(replace(p, formula=both.get(p.name, "")) for p in like.parameters.all))
    )
    (found,) = [p for p in derived_parameters(like, result.x, result.covariance) if p.name == "X.mass"]
    index = [result.names.index(f"phi(1680).{key}") for key in ("mass", "width")]
    slope = result.x[index][::-1]
    assert found.error == pytest.approx(np.sqrt(slope @ result.covariance[np.ix_(index, index)] @ slope), rel=1e-12)
    (lost,) = [p for p in derived_parameters(like, result.x, result.covariance, ["phi(1680).width"]) if p.name == "X.mass"]
    assert lost.error is None


def test_constraints_of_the_pdg_and_explicit_ones(analysis, result):
    assert analysis.constraints == {"K(2)*(1430).mass": (1.4273, 0.0015), "K(2)*(1430).width": (0.11, 0.002)}
    assert result.settings["constraints"] == {"K(2)*(1430).mass": (1.4273, 0.0015), "K(2)*(1430).width": (0.11, 0.002)}
    assert result["K(2)*(1430).mass"].error < 0.0016


def test_printed(result):
    assert "\nderived parameters\n" in str(result)
    assert "= ratio*phi(1680).width" in str(result)


def test_files(result):
    again = FitResult.load("result.json")
    assert again == result
    for wrong in ({"error": -1.0}, {"formula": ""}, {"name": result.names[0]}):
        content = result.as_dict()
        content["derived"][0] |= wrong
        with pytest.raises(ValueError, match="derived"):
            FitResult.from_dict(content)


def test_a_result_that_is_opened_again_has_the_same_likelihood(result):
    opened = ctpwa.open_fit("result.json")
    like = opened.analysis.likelihood()
    assert like.names == result.names
    assert like.value(result.x) == pytest.approx(result.nll, rel=1e-13)
    assert opened.values.parameters["X.mass"] == pytest.approx(result.value("phi(1680).mass") + 0.3, rel=1e-14)
    assert opened.intensity("reference").parameters == opened.values.parameters


def test_native_values_and_poles(result):
    model = ctpwa.load_model(DESCRIPTION)
    channels = model_channels(model)
    parameters = fitted_parameters(result, model, channels)
    _, theta = parameters.native(ordered(result, parameters))
    assert dict(zip(parameters.theta_names, theta, strict=True)) == pytest.approx(dict(fitted_values(result, model).parameters))
    (own,) = [pole for pole in poles(result, model) if pole.resonance == "X"]
    mass, width = 0.3 + result.value("phi(1680).mass"), 1.5 * result.value("phi(1680).width")  # pole at √(m² − i m Γ)
    w = np.sqrt(mass**2 - 1j * mass * width)
    slopes = np.array([(2 * mass - 1j * width) / (2 * w), -1.5j * mass / (2 * w)])
    index = [result.names.index(f"phi(1680).{key}") for key in ("mass", "width")]
    C = result.covariance[np.ix_(index, index)]
    assert own.mass == pytest.approx(w.real, rel=1e-9)
    assert own.mass_error == pytest.approx(np.sqrt(slopes.real @ C @ slopes.real), rel=1e-6)
    assert own.width_error == pytest.approx(2 * np.sqrt(slopes.imag @ C @ slopes.imag), rel=1e-6)


def test_fixed_parameters(result):
    fixed = ctpwa.load_analysis(DESCRIPTION, fix={"phi(1680).mass": 1.66, f"{B}.abs": None, "ratio": 1.4})
    like = fixed.likelihood()
    assert {*result.names} - {*like.names} == {"phi(1680).mass", f"{B}.abs"}
    taken = take_over(like, result)
    again = fixed.fit(likelihood=like, start=taken.values)
    assert (again.fixed["phi(1680).mass"], again.fixed["ratio"], again.fixed[f"{B}.abs"]) == pytest.approx((1.66, 1.4, 0.8))
    assert again.settings["fix"] == {"phi(1680).mass": 1.66, f"{B}.abs": pytest.approx(0.8), "ratio": 1.4}
    again.save("fixed.json")
    opened = ctpwa.open_fit("fixed.json")
    other = opened.analysis.likelihood()
    assert other.names == again.names
    assert other.value(again.x) == pytest.approx(again.nll, rel=1e-13)


def test_fixing_a_constrained_parameter_keeps_its_constraint_in_the_likelihood(result):
    """So that −ln L of fits with and without it can be compared."""
    name = "K(2)*(1430).width"
    fixed = ctpwa.load_analysis(DESCRIPTION, fix={name: result.value(name)}).likelihood()
    x = np.delete(result.x, result.names.index(name))
    assert fixed.value(x) == pytest.approx(result.nll, rel=1e-13)


def test_many_starts_find_the_same_minimum(analysis, result):
    found = analysis.fit(starts=6, seed=3)
    assert found.nll <= result.nll + 1e-6
    derived = {p.name: p.value for p in found.derived}
    assert derived[f"{K}.phase"] == found.value(f"{B}.phase") - 0.2


def test_which_is_a_special_case(result):
    """A fit in which a mass is free is larger than one in which it follows from another."""
    free = replace(
        result,
        parameters=(*result.parameters, replace(result.parameters[-1], name="X.mass", value=1.9)),
        covariance=np.pad(result.covariance, (0, 1)),
        derived=tuple(p for p in result.derived if p.name != "X.mass"),
    )
    extra = extra_parameters(result, free)
    assert (extra.released, extra.undefined, extra.couplings) == (("X.mass",), (), 0)
    assert "'X.mass' is phi(1680).mass + 0.3 in the model with more couplings, and free in the other" in extra_parameters(free, result)
    fixed = replace(result, settings={**result.settings, "fix": {f"{B}.abs": 1.0}})
    assert "is fixed to 1.0" in extra_parameters(result, fixed)


def test_exported(result):
    model = ctpwa.load_model(DESCRIPTION)
    tables = csv_tables(result)
    (row,) = [line for line in tables["derived.csv"].splitlines() if line.startswith("X.width,")]
    own = next(p for p in result.derived if p.name == "X.width")
    assert row == f"X.width,{own.value!r},{own.error!r},ratio*phi(1680).width"
    assert "derived.csv" not in csv_tables(replace(result, derived=()))
    assert r"$\Gamma[X]$" in latex_tables(result, model)["parameters.tex"]


def test_many_starts_without_a_free_coupling(result):
    """All of them are the same: only couplings are random."""
    parts = {f"{name}.{part}": None for name in (B, K) for part in ("abs", "phase") if f"{name}.{part}" in result.names}
    found = ctpwa.load_analysis(DESCRIPTION, fix=parts).fit(starts=20)
    assert found.names == ("phi(1680).mass", "phi(1680).width", "K(2)*(1430).mass", "K(2)*(1430).width")
    assert (found.n_starts, len(found.minima)) == (20, 1)
