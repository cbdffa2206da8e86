"""The result of a fit: everything that was found and everything needed to repeat it, in one JSON file."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ctpwa.base.errors import CtpwaError, UnknownNameError, printable, suggest
from ctpwa.base.output import written_whole
from ctpwa.fitting.asymmetries import CPAsymmetries
from ctpwa.fitting.consistent import check_result
from ctpwa.fitting.fractions import Fractions
from ctpwa.fitting.json_file import no_such_file, read_json
from ctpwa.fitting.notebook import result_html, result_summary
from ctpwa.fitting.plain import build, to_plain
from ctpwa.fitting.precision import PrecisionBias
from ctpwa.fitting.simulation import SimulationPart
from ctpwa.fitting.text import result_text
from ctpwa.minimise.drive import Record
from ctpwa.minimise.minos import MinosError
from ctpwa.minimise.steps import Extended
from ctpwa.minimise.verdict import Verdict

SCHEMA = 3  # since 2 with a checksum; since 3 with the part of the simulation in errors, derived parameters and asymmetries
OLDEST = 2  # that can be read
CHECKSUM = "sha256"
NOT_OF_A_RESULT = ("schema", "ctpwa", "aic", "bic", CHECKSUM)  # what a file has besides


@dataclass(frozen=True)
class FittedParameter:
    """A free parameter.

    Attributes:
        name:          its name
        value:         at the minimum
        error:         standard deviation; None if the likelihood does not determine it, or it is at a limit
        start:         where the fit began
        lower, upper:  limits; None if there is none
        at_limit:      whether it ended there
        minos:         asymmetric errors of the likelihood, if asked for; without the part of the simulation
        simulation:    the part of ``error`` that is due to the finite phase-space sample; None if it is not counted. The rest is
                       statistical: error² = statistical² + simulation²
    """

    name: str
    value: float
    error: float | None
    start: float
    lower: float | None = None
    upper: float | None = None
    at_limit: bool = False
    minos: MinosError | None = None
    simulation: float | None = None

    @property
    def statistical(self) -> float | None:
        """Standard deviation of the measured events alone."""
        return None if self.error is None else math.sqrt(max(self.error**2 - (self.simulation or 0.0) ** 2, 0.0))


@dataclass(frozen=True)
class DerivedParameter:
    """A parameter that follows from free ones.

    Attributes:
        name:     its name
        value:    at the minimum
        error:    standard deviation; None if something in it has none
        formula:  how it follows from others
    """

    name: str
    value: float
    error: float | None
    formula: str


@dataclass(frozen=True)
class FittedCoupling:
    """A complex coupling, without its CP asymmetry, as magnitude and phase; errors are None where they are not determined."""

    name: str
    re: float
    im: float
    magnitude: float
    magnitude_error: float | None
    phase: float
    phase_error: float | None


@dataclass(frozen=True)
class FoundMinimum:
    """One of the minima that the starts led to.

    Attributes:
        nll:      −ln L; if it was not refined, that of the best one plus the difference with part of the events
        starts:   how many starts ended there; 0 of a point that was known before, or where a search was interrupted
        refined:  whether the whole fit was run from it
        values:   free parameters
    """

    nll: Extended
    starts: int
    refined: bool
    values: tuple[float, ...]


@dataclass(frozen=True)
class FractionSet:
    """Fractions of one data set.

    Attributes:
        data_set:  its name; empty if there is only one
        over:      what was integrated over: ``phase space`` or ``truth``
        groups:    ``waves``, ``resonances`` and ``jp``
        yields:    name of a resonance → (events, standard deviation)
    """

    data_set: str
    over: str
    groups: Mapping[str, Fractions]
    yields: Mapping[str, tuple[float, float]]


@dataclass(frozen=True, eq=False)
class FitResult:
    """What a fit found. ``str()`` is a table, ``save`` writes a file, ``FitResult.load`` reads it; a notebook shows a verdict and tables.

    Two results are equal if their files are.

    Attributes:
        decay:          what was fitted, in words
        method:         minimiser
        parameters:     the free parameters
        covariance:     of the free parameters, with the part of the simulation
        corrected:      whether the covariance is that of weighted events, H⁻¹ S H⁻¹
        couplings:      all complex couplings
        fixed:          all other parameters
        derived:        parameters that are formulas of free ones
        asymmetries:    CP asymmetries, if couplings differ between the decay and its charge conjugate
        nll:            −ln L at the minimum
        n_events:       measured events
        weight:         Σ w of data minus background
        verdict:        whether to trust it
        record:         evaluations, time and convergence of the fit
        minima:         where the starts led to, the best first
        n_starts:       number of starts
        fractions:      for every data set
        samples:        what was read, with hashes of the files
        model:          content of the model file, if it came from one
        model_file:     its name
        settings:       of the fit
        precision:      in mixed precision: how it differs from double precision
        simulation:     what the finite phase-space sample adds to the covariance, and its effective size; None if it is not counted
        version:        of ctpwa
        created:        date and time
    """

    decay: str
    method: str
    parameters: tuple[FittedParameter, ...]
    covariance: np.ndarray
    corrected: bool
    couplings: tuple[FittedCoupling, ...]
    fixed: Mapping[str, float]
    nll: float
    n_events: int
    weight: float
    verdict: Verdict
    record: Record
    minima: tuple[FoundMinimum, ...]
    n_starts: int
    fractions: tuple[FractionSet, ...] = ()
    samples: tuple[Mapping[str, Any], ...] = ()
    model: Mapping[str, Any] | None = None
    model_file: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    precision: PrecisionBias | None = None
    simulation: SimulationPart | None = None
    version: str = ""
    created: str = ""
    derived: tuple[DerivedParameter, ...] = ()
    asymmetries: CPAsymmetries | None = None

    @property
    def values(self) -> dict[str, float]:
        """All parameters by name: free, fixed and derived ones."""
        return dict(self.fixed) | {p.name: p.value for p in self.derived} | {p.name: p.value for p in self.parameters}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the free parameters."""
        return tuple(p.name for p in self.parameters)

    @property
    def x(self) -> np.ndarray:
        """Values of the free parameters."""
        return np.array([p.value for p in self.parameters])

    @property
    def errors(self) -> np.ndarray:
        """Standard deviations; NaN where there is none."""
        return np.array([np.nan if p.error is None else p.error for p in self.parameters])

    @property
    def statistical_covariance(self) -> np.ndarray:
        """The covariance of the measured events alone."""
        return self.covariance if self.simulation is None else self.covariance - self.simulation.covariance

    @property
    def correlation(self) -> np.ndarray:
        """Correlation matrix; 0 for parameters without an error."""
        sigma = np.sqrt(np.diag(self.covariance).clip(min=0))
        inverse = np.where(sigma > 0, 1 / np.where(sigma > 0, sigma, 1.0), 0.0)
        return self.covariance * inverse * inverse[:, None]

    @property
    def aic(self) -> float:
        """Akaike's criterion, 2k − 2 ln L."""
        return 2 * len(self.parameters) + 2 * self.nll

    @property
    def bic(self) -> float:
        """Bayes' criterion, k ln N − 2 ln L."""
        return len(self.parameters) * math.log(self.weight) + 2 * self.nll

    def value(self, name: str) -> float:
        """Value of a free parameter."""
        return self[name].value

    def __getitem__(self, name: str) -> FittedParameter:
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        if name in self.values:
            kind = "fixed" if name in self.fixed else "derived"
            raise UnknownNameError(f"{name!r} is not a free parameter but a {kind} one\n fix: result.values[{name!r}] is its value")
        near = suggest(str(name), self.names) or "result.names are all of them"
        raise UnknownNameError(f"no free parameter is called {name!r}\n fix: {near}")

    def __eq__(self, other: object) -> bool:
        return self._content() == other._content() if isinstance(other, FitResult) else NotImplemented

    def __str__(self) -> str:
        return printable(result_text(self))

    def __repr__(self) -> str:
        return printable(result_summary(self))

    def _repr_html_(self) -> str:
        return result_html(self).source

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a JSON file, whole or not at all."""
        text = json.dumps(self.as_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        with written_whole(path) as file:
            # a path need not be UTF-8: what is left of it is escaped as JSON does
            file.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, texts, lists and mappings, as they are in the file, and a checksum of them."""
        content = self._content()
        return content | {CHECKSUM: checksum(content)}

    def _content(self) -> dict[str, Any]:
        return {"schema": SCHEMA, "ctpwa": self.version} | to_plain(
            {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "version"} | {"aic": self.aic, "bic": self.bic}
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> FitResult:
        """Read a file that ``save`` wrote; one that was changed since, or whose numbers contradict each other, is refused."""
        content = read_json(path, "result of a fit", _instead(path))
        if isinstance(content, dict) and "checkpoint" in content:
            raise CtpwaError(f"{str(path)!r} is the checkpoint of an unfinished fit\n fix: continue with  ctpwa fit … --resume")
        schema = content.get("schema") if isinstance(content, dict) else None
        if not isinstance(schema, int) or isinstance(schema, bool):
            raise no_such_file(path, "result of a fit", "it has no schema", "give a file that ctpwa fit wrote")
        if not OLDEST <= schema <= SCHEMA:
            raise CtpwaError(
                f"{str(path)!r} has schema {schema}, and this ctpwa reads schema {OLDEST} to {SCHEMA}\n"
                " fix: fit again, or use the version of ctpwa that wrote it"
            )
        if content.get(CHECKSUM) != checksum(content):
            raise CtpwaError(
                f"{str(path)!r} was changed after it was written: its content and its checksum do not agree\n"
                " fix: put back the file that ctpwa wrote, or fit again"
            )
        try:
            return cls.from_dict(_completed(content, schema))
        except ValueError as error:
            raise no_such_file(path, "complete result of a fit", error, "run the fit again") from None

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> FitResult:
        """The result that ``as_dict`` described, whatever its checksum.

        Raises:
            ValueError: says what is missing, too much, of the wrong kind, or contradicts something else
        """
        own = {name: value for name, value in content.items() if name not in NOT_OF_A_RESULT}
        result: FitResult = build(cls, own | {"version": content.get("ctpwa")})
        n = len(result.parameters)
        fractions = tuple(
            replace(entry, groups={kind: _square(group, f"fractions[{i}].groups[{kind!r}]") for kind, group in entry.groups.items()})
            for i, entry in enumerate(result.fractions)
        )
        part = result.simulation
        if part is not None:
            part = replace(part, covariance=_shaped(part.covariance, (n, n), "simulation.covariance"))
        result = replace(result, covariance=_shaped(result.covariance, (n, n), "covariance"), fractions=fractions, simulation=part)
        check_result(result)
        for name in ("aic", "bic"):
            if not math.isclose(build(Extended, content.get(name), name), getattr(result, name), rel_tol=1e-12):
                raise ValueError(f"{name} is {content[name]}, and -ln L says {getattr(result, name)}")
        return result

    def with_origin(self, **changes: Any) -> FitResult:
        """The same result with samples, model or settings filled in."""
        return replace(self, **changes)


def checksum(content: Mapping[str, Any]) -> str:
    """SHA-256 of the content of a file without its checksum, however it is laid out."""
    bare = {name: value for name, value in content.items() if name != CHECKSUM}
    return hashlib.sha256(json.dumps(bare, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _completed(content: dict[str, Any], schema: int) -> dict[str, Any]:
    """The content of an older file with what it could not hold yet."""
    if schema >= 3:
        return content
    parameters = content.get("parameters")
    if isinstance(parameters, list):
        parameters = [{"simulation": None} | p if isinstance(p, dict) else p for p in parameters]
    return {"simulation": None, "derived": [], "asymmetries": None} | content | {"parameters": parameters}


def _instead(path: str | os.PathLike[str]) -> str:
    """What to give in place of a file that is not a result."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix in (".yml", ".yaml"):
        return (
            "this looks like a model file: fit it with  ctpwa fit,  and give the result, .result.json, that it writes;"
            " of studies that need no fit, such as bins, give ctpwa report the .parquet"
        )
    if suffix == ".parquet":
        return "this looks like a study or a sample: give the result of a fit, .result.json; only ctpwa report takes studies"
    return "give a file that ctpwa fit wrote"


def _square(group: Fractions, where: str) -> Fractions:
    n = len(group.names)
    return Fractions(
        group.names,
        _shaped(group.values, (n,), f"{where}.values"),
        *(_shaped(getattr(group, name), (n, n), f"{where}.{name}") for name in ("covariance", "interference", "interference_errors")),
    )


def _shaped(array: np.ndarray, shape: tuple[int, ...], where: str) -> np.ndarray:
    """The array, if it has this shape; an empty one has lost it on the way."""
    if array.shape != shape and not array.size == math.prod(shape) == 0:
        raise ValueError(f"{where} has shape {array.shape} instead of {shape}")
    return array.reshape(shape)
