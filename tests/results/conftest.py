"""The first forward derivative of a session makes torch import modules that warn about torch itself."""

import warnings

import pytest
import torch


@pytest.fixture(scope="session", autouse=True)
def _forward_mode():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.func.jvp(torch.sin, (torch.zeros(1),), (torch.ones(1),))
