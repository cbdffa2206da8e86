"""Results are found again with their samples, wherever both were moved to, and with no others."""

import shutil

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.analysis.reopen import check_hashes, open_fit
from ctpwa.base.errors import CtpwaError, DataError
from kk_eta import TWO_FIXED

MODEL = (
    TWO_FIXED
    + """data_sets:
  one:
    data: {file: "one_*.npz"}
    phase_space: {file: flat.npz, weight_file: weights.txt}
  two: {data: two.npz, phase_space: {generate: 300, seed: 2}, background: {file: side.npz, scale: 0.5}}
projections:
  - {variable: "mass(K+, K-)", bins: 10}
fit: {engine: reference, starts: 1}
"""
)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A folder with model, samples and result; the model file was given as work/model.yml from its parent."""
    top = tmp_path_factory.mktemp("fitted")
    folder = top / "work"
    folder.mkdir()
    (folder / "model.yml").write_text(MODEL)
    model = ctpwa.load_model(folder / "model.yml")
    for seed, (name, n) in enumerate({"one_1": 60, "one_2": 50, "two": 80, "side": 40, "flat": 300}.items()):
        ctpwa.write_events(folder / f"{name}.npz", ctpwa.generate_phase_space(model, n, seed=10 + seed), model=model)
    np.savetxt(folder / "weights.txt", np.linspace(0.5, 1.5, 300))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(top)
        result = ctpwa.load_analysis("work/model.yml").fit()
        result.save("work/result.json")
    return top, result


@pytest.fixture
def copied(fitted, tmp_path, monkeypatch):
    """All of it in another folder, seen from elsewhere."""
    shutil.copytree(fitted[0], tmp_path / "new")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path / "new"


def counts(opened):
    return [(s.name, s.data.n_events, s.phase_space.n_events) for s in opened.read(progress=False)]


ALL = [("one", 110, 300), ("two", 80, 300)]


def test_in_the_folder_of_the_fit(fitted, monkeypatch):
    monkeypatch.chdir(fitted[0])
    opened = open_fit("work/result.json")
    assert opened.result == fitted[1]
    assert opened.path == "work/result.json"
    assert counts(opened) == ALL
    assert opened.read()[1].background.weights.sum() == 20
    assert counts(open_fit(fitted[1])) == ALL  # without its file


def test_model_and_values(fitted, monkeypatch):
    monkeypatch.chdir(fitted[0])
    opened = open_fit("work/result.json")
    analysis = ctpwa.load_analysis("work/model.yml")
    likelihood = analysis.likelihood()
    expected = ctpwa.engine.model_values(likelihood, fitted[1].x)
    assert str(opened.model) == str(analysis.model)
    assert opened.values.couplings == pytest.approx(expected.couplings, rel=1e-12)
    assert opened.values.parameters == pytest.approx(expected.parameters)
    events = analysis.read("two").data
    own = ctpwa.ModelIntensity(analysis.model, couplings=expected.couplings, parameters=expected.parameters, engine="reference")
    torch.testing.assert_close(opened.intensity("reference")(events), own(events), rtol=1e-11, atol=0)


@pytest.mark.parametrize("place", ["work/result.json", "best/result.json"])
def test_files_that_were_moved_together_are_found(copied, place):
    (copied / "best").mkdir()
    if place.startswith("best"):
        for file in (copied / "work").iterdir():
            shutil.move(file, copied / "best" / file.name)
    assert counts(open_fit(copied / place)) == ALL


def test_a_result_above_its_model_is_found(copied):
    """The path of the model file counts from the folder of the result too."""
    shutil.move(copied / "work" / "result.json", copied / "result.json")
    assert counts(open_fit(copied / "result.json")) == ALL


def test_of_two_places_that_which_was_fitted_is_taken(copied, monkeypatch):
    """In the working directory is something else under the same names."""
    monkeypatch.chdir(copied)
    (copied / "moved").mkdir()
    for file in (copied / "work").iterdir():
        shutil.copy(file, copied / "moved" / file.name)
    shutil.copy(copied / "work" / "side.npz", copied / "work" / "two.npz")
    assert counts(open_fit("moved/result.json")) == ALL


def test_projections_of_all_data_sets(fitted, monkeypatch):
    monkeypatch.chdir(fitted[0])
    opened = open_fit("work/result.json")
    found = opened.project("reference", progress=False)
    assert list(found) == ["one", "two"]
    for samples in opened.read():
        projected = found[samples.name]
        (projection,) = projected.projections
        assert (projection.variable.name, len(projection.data)) == ("mass(K+, K-)", 10)
        assert projection.data.sum() == samples.data.n_events
        assert projection.expected.sum() == pytest.approx(samples.data.n_events, rel=1e-12)
        assert (projection.background.sum() > 0) == (samples.name == "two")
        (grid,) = projected.grids
        assert grid.expected.sum() == pytest.approx(samples.data.n_events, rel=1e-12)


# what is refused


@pytest.mark.parametrize("name", ["two.npz", "weights.txt", "one_*.npz"])
def test_missing_files(copied, name):
    for file in (copied / "work").glob(name):
        file.unlink()
    with pytest.raises(DataError) as caught:
        open_fit(copied / "work" / "result.json")
    message = str(caught.value)
    assert f"{name!r}, which was fitted, was not found; looked in 'work' or " in message
    assert message.endswith("\n fix: put the result or the files back where they were, or run this in the folder in which it was fitted")


def test_changed_events(copied):
    shutil.copy(copied / "work" / "side.npz", copied / "work" / "two.npz")
    opened = open_fit(copied / "work" / "result.json")
    with pytest.raises(DataError, match=r"two.npz' is not the file that was fitted: its content has changed since\n fix: put the old"):
        opened.read()


def test_changed_weights(copied):
    np.savetxt(copied / "work" / "weights.txt", np.linspace(0.5, 1.6, 300))
    with pytest.raises(DataError, match=r"weights.txt' is not the file that was fitted"):
        open_fit(copied / "work" / "result.json").read()


def test_one_more_file(copied):
    with np.load(copied / "work" / "one_1.npz") as first:
        np.savez(copied / "work" / "one_3.npz", **{name: p[::2] for name, p in first.items()})
    with pytest.raises(DataError, match=r"one data: 3 files are there, and 2 were fitted\n fix: remove files that came later"):
        open_fit(copied / "work" / "result.json").read()


def test_one_file_fewer(copied):
    (copied / "work" / "one_2.npz").unlink()
    with pytest.raises(DataError, match=r"one data: 1 file is there, and 2 were fitted\n fix"):
        open_fit(copied / "work" / "result.json").read()


def test_a_result_from_python(fitted):
    with pytest.raises(
        CtpwaError, match=r"the result does not say which model and which samples it belongs to: it was fitted in Python\n fix"
    ):
        open_fit(fitted[1].with_origin(model=None, samples=()))


def test_the_same_files_with_another_number_of_events():
    """Other versions may read a file differently, and generate other events."""
    fitted = {"name": "phase space", "n_events": 300, "files": [], "weight_files": [], "weights": None}
    check_hashes([fitted], [fitted])
    with pytest.raises(DataError, match=r"phase space: 299 events, and 300 were fitted\n fix: fit again"):
        check_hashes([fitted | {"n_events": 299}], [fitted])


def test_events_with_other_weights():
    """Earlier versions generated flat phase space; rounding is not another weight."""
    flat = {"name": "phase space", "n_events": 300, "files": [], "weight_files": [], "weights": None}
    fitted = flat | {"weights": {"total": 300.0, "smallest": 0.1, "largest": 3.0}}
    check_hashes([fitted | {"weights": {"total": 300.0, "smallest": 0.1 + 1e-12, "largest": 3.0}}], [fitted])
    for other in (flat, fitted | {"weights": {"total": 300.0, "smallest": 0.1, "largest": 3.1}}):
        for pair in ((other, fitted), (fitted, other)):
            with pytest.raises(DataError, match=r"phase space: its events have other weights than those that were fitted\n fix: fit again"):
                check_hashes(pair[:1], pair[1:])
