"""Whatever is wrong with a sample file: it is read as it is meant, or refused in a few lines; soon, and with little memory."""

import os
import resource
import signal
from contextlib import contextmanager
from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import ctpwa
from ctpwa.cli.main import app

from .broken_samples import (
    COLUMNS,
    DECAY,
    FORMATS,
    WEIGHT_FORMATS,
    WEIGHTS,
    N,
    changed,
    changes,
    edited,
    edits,
    events,
    model,
    plain_columns,
    weights_file,
    written,
)
from .strategies import same_every_time

LONGEST = 120  # seconds for one file of 5 kB on the slowest machine: a pipe without a writer would take for ever
MOST_MEMORY = 1 << 30  # bytes for such a file, libraries included
MOST_LINES, MOST_CHARACTERS = 8, 6000
FEW = settings(same_every_time, max_examples=int(os.environ.get("CTPWA_EXAMPLES", "25")))


@contextmanager
def bounded():
    """Ends what takes too long, and looks at the memory that was ever used."""

    def late(number, frame):
        raise TimeoutError("reading does not end")

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    old = signal.signal(signal.SIGALRM, late)
    signal.alarm(LONGEST)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < MOST_MEMORY


def check_message(message, path):
    assert "\n fix: " in message
    assert "Traceback" not in message
    lines = message.splitlines()
    assert len(lines) <= MOST_LINES
    assert len(message.replace(str(path), "")) <= MOST_CHARACTERS


def read(path, **options):
    """What is read, or None if it is refused with a message; any other error is one of ours."""
    with bounded():
        try:
            found = ctpwa.read_events(model, path, **options)
        except ctpwa.CtpwaError as error:
            check_message(str(error), path)
            return None
    assert found.n_events > 0
    assert all(p.shape == (found.n_events, 4) and bool(p.isfinite().all()) and bool((p[:, 0] > 0).all()) for p in found.values())
    assert found.weights is None or (found.weights.shape == (found.n_events,) and bool(found.weights.isfinite().all()))
    return found


@cache
def valid(suffix):
    return written(plain_columns() | {"weight": WEIGHTS}, suffix)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("broken")


@pytest.mark.parametrize("suffix", FORMATS)
def test_what_is_right_is_read(folder, suffix):
    """So that the tests below change a file that could be read."""
    path = folder / f"right.{suffix}"
    path.write_bytes(valid(suffix))
    found = read(path)
    assert all(torch.equal(found[name], events[name]) for name in events)
    assert (found.weights is None) == (suffix == "txt")


@pytest.mark.parametrize("suffix", FORMATS)
@FEW
@given(what=changes)
def test_bytes_that_changed(folder, suffix, what):
    path = folder / f"bytes.{suffix}"
    path.write_bytes(changed(valid(suffix), what))
    found = read(path)
    if found is not None and found.n_events == N:
        # npz and Parquet have checksums of all numbers; else a digit may change, and masses still have to be right
        most = 0.0 if suffix.endswith("npz") else 0.02
        assert max(float((found[name] - events[name]).abs().max()) for name in events) <= most


@pytest.mark.parametrize("suffix", WEIGHT_FORMATS)
@FEW
@given(what=changes)
def test_bytes_of_weights_that_changed(folder, suffix, what):
    data, path = folder / "data.txt", folder / f"weights.{suffix}"
    data.write_bytes(valid("txt"))
    path.write_bytes(changed(weights_file(suffix), what))
    found = read(data, weight_file=path)
    assert found is None or found.weights is not None


@pytest.mark.parametrize("suffix", FORMATS)
@FEW
@given(what=edits)
def test_columns_that_are_not_what_they_should_be(folder, suffix, what):
    """What is read are the numbers that stand there, and a column called weight is never passed over."""
    columns = edited(what)
    content = None if columns is None else written(columns, suffix)
    if content is None:
        return
    path = folder / f"columns.{suffix}"
    path.write_bytes(content)
    found = read(path)
    if found is None:
        return
    for i, name in enumerate(COLUMNS):
        if name in columns:
            own = found[("K+", "K-", "eta")[i // 4]][:, i % 4].numpy()
            assert np.array_equal(own, np.asarray(columns[name]).reshape(-1).astype(np.float64))
    named = [values for name, values in columns.items() if name.casefold() in ("weight", "weights")]
    if suffix != "txt" and named:
        assert len(named) == 1
        assert np.array_equal(found.weights.numpy(), np.asarray(named[0]).reshape(-1).astype(np.float64))


@FEW
@given(what=changes, suffix=st.sampled_from(FORMATS))
def test_commands_end_with_a_message(folder, what, suffix):
    path = folder / f"command.{suffix}"
    path.write_bytes(changed(valid(suffix), what))
    (folder / "model.yml").write_text(
        f"decay: {DECAY['decay']}\nresonances:\n  phi(1020): {{in: K+ K-}}\nsamples: {{data: {path.name}, phase_space: {{generate: 50}}}}\n"
    )
    with bounded():
        result = CliRunner().invoke(app, ["check", str(folder / "model.yml")])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code in (0, 1)
    if result.exit_code:
        check_message(result.stderr, path)
