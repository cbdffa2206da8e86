"""Minimisers as generators: each asks for values, gradients or Hessians at points and is sent the answers.

So a driver can run one of them, or many at once that share every pass over the events.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

VALUE, GRADIENT, HESSIAN = 0, 1, 2
Extended = Annotated[float, "may be infinite or NaN"]  # where a result may have no number


@dataclass(frozen=True)
class Ask:
    """What a minimiser wants to know.

    Attributes:
        x:      where
        order:  VALUE, GRADIENT or HESSIAN, each with all before
    """

    x: np.ndarray
    order: int


@dataclass(frozen=True)
class Answer:
    """The answer to an ``Ask``; parts that were not asked for are empty.

    Attributes:
        value:     f
        gradient:  ∂f
        hessian:   ∂²f
    """

    value: float
    gradient: np.ndarray
    hessian: np.ndarray


@dataclass(frozen=True)
class Stop:
    """Where a minimiser ended.

    Attributes:
        x:           the best point
        value:       f there
        converged:   whether it stopped because there is nothing more to gain
        reason:      why it stopped, in words
        iterations:  accepted steps
        known:       f with its derivatives at the point, if somebody has computed them there already
    """

    x: np.ndarray
    value: float
    converged: bool
    reason: str
    iterations: int
    known: Answer | None = None


Steps = Generator[Ask, Answer, Stop]


def inside(x: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """The nearest point within the limits [parameter, 2]."""
    return np.clip(x, bounds[:, 0], bounds[:, 1])


def held(x: np.ndarray, gradient: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Parameters at a limit that f pushes outwards."""
    return ((x <= bounds[:, 0]) & (gradient > 0)) | ((x >= bounds[:, 1]) & (gradient < 0))
