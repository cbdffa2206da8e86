"""From values of couplings back to the complex numbers that they are products of."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from ctpwa.base.errors import PhysicsError
from ctpwa.model.parameters import Product

TOLERANCE = 1e-9  # relative; couplings that are really products agree to rounding


def solve_products(products: Mapping[str, Product], n_numbers: int, fixed: Collection[int], values: Mapping[str, complex]) -> np.ndarray:
    """Numbers z with λ · factor · Π z = value for every coupling that has a value; λ is common to all, since only ratios matter.

    Args:
        products:   the couplings by name, each a constant times a product of numbers
        n_numbers:  how many numbers there are
        fixed:      numbers that are 1
        values:     couplings by name

    Raises:
        PhysicsError: if there is no such λ and z
    """
    names = list(values)
    targets = np.array([values[name] / products[name].factor for name in names], dtype=complex)
    members = [products[name].numbers for name in names]
    free = [k for k in range(n_numbers) if k not in fixed]
    if all(len(numbers) == 1 for numbers in members):
        scale, z = _single(names, members, targets, n_numbers, fixed)
    else:
        scale, z = _by_logarithms(names, members, targets, n_numbers, free)
    found = scale * np.array([np.prod(z[list(numbers)]) for numbers in members])
    wrong = np.abs(found - targets) > TOLERANCE * np.abs(targets).max(initial=0.0)
    if wrong.any():
        first = names[int(np.argmax(wrong))]
        raise PhysicsError(
            f"the value of the coupling {first!r} does not follow from the others as its ties or vertices require",
            "correct it, leave it out if it is tied, or fit with couplings='wave'",
        )
    return z


def _single(
    names: Sequence[str], members: Sequence[tuple[int, ...]], targets: np.ndarray, n_numbers: int, fixed: Collection[int]
) -> tuple[complex, np.ndarray]:
    z = np.ones(n_numbers, dtype=complex)
    for (k,), target in reversed(list(zip(members, targets, strict=True))):
        z[k] = target
    scale = next((complex(z[k]) for k in fixed), 1.0)
    if scale == 0:
        name = next(name for name, (k,) in zip(names, members, strict=True) if k in fixed)
        raise PhysicsError(f"the reference wave {name!r} has coupling 0", "choose another reference wave, or give it a value")
    return scale, z / scale


def _by_logarithms(
    names: Sequence[str], members: Sequence[tuple[int, ...]], targets: np.ndarray, n_numbers: int, free: Sequence[int]
) -> tuple[complex, np.ndarray]:
    """Independent equations are solved in ln z; the others are checked afterwards, because phases of logarithms are ambiguous."""
    if np.any(targets == 0):
        raise PhysicsError(
            f"the coupling {names[int(np.argmax(targets == 0))]!r} is 0, which no product over vertices fixes", "use couplings='wave'"
        )
    A = np.zeros((len(members), len(free) + 1))
    A[:, -1] = 1
    for row, numbers in enumerate(members):
        for k in numbers:
            if k in free:
                A[row, free.index(k)] += 1
    chosen: list[int] = []
    for row in range(len(A)):
        if np.linalg.matrix_rank(A[[*chosen, row]]) > len(chosen):
            chosen.append(row)
    logs = np.linalg.lstsq(A[chosen].astype(complex), np.log(targets[chosen]), rcond=None)[0]
    z = np.ones(n_numbers, dtype=complex)
    z[list(free)] = np.exp(logs[:-1])
    return complex(np.exp(logs[-1])), z
