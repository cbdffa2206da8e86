"""One thread for kernels as well."""

import pytest

from ctpwa.base import parts
from threads import one_thread


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    with one_thread(parts):
        yield
