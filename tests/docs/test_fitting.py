"""What docs/fitting.md says of the result file is what is in it."""

import re
from pathlib import Path

import pytest

from ctpwa.fitting.result import FitResult, FittedCoupling, FittedParameter, FoundMinimum, FractionSet
from ctpwa.minimise.verdict import Verdict

PAGE = (Path(__file__).parents[2] / "docs" / "fitting.md").read_text(encoding="utf-8")
RESULT = (set(FitResult.__dataclass_fields__) - {"version"}) | {"schema", "sha256", "ctpwa", "aic", "bic"}
TABLES = {"## The result file": RESULT} | {
    f"\nIn `{key}`": set(kind.__dataclass_fields__)
    for key, kind in {
        "verdict": Verdict,
        "parameters": FittedParameter,
        "couplings": FittedCoupling,
        "fractions": FractionSet,
        "minima": FoundMinimum,
    }.items()
}


@pytest.mark.parametrize("title", TABLES)
def test_every_key_is_in_the_tables(title):
    section = PAGE.split(title)[1].split("\n\nIn `")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == TABLES[title]
