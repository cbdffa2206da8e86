"""Heartbeats of processes that work together: each says once a second what it is doing, and hears what the others say.

A process that others wait for may take as long as it needs while it works. It is given up if it says nothing at all, because it is stopped
or its machine is gone; or if nobody works any more. Pauses are counted, not measured: a second in which this process could do nothing
itself is no second in which the others were silent, so neither a busy machine nor a suspended job is mistaken for the end.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

BEAT = 1.0  # seconds between two words
AT_THE_END = 0.05  # the same when nothing is left to do but to leave
AFTER_A_SIGNAL = 10.0  # seconds for both limits once this process was told to end: who told it will kill it soon
STORE_SILENT = "the first rank, or the torchrun that started it, does not answer any more: stopped, or on a machine that cannot be reached"
WORKS, WAITS, LEFT = "works", "waits", "left"


@dataclass(frozen=True)
class Word:
    """What a process says.

    Attributes:
        number:  how many words it has said
        doing:   works, waits for others, or left
        worked:  CPU time that it had used when it last worked, in units of 10 ms
    """

    number: int
    doing: str
    worked: int

    def encode(self) -> bytes:
        """The word as it travels."""
        return f"{self.number} {self.doing} {self.worked}".encode()

    @classmethod
    def decode(cls, text: bytes) -> Word:
        """The word that was sent."""
        number, doing, worked = text.decode().split()
        return cls(int(number), doing, int(worked))


class Heard:
    """What was heard of all processes.

    Args:
        rank:   number of this process
        words:  the first word of each process

    Attributes:
        words:   the last word of each process
        silent:  seconds since each process said something new
        idle:    seconds since one of them worked
    """

    def __init__(self, rank: int, words: list[Word]) -> None:
        self._rank = rank
        self.words, self.silent, self.idle = words, [0.0] * len(words), 0.0

    def hear(self, words: list[Word], seconds: float) -> None:
        """Take what was said after a pause of this many seconds."""
        self.silent = [0.0 if new != old else since + seconds for new, old, since in zip(words, self.words, self.silent, strict=True)]
        worked = any(new.worked != old.worked for new, old in zip(words, self.words, strict=True))
        self.idle = 0.0 if worked else self.idle + seconds
        self.words = words

    def all_left(self) -> bool:
        """Whether nobody else is there any more."""
        return all(word.doing == LEFT for rank, word in enumerate(self.words) if rank != self._rank)

    def trouble(self, silent: float, idle: float) -> str:
        """Who does not answer, or that nobody works; empty if all is well.

        Args:
            silent:  seconds without a word that are too many
            idle:    seconds without work that are too many
        """
        others = [rank for rank in range(len(self.words)) if rank != self._rank and self.words[rank].doing != LEFT]
        gone = [rank for rank in others if self.silent[rank] >= silent]
        if gone:
            return f"{_ranks(gone)} not answer any more: stopped, killed, or on a machine that cannot be reached"
        if self.idle < idle or any(self.silent[rank] for rank in others):  # an old word does not tell what its process does now
            return ""
        stuck = [rank for rank in others if self.words[rank].doing == WORKS]
        return f"{_ranks(stuck)} not make progress: no work was done for {idle:.0f} s" if stuck else "all processes wait for each other"


def _ranks(ranks: list[int]) -> str:
    names = f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"
    return f"{names} {'do' if len(ranks) > 1 else 'does'}"


class Heartbeat(threading.Thread):
    """Says what this process does, and hears the others.

    Args:
        store:         where words are kept, which all processes reach
        rank:          number of this process
        size:          how many there are
        silent, idle:  the limits to begin with
        beat:          seconds between two words

    Attributes:
        waiting:       whether this process waits for others
        silent_limit:  seconds without a word from another process that are too many
        idle_limit:    seconds without work by anyone that are too many
    """

    def __init__(self, store: Any, rank: int, size: int, silent: float, idle: float, beat: float = BEAT) -> None:
        super().__init__(name="ctpwa heartbeat", daemon=True)
        self._kept = store  # where it lives in this process it must live as long as this
        self._store = _of_its_own(store)
        self._rank, self._keys = rank, [f"ctpwa heartbeat {k}" for k in range(size)]
        self._limits = self.silent_limit, self.idle_limit = silent, idle
        self.waiting, self._beat = False, beat
        self._count, self._worked, self._doing = 0, 0, WORKS
        self._heard: Heard | None = None
        self._leaving, self._closed, self._last = threading.Event(), False, False
        self._answers = self._seen = 0
        self._looked, self._unanswered = time.monotonic(), 0.0
        self._say()

    def run(self) -> None:
        """Until this process has left, and the others if it waits for them."""
        last = False
        while not self._closed and not last:
            last = self._last
            leaves = self._leaving.is_set()
            pause = AT_THE_END if leaves else self._beat
            time.sleep(pause) if leaves else self._leaving.wait(pause)
            if self._closed:
                return
            try:
                self._say()
                self._listen(pause)
            except Exception:  # who kept the store has left
                self._closed = True
            self._answers += 1

    def trouble(self) -> str:
        """Why it makes no sense to wait any longer; empty if it does."""
        now = time.monotonic()
        step, self._looked = min(now - self._looked, self._beat), now
        self._unanswered = 0.0 if self._answers != self._seen else self._unanswered + step
        self._seen = self._answers
        if self._unanswered >= (self.idle_limit if self._closed else self.silent_limit):
            return STORE_SILENT
        return "" if self._heard is None else self._heard.trouble(self.silent_limit, self.idle_limit)

    @contextmanager
    def waits(self) -> Iterator[None]:
        """While this lasts this process waits for others."""
        self._looked, self._unanswered, self.waiting = time.monotonic(), 0.0, True
        try:
            yield
        finally:
            self.waiting = False

    def be_quick(self) -> None:
        """This process was told to end: do not wait long for others that do nothing."""
        self.silent_limit, self.idle_limit = (min(limit, AFTER_A_SIGNAL) for limit in self._limits)

    def be_patient(self) -> None:
        """It did not end."""
        self.silent_limit, self.idle_limit = self._limits

    def leave(self, together: bool) -> str:
        """Say that this process ends.

        Args:
            together:  whether to wait until all others have left

        Returns:
            who does not; empty if all is well
        """
        self._doing = LEFT
        self._leaving.set()
        with self.waits():
            trouble = self._wait_for_the_end() if together else ""
            self._last = True
            while self.is_alive() and self.trouble() != STORE_SILENT:  # until it is said
                self.join(AT_THE_END)
        return trouble

    def end(self) -> None:
        """Say and hear nothing any more."""
        self._closed = True
        self._leaving.set()

    def _wait_for_the_end(self) -> str:
        self.idle_limit = float("inf")  # what they do before they end is their own affair
        while not self._closed and not (self._heard is not None and self._heard.all_left()):
            if trouble := self.trouble():
                return trouble
            time.sleep(AT_THE_END)
        return ""

    def _say(self) -> None:
        if not self.waiting:
            self._worked = int(100 * (time.process_time() - time.thread_time()))
        doing = WAITS if self.waiting and self._doing == WORKS else self._doing
        self._count += 1
        self._store.set(self._keys[self._rank], Word(self._count, doing, self._worked).encode())

    def _listen(self, seconds: float) -> None:
        if self._heard is None and not self._store.check(self._keys):
            return  # some have not said anything yet
        words = [Word.decode(text) for text in self._store.multi_get(self._keys)]
        if self._heard is None:
            self._heard = Heard(self._rank, words)
        self._heard.hear(words, seconds)


def _of_its_own(store: Any) -> Any:
    """A connection of its own, because one that waits for an answer is closed to everybody else."""
    try:
        return store.clone()
    except (AttributeError, RuntimeError):  # older versions of torch, stores that cannot
        return store
