"""What ``ctpwa check`` finds out about a model."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from ctpwa.engine.build import find_rotation
from ctpwa.engine.channels import ModelChannels, model_channels
from ctpwa.engine.plan import Plan
from ctpwa.generate.phase_space import generate_phase_space
from ctpwa.model.model import Model

PROBE_EVENTS = 200  # of phase space, to see how many polarisation rows are needed


@dataclass(frozen=True)
class CheckReport:
    """A model with its parameters and its plan.

    Attributes:
        model:     the model
        channels:  its couplings and lineshape parameters
        plan:      what is cached for every event
    """

    model: Model
    channels: ModelChannels
    plan: Plan

    @classmethod
    def of(cls, model: Model) -> CheckReport:
        """Find out; a few generated events show which polarisation rows the waves need."""
        channels = model_channels(model)
        probe = generate_phase_space(model, PROBE_EVENTS, seed=0, progress=False)
        rotation = find_rotation(model, [[probe[label] for label in model.decay.labels]])
        return cls(model, channels, channels.plan(model, rotation.n_rows))

    @property
    def couplings(self) -> dict[str, complex]:
        """The complex couplings with the values that a fit starts from."""
        return {name: complex(self.model.coupling_values.get(name, 1.0)) for name in self.channels.couplings}

    @property
    def n_floating(self) -> int:
        """Lineshape parameters that are fitted."""
        return sum(not parameter.fixed for parameter in self.channels.theta)

    @property
    def n_free(self) -> int:
        """Everything that is fitted: two numbers for every coupling but the reference, and lineshape parameters."""
        return 2 * (len(self.channels.couplings) - 1) + self.n_floating

    @staticmethod
    def limit(value: float) -> float | None:
        """A limit of a parameter; None if there is none."""
        return value if isfinite(value) else None
