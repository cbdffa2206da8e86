"""Density matrix and moments of a fit of photoproduction, in tables and in a report."""

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import ctpwa
from ctpwa.analysis.photon_tables import photon_chapter, photon_sections, spin_density_section
from ctpwa.cli.main import make_app
from studies.produced import MODEL, flat

VECTOR = (
    MODEL.replace("    0+: {reflectivity: [1, -1]}\n", "")
    .replace("    2+: {m: 1, reflectivity: 1}\n", "")
    .replace("{m: 1, ref", "{m: [0, 1], ref")
)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """The result of a fit of 1⁻ with m = 0 and 1."""
    folder = tmp_path_factory.mktemp("vector")
    (folder / "model.yml").write_text(VECTOR.replace(", truth: generated.npz", ""))
    model = ctpwa.load_model(folder / "model.yml")
    events = flat(3000, 8, 1.1, 1.3)
    couplings = dict(zip(model.couplings, [1, 0.6 + 0.5j], strict=True))
    weights = ctpwa.ModelIntensity(model, couplings=couplings, engine="reference")(events).numpy()
    kept = np.flatnonzero(np.random.default_rng(1).random(3000) * weights.max() < weights)
    ctpwa.write_events(folder / "data.npz", events.picked(torch.from_numpy(kept)), model=model)
    ctpwa.write_events(folder / "accepted.npz", flat(3000, 9, 1.1, 1.3), model=model)
    ctpwa.load_analysis(folder / "model.yml").fit(progress=False).save(folder / "model.result.json")
    return folder / "model.result.json"


def numbers(text):
    value, _, error = text.removesuffix(" (fixed)").partition(" ± ")
    return float(value), float(error or 0)


def test_amplitudes_and_events_agree(path):
    density, moments = photon_sections(ctpwa.open_fit(path))
    assert density.columns == ("element", "amplitudes", "events")
    for _, fitted, measured in density.rows[:3]:
        (a, _), (b, error) = numbers(fitted), numbers(measured)
        assert abs(a - b) < 4 * error
    assert moments.title == "moments, in events"
    first = moments.rows[0]
    assert numbers(first[1])[0] == pytest.approx(numbers(first[2])[0], rel=0.02)


def test_where_they_are_shown(path):
    run = CliRunner().invoke
    shown = run(make_app(), ["show", str(path)])
    assert "spin density matrix of 1⁻" in shown.stdout
    assert "moments, in events" not in shown.stdout
    assert "moments, in events" in run(make_app(), ["show", str(path), "--moments"]).stdout
    (chapter,) = photon_chapter(ctpwa.open_fit(path))
    assert [own.title for own in chapter.sections] == ["spin density matrix of 1⁻", "moments, in events"]


def test_other_fits_have_none(path, tmp_path):
    decay = ctpwa.load_model({"decay": "J/psi(1S) -> K+ K- eta", "resonances": {"phi(1680)": {"in": "K+ K-"}}})
    assert spin_density_section(ctpwa.FitResult.load(path), decay) == []
