"""Whatever is in a file, it is a model or a list of problems with places and advice; never a crash."""

import copy
import os
import random
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctpwa import load_model
from ctpwa.base import ConfigError
from ctpwa.config.source import Source

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


def check_message(error):
    """Every problem says what to do, in a message of bounded length that any terminal can show."""
    assert all(problem.what and problem.fix for problem in error.problems)
    message = str(error)
    assert len(message) < 60_000
    assert all(character.isprintable() or character == "\n" for character in message)
    message.encode("utf-8")


def check_answer(load, place, located=True):
    """Loading gives a model, or problems that say where they are."""
    try:
        model = load()
    except ConfigError as error:
        check_message(error)
        unplaced = [p for p in error.problems if located and not p.location.startswith(place) and place not in p.what]
        assert not unplaced
        return "refused"
    assert len({wave.name for wave in model.waves}) == len(model.waves) > 0
    return "model"


@pytest.mark.parametrize("seed", range(80))
def test_damaged_files(tmp_path, seed):
    file = tmp_path / "model.yml"
    file.write_text(damaged(seed), encoding="utf-8")
    check_answer(lambda: load_model(file), str(file))


# the same with values that are meant to break something, in every place of a description

RICH = """
decay: B(s)0 -> K+ K- pi+ pi-
polarisation: [[1.0]]
formalism: canonical
weak: true
radius: 3.0
max_L: 4
tie_conjugates: true
particles: {Q: {JP: 0+, mass: 0.6, charge: 0, massless: false, width: 0.1, latex: Q}}
resonances:
  K(1)(1270): {in: [K+ pi+ pi-, K- pi+ pi-], production_ls: [[1, 1]], float: [mass, width]}
  rho(770): {in: pi+ pi-, decay_ls: [[1, 0]], radius: 5.0, max_L: 3, float: mass, tie: false, latex: r}
  S: {in: pi+ pi-, JP: 0++, mass: 0.6, lineshape: spline, options: {knots: [0.3, 0.6, 0.9, 1.2], boundary: natural}}
  M: {in: K+ K-, JP: 0++, lineshape: k_matrix, options: {channels: {a: own, b: [0.2, 0.3]}, poles: [{mass: 1.2, couplings: [0.3, 0.4]}],
      background: [[0.1, 0.0], [0.0, 0.2]], s0: -1.0, adler: [-0.1, 0.01]}}
  F: {in: pi+ pi-, JP: 0++, lineshape: flatte, mass: 0.98, parameters: {g_pipi: 0.2, g_KK: 0.3},
      options: {channels: {pipi: own, KK: [0.49, 0.49]}}}
  E: {in: K+ K-, JP: 0++, lineshape: "1/(mass**2 - s - i*mass*a*rho)", mass: 1.5, parameters: {a: 0.1}}
chains:
  - B(s)0 -> phi(1020) rho(770) ; phi(1020) -> K+ K- ; rho(770) -> pi+ pi-
  - {decay: B(s)0 -> phi(1680) rho(770) ; phi(1680) -> K+ K- ; rho(770) -> pi+ pi-, ls: [null, [[1, 0]], null], max_L: 2, tie: true}
projections:
  - mass(K+, K-)
  - {variable: "cos_theta(K+; K+ K-)", bins: 30, range: [-1, 1], label: c, unit: ""}
fit: {method: lbfgs, starts: 5, seed: 3, device_memory: 4 GB, representation: polar, minos: [rho(770).mass],
      constraints: {K(1)(1270).mass: [1.27, 0.01]}, limits: {K(1)(1270).width: [0.01, 0.3]}, start: {K(1)(1270).mass: 1.3}}
couplings: {}
"""
DESCRIPTIONS = [yaml.safe_load(text) for text in (RICH, *TEXTS)]
DEEP = yaml.safe_load("[" * 40 + "]" * 40)
HOSTILE_TEXTS = [
    *("", " ", "\t", "\n", "\0", "\x1b[31m", "\ud800", "\u202e", "é" * 200, "x" * 11_000, "K+ K- K+ K- " * 50, "../" * 100, "%s%n"),
    *("->", "a -> b c", "1e999", "nan", "1/0", "99999/2", "{}", "[", "&a", "*a", "!!int x", "2001-02-30", "<script>"),
    *("J/psi(1S)", "gamma", "K+", "step", "spline", "k_matrix", "pipi_s_wave", "gounaris_sakurai", "lass", "bugg_sigma", "phase_space"),
    *("9**9**9", "s.__class__", "s**s**s**s", "1/(s-s)", "exp(exp(exp(s)))", "sqrt(-s)**40", "(" * 300, "-" * 1500 + "s"),
    *("cosh(" * 25 + "s" + ")" * 25, "+".join("s" * 900)),
]
HOSTILE = [
    *HOSTILE_TEXTS,
    *(None, True, 0, -1, 1, 7, 99, 10**15, 2**63, -(2**70), 10**400),
    *(0.0, -0.0, 1e-300, 1e300, float("nan"), float("inf"), float("-inf"), 0.5),
    *([], {}, [None], [[]], {"a": {}}, [1, 2], [[0, 1]], [["a", "b"]], {"": 1}, {"mass": 1}, DEEP, list(range(400)), ["x"] * 3000),
]
PIECES = [b"\0", b"\xff", b"\xef\xbb\xbf", b"[", b"{", b"&a ", b"*a", b"!!int ", b"? ", b"\t", b"<<: "]


def places(value, path=()):
    """Every path in plain data."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def mutated(draw):
    """A description in which a few values and keys were replaced, dropped, doubled, renamed or buried."""
    data = copy.deepcopy(draw(st.sampled_from(DESCRIPTIONS)))
    for _ in range(draw(st.integers(1, 3))):
        *above, last = draw(st.sampled_from([path for path in places(data) if path]))
        parent = data
        for step in above:
            parent = parent[step]
        change = draw(st.integers(0, 5))
        value = draw(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=6), st.floats(), st.integers()))
        if change <= 2:
            parent[last] = copy.deepcopy(value)
        elif change == 3:
            del parent[last]
        elif isinstance(parent, list):
            parent.insert(last, copy.deepcopy(parent[last] if change == 4 else value))
        elif change == 4:
            parent[str(value)[:1100]] = parent.pop(last)
        else:
            other = draw(st.sampled_from(sorted(map(str, parent))))
            parent[last] = copy.deepcopy(parent.get(other))
    return data


@st.composite
def mappings(draw):
    return mutated(draw)


@st.composite
def damaged_bytes(draw):
    """The bytes of an example, or of a mutated one, with some of them replaced, inserted, repeated or cut off."""
    if draw(st.booleans()):
        text = draw(st.sampled_from([RICH, *TEXTS]))
    else:
        style = draw(st.sampled_from([None, True, False]))
        text = yaml.safe_dump(mutated(draw), allow_unicode=draw(st.booleans()), default_flow_style=style)
    data = bytearray(text.encode("utf-8", errors="surrogatepass"))
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 40)))
        piece = draw(
            st.one_of(
                st.binary(max_size=6),
                st.sampled_from([b"\0", b"\xff", b"\xef\xbb\xbf", b"[", b"{", b"&a ", b"*a", b"!!int ", b"? ", b"\t", b"<<: "]),
            )
        )
        data[start:end] = piece if draw(st.booleans()) else bytes(data[start:end]) * 2
    return bytes(data[: draw(st.integers(len(data) // 2, len(data)))] if draw(st.booleans()) else data)


EXAMPLES = int(os.environ.get("CTPWA_FUZZ_EXAMPLES", "40"))
FUZZ = settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


@FUZZ
@given(mappings())
def test_hostile_mappings(data):
    check_answer(lambda: load_model(data), "", located=False)


@FUZZ
@given(damaged_bytes())
def test_damaged_bytes(tmp_path_factory, data):
    file = tmp_path_factory.getbasetemp() / "damaged.yml"
    file.write_bytes(data)
    check_answer(lambda: load_model(file), str(file))


@FUZZ
@given(st.text(alphabet=st.sampled_from(list("[]{}:,-&*!?|>'\"%@#\n \ta1.~<=")), max_size=200))
def test_any_yaml(text):
    try:
        Source(text, "model.yml")
    except ConfigError as error:
        check_message(error)
