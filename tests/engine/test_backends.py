"""Backends register themselves; one of another package is used like those of this one."""

import sys

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.engine.backends.registry import all_backends, choose_backend, engine_names, register_backend, unregister_backend
from engine.cases import likelihood, make, point

OTHER = '''
"""A backend in a package of its own."""

import torch

from ctpwa.engine.backends.reference.engine import ReferenceEngine
from ctpwa.engine.backends.registry import Backend

seen = []


class Engine(ReferenceEngine):
    name = "mine"

    def evaluate(self, tasks, c, p, order):
        seen.append(order)
        return super().evaluate(tasks, c, p, order)


BACKEND = Backend(
    name="mine",
    automatic=lambda device: 0,
    place=lambda device: torch.device("cpu"),
    engine=Engine,
    own_memory=lambda device: False,
)
'''


@pytest.fixture
def other(tmp_path, monkeypatch):
    (tmp_path / "other_backend").mkdir()
    (tmp_path / "other_backend" / "__init__.py").write_text(OTHER)
    monkeypatch.syspath_prepend(tmp_path)
    import other_backend

    register_backend(other_backend.BACKEND)
    yield other_backend
    unregister_backend("mine")
    del sys.modules["other_backend"]


def test_every_folder_is_a_backend():
    assert set(all_backends()) == {"reference", "cpu", "cuda"}
    assert engine_names()[0] == "auto"
    assert all(name == backend.name for name, backend in all_backends().items())


def test_a_backend_of_another_package(other):
    like = make("small", "mine")
    x = point(like)
    assert like.engine.name == "mine"
    expected = likelihood("small", "reference").value_grad_hessian(x)
    for found, wanted in zip(like.value_grad_hessian(x), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert other.seen == [2]
    assert like.integrals(x).weight == likelihood("small", "reference").integrals(x).weight
    assert choose_backend("auto", "cpu")[0].name == "cpu"  # it does not push itself forward


def test_a_name_is_given_once(other):
    with pytest.raises(ctpwa.CtpwaError, match="a backend 'mine' already exists\n fix: give it another name"):
        register_backend(other.BACKEND)
    unregister_backend("mine")
    with pytest.raises(ctpwa.CtpwaError, match="unknown engine 'mine'"):
        make("small", "mine")
    register_backend(other.BACKEND)


def test_devices_that_nobody_computes_on():
    with pytest.raises(ctpwa.CtpwaError, match="no engine computes on meta\n fix: choose cpu, cuda"):
        choose_backend("auto", "meta")
    with pytest.raises(ctpwa.CtpwaError, match="unknown device 'gpu'\n fix: choose cpu, cuda"):
        choose_backend("auto", "gpu")
    assert choose_backend("reference", None)[1] == torch.device("cpu")
