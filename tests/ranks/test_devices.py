"""Where ranks compute: one GPU for each of them, or none for all."""

from types import SimpleNamespace

import pytest
import torch

from ctpwa.base.errors import CtpwaError
from ctpwa.base.ranks import ONE, check_devices
from ranks.threads import on_ranks


@pytest.fixture
def devices(monkeypatch):
    """Ranks of this machine with the given GPUs; None: on the CPU."""
    monkeypatch.setattr("socket.gethostname", lambda: "node7")
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: SimpleNamespace(uuid=f"GPU-{device.index}"))

    def check(*numbers):
        def look(ranks):
            number = numbers[ranks.rank]
            check_devices(ranks, torch.device("cpu") if number is None else torch.device("cuda", number))
            return True

        return on_ranks(len(numbers), look)

    return check


@pytest.mark.parametrize("numbers", [(None, None), (0, 1), (3, 0, 1)])
def test_what_is_right(devices, numbers):
    assert devices(*numbers) == [True] * len(numbers)


def test_one_process_may_compute_anywhere():
    check_devices(ONE, torch.device("cuda", 0))


def test_two_ranks_on_one_gpu(devices):
    with pytest.raises(CtpwaError, match=r"2 ranks would share one GPU of node7\n fix: start one process per GPU"):
        devices(0, 1, 0)


def test_some_on_a_gpu(devices):
    with pytest.raises(CtpwaError, match=r"some ranks compute on a GPU and others do not\n fix: give all machines the same engine"):
        devices(0, None)
