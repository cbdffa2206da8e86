"""Whatever is in a file, it is a model or a list of problems with places and advice; never a crash."""

import random
import re
from pathlib import Path

import pytest

from ctpwa import ConfigError, load_model

TEXTS = [path.read_text(encoding="utf-8") for path in sorted((Path(__file__).parents[3] / "examples").glob("*/model.yml"))]
SAMPLES = """
samples:
  data: {file: [data_1.root, data_2.root], tree: events, weight: w, momenta: {K+: kp, K-: [a, b, c, d]}, mass_tolerance: {eta: 0.01}}
  phase_space: {generate: 1000, seed: 3}
  background: [{file: side.txt, weight_file: w.npy, scale: 0.3, order: px py pz E}, other.npz]
fit:
  method: lbfgs
  starts: 5
  representation: polar
  reference_wave: phi(1020)[K+ K-] (1,1)(1,0)
  constraints: {phi(1680).mass: [1.68, 0.02]}
  ties: {"NR3[K+ K-] (3,3)(3,0)": ["NR1[K+ K-] (1,1)(1,0)", 0.5+0.1j]}
  start: {phi(1680).width: 0.15}
  minos: [phi(1680).mass]
"""
TEXTS.append(next(text for text in TEXTS if "phi(3)(1850)" in text) + SAMPLES)
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
