"""Pieces of a sample on their way to a device."""

import pytest
import torch
from tests.engine.cases import GPU

from ctpwa.base.errors import DataError
from ctpwa.data.on_device import on_device
from ctpwa.data.stream import Piece

DEVICES = [
    torch.device("cpu"),
    pytest.param(torch.device("cuda", 0), marks=[pytest.mark.gpu, pytest.mark.skipif(not GPU, reason="no GPU")]),
]


def some_pieces(closed, bad=None):
    random = torch.Generator().manual_seed(5)
    try:
        for k, n in enumerate((4000, 4000, 1, 900)):
            if k == bad:
                raise DataError(f"piece {k} is bad")
            p4 = [torch.rand(n, 4, generator=random, dtype=torch.float64) for _ in range(3)]
            weights = torch.rand(n, generator=random, dtype=torch.float64) if k % 2 else None
            yield Piece(p4, weights, {"b": torch.rand(n, 2, generator=random, dtype=torch.float64)})
    finally:
        closed.append(True)


@pytest.mark.parametrize("device", DEVICES)
def test_pieces_arrive_as_they_are_and_in_order(device):
    closed, seen = [], 0
    for piece, expected in zip(on_device(some_pieces(closed), device), some_pieces([]), strict=True):
        sums = [values.sum(dim=1).cpu() for values in (*piece.p4, piece.columns["b"])]
        for found, values in zip(sums, (*expected.p4, expected.columns["b"]), strict=True):
            torch.testing.assert_close(found, values.sum(dim=1))
        assert (piece.weights is None) is (expected.weights is None)
        if piece.weights is not None:
            assert piece.weights.device.type == device.type
            torch.testing.assert_close(piece.weights.cpu(), expected.weights, rtol=0, atol=0)
        seen += piece.n_events
    assert seen == 8901
    assert closed == [True]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("bad", [0, 2])
def test_what_is_wrong_with_a_piece_is_said_when_its_turn_comes(device, bad):
    closed = []
    pieces = on_device(some_pieces(closed, bad), device)
    for _ in range(bad):
        next(pieces)
    with pytest.raises(DataError, match=f"piece {bad} is bad"):
        next(pieces)
    assert closed == [True]


@pytest.mark.gpu
@pytest.mark.skipif(not GPU, reason="no GPU")
def test_whoever_stops_early_leaves_nothing_running():
    closed = []
    pieces = on_device(some_pieces(closed), torch.device("cuda", 0))
    next(pieces)
    pieces.close()
    assert closed == [True]
