"""A parent with one spin density matrix: which rows its spin axis turns into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ctpwa.base.errors import PhysicsError, suggest
from ctpwa.decay.chain import Decay
from ctpwa.decay.particle import Particle
from ctpwa.decay.spin import format_spin, projections
from ctpwa.spin.final_spins import FinalSpins
from ctpwa.spin.polarisation_rows import PolarisationRows
from ctpwa.spin.production import Production

UNPOLARISED, TRANSVERSE, DENSITY_MATRIX = "unpolarised", "transverse", "density matrix"
TOLERANCE = 1e-10  # relative, for a density matrix given with rounded entries


@dataclass(frozen=True)
class Polarisation(Production):
    """The parent's spin density matrix ρ, with I = Σ ρ_mm' A_m conj(A_m')                          (F9)

    Attributes:
        kind:    unpolarised (ρ = 1), transverse (m = ±1 along z, one each), or a density matrix
        matrix:  ρ as nested tuples, rows and columns m = +J, …, −J
    """

    kind: str
    matrix: tuple[tuple[complex, ...], ...]

    @classmethod
    def of(cls, value: Any, parent: Particle) -> Polarisation:
        """From ``"unpolarised"``, ``"transverse"`` or a (2J+1)×(2J+1) matrix."""
        two_J = parent.two_J
        if isinstance(value, Polarisation):
            return value
        if isinstance(value, str):
            if value == UNPOLARISED:
                return cls(value, _diagonal([1.0] * (two_J + 1)))
            if value == TRANSVERSE:
                if two_J % 2 or two_J < 2:
                    raise PhysicsError(
                        f"{parent.label} has no states m = ±1", "transverse polarisation needs integer spin of 1 or more; write unpolarised"
                    )
                return cls(value, _diagonal([float(abs(two_m) == 2) for two_m in projections(two_J)]))
            raise PhysicsError(f"unknown polarisation {value!r}", suggest(value, [UNPOLARISED, TRANSVERSE]) + " Or give a density matrix.")
        return cls(DENSITY_MATRIX, _checked_matrix(value, parent))

    @property
    def rho(self) -> np.ndarray:
        """ρ as an array [m, m']."""
        return np.array(self.matrix, dtype=complex)

    def rows(self, decay: Decay) -> PolarisationRows:
        """See ``Production``."""
        return PolarisationRows(decay, self.weights if FinalSpins(decay).mirrored else None, tuple(map(tuple, self.states.tolist())))

    @cached_property
    def weights(self) -> tuple[float, ...] | None:
        """The diagonal of ρ if it is diagonal and even in m, else None.

        Only then do the rows (m, spins) and (−m, −spins) come in pairs and K can be made real.
        """
        rho = self.rho
        diagonal = rho.diagonal().real
        if np.any(rho != np.diag(diagonal)) or np.any(diagonal != diagonal[::-1]):
            return None
        return tuple(diagonal.tolist())

    @cached_property
    def states(self) -> np.ndarray:
        """V [row, m] with ρ_mm' = Σ_row V_m conj(V_m'): every row is one pure state of the parent."""
        rho = self.rho
        if not np.any(rho - np.diag(rho.diagonal())):
            values = rho.diagonal().real
            return np.diag(np.sqrt(values.clip(min=0)))[values > 0].astype(complex)
        values, vectors = np.linalg.eigh(rho)
        keep = values > TOLERANCE * values.max()
        return (np.sqrt(values[keep]) * vectors[:, keep]).T[::-1]

    def __str__(self) -> str:
        return self.kind


def _diagonal(values: Sequence[float]) -> tuple[tuple[complex, ...], ...]:
    return tuple(tuple(complex(value) if i == j else 0j for j in range(len(values))) for i, value in enumerate(values))


def _checked_matrix(value: Any, parent: Particle) -> tuple[tuple[complex, ...], ...]:
    size = parent.two_J + 1
    try:
        rho = np.array([[complex(str(entry).replace(" ", "")) for entry in row] for row in value])
    except (TypeError, ValueError):
        raise PhysicsError(
            "the density matrix is not a matrix of numbers", f"give {size} rows of {size} numbers such as 0.5 or 0.1+0.2j"
        ) from None
    if rho.shape != (size, size):
        raise PhysicsError(
            f"the density matrix has shape {'×'.join(map(str, rho.shape))}",
            f"spin {format_spin(parent.two_J)} needs {size}×{size}, rows m = +J … −J",
        )
    if not np.all(np.isfinite(rho)) or np.abs(rho - rho.conj().T).max() > TOLERANCE * np.abs(rho).max():
        raise PhysicsError("the density matrix is not Hermitian", "make ρ[m][m'] the complex conjugate of ρ[m'][m]")
    lowest, highest = np.linalg.eigvalsh(rho)[[0, -1]]
    if highest <= 0 or lowest < -TOLERANCE * highest:
        raise PhysicsError(f"the density matrix is not positive: its lowest eigenvalue is {lowest:.3g}", "probabilities cannot be negative")
    return tuple(tuple(complex(entry) for entry in row) for row in rho)
