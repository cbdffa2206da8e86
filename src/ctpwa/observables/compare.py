"""``compare``: several results side by side."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

from ctpwa.base.errors import CtpwaError, printable
from ctpwa.base.words import counted
from ctpwa.fitting.checkpoint import hash_of_samples
from ctpwa.fitting.plain import to_plain
from ctpwa.fitting.result import FitResult
from ctpwa.fitting.take_over import of_coupling
from ctpwa.model.amounts import is_amount
from ctpwa.observables.compare_text import comparison_text
from ctpwa.observables.nested import Extra, extra_parameters
from ctpwa.observables.significance import log_p_value, standard_deviations

BACKGROUNDS = "fractions and yields of backgrounds"
PARAMETERS, MAGNITUDES, PHASES = "lineshape parameters", "magnitudes of couplings", "phases of couplings in degrees"


@dataclass(frozen=True)
class ComparedFit:
    """One of the results.

    Attributes:
        name:             what it is called here
        nll:              −ln L
        delta:            −2 ln L minus that of the best; None if they cannot be compared
        free_parameters:  how many
        aic, bic:         Akaike's and Bayes' criterion
        events:           measured events
        good:             whether its verdict is good
    """

    name: str
    nll: float
    delta: float | None
    free_parameters: int
    aic: float
    bic: float
    events: int
    good: bool


@dataclass(frozen=True)
class ComparedValue:
    """One quantity in all results.

    Attributes:
        kind:         what it is, such as ``lineshape parameters``
        name:         its name
        values:       in each result; None where it does not exist
        errors:       standard deviations; None where there is none, 0 where it is fixed
        differences:  to the first result that has it, in standard deviations; None where there is nothing to compare
    """

    kind: str
    name: str
    values: tuple[float | None, ...]
    errors: tuple[float | None, ...]
    differences: tuple[float | None, ...]


@dataclass(frozen=True)
class NestedTest:
    """A model against a special case of it.

    Attributes:
        smaller, larger:  names of the results
        delta:            2 Δ ln L
        ndf:              extra parameters: without those in ``undefined``, and all
        log_p_values:     ln of the probability of a larger 2 Δ ln L if the smaller model is true, for both counts
        sigmas:           the same in standard deviations
        undefined:        parameters that have no meaning in the smaller model
        notes:            why these numbers may be wrong
    """

    smaller: str
    larger: str
    delta: float
    ndf: tuple[int, int]
    log_p_values: tuple[float, float]
    sigmas: tuple[float, float]
    undefined: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """What ``compare`` returns; ``str()`` is a table.

    Attributes:
        fits:    one for each result
        values:  parameters, couplings and fractions
        nested:  tests of models that are special cases of others
        notes:   what cannot be compared, and why
    """

    fits: tuple[ComparedFit, ...]
    values: tuple[ComparedValue, ...]
    nested: tuple[NestedTest, ...]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        return printable(comparison_text(self))

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, texts, lists and mappings."""
        plain: dict[str, Any] = to_plain(self)
        return plain


def compare(
    results: Sequence[FitResult | str | os.PathLike[str]], *, names: Sequence[str] | None = None, same_samples: bool | None = None
) -> Comparison:
    """Put results side by side: likelihoods, parameters, couplings, fractions, and the significance of what a nested model lacks.

    Args:
        results:       results, or files that they were saved to; differences are relative to the first
        names:         what to call them; default: the names of the files
        same_samples:  whether the fits are of the same events; default: as the hashes in the results say
    """
    loaded = [result if isinstance(result, FitResult) else FitResult.load(result) for result in results]
    if len(loaded) < 2:
        raise CtpwaError(f"{counted(len(loaded), 'result')} to compare\n fix: give at least two")
    called = _names(results) if names is None else list(names)
    if len(called) != len(loaded):
        raise CtpwaError(f"{counted(len(called), 'name')} for {counted(len(loaded), 'result')}\n fix: give every result a name of its own")
    twice = next((name for k, name in enumerate(called) if name in called[:k]), None)
    if twice is not None:
        raise CtpwaError(f"{twice!r} is to be compared with itself\n fix: give different results, and each a name of its own")
    named = dict(zip(called, loaded, strict=True))
    same, why = _same_samples(named) if same_samples is None else (same_samples, "the samples are said to be different")
    notes = [] if same else [f"-ln L cannot be compared: {why}"]
    best = min(result.nll for result in loaded)
    fits = tuple(
        ComparedFit(name, r.nll, 2 * (r.nll - best) if same else None, len(r.parameters), r.aic, r.bic, r.n_events, r.verdict.good)
        for name, r in named.items()
    )
    notes += [f"{name}: the verdict of the fit is not good" for name, r in named.items() if not r.verdict.good]
    values, more = _values(named, same)
    tests = list(_nested(named)) if same else []
    return Comparison(
        fits,
        tuple(values),
        tuple(test for test in tests if isinstance(test, NestedTest)),
        tuple(notes + more + [test for test in tests if isinstance(test, str)]),
    )


def _names(results: Sequence[Any]) -> list[str]:
    """Names of files, with as much of their paths as it takes to tell them apart."""
    paths = [Path(result) if not isinstance(result, FitResult) else Path(f"result {k + 1}") for k, result in enumerate(results)]
    stems = [path.name.removesuffix(".json").removesuffix(".result") for path in paths]
    return stems if len(set(stems)) == len(stems) else [str(path) for path in paths]


def _same_samples(named: Mapping[str, FitResult]) -> tuple[bool, str]:
    """Whether all results are of the same events, and why not."""
    first_name, first = next(iter(named.items()))
    for name, result in named.items():
        if not result.samples:
            return False, f"{name} was fitted in Python and does not say to which events"
        if hash_of_samples(result.samples) != hash_of_samples(first.samples):
            why = f"{first_name} and {name} are fits of different samples"
            if hash_of_samples(_from_files(result)) == hash_of_samples(_from_files(first)):
                why += "; phase space that is generated follows the resonances of a model: give both the same file, or proposal: flat"
            return False, why
    return True, ""


def _from_files(result: FitResult) -> tuple[Any, ...]:
    """The samples that were not generated."""
    return tuple(sample for sample in result.samples if sample["files"])


def _values(named: Mapping[str, FitResult], same: bool) -> tuple[list[ComparedValue], list[str]]:
    results = list(named.values())
    tables: dict[str, list[dict[str, tuple[float, float | None]]]] = {
        kind: [{name: own for name, own in _lineshapes(r).items() if _kind(name) == kind} for r in results]
        for kind in (PARAMETERS, BACKGROUNDS)
    }
    notes = []
    references = [_reference(result) for result in results]
    if len(set(references)) == 1:
        tables[MAGNITUDES] = [{c.name: (c.magnitude, c.magnitude_error) for c in r.couplings} for r in results]
        tables[PHASES] = [{c.name: (math.degrees(c.phase), _degrees(c.phase_error)) for c in r.couplings} for r in results]
    else:
        notes.append("couplings are not compared: they are relative to different reference waves")
    for title in dict.fromkeys(title for r in results for title in _fractions(r)):
        tables[title] = [_fractions(r).get(title, {}) for r in results]
    return [value for kind, columns in tables.items() for value in _compared(kind, columns, same)], notes


def _kind(name: str) -> str:
    """What a parameter that belongs to no coupling is: no lineshape has a fraction or a yield."""
    return BACKGROUNDS if is_amount(name) else PARAMETERS


def _lineshapes(result: FitResult) -> dict[str, tuple[float, float | None]]:
    """Free parameters besides couplings, and fixed ones with an error of 0."""
    free = {p.name: (p.value, p.error) for p in result.parameters if not of_coupling(p.name, result)}
    free |= {p.name: (p.value, p.error) for p in result.derived if not of_coupling(p.name, result)}
    return free | {name: (value, 0.0) for name, value in result.fixed.items() if not of_coupling(name, result)}


def _reference(result: FitResult) -> tuple[str, ...]:
    """Couplings that are fixed."""
    return tuple(c.name for c in result.couplings if c.magnitude_error == 0 and c.phase_error == 0)


def _fractions(result: FitResult) -> dict[str, dict[str, tuple[float, float | None]]]:
    return {
        f"fractions in %{f' of {entry.data_set}' if entry.data_set else ''} over {entry.over}": {
            name: (100 * value, 100 * error)
            for group in (entry.groups["resonances"],)
            for name, value, error in zip(group.names, group.values.tolist(), group.errors.tolist(), strict=True)
        }
        for entry in result.fractions
    }


def _degrees(angle: float | None) -> float | None:
    return None if angle is None else math.degrees(angle)


def _compared(kind: str, columns: Sequence[Mapping[str, tuple[float, float | None]]], same: bool) -> Iterator[ComparedValue]:
    for name in dict.fromkeys(name for column in columns for name in column):
        found = [column.get(name) for column in columns]
        if (
            kind in (PARAMETERS, BACKGROUNDS)
            and all(value is None or value[1] == 0 for value in found)
            and len({v[0] for v in found if v}) == 1
        ):
            continue  # fixed to the same value wherever it is
        first = next(k for k, value in enumerate(found) if value is not None)
        differences = [None if k == first else _difference(value, found[first], kind == PHASES, same) for k, value in enumerate(found)]
        values, errors = zip(*((None, None) if value is None else value for value in found), strict=True)
        yield ComparedValue(kind, name, values, errors, tuple(differences))


def _difference(value: Any, first: Any, angle: bool, same: bool) -> float | None:
    """In standard deviations: those of both together if they are independent, else those of the first, or of the other if it is fixed."""
    if value is None or value[1] is None or first[1] is None:
        return None
    error = (first[1] or value[1]) if same else math.hypot(first[1], value[1])
    off = value[0] - first[0]
    return (math.remainder(off, 360) if angle else off) / error if error else None


def _nested(named: Mapping[str, FitResult]) -> Iterator[NestedTest | str]:
    """Tests of all pairs, and words for those that are not nested."""
    done = set()
    for (a, smaller), (b, larger) in permutations(named.items(), 2):
        extra = extra_parameters(smaller, larger)
        if isinstance(extra, Extra):
            done.add(frozenset((a, b)))
            yield _test(a, smaller, b, larger, extra)
    for (a, first), (b, second) in permutations(named.items(), 2):
        if frozenset((a, b)) not in done:
            done.add(frozenset((a, b)))
            fewer, more = sorted((first, second), key=lambda r: len(r.parameters))
            yield f"{a} and {b} are not nested, and have no likelihood ratio test: {extra_parameters(fewer, more)}"


def _test(a: str, smaller: FitResult, b: str, larger: FitResult, extra: Extra) -> NestedTest | str:
    delta = 2 * (smaller.nll - larger.nll)
    if delta < 0:
        return f"{b} contains {a} and yet is worse by {-delta:.2f} in -2 ln L: its fit has not found the best minimum; fit it --from {a}"
    if smaller.corrected or larger.corrected:
        return f"{b} contains {a}, better by {delta:.2f} in -2 ln L; with weighted events that is not distributed like chi2: use toys"
    counts = (extra.least, extra.most)
    if counts[0] == 0:  # parameters of a wave that is in both, but with nothing to identify them in the smaller one
        counts = (extra.most, extra.most)
    logs = tuple(log_p_value(delta, ndf) for ndf in counts)
    notes = []
    if extra.undefined:
        notes.append(
            f"{', '.join(extra.undefined)} {'have' if len(extra.undefined) > 1 else 'has'} no meaning in {a}: "
            "Wilks' theorem does not hold, and the truth is between the two counts, or beyond; use toys to find out"
        )
    at_limit = [p.name for p in larger.parameters if p.at_limit]
    if at_limit:
        notes.append(f"{', '.join(at_limit)} ended at a limit in {b}: there are fewer degrees of freedom, and the significance is larger")
    return NestedTest(
        a, b, delta, counts, (logs[0], logs[1]), (standard_deviations(logs[0]), standard_deviations(logs[1])), extra.undefined, tuple(notes)
    )
