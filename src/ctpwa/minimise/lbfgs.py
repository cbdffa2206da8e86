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
        max_iterations:  give up after so many steps
        noise:           rounding of f
    """
    x = inside(np.asarray(x, dtype=float), bounds)
    answer = yield Ask(x, GRADIENT)
    f, g = answer.value, answer.gradient
    if not (np.isfinite(f) and np.isfinite(g).all()):
        return Stop(x, f, False, "the start has no finite likelihood", 0)
    pairs: deque[tuple[np.ndarray, np.ndarray]] = deque(maxlen=MEMORY)
    for iteration in range(max_iterations):
        stuck = held(x, g, bounds)
        slope = np.where(stuck, 0.0, g)
        direction = np.where(stuck, 0.0, -_inverse_times(slope, pairs, inverse_metric))
        descent = float(direction @ slope)
        if descent >= 0:
            pairs.clear()
            direction, descent = -slope, -float(slope @ slope)
        if -descent / 2 <= max(tolerance, noise) and (pairs or inverse_metric is not None or descent == 0):
            return Stop(x, f, True, "converged", iteration)
        first = 1.0 if pairs or inverse_metric is not None else 1 / max(float(np.linalg.norm(slope)), 1e-300)
        found = yield from _line_search(x, f, slope, direction, bounds, first, noise)
        if found is None:
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


def _inverse_times(g: np.ndarray, pairs: deque[tuple[np.ndarray, np.ndarray]], inverse_metric: np.ndarray | None) -> np.ndarray:
    """H⁻¹·g by the two loops over the pairs (Nocedal)."""
    q = g.copy()
    alphas = []
    for s, y in reversed(pairs):
        alpha = (s @ q) / (s @ y)
        q -= alpha * y
        alphas.append(alpha)
    if inverse_metric is not None:
        q = inverse_metric @ q
    elif pairs:
        s, y = pairs[-1]
        q *= (s @ y) / (y @ y)
    for (s, y), alpha in zip(pairs, reversed(alphas), strict=True):
        q += s * (alpha - (y @ q) / (s @ y))
    return q


def _line_search(
    x: np.ndarray, f: float, g: np.ndarray, direction: np.ndarray, bounds: np.ndarray, first: float, noise: float
) -> Generator[Ask, Answer, tuple[np.ndarray, Answer] | None]:
    """A point along the direction with enough decrease and a flat enough slope: bracket by growing, then bisect with cubic steps."""
    start_slope = float(g @ direction)
    low, f_low, slope_low = 0.0, f, start_slope
    high: float | None = None
    step, best = first, None
    for _ in range(LINE_STEPS):
        point = inside(x + step * direction, bounds)
        answer = yield Ask(point, GRADIENT)
        slope = float(answer.gradient @ direction) if np.isfinite(answer.value) else np.nan
        if (
            not np.isfinite(answer.value)
            or answer.value > f + DECREASE * step * start_slope + noise
            or (low > 0 and answer.value > f_low + noise)
        ):
            high = step
        else:
            best = (point, answer)
            if abs(slope) <= -CURVATURE * start_slope:
                return best
            if slope > 0:
                high = step
            else:
                low, f_low, slope_low = step, answer.value, slope
        if high is None:
            step *= 3.0
            continue
        width = high - low
        if width <= 1e-12 * max(high, 1e-300):
            break
        if np.isfinite(answer.value):  # minimum of the parabola through f_low, its slope and the last value
            span = step - low
            curve = answer.value - f_low - slope_low * span
            guess = low - slope_low * span**2 / (2 * curve) if span != 0 and curve > 0 else low + width / 2
        else:
            guess = low + width / 10
        step = float(np.clip(guess, low + 0.1 * width, high - 0.1 * width))
    return best
