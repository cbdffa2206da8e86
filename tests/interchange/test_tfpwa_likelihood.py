"""−ln L of imported configurations is that of TF-PWA: its formulas at its own intensities, with files as it reads them."""

import copy
import json

import numpy as np
import pytest
import torch
import yaml
from tests.interchange.test_tfpwa import CASES, events

import ctpwa
from ctpwa.base.errors import CtpwaError
from ctpwa.config.model_text import model_text
from ctpwa.interchange import read_tfpwa

DRAWN = np.random.default_rng(18).uniform(0.2, 0.9, (4, 6))  # b and ε of data and phase space


@pytest.fixture
def likelihood(tmp_path):
    """Writes files of numbers and momenta, imports a configuration, and returns its likelihood and notes."""

    def make(case, data, momenta, numbers=None):
        order = data["dat_order"]
        for name, p4 in momenta.items():
            rows = np.stack([np.asarray(p4[particle]) for particle in order], axis=1)
            np.savetxt(tmp_path / name, rows.reshape(-1, 4), fmt="%.17g")
        for name, values in (numbers or {}).items():
            np.savetxt(tmp_path / name, values, fmt="%.17g")
        config = copy.deepcopy(CASES[case]["config"])
        config["data"] = data
        (tmp_path / "config.yml").write_text(yaml.safe_dump(config, sort_keys=False))
        (tmp_path / "final_params.json").write_text(json.dumps({"value": CASES[case]["params"]}))
        imported = read_tfpwa(tmp_path / "config.yml", tmp_path / "final_params.json")
        (tmp_path / "model.yml").write_text(model_text(imported.content, []))
        found = ctpwa.load_analysis(tmp_path / "model.yml").likelihood(engine="reference")
        return found, "\n".join(imported.notes)

    return make


def part(case, indices):
    return {name: p[indices] for name, p in events(CASES[case]).items()}


BASE = {"dat_order": ["B", "C", "D"], "data": ["data.dat"], "phsp": ["PHSP.dat"]}
FILES = {f"{sample}_{kind}_value": f"{sample}_{kind}.dat" for sample in ("data", "phsp") for kind in ("bg", "eff")}


@pytest.mark.parametrize(
    "given",
    [(), ("bg",), ("bg", "eff"), ("eff",), ("phsp_bg", "data_eff"), ("data_bg", "phsp_eff")],
    ids=lambda given: "-".join(given) or "flat",
)
def test_cfit(likelihood, given):
    """P = (1 − f) ε I/⟨ε I⟩ + f b/⟨b⟩, where what is not given is 1."""
    f, I = 0.0909091, np.array(CASES["cfit"]["I"])
    keys = {key: file for key, file in FILES.items() if any(key.removesuffix("_value").endswith(own) for own in given)}
    values = {key: DRAWN[i][:4] if key.startswith("data") else DRAWN[i] for i, key in enumerate(FILES) if key in keys}
    own, notes = likelihood(
        "cfit",
        {"model": "cfit", "bg_frac": f, **BASE, **keys},
        {"data.dat": part("cfit", slice(4)), "PHSP.dat": part("cfit", slice(6))},
        {keys[key]: value for key, value in values.items()},
    )
    b, eps = (values.get(f"data_{kind}_value", np.ones(4)) for kind in ("bg", "eff"))
    B, E = (values.get(f"phsp_{kind}_value", np.ones(6)) for kind in ("bg", "eff"))
    expected = -np.log((1 - f) * eps * I[:4] / (E * I).mean() + f * b / B.mean()).sum()
    constant = np.log(eps / E.mean()).sum()  # of which the notes speak
    assert ("Σ w ln(ε/⟨ε⟩)" in notes) == bool({"data_eff_value", "phsp_eff_value"} & set(keys))
    assert own.value(own.start) - constant == pytest.approx(expected, rel=1e-10)


def test_weights_and_background_that_is_subtracted(likelihood):
    """−α [Σ w ln I − Σ w ln ⟨I⟩] with α = Σw/Σw² and −0.1 for every event of background."""
    I, w = np.array(CASES["two_chains"]["I"]), DRAWN[0][:4]
    own, notes = likelihood(
        "two_chains",
        {**BASE, "data_weight": "w.dat", "bg": ["bg.dat"], "bg_weight": 0.1},
        {"data.dat": part("two_chains", slice(4)), "PHSP.dat": part("two_chains", slice(6)), "bg.dat": part("two_chains", slice(4, 6))},
        {"w.dat": w},
    )
    weights = np.array([*w, -0.1, -0.1])
    alpha = weights.sum() / (weights**2).sum()
    expected = -alpha * (weights @ np.log(I) - weights.sum() * np.log(I.mean()))
    assert "Σw/Σw²" in notes
    assert alpha * own.value(own.start) == pytest.approx(expected, rel=1e-10)


def test_resolution(likelihood):
    """Rows of an event: the mean of I with their weights; α is that of whole events."""
    case = "no_barriers"
    rows, w = part(case, [0, 0, 0, 1, 1, 1]), DRAWN[1]
    own, _ = likelihood(
        case,
        {**BASE, "resolution_size": 3, "data_weight": ["w.dat"]},
        {"data.dat": rows, "PHSP.dat": part(case, slice(6))},
        {"w.dat": w},
    )
    I, total = np.array(CASES[case]["I"]), w.reshape(2, 3).sum(axis=1)
    of_rows = I[[0, 0, 0, 1, 1, 1]]
    mean = (w * of_rows).reshape(2, 3).sum(axis=1) / total
    expected = -(total @ np.log(mean) - total.sum() * np.log(I.mean()))
    assert own.value(own.start) == pytest.approx(expected, rel=1e-10)


def test_extended(likelihood):
    """−Σ ln I + N ⟨I⟩; ctpwa has the yield s as a parameter, and adds N ln N where s = N ⟨I⟩."""
    I = np.array(CASES["extended"]["I"])
    own, notes = likelihood(
        "extended", {**BASE, "extended": True}, {"data.dat": part("extended", slice(4)), "PHSP.dat": part("extended", slice(6))}
    )
    x = own.start.copy()
    x[own.names.index("signal.yield")] = 4 * I.mean()
    assert "N ln N" in notes
    assert own.value(x) + 4 * np.log(4) == pytest.approx(-np.log(I[:4]).sum() + 4 * I.mean(), rel=1e-10)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"bg_frac": None}, "None is not a number"),
        ({"bg_frac": 1.5}, "bg_frac is 1.5"),
        ({"bg": ["bg.dat"]}, "cfit with 'bg'"),
        ({"resolution_size": 4}, "cfit with 'resolution_size'"),
        ({"data_bg_value": 3}, "3 is not a list of files"),
    ],
)
def test_cfit_that_cannot_be_imported(likelihood, change, what):
    with pytest.raises(CtpwaError, match=what):
        likelihood("cfit", {"model": "cfit", "bg_frac": 0.1, **BASE, **change}, {"data.dat": part("cfit", slice(1))})


def test_too_few_densities(likelihood):
    momenta = {"data.dat": part("cfit", slice(4)), "PHSP.dat": part("cfit", slice(6))}
    with pytest.raises(CtpwaError, match="3 numbers for 4 events"):
        likelihood("cfit", {"model": "cfit", "bg_frac": 0.1, **BASE, "data_bg_value": "b.dat"}, momenta, {"b.dat": torch.ones(3)})
