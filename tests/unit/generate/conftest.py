"""One thread: many small steps would wait for each other on a busy machine."""

import numba
import pytest


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)
