"""A result as text, word for word."""

import math
from dataclasses import replace

import numpy as np
import pytest

from ctpwa.fitting.result import FoundMinimum
from ctpwa.fitting.text import COUNTS_TWICE, angle_with_error, result_text, with_error
from ctpwa.minimise.verdict import Verdict
from ctpwa.model.short_names import short_names, shorten
from fitting.made_up import make_result


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (1.68021, 0.00251, "1.6802 ± 0.0025"),
        (-0.3, 0.12, "-0.30 ± 0.12"),
        (123.4, 5.6, "123.4 ± 5.6"),
        (123.4, 56.0, "123 ± 56"),
        (9.35e10, 1.2e9, "9.35e+10 ± 1.2e+09"),
        (2.5e-11, 1.5e-12, "2.5e-11 ± 1.5e-12"),
        (1.234567890123, 1.1e-10, "1.23456789012 ± 1.1e-10"),
        (0.0, 2e7, "0 ± 2e+07"),
        (12.0, None, "12 (no error)"),
        (12.0, np.inf, "12 (no error)"),
        (12.0, np.nan, "12 (no error)"),
        (1.0, 0.0, "1 (fixed)"),
        (100.0, 4e-15, "100 (fixed)"),
    ],
)
def test_value_with_error(value, error, text):
    assert with_error(value, error) == text


def test_everything(golden):
    """With waves, interferences and correlations; letters of any alphabet stay in their columns."""
    golden("fit_result.txt", result_text(make_result(), waves=True, correlations=True))


def test_rounding_of_a_phase_that_is_0_is_not_shown():
    result = make_result()
    first, *others = result.couplings
    noisy = replace(result, couplings=(replace(first, phase=-5.8e-17, phase_error=0.0), *others))
    assert "  0 (fixed)" in next(line for line in result_text(noisy).split("couplings: ")[1].splitlines() if first.name in line)


def test_a_good_fit_from_one_start():
    good = Verdict(True, (), 1.2e-12, 1e-7, (0.5, 1.0, 1.5))
    minimum = FoundMinimum(-5.0, 1, True, (0.0, 0.0, 0.0))
    text = str(make_result(verdict=good, minima=(minimum,), n_starts=1, corrected=False))
    assert "verdict: good: a minimum, all parameters determined (EDM 1.2e-12)\n" in text
    assert "starts" not in text
    assert "weighted" not in text
    assert "NOT" not in text


def test_many_minima_are_cut_short():
    minima = tuple(FoundMinimum(-100.0 + k, 2, k < 3, (0.0, 0.0, 0.0)) for k in range(9))
    text = str(make_result(minima=minima, n_starts=18, nll=-100.0))
    assert "18 starts, 9 minima, 2 starts in the best one" in text
    assert "another minimum at +5.00 in -ln L, 2 starts  (part of the events)" in text
    assert "+6.00" not in text
    assert "and 3 more" in text


def test_columns_are_aligned():
    """All values of a table begin in the same column."""
    text = str(make_result())
    lines = text[text.index("parameters\n") :].splitlines()[1:4]
    column = max(len(name) for name in make_result().names) + 4
    assert all(line[column - 1] == " " and line[column] != " " for line in lines)


def test_cascades_have_short_names_and_fractions_of_chains():
    """Where short names differ; a wave that counts for two resonances counts once for its chain."""
    plain = make_result()
    tail = "rho(770)0[pi+ pi-]"
    long = (f"a(1)(1260)+[pi+ pi- pi+] {tail} (0,1)(0,1)(1,0)", f"a(1)(1260)+[pi+ pi- pi+] {tail} (2,1)(0,1)(1,0)")
    assert len(plain.couplings) >= 2
    couplings = tuple(replace(c, name=name) for c, name in zip(plain.couplings, long, strict=False))
    entry = plain.fractions[0]
    chains = replace(entry.groups["resonances"], names=("a(1)(1260) rho(770)", *entry.groups["resonances"].names[1:]))
    verdict = plain.verdict.with_reasons(last=[f"{long[1]}.re is odd"])
    groups = entry.groups | {"chains": chains}
    text = str(replace(plain, couplings=couplings, verdict=verdict, fractions=(replace(entry, groups=groups),)))
    assert "a(1)(1260)+ rho(770)0 (2,1)(0,1)(1,0).re is odd" in text
    assert "  a(1)(1260)+ rho(770)0 (0,1)(0,1)(1,0)  " in text
    assert "[pi+ pi- pi+]" not in text
    assert text.index(": chains\n  a(1)(1260) rho(770) ") < text.index(": resonances")
    assert COUNTS_TWICE in text.partition(": resonances")[2]
    assert "  sum " not in text.partition(": resonances")[2].partition(": J^P")[0]
    same = ("R[a b] S[a] (0,0)", "R[b a] S[b] (0,0)", "T[a b] (1,1)")
    assert short_names(same) == dict(zip(same, same, strict=True))
    assert shorten(f"{long[0]} and {same[2]}", [*long, *same]) == "a(1)(1260)+ rho(770)0 (0,1)(0,1)(1,0) and T[a b] (1,1)"


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [(-0.3, 11.0, "0 ± 11"), (-0.6, 11.0, "-1 ± 11"), (-0.003, 0.25, "0.00 ± 0.25"), (0.3, 11.0, "0 ± 11")],
)
def test_0_has_no_sign(value, error, text):
    assert with_error(value, error) == text


@pytest.mark.parametrize(
    ("degrees", "error", "text"),
    [
        (-179.9, 12.0, "180 ± 12"),
        (-179.98, 0.12, "-179.98 ± 0.12"),
        (-180.0, 119.0, "unknown (± 119)"),
        (20.0, 89.0, "20 ± 89"),
        (20.0, None, "20 (no error)"),
        (20.0, math.inf, "20 (no error)"),
    ],
)
def test_angles(degrees, error, text):
    assert angle_with_error(degrees, error) == text
