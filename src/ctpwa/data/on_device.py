"""Pieces of a sample on their way to a device: while one is used, a thread reads the next and copies it."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import lru_cache

import torch

from ctpwa.data.stream import Piece

Loaded = tuple[Piece, torch.cuda.Event] | None


def on_device(pieces: Iterable[Piece], device: torch.device) -> Generator[Piece]:
    """Pieces on a device. Each may be used until the next is asked for; on a GPU that one is there already.

    Args:
        pieces:  is run through by a thread if they go to a GPU
        device:  where they are wanted
    """
    if device.type != "cuda":
        for piece in pieces:
            yield piece.to(device)
            del piece  # before the next one takes as much again
        return
    waiting, stream = iter(pieces), _copying(device)

    def load() -> Loaded:
        piece = next(waiting, None)
        if piece is None:
            return None
        with torch.cuda.stream(stream):
            there, copied = piece.to(device), torch.cuda.Event()
            copied.record(stream)
        return there, copied

    with ThreadPoolExecutor(1, thread_name_prefix="ctpwa-copy") as thread:
        following: Future[Loaded] = thread.submit(load)
        try:
            while (loaded := following.result()) is not None:
                following = thread.submit(load)
                yield _ready(*loaded)
                del loaded
        finally:
            following.cancel()
            wait([following])
            if isinstance(waiting, Generator):
                waiting.close()


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
