"""Rao's score test: is a wave missing in a model, without fitting it?

At the minimum p of a model, a wave with coupling c = 0 is added. Only its part g_c of the gradient is not 0, and

    S = uᵀ V⁻¹ u,    u = g_c − I_cp I_pp⁻¹ g_p,    V = I_cc − I_cp I_pp⁻¹ I_pc

with the information I = N ⟨(∂ ln p)(∂ ln p)ᵀ⟩, the variance of the gradient, as the model expects it: a sum over phase space. The Hessian
has the same mean, but scatters: it has second moments of 1/|ψ|², which are infinite where ψ vanishes, and along directions that the data
hardly determine chance makes it small or negative. Where nobody knows what the model expects, as with weights, the information comes from
the scores of the events that are there: V = A Σ Aᵀ, A = (−H_cp H_pp⁻¹, 1), Σ = Σ w² (∂ ln p)(∂ ln p)ᵀ.

If the wave is absent, S follows χ² with as many degrees of freedom as V has rank: two for every complex coupling. c = −V⁻¹ u, with H_eff
in place of V for weights, is where a fit would step to. One evaluation serves all waves that are put into the model together.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import nan

import numpy as np

from ctpwa.base.errors import CtpwaError
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.engine.likelihood.likelihood_sum import LikelihoodSum
from ctpwa.fitting.fittable import Fittable, terms_of
from ctpwa.minimise.steps import Stop
from ctpwa.minimise.verdict import judge
from ctpwa.model.parameter import CARTESIAN, PARTS, Parameter, with_formulas
from ctpwa.model.parameters import Parameters
from ctpwa.studies.expected import ExpectedEvents

RANK = 1e-9  # of the largest eigenvalue in units in which every direction alone has variance 1: less is 0
NO_INTERFERENCE = 1e-8  # of a correlation, and of a slope in standard deviations: less is rounding
SAME = 1e-6  # of one standard deviation in −ln L
SEVERAL = "its couplings are products of several new numbers"
APART = "its waves interfere with none of the model"


@dataclass(frozen=True)
class Score:
    """What the score test says about one candidate.

    Attributes:
        S:           the statistic; not a number if there is none
        ndf:         its degrees of freedom
        step:        coupling → where a fit would step to
        remark:      why there is no statistic; empty if there is one
    """

    S: float
    ndf: int
    step: Mapping[str, complex] = field(default_factory=dict)
    remark: str = ""


def score_test(
    larger: Fittable,
    smaller: Fittable,
    x: np.ndarray,
    candidates: Mapping[str, Sequence[str]],
    expected: Sequence[ExpectedEvents] | None = None,
) -> dict[str, Score]:
    """The score test of waves that a larger model has besides those of a smaller one.

    Args:
        larger:      the likelihood of a model with all waves, in any order
        smaller:     that of the model that was fitted, with the same events
        x:           its free parameters at the minimum
        candidates:  name → couplings of the larger model that are tested together; they must be 0 in the smaller one
        expected:    events of every data set as the smaller model expects them; None: those that are there say how they scatter

    Raises:
        CtpwaError: if the larger model without them is not the smaller one
    """
    new = [_NewNumbers.of(large, small) for large, small in zip(terms_of(larger), terms_of(smaller), strict=True)]
    members = {name: _members(new, couplings) for name, couplings in candidates.items()}
    free = {number for own in members.values() for number in own or ()}
    terms = [
        replace(large, parameters=own.opened(large, small, free))
        for own, large, small in zip(new, terms_of(larger), terms_of(smaller), strict=True)
    ]
    likelihood: Fittable = terms[0] if isinstance(larger, Likelihood) else LikelihoodSum(terms)
    at = dict(zip(smaller.names, x.tolist(), strict=True))
    point = np.array([at.get(name, 0.0) for name in likelihood.names])
    value, g, H = likelihood.value_grad_hessian(point)
    _check_same(float(value), float(smaller.value(x)), smaller)
    information = None if expected is None else _information(likelihood, point, expected)
    return _Expanded(likelihood, smaller, point, g, H, information).scores(members, candidates)


def _information(likelihood: Fittable, x: np.ndarray, expected: Sequence[ExpectedEvents]) -> np.ndarray:
    """N ⟨(∂ ln p)(∂ ln p)ᵀ⟩."""
    terms = [own.likelihood(term) for term, own in zip(terms_of(likelihood), expected, strict=True)]
    return (terms[0] if isinstance(likelihood, Likelihood) else LikelihoodSum(terms)).score_products(x)


@dataclass(frozen=True)
class _NewNumbers:
    """Complex numbers of a larger likelihood that a smaller one does not have.

    Attributes:
        zero:   those that are 0 in the smaller one
        other:  those that stay what they are: of vertices whose scale is elsewhere
        loose:  coupling → numbers in it that are 0
    """

    zero: frozenset[str]
    other: frozenset[str]
    loose: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, large: Likelihood, small: Likelihood) -> _NewNumbers:
        numbers, fixed, known = large.parameters.numbers, large.coupling_map.fixed, set(small.parameters.numbers)
        loose = {}
        for name, product in zip(large.coupling_names, large.parameters.couplings, strict=True):
            own = [numbers[k] for k in product.numbers if numbers[k] not in known]
            if name not in small.coupling_names:
                loose[name] = tuple([number for number in own if number not in fixed] or own)
        zero = frozenset(number for own in loose.values() for number in own)
        return cls(zero, frozenset(numbers) - zero - known, loose)

    def opened(self, large: Likelihood, small: Likelihood, free: Collection[str]) -> Parameters:
        """Parameters of the larger likelihood where it is the smaller one: those of that, and both parts of numbers that are tested."""
        old, own = large.parameters, {p.name: p for p in small.parameters.all}
        parts: list[Parameter] = []
        for k, number in enumerate(old.numbers):
            if number in self.zero:
                parts += [Parameter(f"{number}.{part}", 0.0, fixed=number not in free) for part in PARTS[CARTESIAN]]
            else:
                parts += [own.get(p.name, replace(p, fixed=True)) for p in old.all[2 * k : 2 * k + 2]]
        parts += [own.get(p.name, p if p.formula else replace(p, fixed=True)) for p in old.all[2 * len(old.numbers) :]]
        return replace(old, all=with_formulas(parts), cartesian=self.zero)


def _members(new: Sequence[_NewNumbers], couplings: Sequence[str]) -> tuple[str, ...] | None:
    """Numbers that make the couplings of a candidate, one each; None if some are products of several."""
    found: dict[str, None] = {}
    for own in new:
        for name in couplings:
            numbers = own.loose.get(name, ())
            if len(numbers) > 1:
                return None
            found.update(dict.fromkeys(numbers))
    return tuple(found)


@dataclass(frozen=True)
class _Expanded:
    """A likelihood at a point, with derivatives over the parameters of the smaller model and over the tested numbers; and what the
    model says about how these scatter, None if nobody knows.
    """

    likelihood: Fittable
    smaller: Fittable
    x: np.ndarray
    g: np.ndarray
    H: np.ndarray
    information: np.ndarray | None

    def scores(self, members: Mapping[str, tuple[str, ...] | None], couplings: Mapping[str, Sequence[str]]) -> dict[str, Score]:
        names = list(self.likelihood.names)
        p = np.array([names.index(name) for name in self.smaller.names], dtype=np.int64)
        curvature = self.H if self.information is None else self.information
        inverse = self._inverse(p, curvature)
        scatter = self.likelihood.score_products(self.x) if self.information is None else self.information
        found = {}
        for name, numbers in members.items():
            if numbers is None:
                found[name] = Score(nan, 0, remark=SEVERAL)
                continue
            c = np.array([names.index(f"{number}.{part}") for number in numbers for part in PARTS[CARTESIAN]], dtype=np.int64)
            c = self._interfering(c, p)
            if not len(c):
                found[name] = Score(nan, 0, remark=APART)
                continue
            A = curvature[np.ix_(c, p)] @ inverse
            u, effective = self.g[c] - A @ self.g[p], curvature[np.ix_(c, c)] - A @ curvature[np.ix_(p, c)]
            whole, index = np.concatenate([-A, np.eye(len(c))], axis=1), np.concatenate([p, c])
            S, ndf = _quadratic_form(whole @ scatter[np.ix_(index, index)] @ whole.T, u)
            moved = self.x.copy()
            moved[c] = _newton_step(effective, u)
            found[name] = Score(S, ndf, self._couplings(moved, couplings[name]))
        return found

    def _inverse(self, p: np.ndarray, curvature: np.ndarray) -> np.ndarray:
        """The inverse of the part of the smaller model, without parameters that are pushed against a limit."""
        unit = self.likelihood.unit
        stop = Stop(self.x[p], 0.0, True, "", 0)
        judged = judge(self.smaller.names, stop, self.g[p] / unit, curvature[np.ix_(p, p)] / unit, self.smaller.bounds)
        return judged.covariance / unit

    def _interfering(self, c: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Those of the directions along which the intensity changes at once: of a wave that interferes with none it does not."""
        scale_c, scale_p = (np.sqrt(np.abs(np.diag(self.H)[k])) for k in (c, p))
        scale_c, scale_p = (np.where(scale > 0, scale, np.inf) for scale in (scale_c, scale_p))
        slope = np.abs(self.g[c]) / scale_c / np.sqrt(self.likelihood.unit)
        related = np.abs(self.H[np.ix_(c, p)] / np.outer(scale_c, scale_p)).max(axis=1, initial=0.0)
        return c[(slope > NO_INTERFERENCE) | (related > NO_INTERFERENCE)]

    def _couplings(self, x: np.ndarray, names: Sequence[str]) -> dict[str, complex]:
        """Couplings by name, without asymmetries."""
        found: dict[str, complex] = {}
        at = dict(zip(self.likelihood.names, x.tolist(), strict=True))
        for term in terms_of(self.likelihood):
            c, _ = term.parameters.bare.native(np.array([at[name] for name in term.names]))
            found |= {name: complex(z) for name, z in zip(term.coupling_names, c, strict=True) if name in names}
        return found


def _scaled(V: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eigenvalues and eigenvectors in units in which every direction alone has variance 1, and these units."""
    diagonal = np.abs(np.diag(V))
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, vectors = np.linalg.eigh((V + V.T) / 2 * np.outer(scale, scale))
    return values, vectors, scale


def _quadratic_form(V: np.ndarray, u: np.ndarray) -> tuple[float, int]:
    """Uᵀ V⁺ u, and the rank of V."""
    values, vectors, scale = _scaled(V)
    use = values > RANK * np.abs(values).max(initial=0.0)
    along = vectors[:, use].T @ (scale * u)
    return float(np.sum(along**2 / values[use])), int(use.sum())


def _newton_step(H: np.ndarray, u: np.ndarray) -> np.ndarray:
    """−H⁻¹ u; down in every direction, also where H is negative, and not along directions that are not determined."""
    values, vectors, scale = _scaled(H)
    use = np.abs(values) > RANK * np.abs(values).max(initial=0.0)
    return -scale * (vectors[:, use] @ ((vectors[:, use].T @ (scale * u)) / np.abs(values[use])))


def _check_same(larger: float, smaller: float, likelihood: Fittable) -> None:
    if not abs(larger - smaller) <= max(SAME * likelihood.unit, 10 * likelihood.rounding):
        raise CtpwaError(
            f"-ln L of the model with candidates whose couplings are 0 is {larger:.6f}, and that of the model {smaller:.6f}\n"
            " fix: leave out candidates that change the model itself, such as those that share its parameters"
        )
