"""Generated code of these tests in a folder of its own, and one thread: many small steps would wait for each other on a busy machine."""

import os

import numba
import pytest
import torch


@pytest.fixture(scope="package", autouse=True)
def _one_thread():
    before = torch.get_num_threads(), numba.get_num_threads()
    torch.set_num_threads(1)
    numba.set_num_threads(1)
    yield
    torch.set_num_threads(before[0])
    numba.set_num_threads(before[1])


@pytest.fixture(scope="package", autouse=True)
def cache_folder(tmp_path_factory):
    """Kernels of this session, away from the user's."""
    before = os.environ.get("CTPWA_CACHE")
    os.environ["CTPWA_CACHE"] = str(tmp_path_factory.mktemp("ctpwa_cache"))
    yield
    if before is None:
        del os.environ["CTPWA_CACHE"]
    else:
        os.environ["CTPWA_CACHE"] = before
