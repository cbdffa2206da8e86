"""A model, a small sample with weights, and a file of columns that is no file."""

from pathlib import Path

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.data.columns import Column, ColumnKind, EventFile

FILES = Path(__file__).parent / "files"
COMPONENTS = ("E", "px", "py", "pz")


@pytest.fixture(scope="session")
def model():
    return ctpwa.load_model({"decay": "J/psi(1S) -> K+ K- eta", "resonances": {"phi(1020)": {"in": "K+ K-"}}})


@pytest.fixture(scope="session")
def generated(model):
    return ctpwa.generate_phase_space(model, 23, seed=8)


@pytest.fixture
def events(generated):
    """Momenta that may be changed, and weights of both signs."""
    weights = torch.linspace(-0.3, 1.9, generated.n_events, dtype=torch.float64)
    return ctpwa.Events({name: p.clone() for name, p in generated.items()}, weights)


@pytest.fixture
def columns(events):
    """The same as columns of numbers, kp_E and so on."""

    def make(names=("kp", "km", "eta"), pattern="{}_{}", components=COMPONENTS):
        return {
            pattern.format(name, component): p[:, i].numpy()
            for name, p in zip(names, events.values(), strict=True)
            for i, component in enumerate(components)
        }

    return make


@pytest.fixture
def same():
    """Checks that two samples are equal to the last bit."""

    def check(found, expected, weights=True):
        assert list(found) == list(expected)
        for name in expected:
            assert found[name].dtype == torch.float64
            assert torch.equal(found[name], expected[name]), name
        if weights:
            assert (found.weights is None) == (expected.weights is None)
            assert found.weights is None or torch.equal(found.weights, expected.weights)

    return check


@pytest.fixture
def refused(model):
    """The message with which reading is refused; it says what to do."""

    def message(path, **options):
        with pytest.raises(ctpwa.base.DataError) as caught:
            ctpwa.read_events(options.pop("model", model), path, **options)
        text = str(caught.value)
        assert "\n fix: " in text
        return text

    return message


class Columns(EventFile):
    """Column names of a file that does not exist."""

    def __init__(self, numbers=(), fours=(), vectors=(), others=()):
        self.path, self.place, self.word = Path("data.root"), "data.root", "branch"
        kinds = ((numbers, ColumnKind.NUMBER), (fours, ColumnKind.FOUR), (vectors, ColumnKind.VECTOR), (others, ColumnKind.OTHER))
        self.columns = tuple(Column(name, kind, 5, "some type") for names, kind in kinds for name in names)

    def chunks(self, names, size, first=0, last=None):
        raise NotImplementedError


@pytest.fixture
def columns_of():
    return Columns


@pytest.fixture
def write_root():
    """Columns in a tree, as other programs write it."""
    import uproot

    def write(path, columns, tree="events"):
        with uproot.recreate(path) as file:
            file.mktree(
                tree, {name: values.dtype if values.ndim == 1 else (values.dtype, values.shape[1:]) for name, values in columns.items()}
            )
            file[tree].extend({name: np.ascontiguousarray(values) for name, values in columns.items()})
        return path

    return write
