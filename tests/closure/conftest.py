"""Everything with the reference engine, which has nothing to compile, on one thread, and with short pilot runs of toys, which cost
acceptance but not correctness."""

import pytest
import torch

import ctpwa
from ctpwa.generate import toys


@pytest.fixture(scope="module", autouse=True)
def _quick():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(toys, "PILOT_EVENTS", 1 << 10)
        patch.setattr(toys, "MAXIMUM_EVENTS", 1 << 12)
        patch.setitem(ctpwa.generate.ToyGenerator.__init__.__kwdefaults__, "engine", "reference")
        yield
    torch.set_num_threads(threads)
