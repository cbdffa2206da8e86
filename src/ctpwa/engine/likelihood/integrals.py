"""Integrals of products of waves over a sample: what fit fractions and interferences are made of.

    M_jk = Σ w conj(A_j) A_k / Σ w,     A_j = wave j with coupling 1

With floating resonances also ∂M/∂θ. One pass over the events gives both: every wave gets iteration numbers p of its own, and with the
columns A_k and ∂A_k/∂p of a Gram matrix

    ∂M_jk/∂p = Σ w (conj(A_j) ∂A_k/∂p + conj(∂A_j/∂p) A_k) / Σ w
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from ctpwa.base.errors import DataError
from ctpwa.base.ranks import ONE, Ranks
from ctpwa.base.turns import in_turn
from ctpwa.engine.backends.engine import Engine
from ctpwa.engine.backends.registry import make_engine
from ctpwa.engine.plan.plan import Plan
from ctpwa.engine.plan.tables import PLAIN
from ctpwa.engine.samples.build import CallbackValues
from ctpwa.engine.samples.sample import Sample


@dataclass(frozen=True)
class WaveIntegrals:
    """Integrals at one point.

    Attributes:
        wave:      index of the wave of each member; a wave whose lineshape is a basis has several
        coupling:  index of its coupling
        matrix:    M [member, member]
        slopes:    ∂M/∂θ [θ, member, member] over the floating lineshape parameters
        weight:    Σ w of the sample
    """

    wave: np.ndarray
    coupling: np.ndarray
    matrix: np.ndarray
    slopes: np.ndarray
    weight: float


class Integrator:
    """Computes integrals of a plan's waves.

    Its engine has one coupling for each member, and floating numbers that belong to one of them: ``owner`` is that member, ``source`` the
    number of the plan that it is.

    Args:
        plan:    the tables of the likelihood
        engine:  its engine, for its kind and device
    """

    def __init__(self, plan: Plan, engine: Engine) -> None:
        self.plan = plan
        members = list(dict.fromkeys((channel.wave, channel.coupling) for channel in plan.channels))
        self.wave, self.coupling = (np.array(column, dtype=np.int64) for column in zip(*members, strict=True))
        floating: dict[tuple[int, int], int] = {}
        channels = []
        for channel in plan.channels:
            member = members.index((channel.wave, channel.coupling))
            own = [floating.setdefault((member, i), len(floating)) if i < plan.n_floating else -i for i in channel.p]
            channels.append(replace(channel, coupling=member, p=tuple(own)))
        n_own = len(floating)
        shift = n_own - plan.n_floating
        channels = [
            replace(new, p=tuple(j if i < plan.n_floating else i + shift for i, j in zip(old.p, new.p, strict=True)))
            for old, new in zip(plan.channels, channels, strict=True)
        ]
        self.owner = np.array([member for member, _ in floating], dtype=np.int64)
        self.source = np.array([i for _, i in floating], dtype=np.int64)
        self.untied = replace(plan, n_couplings=len(members), channels=tuple(channels), n_floating=n_own, n_added=0)
        self.engine = make_engine(engine.name, self.untied, engine.device)

    def own_numbers(self, theta: np.ndarray) -> np.ndarray:
        """Iteration numbers of its engine."""
        p = self.plan.iteration.values(theta)
        return np.concatenate([p[self.source], p[self.plan.n_floating :]])

    def integrals(self, samples: Iterable[Sample], theta: np.ndarray, ranks: Ranks = ONE, name: str = "phase-space") -> WaveIntegrals:
        """Integrals over the samples.

        Args:
            samples:  the events on the engine's device, in one or more pieces; each is used before the next is asked for
            theta:    values of the plan's floating parameters
            ranks:    processes that share the events
            name:     of the sample, for messages
        """
        plan, n = self.plan, len(self.wave)
        own_p = self.own_numbers(theta)
        size = n + len(self.owner)

        @in_turn
        def local() -> np.ndarray:
            self.engine.set_numbers(np.ones(n, dtype=complex), own_p)
            refresh = CallbackValues(plan, theta, self.engine.device)
            row: Tensor | None = None
            for sample in samples:
                refresh(sample, 1)
                gram = self.engine.gram_row(sample, PLAIN)
                own = torch.cat([gram, sample.w.sum()[None].to(gram.device)])
                row = own if row is None else row.add_(own)
                del sample  # before the next one takes as much again
            if row is None:
                return np.zeros(2 * size * size + 1)
            found = row.cpu().numpy()
            summed = self.engine.gram_of(found[:-1])
            return np.concatenate([summed.re.ravel(), summed.im.ravel(), found[-1:]])

        sums = ranks.sum(2 * size * size + 1, local, b"integrals" + theta.tobytes(), self.engine.device)
        if not sums[-1] > 0:
            raise DataError(f"the weights of the {name} sample add up to {sums[-1]:.6g}\n fix: check them")
        re, im = sums[:-1].reshape(2, size, size)
        G = (re + 1j * im) / sums[-1]
        dp = plan.iteration.jacobian(theta)
        slopes = np.zeros((dp.shape[1], n, n), dtype=complex)
        for column, (member, i) in enumerate(zip(self.owner, self.source, strict=True)):
            for t in np.flatnonzero(dp[i]):  # a number depends on one resonance, and a wave on few numbers
                own = dp[i, t] * G[:n, n + column]
                slopes[t, :, member] += own
                slopes[t, member, :] += own.conj()
        return WaveIntegrals(self.wave, self.coupling, G[:n, :n], slopes, float(sums[-1]))
