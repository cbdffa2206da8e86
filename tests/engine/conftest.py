"""Kernels of every engine without a GPU: Triton interpreted."""

import os
import warnings

import pytest
import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when triton is imported, which the engine does late


@pytest.fixture(scope="session", autouse=True)
def _forward_mode():
    """The first forward derivative of a session makes torch import modules that warn about torch itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.func.jvp(torch.sin, (torch.zeros(1),), (torch.ones(1),))
