"""Whatever is in a file, it is a model or a list of problems with places and advice; never a crash."""

import random
import re
from pathlib import Path

import pytest

from ctpwa import ConfigError, load_model

TEXTS = [path.read_text(encoding="utf-8") for path in sorted((Path(__file__).parents[3] / "examples").glob("*/model.yml"))]
TOKENS = [
    "null",
    "[]",
    "{}",
    "0",
    "-1",
    "1e5",
    "true",
    "K+",
    "->",
    ";",
    "'",
    ":",
    "- ",
    "phi(1020)",
    "mass",
    "JP: 1-",
    "~",
    "1/2",
    "&a",
    "*a",
    "\t",
]


def damaged(seed):
    """An example with a few words removed, replaced, inserted or exchanged."""
    rng = random.Random(seed)
    words = re.split(r"(\s+|[\[\]{},:])", rng.choice(TEXTS))
    for _ in range(rng.choice([1, 1, 2, 3])):
        i, j = rng.randrange(len(words)), rng.randrange(len(words))
        change = rng.randrange(4)
        if change == 0:
            words[i] = ""
        elif change == 1:
            words[i] = rng.choice(TOKENS)
        elif change == 2:
            words.insert(i, rng.choice(TOKENS))
        else:
            words[i], words[j] = words[j], words[i]
    return "".join(words)


@pytest.mark.parametrize("seed", range(80))
def test_damaged_files(tmp_path, seed):
    file = tmp_path / "model.yml"
    file.write_text(damaged(seed), encoding="utf-8")
    try:
        model = load_model(file)
    except ConfigError as error:
        for problem in error.problems:
            assert problem.what
            assert problem.fix, problem
            assert problem.location.startswith(str(file)), problem
    else:
        assert len({wave.name for wave in model.waves}) == len(model.waves) > 0
