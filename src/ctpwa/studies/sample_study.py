"""``ctpwa sample``: the posterior of all parameters and fractions, by Hamiltonian Monte Carlo with the exact gradient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, ClassVar, Unpack

import numpy as np

from ctpwa.base.errors import DataError, suggest
from ctpwa.base.words import counted
from ctpwa.fitting.fittable import terms_of
from ctpwa.fitting.fractions import FractionCalculator, wave_groups
from ctpwa.fitting.text import Section, with_error
from ctpwa.studies.baseline import Baseline, about_fit
from ctpwa.studies.checks import checked_count, checked_seed
from ctpwa.studies.convergence import Convergence
from ctpwa.studies.diagnostics import effective_size, split_r_hat
from ctpwa.studies.fit_record import FitRecord
from ctpwa.studies.opened import Fit, opened_fit
from ctpwa.studies.posterior import Posterior, draw
from ctpwa.studies.run import FitTask, RunOptions, StudyRun
from ctpwa.studies.study import Study
from ctpwa.studies.wave_projections import wave_projections

if TYPE_CHECKING:
    from ctpwa.report.figures.style import AnyFigure

CHAINS, WARM_UP, PIECE = 4, 150, 25  # a piece of a chain is done at a time
ROUNDS = (250, 500, 1000, 2000, 4000)  # points of every chain, until they have converged
WARM = "warm-up"
STEP, ACCEPTED = "step", "accepted"
INTERVALS = (2.275, 15.8655, 50, 84.1345, 97.725)  # percentiles
HOPELESS = 1000  # points of a chain after which chains at different places stay there
NEAR = 4.5  # of −ln L in units: other minima that chains begin at
SHOWN = 8  # parameters in a corner plot
NOTES = (
    "priors are flat in the parameters within their limits, but for couplings of waves whose lineshapes float: in what these add to the"
    " amplitude; Gaussian constraints count as they do in the fit",
    "the size of the simulation is not counted",
)


@dataclass(frozen=True)
class Marginal:
    """The posterior of one parameter or fraction.

    Attributes:
        name:    of it
        kind:    ``parameter`` or ``fraction``
        fitted:  value and error of the fit
        chains:  [chain, point]
    """

    name: str
    kind: str
    fitted: tuple[float, float | None]
    chains: np.ndarray

    @property
    def mean(self) -> float:
        """Of all points."""
        return float(self.chains.mean())

    @property
    def width(self) -> float:
        """Standard deviation of all points."""
        return float(self.chains.std(ddof=1))

    @property
    def percentiles(self) -> np.ndarray:
        """Those of 2 and 1 standard deviations, and the middle."""
        return np.percentile(self.chains, INTERVALS)

    @cached_property
    def r_hat(self) -> float:
        """Whether the chains agree."""
        return split_r_hat(self.chains)

    @cached_property
    def size(self) -> float:
        """How many independent points they are worth."""
        return effective_size(self.chains)


class Sample(Study):
    """Points of the posterior."""

    name: ClassVar[str] = "sample"
    title: ClassVar[str] = "Posterior"

    @cached_property
    def chains(self) -> tuple[tuple[FitRecord, ...], ...]:
        """The points of every chain, in their order, as many of each."""
        found: dict[int, list[tuple[int, FitRecord]]] = {}
        for record in self.records:
            chain, _, point = record.key.partition(".")
            if point != WARM:
                found.setdefault(int(chain), []).append((int(point), record))
        ordered = [[record for _, record in sorted(points, key=lambda pair: pair[0])] for _, points in sorted(found.items())]
        n = min(map(len, ordered), default=0)
        return tuple(tuple(points[:n]) for points in ordered)

    @cached_property
    def marginals(self) -> tuple[Marginal, ...]:
        """Every parameter and fraction."""
        if not self.chains or not self.chains[0]:
            return ()
        base, first, found = self.about.base, self.chains[0][0], []
        for kind, of_values, errors in (("parameter", "values", base.errors), ("fraction", "fractions", base.fraction_errors)):
            for name in getattr(first, of_values):
                points = np.array([[getattr(point, of_values)[name] for point in chain] for chain in self.chains])
                if name.endswith(".phase"):
                    centre = getattr(base, of_values)[name]
                    points = centre + (points - centre + np.pi) % (2 * np.pi) - np.pi
                found.append(Marginal(name, kind, (getattr(base, of_values).get(name, np.nan), errors.get(name)), points))
        return tuple(found)

    @cached_property
    def convergence(self) -> Convergence:
        """Whether they have converged, and what to do if not."""
        return Convergence(self.marginals, len(self.chains[0]) if self.chains else 0)

    @property
    def converged(self) -> bool:
        """Whether chains agree, and are long enough to say so."""
        return self.convergence.reached

    @property
    def headline(self) -> str:
        """How many points, and whether to trust them."""
        if not self.marginals:
            return "no points yet."
        n = sum(map(len, self.chains))
        words = f"{counted(n, 'point')} in {counted(len(self.chains), 'chain')}"
        if not self.converged:
            return f"{self.convergence.warning} So far there are {words}."
        r_hat, size = max(own.r_hat for own in self.marginals), min(own.size for own in self.marginals)
        return f"{words}, at least {size:.0f} independent; R-hat up to {r_hat:.3f}."

    def sections(self) -> tuple[Section, ...]:
        """One table for parameters, one for fractions."""
        columns = ("", "fit", "posterior", "68 %", "95 %", "R-hat", "independent")
        found = []
        for kind in ("parameter", "fraction"):
            rows = tuple(_row(own) for own in self.marginals if own.kind == kind)
            if rows:
                found.append(Section(f"{kind}s", columns, rows))
        return tuple(found)

    def figures(self) -> dict[str, AnyFigure]:
        """A corner plot of some parameters, and the course of the chains."""
        from ctpwa.report.figures.posterior import draw_chains, draw_corner

        if not self.marginals:
            return {}
        wanted = self.about.extent.get("shown") or default_shown([own.name for own in self.marginals if own.kind == "parameter"])
        shown = [own for own in self.marginals if own.name in wanted]
        rows = [(self.about.labels.get(own.name, own.name), own.chains, own.fitted[0]) for own in shown]
        return {"sample-corner": draw_corner(rows), "sample-chains": draw_chains(rows)}


def default_shown(names: Sequence[str]) -> list[str]:
    """Parameters of a corner plot: masses and widths first, then others."""
    lineshapes = [name for name in names if name.endswith((".mass", ".width"))]
    return [*lineshapes, *(name for name in names if name not in lineshapes)][:SHOWN]


def _row(own: Marginal) -> tuple[str, ...]:
    low2, low, _, high, high2 = own.percentiles
    posterior = with_error(own.mean, own.width)
    return (
        own.name,
        with_error(*own.fitted),
        posterior,
        f"{low:.5g} … {high:.5g}",
        f"{low2:.5g} … {high2:.5g}",
        f"{own.r_hat:.3f}",
        f"{own.size:.0f}",
    )


def sample(
    fit: Fit,
    n: int | None = None,
    *,
    chains: int = CHAINS,
    warm_up: int = WARM_UP,
    shown: Sequence[str] = (),
    seed: int = 0,
    rounds: Sequence[int] = ROUNDS,
    **run: Unpack[RunOptions],
) -> Sample:
    """Draw points from the posterior of a fit: L within the limits of the parameters.

    The metric of the sampler is the exact Hessian at the minimum. Chains begin near the minimum, and near other minima of the fit that
    are almost as good. With more points later the chains go on. Look at ``converged`` before anything else.

    Args:
        fit:      a reopened fit, a result, its file, or a model file, which is fitted first
        n:        number of points of every chain; default: ``rounds``
        chains:   number of chains
        warm_up:  points of every chain that are thrown away, while the size of its steps is found
        shown:    parameters of the corner plot; default: masses and widths
        seed:     of the random numbers
        rounds:   numbers of points of every chain after each of which it stops if the chains have converged
        run:      how to run it, see ``RunOptions``
    """
    chains, seed = checked_count("chains", chains), checked_seed(seed)
    rounds = [checked_count("points", own, 4) for own in (rounds if n is None else [n])]
    warm_up = checked_count("points to warm up", warm_up, 10)
    opened = opened_fit(fit, run.get("ranks"), run.get("progress"))
    known = {*opened.result.names}
    for name in shown:
        if name not in known:
            raise DataError(f"no free parameter is called {name!r}\n fix: {suggest(name, known)}")
    options = {"seed": seed, "warm_up": warm_up, "prior": "amplitude"}
    about = about_fit(opened, Sample.name, options, NOTES, chains=chains, shown=list(shown))
    with StudyRun(opened, about, run) as study:
        sampler = _Sampler(study, seed, warm_up)
        for points in rounds:
            sampler.draw(chains, points)
            found = Sample.of(study.store)
            if found.converged or (points >= HOPELESS and found.convergence.apart):
                break
    return Sample.of(study.store)


@dataclass(frozen=True)
class _Sampler:
    """Draws the points.

    Attributes:
        study:    where they are kept
        seed:     of the random numbers
        warm_up:  points of every chain that are thrown away
    """

    study: StudyRun
    seed: int
    warm_up: int

    @cached_property
    def own(self) -> Baseline:
        """The fit."""
        return self.study.baseline

    @cached_property
    def posterior(self) -> Posterior:
        """What is sampled."""
        own = self.own
        term, phase_space = terms_of(own.likelihood)[0], own.analysis.read(own.analysis.data_sets[0].name).phase_space
        return Posterior(own.likelihood, own.x, wave_projections(term, own.likelihood.names, own.x, phase_space))

    @cached_property
    def starts(self) -> list[np.ndarray]:
        """The minimum, and others that are almost as good."""
        result, most = self.own.result, NEAR * self.own.likelihood.unit
        near = [m for m in result.minima[1:] if m.refined and m.nll - result.nll < most]
        return [self.own.x, *(np.array(minimum.values) for minimum in near)]

    def draw(self, chains: int, n: int) -> None:
        """So many points of every chain, of which some may be there."""
        tasks = [self._chain(chain, -(-n // PIECE)) for chain in range(chains)]
        if not self.study.has([task.key for own in tasks for task in own]):
            self.study.fits(tasks, "points of the posterior, in pieces")

    def _chain(self, chain: int, pieces: int) -> list[FitTask]:
        first = FitTask(f"{chain}.{WARM}", lambda before: self._warm_up(chain))
        more = (FitTask(f"{chain}.{(piece + 1) * PIECE - 1}", partial(self._piece, chain, piece)) for piece in range(pieces))
        return [first, *more]

    def _warm_up(self, chain: int) -> FitRecord:
        """The first points of a chain; the last of them is kept, with the size of steps."""
        start = self.posterior.z(self.starts[chain % len(self.starts)])
        begin = start + np.random.default_rng([self.seed, chain, 0]).normal(size=len(start))
        z, step, accepted = draw(self.posterior, begin, 1, [self.seed, chain, 1], None, self.warm_up)
        return _point(self.own, f"{chain}.{WARM}", self.posterior.x(z[-1]), step, accepted)

    def _piece(self, chain: int, piece: int, before: FitRecord | None) -> FitRecord:
        """More points of a chain, which begin where those before ended; all but the last are kept here."""
        assert before is not None
        x = np.array([before.values[name] for name in self.own.likelihood.names])
        step = before.numbers[STEP]
        points, _, accepted = draw(self.posterior, self.posterior.z(x), PIECE, [self.seed, chain, 2 + piece], step)
        first = piece * PIECE
        records = [_point(self.own, f"{chain}.{first + k}", self.posterior.x(z), step, accepted) for k, z in enumerate(points)]
        self.study.store.add(*records[:-1])
        return records[-1]


def _point(own: Baseline, key: str, x: np.ndarray, step: float, accepted: float) -> FitRecord:
    """A point with its fractions."""
    likelihood = own.likelihood
    fractions: dict[str, float] = {}
    truths = own.truths or [None] * len(terms_of(likelihood))
    names = [entry.data_set for entry in own.result.fractions]
    for term, truth, name in zip(terms_of(likelihood), truths, names, strict=True):
        index = [likelihood.names.index(parameter) for parameter in term.names]
        groups = wave_groups(term.model)["resonances"]
        values, _ = FractionCalculator(term, x[index], truth).values_and_slopes(groups)
        fractions |= {(f"{name}: {group}" if name else group): float(value) for group, value in zip(groups, values, strict=True)}
    return FitRecord(
        key,
        float(likelihood.value(x)),
        True,
        values=dict(zip(likelihood.names, x.tolist(), strict=True)),
        fractions=fractions,
        numbers={STEP: step, ACCEPTED: accepted},
    )
