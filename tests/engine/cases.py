"""Models, samples and likelihoods that the tests of this folder share; a likelihood is built once per session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
import torch
import yaml

import ctpwa
from ctpwa.data.events import Events
from ctpwa.decay.chain import Decay
from ctpwa.decay.structure import Structure
from ctpwa.engine.likelihood.build import build_likelihood
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.engine.samples import memory_plan
from ctpwa.model.lineshapes.formula import Callback, Formula, LineshapeParameter, s
from ctpwa.model.model import Model
from ctpwa.spin.polarisation import Polarisation
from ctpwa.spin.production import Production, Rows

EXAMPLES = Path(__file__).parents[2] / "examples"
GPU = torch.cuda.is_available()

on_gpu = [pytest.mark.gpu] if GPU else []
needs_triton = pytest.mark.skipif(find_spec("triton") is None, reason="triton is not installed")
CUDA = pytest.param("cuda", marks=[*on_gpu, needs_triton])
FAST_ENGINES = ["cpu", CUDA]
ENGINES = ["reference", "cpu", CUDA]


def example(name: str) -> dict[str, Any]:
    """An example without its values of couplings: the tests choose their own."""
    description = yaml.safe_load((EXAMPLES / name / "model.yml").read_text(encoding="utf-8"))
    description.pop("couplings", None)
    return description


def kk_eta() -> Model:
    return ctpwa.load_model(example("jpsi_kk_eta"))


def kk_eta_fixed() -> Model:
    description = example("jpsi_kk_eta")
    for resonance in description["resonances"].values():
        resonance.pop("float", None)
    return ctpwa.load_model(description)


def small() -> Model:
    """A few waves of K+ K- eta with the same kinds of formulas as all of them, so that the kernels are the same."""
    every = example("jpsi_kk_eta")
    chosen = ["phi(1020)", "phi(1680)", "K*(1410)", "NR1"]
    return ctpwa.load_model(every | {"resonances": {name: every["resonances"][name] for name in chosen}})


def flatte() -> Model:
    every = example("jpsi_gamma_pi0_pi0")
    chosen = ["f(0)(500)", "f(0)(1500)", "f(2)(1270)"]
    f980 = {
        "in": "pi0 pi0",
        "mass": 0.98,
        "lineshape": "flatte",
        "options": {"channels": {"pipi": "own", "KK": [0.493677, 0.493677], "K0K0": [0.497611, 0.497611]}},
        "parameters": {"g_pipi": 0.4, "g_KK": 0.8, "g_K0K0": 0.7},
        "float": ["mass", "g_pipi", "g_KK"],
    }
    return ctpwa.load_model(every | {"resonances": {name: every["resonances"][name] for name in chosen} | {"f(0)(980)": f980}})


def p_pbar_eta() -> Model:
    return ctpwa.load_model(example("jpsi_p_pbar_eta"))


def four_pions() -> Model:
    description = example("jpsi_4pi")
    for resonance in description["resonances"].values():
        resonance["float"] = ["mass", "width"]
    return ctpwa.load_model(description)


def rho_rho() -> Model:
    """The same resonance twice in one chain: a channel depends on one parameter through both propagators."""
    rho = {"in": "pi+ pi-", "float": ["mass", "width"]}
    f0 = {"in": "pi+ pi-", "mass": 1.0, "width": 0.1}
    return ctpwa.load_model({"decay": "chi(c0)(1P) -> pi+ pi- pi+ pi-", "resonances": {"rho(770)": rho, "f(0)(980)": f0}})


def polarised() -> Model:
    description = example("lambdac_p_k_pi")
    description["polarisation"] = [["0.65", "0.1+0.2j"], ["0.1-0.2j", "0.35"]]
    description["resonances"]["Lambda(1520)"]["float"] = ["mass", "width"]
    return ctpwa.load_model(description)


def callback_shape(s, q2, parameters):
    """Something that sympy never saw."""
    m0, gamma0 = parameters["mass"], parameters["width"]
    return 1 / (m0**2 - s - 1j * m0 * gamma0 * torch.tanh(3 * q2 * gamma0).sqrt())


CALLBACK = Callback("mine", callback_shape, (LineshapeParameter("mass"), LineshapeParameter("width"), LineshapeParameter("unused")))
EXPRESSION = "exp(i*phi)*mass*width/(mass**2 - s - i*mass*width*rho*exp(-a*q2)) + 0.1*atan(phi*(s - 2.5)*4)*abs(s - mass**2)"


def with_resonance(model: Model, name: str, **changes: Any) -> Model:
    """The model with a changed resonance."""
    new = replace(model.resonances[name], **changes)
    waves = tuple(replace(w, resonances=tuple(new if r.name == name else r for r in w.resonances)) for w in model.waves)
    return replace(model, waves=waves, resonances={**model.resonances, name: new})


def own_lineshapes() -> Model:
    """An expression, a Python function, a spline and steps."""
    every = example("jpsi_kk_eta")
    resonances = {
        "phi(1680)": every["resonances"]["phi(1680)"],
        "X(1750)": {
            **every["resonances"]["X(1750)"],
            "lineshape": EXPRESSION,
            "parameters": {"phi": 0.3, "a": 0.2},
            "float": ["mass", "width", "phi"],
        },
        "smooth": {"in": "K+ K-", "JP": "1-", "lineshape": "spline", "options": {"knots": [0.9, 1.3, 1.7, 2.1, 2.6]}},
        "steps": {"in": "K+ K-", "JP": "3-", "lineshape": "step", "options": {"edges": [0.9, 1.5, 2.0, 2.6]}},
        "K*(1410)": every["resonances"]["K*(1410)"],
    }
    model = ctpwa.load_model(every | {"resonances": resonances})
    parameters = {**model.resonances["K*(1410)"].parameters, "unused": 1.0}
    return with_resonance(model, "K*(1410)", lineshape=CALLBACK, parameters=parameters)


def literals() -> Model:
    """Numbers that no float32 holds, where formulas leave them on their own."""
    every = example("jpsi_kk_eta")
    resonances = {
        "phi(1680)": {**every["resonances"]["phi(1680)"], "lineshape": "-0.1/(mass**2 - s - i*mass*width) + 3e-7*sqrt(s - mass)"},
        "constant": {"in": "K+ K-", "JP": "1-", "lineshape": "0.1 + 0.3*i"},
        "bend": {"in": "K+ K-", "JP": "1-", "lineshape": "a*s", "parameters": {"a": 1.5}, "float": ["a"]},
    }
    model = ctpwa.load_model(every | {"resonances": resonances})
    a = sp.Symbol("a", real=True)
    bend = sp.Piecewise((sp.Float(0.1), s > a), (sp.Float(0.3) + a - s, s > a - sp.Float(0.2)), (sp.Float(0.7), True))
    return with_resonance(model, "bend", lineshape=Formula("bend", bend, (LineshapeParameter("a"),)), options={})


def arctangent() -> Model:
    """A width that only a function of the event knows: compacted plans compute it in every pass."""
    every = example("jpsi_kk_eta")
    resonances = {name: every["resonances"][name] for name in ("phi(1020)", "phi(3)(1850)", "X(1750)")}
    bent = {"lineshape": "1/(mass**2 - s - i*mass*width*atan(s))", "float": ["mass", "width"]}
    return ctpwa.load_model(every | {"resonances": resonances | {"X(1750)": resonances["X(1750)"] | bent}})


class TwoBeams(Production):
    """Parents of two beams whose shares P differ event by event: each wave has a coupling for either, and they do not interfere."""

    def rows(self, decay: Decay) -> Rows:
        return TwoBeamRows(Polarisation.of("transverse", decay.parent).rows(decay))


class TwoBeamRows(Rows):
    feeds, columns = ("first", "second"), ("P", "e")
    n_rows = property(lambda self: 2 * self.one.n_rows)
    real = property(lambda self: self.one.real)
    two_ms = property(lambda self: self.one.two_ms)
    labels = property(lambda self: tuple(f"{feed}, {label}" for feed in self.feeds for label in self.one.labels))

    def __init__(self, one: Rows) -> None:
        self.one = one

    def store(self, A: torch.Tensor, structure: Structure, columns: Any, out: torch.Tensor) -> None:
        n, size = self.one.n_rows, columns["e"].square().sum(dim=0)
        K = out.new_empty(1, n, out.shape[-1])
        self.one.store(A, structure, {}, K)
        out.zero_()
        out[0, :n] = ((1 + columns["P"]) * size).sqrt() * K[0]
        out[1, n:] = ((1 - columns["P"]) * size).sqrt() * K[0]

    def phase(self, total_L: int) -> complex:
        return self.one.phase(total_L)


def delayed_shape(s, q2, parameters, columns):
    """A function that looks at an event column."""
    return 1 / (parameters["mass"] ** 2 - s - 1j * parameters["width"] * (1 + 0.3 * columns["t"] * q2))


DELAYED = "exp(-t/tau)/(mass**2 - s - i*mass*width*(1 + 0.1*t)) + 0.2*t"
DELAYED_CALLBACK = Callback("delayed", delayed_shape, (LineshapeParameter("mass"), LineshapeParameter("width")), ("t",))


def columns() -> Model:
    """Numbers of every event in a formula, in a Python function and in the rows of a production with two feeds."""
    every = example("jpsi_kk_eta")
    resonances = {
        "phi(1680)": {**every["resonances"]["phi(1680)"], "lineshape": DELAYED, "parameters": {"tau": 1.5}, "float": ["mass", "tau"]},
        "K*(1410)": every["resonances"]["K*(1410)"],
    }
    declared = {"t": {"limits": [0, 10]}, "P": {"limits": [0, 1]}, "e": {"size": 3}}
    samples = {"data": "x.root", "phase_space": "y.root"}
    model = ctpwa.load_model(every | {"resonances": resonances, "columns": declared, "samples": samples})
    return replace(with_resonance(model, "K*(1410)", lineshape=DELAYED_CALLBACK), production=TwoBeams())


@dataclass(frozen=True)
class Case:
    """A likelihood to test.

    Attributes:
        model:     function that makes the model
        data, phase_space, background:  numbers of events; no background if zero
        weights:   kind of weights: none, positive or mixed (some negative)
        options:   further arguments of Likelihood
    """

    model: Callable[[], Model]
    data: int
    phase_space: int
    background: int = 0
    weights: str = "none"
    options: dict[str, Any] = field(default_factory=dict)


CONSTRAINTS = {"phi(1680).mass": (1.68, 0.02), "phi(1680).width": (0.15, 0.05)}
CASES = {
    "kk_eta": Case(kk_eta, 127, 129, 30, "mixed", {"constraints": CONSTRAINTS}),
    "kk_eta fixed": Case(kk_eta_fixed, 65, 129, 30, "positive"),
    "small": Case(small, 129, 300),
    "small polar": Case(small, 127, 129, 30, "mixed", {"representation": "polar"}),
    "small streamed": Case(small, 129, 120, 60, "mixed", {"chunk": 50}),
    "small not streamed": Case(small, 129, 120, 60, "mixed"),
    "one event": Case(small, 1, 1),
    "flatte": Case(flatte, 127, 129, 30, "positive"),
    "p_pbar_eta": Case(p_pbar_eta, 64, 127),
    "four_pions": Case(four_pions, 20, 65),
    "rho_rho": Case(rho_rho, 127, 129),
    "polarised": Case(polarised, 127, 129, 30, "mixed"),
    "literals": Case(literals, 64, 65),
    "arctangent": Case(arctangent, 64, 65),
    "own_lineshapes": Case(own_lineshapes, 127, 129, 30, "mixed"),
    "columns": Case(columns, 127, 129, 30, "mixed"),
}


@cache
def model(name: str) -> Model:
    return CASES[name].model()


@cache
def samples(name: str) -> dict[str, Events]:
    """Phase space everywhere: how events are distributed does not matter here."""
    case = CASES[name]
    sizes = {"data": case.data, "phase_space": case.phase_space} | ({"background": case.background} if case.background else {})
    return {key: events(name, n, seed, case.weights) for seed, (key, n) in enumerate(sizes.items(), start=1)}


def events(name: str, n: int, seed: int, weights: str = "none") -> Events:
    flat = ctpwa.generate_phase_space(model(name), n, seed=seed)
    if model(name).columns:
        random = np.random.default_rng(200 + seed)
        numbers = {"t": random.uniform(0, 3, n), "P": random.uniform(0, 1, n), "e": random.normal(size=(n, 3))}
        flat = replace(flat, columns={key: torch.from_numpy(values) for key, values in numbers.items()})
    if weights == "none":
        return flat
    random = np.random.default_rng(100 + seed)
    w = random.uniform(0.2, 1.5, n)
    if weights == "mixed":
        w[random.random(n) < 0.15] *= -0.5
    w *= {1: 1.0, 2: 1.0, 3: 0.3}[seed]
    return replace(flat, weights=torch.from_numpy(w))


def make(name: str, engine: str, *, chunk: int | None = None, spill: bool = False, **changes: Any) -> Likelihood:
    """The likelihood of a case with changed samples or options; with ``chunk`` nothing stays on the device, and perhaps not in memory.

    Where events count negatively it is the plain sum; ``test_mixture`` has the bounded one.
    """
    case = CASES[name]
    arguments = {**samples(name), "subtraction": "plain", **case.options, **changes, "engine": engine}
    size = arguments.pop("chunk", None) if chunk is None else chunk
    with ExitStack() as stack:
        if size is not None:
            stack.enter_context(streamed_in(size, spill))
        return build_likelihood(model(name), **arguments)


@contextmanager
def streamed_in(size: int, spill: bool) -> Iterator[None]:
    """Likelihoods that are made inside keep their samples in chunks of so many events, in main memory or on disk."""

    def plan_memory(*arguments: Any, **options: Any) -> memory_plan.MemoryPlan:
        plan = planned(*arguments, **options)
        placed = {
            k: memory_plan.Placement(0, 0, n) if spill else memory_plan.Placement(0, n, 0)
            for k, n in arguments[1].items()
            if k in plan.placed
        }
        return replace(plan, placed=placed, chunk_events=size, piece_events=size, integrated=(*plan.integrated, *plan.small), small={})

    planned = memory_plan.plan_memory
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ctpwa.engine.likelihood.build.plan_memory", plan_memory)
        yield


@cache
def likelihood(name: str, engine: str) -> Likelihood:
    return make(name, engine)


def point(like: Any, seed: int = 0) -> np.ndarray:
    """Parameters near the start: couplings of order one, lineshape parameters off by some per cent."""
    random = np.random.default_rng(seed)
    is_coupling = np.array([name.rsplit(".", 1)[1] in ("re", "im", "abs", "phase") for name in like.names], dtype=bool)
    step = random.normal(size=len(like.names))
    return np.where(is_coupling, like.start + 0.7 * step, like.start * (1 + 0.03 * step))


@cache
def expansion(name: str, engine: str) -> tuple[float, np.ndarray, np.ndarray]:
    """Value, gradient and Hessian at the usual point."""
    like = likelihood(name, engine)
    return like.value_grad_hessian(point(like))


def assert_close(found: Any, expected: Any, tolerance: float, scale: float = 0.0) -> None:
    """Equal relative to the largest element, or to ``scale`` if that is larger."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    assert np.isfinite(found).all()
    scale = max(scale, float(np.abs(expected).max(initial=0.0)))
    assert np.abs(found - expected).max(initial=0.0) <= tolerance * scale
