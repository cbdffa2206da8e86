"""What the fits of coverage.py say: pulls, coverage, the comparison with the ideal likelihood, and whether that is good enough."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm, t

from common import markdown

ENOUGH = 200  # toys, below which nothing is significant: their widths scatter by 5 %, a third of what a single one may be off by
MEAN = 3.0  # standard errors between the mean of the pulls and that of the ideal likelihood
WIDTH, WIDTHS = 0.05, 0.15  # how far widths of pulls may be from 1, on average and each of them
COVERAGE = 0.015  # how far coverage may be from that of a normal distribution
RARE = 0.05  # what is beyond such a limit fails if right values and errors are as far off anywhere in the table in fewer runs
EXPECTED = tuple(float(1 - 2 * norm.sf(k)) for k in (1, 2))


@dataclass(frozen=True)
class Check:
    """A requirement.

    Attributes:
        what:    what is required
        found:   in words
        passed:  whether it is met
        chance:  probability that right values and errors are as far off with so many toys: any of those of one setting, and
                 :func:`judged` makes that any of those of all settings. An upper limit, as they are correlated
    """

    what: str
    found: str
    passed: bool
    chance: float


@dataclass(frozen=True)
class Fits:
    """Good fits of one setting.

    Attributes:
        toys:           their numbers
        names:          of the parameters
        pulls, errors:  [toy, parameter]
    """

    toys: list[int]
    names: list[str]
    pulls: np.ndarray
    errors: np.ndarray

    @classmethod
    def of(cls, records: Sequence[Mapping[str, Any]]) -> Fits:
        """The good ones of some records, in the order of their toys."""
        good = sorted((r for r in records if r["good"]), key=lambda r: r["toy"])
        names = good[0]["names"] if good else []
        values, errors, truth = (np.array([r[key] for r in good]).reshape(len(good), len(names)) for key in ("values", "errors", "truth"))
        return cls([r["toy"] for r in good], names, (values - truth) / errors, errors)

    def both(self, other: Fits) -> tuple[np.ndarray, np.ndarray]:
        """Where toys that both have are, here and there."""
        shared = sorted(set(self.toys) & set(other.toys))
        return np.searchsorted(self.toys, shared), np.searchsorted(other.toys, shared)


def summarise(records: Sequence[Mapping[str, Any]], ideal: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Everything about one setting.

    Args:
        records:  of its fits
        ideal:    of the ideal likelihood, on the same toys
    """
    fits, n_bad = Fits.of(records), sum(not r["good"] for r in records)
    bad = Check("0 fits NOT good", str(n_bad), n_bad == 0, 0.0)
    found: dict[str, Any] = {"fits": len(records), "not_good": n_bad, "seconds": float(np.median([r["seconds"] for r in records]))}
    found["reasons"] = {str(r["toy"]): r["reason"] for r in records if not r["good"]}
    of_fractions = Fits.of([{**r, **r["fractions"]} for r in records if "fractions" in r])
    if len(fits.toys) < 3:
        return found | {"checks": [vars(bad)]}
    mean, width, n = fits.pulls.mean(axis=0), fits.pulls.std(axis=0, ddof=1), len(fits.toys)
    significance = mean / (width / np.sqrt(n))
    difference, ratio = compared(fits, Fits.of(ideal), significance)
    inside = [(np.abs(fits.pulls) < k).mean(axis=1) for k in (1, 2)]  # per toy: parameters are correlated
    own = np.isin(fits.names, Fits.of(ideal).names)
    checks = [bad]
    for what, some in ((f"means within {MEAN:g} standard errors of the ideal ones", own), (f"means of amounts within {MEAN:g} of 0", ~own)):
        if some.any():
            checks.append(_largest(what, np.array(fits.names)[some], difference[some], MEAN, t.sf(np.abs(difference[some]), n - 1)))
    checks += [
        _average(f"average width within {WIDTH:g} of 1", float(width.mean()), 1.0, WIDTH, _width_error(fits.pulls), n),
        _largest(f"each width within {WIDTHS:g} of 1", fits.names, width - 1, WIDTHS, norm.sf(np.abs(width - 1) * np.sqrt(2 * (n - 1)))),
    ]
    if of_fractions.toys:
        widths, error = of_fractions.pulls.std(axis=0, ddof=1), _width_error(of_fractions.pulls)
        checks.append(_average(f"average width of fractions within {WIDTH:g} of 1", float(widths.mean()), 1.0, WIDTH, error, n))
        found["fractions_width"] = float(widths.mean())
        found["fractions"] = {"names": of_fractions.names, "width": widths.tolist(), "mean": of_fractions.pulls.mean(axis=0).tolist()}
    for k, covered, expected in zip((1, 2), inside, EXPECTED, strict=True):
        what = f"coverage within {100 * COVERAGE:g} % of {100 * expected:.1f} %"
        checks.append(_average(what, float(covered.mean()), expected, COVERAGE, float(covered.std(ddof=1) / np.sqrt(n)), n))
        found[f"coverage_{k}"] = float(covered.mean())
    columns = {"mean": mean, "in_standard_errors": significance, "difference_in_standard_errors": difference, "width": width}
    columns |= {"coverage_1": (np.abs(fits.pulls) < 1).mean(axis=0), "coverage_2": (np.abs(fits.pulls) < 2).mean(axis=0)}
    return found | {
        "largest_mean": float(np.abs(significance).max()),
        "largest_difference": float(np.abs(difference).max()),
        "average_difference": float(np.sqrt(np.mean(difference**2))),
        "width": float(width.mean()),
        "width_error": _width_error(fits.pulls),
        "narrowest": float(width.min()),
        "widest": float(width.max()),
        "error_ratio": ratio,
        "checks": [vars(check) for check in checks],
        "parameters": {"names": fits.names} | {key: values.tolist() for key, values in columns.items()},
    }


def judged(summaries: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The same with a verdict: ``passed`` unless a check is ``failed``, which is when it is not met and rarely so by chance.

    The largest of hundreds of numbers exceeds a limit of three standard errors in every other run, although nothing is wrong. A check
    that is not met therefore fails if the probability of any deviation as large, among all numbers of that kind in all settings, is less
    than RARE. Those that do not fail are counted as ``outside``.
    """
    kinds = Counter(check["what"] for own in summaries.values() for check in own["checks"])
    found = {}
    for name, own in summaries.items():
        checks = [{**check, "chance": 1 - (1 - check["chance"]) ** kinds[check["what"]]} for check in own["checks"]]
        checks = [{**check, "failed": not check["passed"] and check["chance"] < RARE} for check in checks]
        bad = [check for check in checks if check["failed"]]
        outside = sum(not check["passed"] for check in checks) - len(bad)
        found[name] = {**own, "checks": checks, "outside": outside, "passed": not bad and "width" in own}
    return found


def compared(fits: Fits, ideal: Fits, significance: np.ndarray) -> tuple[np.ndarray, float | None]:
    """Means of pulls minus those of the ideal likelihood on the same toys, in standard errors of the difference; ratio of the errors.

    Parameters that the ideal likelihood does not have, which are fractions and yields, are compared with 0. The ratio is the geometric
    mean over the others of average errors.
    """
    here, there = fits.both(ideal)
    difference, logarithms = significance.copy(), []
    for i, name in enumerate(fits.names):
        if name not in ideal.names or len(here) < 2:
            continue
        j = ideal.names.index(name)
        d = fits.pulls[here, i] - ideal.pulls[there, j]
        error = d.std(ddof=1) / np.sqrt(len(d))
        difference[i] = d.mean() / error if error > 0 else 0.0
        logarithms.append(np.log(fits.errors[here, i].mean() / ideal.errors[there, j].mean()))
    return difference, float(np.exp(np.mean(logarithms))) if logarithms else None


def _width_error(pulls: np.ndarray) -> float:
    """Standard error of the average width, by leaving out one toy at a time: parameters are correlated."""
    n = len(pulls)
    centred = pulls - pulls.mean(axis=0)
    squares = (centred**2).sum(axis=0) - centred**2 * n / (n - 1)
    widths = np.sqrt(squares.clip(min=0) / (n - 2)).mean(axis=1)
    return float(np.sqrt((n - 1) * widths.var()))


def _largest(what: str, names: Sequence[str] | np.ndarray, values: np.ndarray, limit: float, one_sided: np.ndarray) -> Check:
    """Whether the largest of several numbers, one for each parameter, is small enough."""
    at = int(np.argmax(np.abs(values)))
    chance = 1 - (1 - 2 * float(one_sided[at])) ** len(names)
    return Check(what, f"{values[at]:+.3g} ({names[at]})", bool(abs(values[at]) <= limit), chance)


def _average(what: str, value: float, expected: float, limit: float, error: float, n: int) -> Check:
    """Whether an average is close enough to what is expected."""
    off = abs(value - expected)
    chance = 2 * float(t.sf(off / error, n - 1)) if error > 0 else 0.0
    return Check(what, f"{value:.4f} ± {error:.4f}", off <= limit, chance)


HEADS = ("setting", "fits", "not good", "largest mean", "largest difference to ideal", "width", "smallest", "largest", "1 σ", "2 σ")
HEADS += ("width of fractions", "errors / ideal", "s per fit", "verdict")


def row(name: str, own: Mapping[str, Any]) -> list[str]:
    """A row of the table."""
    first = [name, str(own["fits"]), str(own["not_good"])]
    if "width" not in own:
        return [*first, *[""] * 9, f"{own['seconds']:.2f}", "too few good fits"]
    numbers = [f"{own['largest_mean']:.1f} SE", f"{own['largest_difference']:.1f} SE", f"{own['width']:.3f} ± {own['width_error']:.3f}"]
    numbers += [f"{own['narrowest']:.3f}", f"{own['widest']:.3f}", f"{100 * own['coverage_1']:.1f} %", f"{100 * own['coverage_2']:.1f} %"]
    numbers.append(f"{own['fractions_width']:.3f}" if "fractions_width" in own else "")
    ratio = "" if own["error_ratio"] is None else f"{own['error_ratio']:.3f}"
    return [*first, *numbers, ratio, f"{own['seconds']:.2f}", verdict(own)]


def verdict(own: Mapping[str, Any]) -> str:
    """Whether a setting passes, and whether that means anything."""
    word = "FAIL" if not own["passed"] else "pass" if not own["outside"] else f"pass, {own['outside']} outside by chance"
    return word if significant(own) else f"{word}, not significant"


def significant(own: Mapping[str, Any]) -> bool:
    """Whether there are enough fits."""
    return bool(own["fits"] >= ENOUGH)


def limits(summaries: Mapping[str, Mapping[str, Any]]) -> str:
    """What the largest of all numbers of the table may reach before it fails."""
    whole = [own for own in summaries.values() if significant(own) and "width" in own]
    if not whole:
        return "no setting has enough toys for a verdict"
    n, toys = sum(len(own["parameters"]["names"]) for own in whole), min(own["fits"] for own in whole)
    one = (1 - (1 - RARE) ** (1 / n)) / 2
    mean, width = t.isf(one, toys - 1), norm.isf(one) / np.sqrt(2 * (toys - 1))
    return (
        f"If all were right, the largest of {n} means and of {n} widths with {toys} toys would be {mean:.2f} standard errors"
        f" and {width:.3f} from 1 in {100 * RARE:g} % of such runs. What is outside of a limit fails if it is rarer than that."
    )


def table(summaries: Mapping[str, Mapping[str, Any]]) -> str:
    """All settings as they are judged, then what is not met and how likely that is by chance."""
    lines = [markdown(HEADS, [row(name, own) for name, own in summaries.items()]), ""]
    for name, own in summaries.items():
        for check in own["checks"] if significant(own) else []:
            if not check["passed"]:
                word = "fails" if check["failed"] else "outside"
                chance = f", by chance in up to {100 * check['chance']:.2g} % of such runs" if check["chance"] else ""
                lines.append(f"{name} {word}: {check['what']}: {check['found']}{chance}")
        lines += [f"{name}, toy {toy}: {' '.join(reason.split())}" for toy, reason in list(own["reasons"].items())[:3]]
    lines.append(limits(summaries))
    if few := [name for name, own in summaries.items() if not significant(own)]:
        lines.append(
            f"not significant, fewer than {ENOUGH} toys: {', '.join(few)}. With n toys a mean scatters by 1/√n and a width by 1/√(2n):"
            f" {1 / np.sqrt(ENOUGH):.2f} and {1 / np.sqrt(2 * ENOUGH):.2f} with {ENOUGH}."
        )
    return "\n".join(lines)
