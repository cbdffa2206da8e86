"""Backends register themselves; one of another package is used like those of this one."""

from dataclasses import replace

import pytest
import torch

import ctpwa
from ctpwa.engine.backends.registry import all_backends, choose_backend, engine_names, register_backend, unregister_backend


@pytest.fixture
def other():
    """A backend of another package; tests/test_newcomer.py computes with one."""
    backend = replace(all_backends()["reference"], name="mine")
    register_backend(backend)
    yield backend
    unregister_backend("mine")


def test_every_folder_is_a_backend():
    assert set(all_backends()) == {"reference", "cpu", "cuda"}
    assert engine_names()[0] == "auto"
    assert all(name == backend.name for name, backend in all_backends().items())


def test_a_name_is_given_once(other):
    with pytest.raises(ctpwa.CtpwaError, match="a backend 'mine' already exists\n fix: give it another name"):
        register_backend(other)
    unregister_backend("mine")
    with pytest.raises(ctpwa.CtpwaError, match="unknown engine 'mine'"):
        choose_backend("mine", None)
    register_backend(other)
    assert choose_backend("mine", None)[0] is other
    assert choose_backend("auto", "cpu")[0].name == "cpu"  # it does not push itself forward


def test_devices_that_nobody_computes_on():
    with pytest.raises(ctpwa.CtpwaError, match="no engine computes on meta\n fix: choose cpu, cuda"):
        choose_backend("auto", "meta")
    with pytest.raises(ctpwa.CtpwaError, match="unknown device 'gpu'\n fix: choose cpu, cuda"):
        choose_backend("auto", "gpu")
    assert choose_backend("reference", None)[1] == torch.device("cpu")
