"""Toys for coverage.py: signal and background events of an experiment, and its likelihoods.

A toy is an experiment of its own: numbers of events are Poisson numbers, and each has its own phase-space sample. All settings fit the
same signal events, so that they can be compared with the ideal likelihood toy by toy.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import norm
from torch import Tensor

import ctpwa
from common import ROOT, wait
from ctpwa.base import parts
from ctpwa.data.events import Events, concatenate
from ctpwa.data.stream import Piece
from ctpwa.engine.likelihood.backgrounds import Background
from ctpwa.engine.likelihood.build import build_likelihood
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.fitting.fractions import FractionCalculator, wave_groups
from ctpwa.generate import ToyGenerator, ToySettings, sample_phase_space
from ctpwa.kinematics.lorentz import mass_squared
from ctpwa.observe.mass_resolution import MassResolution, measured_events

COUNTS, SIGNAL, BACKGROUND, PHASE_SPACE, VARIABLE, MEASUREMENT = range(6)  # streams of random numbers
FRACTIONS = (0.1, 0.3)  # of background in the data
SIDEBAND = 2  # times as many events as there is background in the data, with weight 1/2
TRUE_FRACTIONS = 500_000  # events over which true fractions of resonances are integrated
IDEAL, NARROW = "ideal", "narrow"
MODELS = ROOT / "benchmarks" / "models"
SEVEN, SEVEN_PHI = MODELS / "kk_eta_seven.yml", MODELS / "kk_eta_seven_phi.yml"
EIGHT, FOUR, PHI = MODELS / "kk_eta_eight.yml", MODELS / "kk_eta_four.yml", MODELS / "kk_eta_phi.yml"
RESOLUTION = MassResolution((0, 1), 0.002, 11)  # of the pair that the narrow state decays to


@dataclass(frozen=True)
class Setting:
    """One way to fit a toy.

    Attributes:
        about:     in words
        fraction:  of the events of the data is background
        by:        how that is accounted for: ``density``, ``subtraction``, ``sweights`` or ``extended``; or ``resolution``
        ratio:     phase-space events for each signal event; None: as many as the experiment has
        narrow:    whether it is a toy of the model with a narrow state
    """

    about: str
    fraction: float = 0.0
    by: str = ""
    ratio: int | None = None
    narrow: bool = False

    @property
    def ideal(self) -> str:
        """The setting that it is compared with."""
        return NARROW if self.narrow else IDEAL


SETTINGS = {
    IDEAL: Setting("signal alone, all of the phase space"),
    "phase-space-5": Setting("signal alone, 5 times more phase space", ratio=5),
    "phase-space-2": Setting("signal alone, twice as much phase space", ratio=2),
    "density-10": Setting("10 % background as a density, fraction floating", 0.1, "density"),
    "density-30": Setting("30 % background as a density, fraction floating", 0.3, "density"),
    "subtraction-10": Setting("10 % background, sideband subtracted", 0.1, "subtraction"),
    "subtraction-30": Setting("30 % background, sideband subtracted", 0.3, "subtraction"),
    "sweights": Setting("30 % background, sWeights", 0.3, "sweights"),
    "extended": Setting("30 % background as a density, yields", 0.3, "extended"),
    "density-30-5": Setting("density-30 with 5 times more phase space", 0.3, "density", 5),
    "subtraction-30-5": Setting("subtraction-30 with 5 times more phase space", 0.3, "subtraction", 5),
    NARROW: Setting("phi(1020) and signal alone, exact masses", narrow=True),
    "resolution": Setting("phi(1020), the mass of K+ K- measured to 2 MeV", by="resolution", narrow=True),
}


@dataclass(frozen=True)
class Experiment:
    """What toys are made of.

    Attributes:
        file:    of the model, a decay into three particles
        narrow_file:  of the model with a narrow state
        events:  of signal, on average
        ratio:   phase-space events for each signal event
        device, engine:  where and how to compute
        toys:    how toys are generated
        sampled: whether phase space is sampled along the resonances, as {generate: …} in a model file does, instead of flat
        reference:  the coupling that is 1: of a strong wave, or the pulls of all others are those of its error; default: the first
    """

    file: Path = SEVEN
    narrow_file: Path = SEVEN_PHI
    events: int = 15_000
    ratio: int = 20
    device: str = "cpu"
    engine: str = "auto"
    toys: ToySettings = field(default_factory=ToySettings)
    sampled: bool = False
    reference: str | None = "K(2)*(1430)+[K+ eta] (2,2)(2,0)"

    @property
    def narrow(self) -> Experiment:
        """The same with a narrow state."""
        return replace(self, file=self.narrow_file, sampled=True)

    @property
    def about(self) -> dict[str, Any]:
        """What the numbers depend on; CPU and GPU have different random streams."""
        models = [file.read_text(encoding="utf-8") for file in (self.file, self.narrow_file)]
        return {
            "models": models,
            "reference": self.reference,
            "events": self.events,
            "phase_space": self.ratio,
            "device": self.device,
            "true_fractions": TRUE_FRACTIONS,
        }


DEMONSTRATION = Experiment(EIGHT, PHI, ratio=40)
QUICK = Experiment(FOUR, PHI, 5_000, ratio=40, reference=None)


@dataclass(frozen=True)
class Hills:
    """What background looks like: it rises with s₁₂, with a hill in s₁₃; s are squared masses, GeV²."""

    def __call__(self, events: Piece) -> Tensor:
        """0.3 + 0.15 (s₁₂ − 1)² + 1.2 exp(−((s₁₃ − 2.2)/0.3)²)."""
        s12, s13 = (mass_squared((events.p4[0] + events.p4[i]).T) for i in (1, 2))
        return 0.3 + 0.15 * (s12 - 1) ** 2 + 1.2 * torch.exp(-(((s13 - 2.2) / 0.3) ** 2))

    def largest(self, decay: Any) -> float:
        """No value is larger: s₁₂ ends at (M − m₃)², and begins above 0."""
        end = (decay.parent.mass - decay.final[2].mass) ** 2
        return 0.3 + 0.15 * max((end - 1) ** 2, 1.0) + 1.2


@dataclass(frozen=True)
class Variable:
    """A variable that tells signal from background: a normal distribution in the middle of a flat one from −5 to 5 standard deviations."""

    end: float = 5.0

    def draw(self, n: int, n_background: int, random: np.random.Generator) -> np.ndarray:
        """Values of signal events, then of background events."""
        inside = norm.cdf([-self.end, self.end])
        return np.concatenate([norm.ppf(random.uniform(*inside, n)), random.uniform(-self.end, self.end, n_background)])

    def densities(self, x: np.ndarray) -> np.ndarray:
        """Of signal and background, [2, event]."""
        return np.stack([norm.pdf(x) / np.diff(norm.cdf([-self.end, self.end])), np.full_like(x, 0.5 / self.end)])

    def sweights(self, x: np.ndarray, yields: np.ndarray) -> np.ndarray:
        """sWeights, w = Σ_j V_sj f_j / Σ_j N_j f_j,  (V⁻¹)_ij = ∫ f_i f_j / Σ_k N_k f_k dx, with true yields N.

        ∫ w f is 1 for signal and 0 for background. They are a fixed function of x; fitted yields would add errors of their own.
        """
        grid, step = np.linspace(-self.end, self.end, 20_001, retstep=True)
        f, weight = self.densities(grid), np.full(len(grid), step)
        weight[[0, -1]] /= 2
        V = np.linalg.inv((f * weight / (yields @ f)) @ f.T)
        f = self.densities(x)
        return (V[0] @ f) / (yields @ f)


class Toys:
    """Makes toys of an experiment and fits them.

    Args:
        experiment:  what they are made of
    """

    def __init__(self, experiment: Experiment) -> None:
        self.experiment, self.model = experiment, ctpwa.load_model(experiment.file)
        self.density, self.variable = Hills(), Variable()

    @cached_property
    def generator(self) -> ToyGenerator:
        """Makes signal events."""
        own = self.experiment
        return ToyGenerator(self.model, device=own.device, engine=own.engine, settings=own.toys)

    @cached_property
    def fractions(self) -> list[float]:
        """True fractions of the resonances, over phase space that is sampled along them."""
        flat = sample_phase_space(self.model, TRUE_FRACTIONS, seed(PHASE_SPACE, 0, 1), device=self.experiment.device, progress=False)
        some, own = flat.picked(slice(100)), self.experiment
        likelihood = build_likelihood(self.model, some, flat, device=own.device, engine=own.engine, progress=False)
        values, _ = FractionCalculator(likelihood, likelihood.start).values_and_slopes(wave_groups(self.model)["resonances"])
        return [float(value) for value in values]

    def make(self, number: int) -> Toy:
        """A toy; it makes its samples when they are asked for, the same ones whatever else was asked for."""
        return Toy(self, number)

    def background(self, n: int, number: int) -> Events:
        """Events distributed like the density."""
        device, largest, parts, found = self.experiment.device, self.density.largest(self.model.decay), [], 0
        random = torch.Generator(device=device).manual_seed(seed(BACKGROUND, number))
        while found < n:
            flat = ctpwa.generate_phase_space(
                self.model, 4 * n + 1000, seed(BACKGROUND, number, 1 + len(parts)), device=device, progress=False
            )
            values = self.density(Piece([flat[name] for name in self.model.final_names]))
            uniform = torch.rand(len(values), generator=random, device=device, dtype=torch.float64)
            parts.append(flat.picked(torch.nonzero(uniform * largest < values)[:, 0]))
            found += parts[-1].n_events
        return concatenate(parts).picked(slice(n))

    def fit(self, toy: Toy, name: str) -> dict[str, Any]:
        """What the fit of a toy has found, or why it is not good."""
        setting, device = SETTINGS[name], self.experiment.device
        record: dict[str, Any] = {"setting": name, "toy": toy.number, "good": False}
        samples = toy.samples(setting)
        wait(device)
        begin = time.perf_counter()
        try:
            own = self.experiment
            options: dict[str, Any] = {"device": own.device, "engine": own.engine, "reference_wave": own.reference, "progress": False}
            likelihood = build_likelihood(self.model, **options, **samples)
            result = ctpwa.fit(likelihood, progress=False)
        except ctpwa.CtpwaError as error:
            return record | {"reason": str(error), "seconds": time.perf_counter() - begin}
        wait(device)
        record["seconds"] = time.perf_counter() - begin
        without = [p.name for p in result.parameters if p.error is None or not p.error > 0]
        if not result.verdict.good or without:
            return record | {"reason": str(result.verdict) + (f"; no error of {', '.join(without)}" if without else "")}
        values, errors = [p.value for p in result.parameters], [p.error for p in result.parameters]
        names = [p.name for p in result.parameters]
        found = result.fractions[0].groups["resonances"]
        fractions = {"names": list(found.names), "values": found.values.tolist(), "errors": found.errors.tolist(), "truth": self.fractions}
        record |= {"names": names, "values": values, "errors": errors, "truth": self.truth(likelihood, setting), "fractions": fractions}
        return record | {"good": True}

    def truth(self, likelihood: Likelihood, setting: Setting) -> list[float]:
        """True values of the free parameters: those of the model, where fits start, and average numbers of events."""
        yields = {"signal.yield": float(self.experiment.events), "b.yield": n_background(self.experiment.events, setting.fraction)}
        found = dict(zip(likelihood.names, likelihood.start.tolist(), strict=True)) | {"b.fraction": setting.fraction}
        return [(found | yields)[name] for name in likelihood.names]


@dataclass(frozen=True)
class Toy:
    """One toy."""

    toys: Toys
    number: int

    @cached_property
    def counts(self) -> dict[float, tuple[int, int, int]]:
        """Events of signal, of background among them and of the sideband, for each fraction of background."""
        random, n = np.random.default_rng(seed(COUNTS, self.number)), self.toys.experiment.events
        signal = int(random.poisson(n))
        expected = [(fraction, n_background(n, fraction)) for fraction in FRACTIONS]
        return {0.0: (signal, 0, 0)} | {f: (signal, int(random.poisson(b)), int(random.poisson(SIDEBAND * b))) for f, b in expected}

    @cached_property
    def signal(self) -> Events:
        """Signal events."""
        return self.toys.generator.generate(self.counts[0.0][0], seed(SIGNAL, self.number), progress=False).events

    @cached_property
    def background(self) -> Events:
        """As many background events as any setting takes, the sideband included."""
        return self.toys.background(max(b + side for _, b, side in self.counts.values()), self.number)

    @cached_property
    def phase_space(self) -> Events:
        """As many phase-space events as any setting takes."""
        own = self.toys.experiment
        generate = sample_phase_space if own.sampled else ctpwa.generate_phase_space
        return generate(self.toys.model, own.ratio * own.events, seed(PHASE_SPACE, self.number), device=own.device, progress=False)

    def samples(self, setting: Setting) -> dict[str, Any]:
        """What a likelihood is built from."""
        n, b, side = self.counts[setting.fraction]
        own = self.toys.experiment
        samples: dict[str, Any] = {
            "phase_space": self.phase_space.picked(slice((setting.ratio or own.ratio) * own.events)),
            "data": self.signal,
        }
        if not setting.by:
            return samples
        if setting.by == "resolution":
            measured = measured_events(RESOLUTION, self.signal, self.toys.model.decay.labels, seed(MEASUREMENT, self.number))
            return samples | {"data": measured, "resolution": RESOLUTION}
        samples["data"] = concatenate([self.signal, self.background.picked(slice(b))])
        if setting.by == "subtraction":
            sideband = self.background.picked(slice(b, b + side))
            weights = torch.full((side,), 1 / SIDEBAND, dtype=torch.float64, device=own.device)
            return samples | {"background": replace(sideband, weights=weights)}
        if setting.by == "sweights":
            x = self.toys.variable.draw(n, b, np.random.default_rng(seed(VARIABLE, self.number)))
            weights = self.toys.variable.sweights(x, np.array([own.events, n_background(own.events, setting.fraction)]))
            return samples | {"data": replace(samples["data"], weights=torch.from_numpy(weights).to(own.device))}
        density = Background("b", self.toys.density, setting.fraction, floating=True)
        return samples | {"backgrounds": [density], "extended": setting.by == "extended"}


def n_background(n_signal: float, fraction: float) -> float:
    """Background events that are a fraction of all."""
    return n_signal * fraction / (1 - fraction)


def seed(stream: int, number: int, part: int = 0) -> int:
    """Of the random numbers of one kind, in one toy."""
    return int(np.random.SeedSequence([stream, number, part]).generate_state(1)[0])


_toys: dict[bool, Toys]  # of a worker process, without and with a narrow state


def begin(experiment: Experiment) -> None:
    """Prepare a worker process, which computes with one thread."""
    global _toys
    parts.set_num_threads(1)
    torch.set_num_threads(1)
    _toys = {False: Toys(experiment), True: Toys(experiment.narrow)}


def work(number: int, names: list[str]) -> list[dict[str, Any]]:
    """Fit one toy in several ways."""
    toys = {narrow: own.make(number) for narrow, own in _toys.items()}
    return [_toys[narrow].fit(toys[narrow], name) for name in names for narrow in (SETTINGS[name].narrow,)]
