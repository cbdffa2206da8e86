"""Limited-memory BFGS with limits, from gradients alone.

The inverse Hessian is built from the last steps and gradient changes, on top of a starting metric; the line search satisfies the strong
Wolfe conditions.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator

import numpy as np

from ctpwa.minimise.steps import GRADIENT, Answer, Ask, Steps, Stop, held, inside

MEMORY = 30
DECREASE, CURVATURE = 1e-4, 0.9  # Wolfe conditions
LINE_STEPS = 20
EPS = float(np.finfo(float).eps)
Pairs = deque[tuple[np.ndarray, np.ndarray]]  # steps and changes of the gradient


def lbfgs(
    x: np.ndarray,
    bounds: np.ndarray,
    *,
    inverse_metric: np.ndarray | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 2000,
    noise: float = 0.0,
) -> Steps:
    """Minimise from ``x``.

    Args:
        x:               start
        bounds:          limits [parameter, 2], infinite where there are none
        inverse_metric:  guess of the inverse Hessian; default: the unit matrix, scaled after the first step
        tolerance:       stop when the expected gain ½ g·H⁻¹·g is below this
        max_iterations:  give up after this many steps
        noise:           rounding of f
    """
    x = inside(np.asarray(x, dtype=float), bounds)
    answer = yield Ask(x, GRADIENT)
    f, g = answer.value, answer.gradient
    if not (np.isfinite(f) and np.isfinite(g).all()):
        return Stop(x, f, False, "the start has no finite likelihood", 0)
    pairs: Pairs = deque(maxlen=MEMORY)
    for iteration in range(max_iterations):
        slope = np.where(held(x, g, bounds), 0.0, g)
        direction = _direction(x, slope, pairs, inverse_metric, bounds)
        known = bool(pairs) or inverse_metric is not None  # something of the curvature
        if known:
            direction = _released(direction, slope, _sizes(pairs, inverse_metric, len(x)))
        if not slope.any() or (known and -float(direction @ slope) / 2 <= max(tolerance, noise)):
            return Stop(x, f, True, "converged", iteration)
        first = 1.0 if known else 1 / float(np.linalg.norm(slope))
        found = yield from _line_search(x, f, slope, direction, bounds, first, noise)
        if found is None or np.array_equal(found[0], x):
            if pairs:
                pairs.clear()
                continue
            return Stop(x, f, False, "no step makes the likelihood better", iteration)
        new_x, new = found
        s, y = new_x - x, new.gradient - g
        if s @ y > 1e-10 * np.linalg.norm(s) * np.linalg.norm(y):
            pairs.append((s, y))
        x, f, g = new_x, new.value, new.gradient
    return Stop(x, f, False, f"not converged after {max_iterations} iterations", max_iterations)


def _direction(x: np.ndarray, slope: np.ndarray, pairs: Pairs, inverse_metric: np.ndarray | None, bounds: np.ndarray) -> np.ndarray:
    """Downhill, −H⁻¹·g of the parameters that can move; those that would leave their limits do not move."""
    free = slope != 0
    while True:
        direction = np.zeros_like(x)
        direction[free] = -_inverse_times(slope[free], pairs, inverse_metric, free)
        leaving = ((x <= bounds[:, 0]) & (direction < 0)) | ((x >= bounds[:, 1]) & (direction > 0))
        if not leaving.any():
            return direction
        free &= ~leaving


def _released(direction: np.ndarray, slope: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The direction, or that of one parameter alone that is held at a limit and would gain more by moving away from it."""
    gains = np.where(direction == 0, sizes * slope**2, 0.0)
    best = int(np.argmax(gains))
    if gains[best] <= -float(direction @ slope):
        return direction
    alone = np.zeros_like(direction)
    alone[best] = -sizes[best] * slope[best]
    return alone


def _inverse_times(g: np.ndarray, pairs: Pairs, inverse_metric: np.ndarray | None, free: np.ndarray) -> np.ndarray:
    """H⁻¹·g of the free parameters by the two loops over the pairs (Nocedal)."""
    own = [(s[free], y[free]) for s, y in pairs]
    own = [(s, y) for s, y in own if s @ y > 1e-10 * np.linalg.norm(s) * np.linalg.norm(y)]
    q = g.copy()
    alphas = []
    for s, y in reversed(own):
        alpha = (s @ q) / (s @ y)
        q -= alpha * y
        alphas.append(alpha)
    if inverse_metric is not None:
        q = _reduced(inverse_metric, free) @ q
    elif own:
        s, y = own[-1]
        q *= (s @ y) / (y @ y)
    for (s, y), alpha in zip(own, reversed(alphas), strict=True):
        q += s * (alpha - (y @ q) / (s @ y))
    return q


def _reduced(inverse: np.ndarray, free: np.ndarray) -> np.ndarray:
    """(H_ff)⁻¹ of the free parameters from H⁻¹ of all."""
    if free.all():
        return inverse
    to_fixed = inverse[np.ix_(free, ~free)]
    return inverse[np.ix_(free, free)] - to_fixed @ np.linalg.solve(inverse[np.ix_(~free, ~free)], to_fixed.T)


def _sizes(pairs: Pairs, inverse_metric: np.ndarray | None, n: int) -> np.ndarray:
    """About 1 / curvature of every parameter alone."""
    if inverse_metric is not None:
        return np.diag(inverse_metric)
    s, y = pairs[-1]
    return np.full(n, (s @ y) / (y @ y))


def _line_search(
    x: np.ndarray, f: float, g: np.ndarray, direction: np.ndarray, bounds: np.ndarray, first: float, noise: float
) -> Generator[Ask, Answer, tuple[np.ndarray, Answer] | None]:
    """A point along the direction, up to the first limit, with enough decrease and a flat enough slope: bracket by growing, then bisect."""
    start_slope = float(g @ direction)
    noise += 4 * EPS * abs(f)
    low, f_low, slope_low = 0.0, f, start_slope
    high: float | None = None
    limit = np.where(direction < 0, bounds[:, 0], bounds[:, 1])
    moves = direction != 0
    room = np.full_like(x, np.inf)
    room[moves] = ((limit - x)[moves] / direction[moves]).clip(min=0)
    largest = float(room.min())
    step, best = min(first, largest), None
    for _ in range(LINE_STEPS):
        point = np.where(room <= step, limit, inside(x + step * direction, bounds))
        answer = yield Ask(point, GRADIENT)
        finite = bool(np.isfinite(answer.value) and np.isfinite(answer.gradient).all())
        slope = float(answer.gradient @ direction) if finite else np.nan
        if not finite or answer.value > f + DECREASE * step * start_slope + noise or (low > 0 and answer.value > f_low + noise):
            high = step
        else:
            best = (point, answer)
            if abs(slope) <= -CURVATURE * start_slope or (slope < 0 and step >= largest):
                return best
            if slope > 0:
                high = step
            else:
                low, f_low, slope_low = step, answer.value, slope
        if high is None:
            step = min(3.0 * step, largest)
            continue
        width = high - low
        if width <= 1e-12 * high:
            break
        if finite:  # minimum of the parabola through f_low, its slope and the last value
            span = step - low
            curve = answer.value - f_low - slope_low * span
            guess = low - slope_low * span**2 / (2 * curve) if span != 0 and curve > 0 else low + width / 2
        else:
            guess = low + width / 10
        step = float(np.clip(guess, low + 0.1 * width, high - 0.1 * width))
    return best
