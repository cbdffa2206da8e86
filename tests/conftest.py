"""What every test relies on: double precision, fixed seeds, no time limits, poisoned memory, golden files, a cache of their own."""

import os
import signal
import warnings
from pathlib import Path

# read when torch is loaded: threads that wait sleep, also those of processes that tests start
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, settings

from threads import one_thread

ROOT = Path(__file__).parent.parent
SEED = 20_240_229

# random cases are the same in every run, and no test depends on how fast the machine is
settings.register_profile("ctpwa", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ctpwa")
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # deterministic cuBLAS


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="write the files of tests/golden instead of comparing with them")


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory):
    """Generated code of this run, away from the user's; shared by all processes of the run."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "ctpwa_cache"
    folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CTPWA_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="session", autouse=True)
def _ctrl_c():
    """Ctrl-C is what it is in a terminal: a shell that starts the tests in the background has it ignored, also by what they start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)


@pytest.fixture(scope="session", autouse=True)
def _forward_mode():
    """The first forward derivative of a session makes torch import modules that warn about torch itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.func.jvp(torch.sin, (torch.zeros(1),), (torch.ones(1),))


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    """Small tensors: one thread is quicker than several, which on a busy machine mostly wait for each other."""
    with one_thread(torch):
        yield


@pytest.fixture(autouse=True)
def _poisoned_memory():
    """torch.empty gives NaN, so that an output that is not fully written is noticed; float32 is nowhere the default by accident."""
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    yield
    torch.use_deterministic_algorithms(before)
    assert torch.get_default_dtype() == torch.float32, "a test or the package changed the default type of torch"


@pytest.fixture(autouse=True)
def _seeds():
    torch.manual_seed(SEED)
    np.random.seed(SEED % 2**32)  # noqa: NPY002 - libraries may still use the global state


@pytest.fixture
def rng():
    """Random numbers that are the same in every run."""
    return np.random.default_rng(SEED)


@pytest.fixture
def at_step(monkeypatch):
    """Do something in the middle of the work: when what a progress bar shows begins (``done=0``), has got so far, or goes on at all."""
    from ctpwa.base.progress import Progress

    def install(title, action, *, done=None, patch=monkeypatch):
        method = "__enter__" if done == 0 else "advance"
        real = getattr(Progress, method)

        def watched(self, *arguments):
            result = real(self, *arguments)
            if self.title.startswith(title) and done in (None, self.done):
                action()
            return result

        patch.setattr(Progress, method, watched)

    return install


@pytest.fixture
def double():
    """Checks that tensors are in double precision."""

    def check(*tensors):
        for tensor in tensors:
            assert tensor.dtype in (torch.float64, torch.complex128), f"{tensor.dtype} is not double precision"

    return check


@pytest.fixture
def example():
    """The path of an example model."""

    def path(name):
        return ROOT / "examples" / name / "model.yml"

    return path


@pytest.fixture
def golden(request):
    """Compares a text with a file of tests/golden; ``pytest --update-golden`` writes it."""

    def compare(name, text):
        file = ROOT / "tests" / "golden" / name
        text = text.rstrip("\n") + "\n"
        if request.config.getoption("--update-golden"):
            file.write_text(text, encoding="utf-8")
        assert file.exists(), f"no {file.name}: run pytest --update-golden and look at it"
        assert text == file.read_text(encoding="utf-8")

    return compare
