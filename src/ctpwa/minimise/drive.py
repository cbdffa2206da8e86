"""Running minimisers: one, or many that share every batch of evaluations."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache
from itertools import islice

import numpy as np
from threadpoolctl import ThreadpoolController

from ctpwa.minimise.objective import Objective
from ctpwa.minimise.steps import GRADIENT, HESSIAN, VALUE, Answer, Ask, Steps, Stop

NOTHING = np.zeros(0)
Watch = Callable[[np.ndarray, float], None]  # called with every improved point
GiveUp = Callable[[np.ndarray], str]  # why it is hopeless to go on from an improved point; empty if it is not


@dataclass
class Record:
    """What happened during a minimisation.

    Attributes:
        values:     evaluations of the value alone
        gradients:  of value and gradient
        hessians:   of value, gradient and Hessian
        seconds:    wall time
        history:    value after every improvement
    """

    values: int = 0
    gradients: int = 0
    hessians: int = 0
    seconds: float = 0.0
    history: list[float] = field(default_factory=list)

    def count(self, order: int, n: int = 1) -> None:
        """Note that something was evaluated."""
        self.values += n * (order == VALUE)
        self.gradients += n * (order == GRADIENT)
        self.hessians += n * (order == HESSIAN)


def one_thread() -> AbstractContextManager[object]:
    """Linear algebra of numpy and scipy in one thread: matrices of parameters are so small that threads only wait for each other."""
    return _openblas().limit(limits=1)


@cache
def _openblas() -> ThreadpoolController:
    """The libraries of numpy and scipy; those of this process are looked through once, which takes as long as some steps."""
    return ThreadpoolController().select(internal_api="openblas")


def drive(objective: Objective, steps: Steps, watch: Watch | None = None, give_up: GiveUp | None = None) -> tuple[Stop, Record]:
    """Run a minimiser to its end; Ctrl-C ends it with the best point so far.

    Args:
        objective:  what is minimised
        steps:      the minimiser
        watch:      called with every improved point
        give_up:    asked at every improved point; a reason ends the minimiser there
    """
    record, best, begin = Record(), _Best(watch), time.perf_counter()
    try:
        with one_thread():
            ask = next(steps)
            while True:
                answer = evaluate(objective, ask)
                record.count(ask.order)
                if best.improves(ask.x, answer.value):
                    record.history.append(answer.value)
                    if give_up is not None and (reason := give_up(ask.x)):
                        stop = Stop(ask.x, answer.value, False, reason, len(record.history))
                        break
                ask = steps.send(answer)
    except StopIteration as end:
        stop = end.value
    except KeyboardInterrupt:
        if best.x is None:
            raise
        stop = Stop(best.x, best.value, False, "interrupted", len(record.history))
    record.seconds = time.perf_counter() - begin
    return stop, record


def drive_many(
    objective: Objective,
    steps: Iterable[Steps | None],
    ended: Callable[[int, Stop], None] | None = None,
    at_once: int | None = None,
    give_up: GiveUp | None = None,
) -> tuple[list[Stop | None], Record]:
    """Run many minimisers together; what they ask for comes in batches. Ctrl-C ends those that still run.

    Args:
        objective:  what is minimised
        steps:      the minimisers; the next one is taken when there is room for it. None: not before another one has ended
        ended:      called at every end, with the number of the minimiser, from 0
        at_once:    how many run at a time; default: all
        give_up:    asked at every point that improves a minimiser; a reason ends this minimiser there
    """
    record, best, begin = Record(), _Best(), time.perf_counter()
    source = iter(steps)
    stops: list[Stop | None] = []
    running: dict[int, tuple[Steps, _Best]] = {}
    asks: dict[int, Ask] = {}
    try:
        with one_thread():
            while True:
                for generator in islice(source, None if at_once is None else at_once - len(running)):
                    if generator is None:
                        break
                    running[len(stops)] = generator, _Best()
                    asks[len(stops)] = next(generator)
                    stops.append(None)
                if not asks:
                    break
                for k, answer in _evaluate_many(objective, asks).items():
                    generator, own_best = running[k]
                    record.count(asks[k].order)
                    improved = own_best.improves(asks[k].x, answer.value)
                    if best.improves(asks[k].x, answer.value):
                        record.history.append(answer.value)
                    reason = give_up(asks[k].x) if improved and give_up is not None else ""
                    stop: Stop | None = Stop(asks[k].x, answer.value, False, reason, 0) if reason else None
                    try:
                        if stop is None:
                            asks[k] = generator.send(answer)
                    except StopIteration as end:
                        stop = end.value
                    if stop is not None:
                        stops[k] = stop
                        del asks[k], running[k]
                        if ended is not None:
                            ended(k, stop)
    except KeyboardInterrupt:
        for k, (_, own_best) in running.items():
            if own_best.x is not None:
                stops[k] = Stop(own_best.x, own_best.value, False, "interrupted", 0)
        if best.x is None:
            raise
    record.seconds = time.perf_counter() - begin
    return stops, record


class _Best:
    """The best point so far."""

    def __init__(self, watch: Watch | None = None) -> None:
        self.x: np.ndarray | None = None
        self.value = np.inf
        self._watch = watch

    def improves(self, x: np.ndarray, value: float) -> bool:
        if not value < self.value:
            return False
        self.x, self.value = x.copy(), value
        if self._watch is not None:
            self._watch(self.x, value)
        return True


def evaluate(objective: Objective, ask: Ask) -> Answer:
    """The answer to one question."""
    if ask.order == VALUE:
        return Answer(float(objective.value(ask.x)), NOTHING, NOTHING)
    if ask.order == GRADIENT:
        value, grad = objective.value_and_grad(ask.x)
        return Answer(float(value), grad, NOTHING)
    return Answer(*objective.value_grad_hessian(ask.x))


def _evaluate_many(objective: Objective, asks: dict[int, Ask]) -> dict[int, Answer]:
    """Answers to all questions: Hessians share one batch, values and gradients another."""
    answers = {}
    for hessians in (True, False):
        together = [k for k, ask in asks.items() if (ask.order == HESSIAN) is hessians]
        if len(together) == 1:
            answers[together[0]] = evaluate(objective, asks[together[0]])
        elif together:
            points = np.array([asks[k].x for k in together])
            found = objective.value_grad_hessian(points) if hessians else (*objective.value_and_grad(points), [NOTHING] * len(points))
            for k, value, grad, H in zip(together, *found, strict=True):
                answers[k] = Answer(float(value), grad, H)
    return answers
