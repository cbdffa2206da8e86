"""One thread for kernels as well."""

import numba
import pytest

from threads import one_thread


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    with one_thread(numba):
        yield
