"""Generated code of these tests in a folder of its own."""

import os

import pytest


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory):
    """Kernels of this session, away from the user's."""
    before = os.environ.get("CTPWA_CACHE")
    os.environ["CTPWA_CACHE"] = str(tmp_path_factory.mktemp("ctpwa_cache"))
    yield
    if before is None:
        del os.environ["CTPWA_CACHE"]
    else:
        os.environ["CTPWA_CACHE"] = before
