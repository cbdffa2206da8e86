"""What the fit of a bin leaves in a study, and how it is read again.

``value:NAME.re``, ``value:NAME.im`` and their errors are couplings in events; ``number:events NAME`` and ``number:error NAME`` count
those of a wave or a group of waves; ``number:covariance i,k`` is the covariance of the couplings, all real parts before all imaginary
ones; and ``number:at NAME`` are couplings and lineshape parameters as they were fitted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ctpwa.fitting.event_couplings import EventCouplings, Number
from ctpwa.fitting.fractions import wave_groups
from ctpwa.fitting.result import FitResult
from ctpwa.model.model import Model, Wave
from ctpwa.model.spin_parity import spin_parity
from ctpwa.observables.residual_test import ResidualTest
from ctpwa.studies.bin_intervals import LEVELS, Interval
from ctpwa.studies.fit_record import FitRecord

TOTAL = "total"
OPEN_SIGN = "open sign"  # of all phases of a coherent set
EVENTS, ERROR, COVARIANCE, AT, SIZE = "events", "error", "covariance", "at", "size"
SOLUTION, REPLICA, SWEEP, INTERVALS, GOODNESS = "solution", "replica", "sweep", "intervals", "goodness"
LOWER, UPPER = "lower", "upper"
P_VALUE, MOVES = "p", "moves"
DECAY, INSIDE = "decay", "inside"  # what is tested: what X decays to, and how it changes within the bin


def solution_key(key: str, k: int) -> str:
    """Of a solution besides the best one, which is number 0."""
    return f"{key} {SOLUTION} {k + 1}"


def replica_key(key: str, k: int) -> str:
    """Of a bootstrap replica of a bin."""
    return f"{key} {REPLICA} {k}"


def sweep_key(key: str, sweep: int) -> str:
    """Of what a sweep found in a bin: how many solutions it has added."""
    return f"{key} {SWEEP} {sweep}"


def sweep_solution_key(key: str, sweep: int, k: int) -> str:
    """Of a solution that a sweep has added to a bin, the first being number 0."""
    return f"{sweep_key(key, sweep)} {SOLUTION} {k + 1}"


def goodness_key(key: str) -> str:
    """Of the tests of the best solution of a bin."""
    return f"{key} {GOODNESS}"


def intervals_key(key: str) -> str:
    """Of the intervals of the best solution of a bin."""
    return f"{key} {INTERVALS}"


def bin_groups(model: Model) -> dict[str, list[int]]:
    """Groups of waves whose events are counted: each wave, those of the same J^P and reflectivity, or resonances, and all together.

    Groups of the same waves are counted once, under the first of their names.
    """
    own = _named_groups(model)
    return {name: own[name] for name in own if group_names(model)[name] == name}


def group_names(model: Model) -> dict[str, str]:
    """Every name of a group of waves → the one under which they are counted."""
    own = _named_groups(model)
    first: dict[tuple[int, ...], str] = {tuple(own[TOTAL]): TOTAL}
    return {name: first.setdefault(tuple(waves), name) for name, waves in own.items()}


def _named_groups(model: Model) -> dict[str, list[int]]:
    known = wave_groups(model)
    groups: dict[str, list[int]] = dict(known["waves"])
    if any(wave.chain.root.made is not None for wave in model.waves):
        for name in dict.fromkeys(name for wave in model.waves for name in _family(wave)):
            groups[name] = [index for index, wave in enumerate(model.waves) if name in _family(wave)]
    else:
        groups |= known["resonances"] | known["jp"]
    return groups | {TOTAL: list(range(len(model.waves)))}


def _family(wave: Wave) -> list[str]:
    """Groups that a wave of a production belongs to."""
    made = wave.chain.root.made
    if made is None:
        return []
    sign = f"e={'+-'[made.reflectivity < 0]}"
    return [f"{spin_parity(wave)} {sign}", spin_parity(wave), sign]


def record_of(key: str, result: FitResult, couplings: EventCouplings, numbers: Mapping[str, float], seconds: float) -> FitRecord:
    """What a solution or a replica leaves.

    Args:
        key:        which it is
        result:     what was found
        couplings:  in events; without a covariance no errors are kept
        numbers:    what else to keep
        seconds:    how long it took
    """
    parts = {"re": couplings.values.real, "im": couplings.values.imag}
    values = {f"{name}.{part}": float(own[k]) for k, name in enumerate(couplings.names) for part, own in parts.items()}
    kept: dict[str, float] = dict(numbers) | {"efficiency": couplings.efficiency}
    errors: dict[str, float] = {}
    kept |= {f"{EVENTS} {name}": number for name, (number, _) in couplings.events.items()}
    if couplings.covariance.size:
        sigma = couplings.errors
        errors = {f"{name}.{part}": float(sigma[i, k]) for k, name in enumerate(couplings.names) for i, part in enumerate(parts)}
        kept |= {f"{SIZE} {name}": float(own) for name, own in zip(couplings.names, couplings.sizes, strict=True)}
        kept |= {f"{ERROR} {name}": error for name, (_, error) in couplings.events.items()}
        C = couplings.covariance
        kept |= {f"{COVARIANCE} {i},{k}": float(C[i, k]) for i in range(len(C)) for k in range(i, len(C))}
        bare = {c.name: complex(c.re, c.im) for c in result.couplings}
        kept |= {f"{AT} {name}.re": z.real for name, z in bare.items()} | {f"{AT} {name}.im": z.imag for name, z in bare.items()}
        own = {f"{name}.{part}" for name in bare for part in ("re", "im", "abs", "phase")}
        kept |= {f"{AT} {p.name}": float(p.value) for p in result.parameters if p.name not in own}
    reasons = "; ".join(result.verdict.reasons)
    return FitRecord(key, result.nll, result.verdict.good, reasons, values, errors, numbers=kept, seconds=seconds)


def fitted_at(record: FitRecord) -> tuple[dict[str, complex], dict[str, float]]:
    """Couplings and lineshape parameters as they were fitted."""
    known = {name.removeprefix(f"{AT} "): value for name, value in record.numbers.items() if name.startswith(f"{AT} ")}
    names = [name.removesuffix(".re") for name in known if name.endswith(".re")]
    bare = {name: complex(known[f"{name}.re"], known[f"{name}.im"]) for name in names}
    return bare, {name: value for name, value in known.items() if name.rpartition(".")[0] not in bare}


def couplings_of(record: FitRecord, names: list[str]) -> np.ndarray:
    """Couplings in events, [coupling]."""
    return np.array([complex(record.values[f"{name}.re"], record.values[f"{name}.im"]) for name in names])


def covariance_of(record: FitRecord, n: int) -> np.ndarray:
    """Their covariance, [2 n, 2 n]."""
    C = np.zeros((2 * n, 2 * n))
    for i in range(2 * n):
        for k in range(i, 2 * n):
            C[i, k] = C[k, i] = record.numbers[f"{COVARIANCE} {i},{k}"]
    return C


def sizes_of(record: FitRecord, names: Sequence[str]) -> np.ndarray:
    """What couplings in events are divided by for couplings that do not depend on how much phase space there is, [coupling]."""
    return np.array([float(record.numbers[f"{SIZE} {name}"]) for name in names])


def interval_numbers(kind: str, intervals: Mapping[str, Interval]) -> dict[str, float]:
    """What intervals leave: ``lower KIND NAME`` and ``upper KIND NAME``, and ``lower 2 …`` of two standard deviations, and so on.

    Args:
        kind:       ``events``, or ``phase`` in degrees
        intervals:  name of a wave → its interval
    """
    return {
        f"{_end(side, n)} {kind} {name}": value
        for name, own in intervals.items()
        for side, ends in ((LOWER, own.below), (UPPER, own.above))
        for n, value in zip(LEVELS, ends, strict=True)
    }


def intervals_of(record: FitRecord | None, kind: str) -> dict[str, Interval]:
    """The intervals that a record has, see ``interval_numbers``; those of earlier versions go no further than one standard deviation."""
    numbers = {} if record is None else record.numbers
    begin = f"{LOWER} {kind} "
    found = {}
    for name in (own.removeprefix(begin) for own in numbers if own.startswith(begin)):
        ends = (tuple(float(numbers.get(f"{_end(side, n)} {kind} {name}", np.nan)) for n in LEVELS) for side in (LOWER, UPPER))
        found[name] = Interval(*ends)
    return found


def _end(side: str, n: int) -> str:
    return side if n == 1 else f"{side} {n}"


def goodness_numbers(tests: Mapping[str, ResidualTest], moves: Mapping[str, float]) -> dict[str, float]:
    """What tests leave: ``p decay``, ``chi2 decay`` and ``ndf decay``, the same of ``inside``, and ``moves NAME``.

    Args:
        tests:  ``decay`` and ``inside``
        moves:  name of a wave → by how many of its errors its number of events would differ if couplings had slopes
    """
    found = {f"{MOVES} {name}": value for name, value in moves.items()}
    for kind, own in tests.items():
        if own.ndf:
            found |= {f"{P_VALUE} {kind}": own.p_value, f"chi2 {kind}": own.chi2, f"ndf {kind}": float(own.ndf)}
    return found


def moves_of(record: FitRecord) -> dict[str, float]:
    """What ``goodness_numbers`` says of waves."""
    begin = f"{MOVES} "
    return {name.removeprefix(begin): float(value) for name, value in record.numbers.items() if name.startswith(begin)}


def events_of(record: FitRecord) -> dict[str, Number]:
    """Groups of waves with their events."""
    found = {name.removeprefix(f"{EVENTS} "): float(value) for name, value in record.numbers.items() if name.startswith(f"{EVENTS} ")}
    return {name: (value, float(record.numbers.get(f"{ERROR} {name}", np.nan))) for name, value in found.items()}
