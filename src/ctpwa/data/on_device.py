"""Pieces of a sample on their way to a device: while one is used, a thread reads the next and copies it."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import closing
from functools import lru_cache

import torch

from ctpwa.base.ahead import ahead
from ctpwa.data.stream import Piece


def on_device(pieces: Iterable[Piece], device: torch.device) -> Generator[Piece]:
    """Pieces on a device. Each may be used until the next is asked for; on a GPU that one is there already.

    Args:
        pieces:  is run through by a thread if they go to a GPU
        device:  where they are wanted
    """
    if device.type == "cuda":
        with closing(ahead(_copied(pieces, device))) as following:
            for piece, copied in following:
                yield _ready(piece, copied)
                del piece
        return
    for piece in pieces:
        yield piece.to(device)
        del piece  # before the next one takes as much again


def _copied(pieces: Iterable[Piece], device: torch.device) -> Generator[tuple[Piece, torch.cuda.Event]]:
    """Pieces on a GPU, and when their copies are done."""
    stream = _copying(device)
    for piece in pieces:
        copied = torch.cuda.Event()
        with torch.cuda.stream(stream):
            there = piece.to(device)
            copied.record(stream)
        yield there, copied
        del piece, there


def _ready(piece: Piece, copied: torch.cuda.Event) -> Piece:
    """A piece for kernels that are started from now on: they wait for its copy, and its memory waits for them."""
    current = torch.cuda.current_stream(piece.p4[0].device)
    current.wait_event(copied)
    for values in piece.tensors:
        values.record_stream(current)
    return piece


@lru_cache
def _copying(device: torch.device) -> torch.cuda.Stream:
    """The stream of copies to a GPU: memory that was used in it is only used in it again."""
    return torch.cuda.Stream(device)
