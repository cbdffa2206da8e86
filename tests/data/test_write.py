"""A file is written whole, or what was there before stays."""

import os

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.base.output import written_whole
from ctpwa.data import write

SUFFIXES = ("root", "parquet", "npz", "txt")


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, OSError])
@pytest.mark.parametrize("old", [False, True])
def test_an_interrupted_write_leaves_nothing_behind(events, tmp_path, at_step, suffix, error, old):
    path = tmp_path / f"data.{suffix}"
    if old:
        path.write_bytes(b"what was there before")

    def fail():
        raise error

    at_step("writing", fail)
    with pytest.raises(ctpwa.CtpwaError if error is OSError else error):
        ctpwa.write_events(path, events.momenta, chunk=7)
    assert [entry.name for entry in tmp_path.iterdir()] == ([path.name] if old else [])
    assert not old or path.read_bytes() == b"what was there before"


def test_weights_and_momenta_are_written_together_or_not_at_all(events, tmp_path, monkeypatch):
    monkeypatch.setitem(write._WRITERS, ".txt", lambda path, sample: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        ctpwa.write_events(tmp_path / "a.txt", events, weight_file=tmp_path / "w.txt")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_old_file_is_replaced(model, generated, same, tmp_path, suffix):
    path = tmp_path / f"data.{suffix}"
    path.write_bytes(b"old")
    ctpwa.write_events(path, generated)
    same(ctpwa.read_events(model, path), generated)


def test_permissions_are_those_of_any_new_file(generated, tmp_path):
    (tmp_path / "plain").write_text("")
    ctpwa.write_events(tmp_path / "a.npz", generated)
    assert (tmp_path / "a.npz").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_the_model_gives_the_order(model, generated, tmp_path, same):
    backwards = {name: generated[name] for name in reversed(list(generated))}
    ctpwa.write_events(tmp_path / "a.txt", backwards, model=model)
    same(ctpwa.read_events(model, tmp_path / "a.txt"), generated)


def test_names_in_files(events, tmp_path):
    import pyarrow.parquet as pq
    import uproot

    ctpwa.write_events(tmp_path / "a.root", events)
    ctpwa.write_events(tmp_path / "a.parquet", events)
    ctpwa.write_events(tmp_path / "a.npz", events)
    columns = [f"{stem}_{x}" for stem in ("Kp", "Km", "eta") for x in ("E", "px", "py", "pz")] + ["weight"]
    with uproot.open(tmp_path / "a.root") as file:
        assert file["events"].keys() == columns
    assert pq.read_schema(tmp_path / "a.parquet").names == columns
    with np.load(tmp_path / "a.npz") as file:
        assert sorted(file) == ["K+", "K-", "eta", "weight"]
        assert np.array_equal(file["K+"], events["K+"])


def test_arrays_and_weights_that_are_no_tensors(model, events, same, tmp_path):
    sample = ctpwa.Events({name: p.numpy() for name, p in events.items()}, events.weights.numpy())
    ctpwa.write_events(tmp_path / "a.root", sample)
    same(ctpwa.read_events(model, tmp_path / "a.root"), events)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("a.csv", {}, "unknown suffix '.csv'"),
        ("a.txt", {}, "weights to write with a.txt\n fix: give weight_file"),
        ("a.root", {"weight_file": "w.txt"}, "holds its weights itself"),
        ("a.txt", {"weight_file": "w.npy"}, "cannot write weights with suffix '.npy'"),
        ("nowhere/a.root", {}, "there is no folder"),
    ],
)
def test_what_cannot_be_written(events, tmp_path, name, options, message):
    options = {key: tmp_path / value for key, value in options.items()}
    with pytest.raises(ctpwa.CtpwaError) as caught:
        ctpwa.write_events(tmp_path / name, events, **options)
    assert message in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_samples_that_are_wrong(model, events, tmp_path):
    with pytest.raises(ctpwa.base.DataError, match="momenta of eta are missing"):
        ctpwa.write_events(tmp_path / "a.npz", {name: events[name] for name in ("K+", "K-")}, model=model)
    with pytest.raises(ctpwa.base.DataError, match="weights of shape 3 for 23 events"):
        ctpwa.write_events(tmp_path / "a.npz", ctpwa.Events(events.momenta, torch.ones(3)))
    with pytest.raises(ctpwa.base.DataError, match="no particles to write"):
        ctpwa.write_events(tmp_path / "a.npz", {})
    with pytest.raises(ctpwa.base.DataError, match="no weights to write"):
        ctpwa.write_events(tmp_path / "a.txt", events.momenta, weight_file=tmp_path / "w.txt")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_not_overwritten(tmp_path):
    with pytest.raises(ctpwa.CtpwaError, match="it is a folder"), written_whole(tmp_path):
        pass


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_folder_that_cannot_be_written(generated, tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(ctpwa.CtpwaError, match="cannot write"):
        ctpwa.write_events(tmp_path / "a.npz", generated)
