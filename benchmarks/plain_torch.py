"""The same likelihood as one would write it in torch, with derivatives by automatic differentiation: what others are compared with.

Amplitudes [polarisation, event] of every channel are complex and computed once, as this package does it; lineshape formulas stand as they
are. With fixed lineshapes these are multiplied in once as well, and the normalisation is one matrix, as anybody would do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ctpwa.engine.codegen.tensors import evaluate
from ctpwa.engine.likelihood.collapsed import Collapsed
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.engine.plan.channels import model_channels
from ctpwa.engine.plan.plan import Propagator
from ctpwa.engine.samples.sample import vertex_variables
from ctpwa.model.lineshapes.formula import q2, s


@dataclass(frozen=True)
class PlainSample:
    """Events as autograd sees them.

    Attributes:
        amplitudes:  [polarisation, event] of every channel
        variables:   s and q² of every system
    """

    amplitudes: list[Tensor]
    variables: Mapping[Any, tuple[Tensor, Tensor]]

    @property
    def n_events(self) -> int:
        """How many events there are."""
        return self.amplitudes[0].shape[1]


class PlainLikelihood:
    """−Σ ln I + N ln ⟨I⟩ in torch; with fixed lineshapes up to a constant.

    Args:
        likelihood:  of the same model; says which parameters there are
        device:      where to compute
    """

    def __init__(self, likelihood: Likelihood, device: str) -> None:
        self.model, self.parameters, self.device = likelihood.model, likelihood.parameters, device
        self.channels = model_channels(self.model)
        self.names = [p.name for p in self.channels.theta]
        fixed = isinstance(likelihood.phase_space, Collapsed)
        self.norm = torch.tensor(likelihood.phase_space.matrix, device=device) if fixed else None

    def sample(self, events: Mapping[str, Any]) -> PlainSample:
        """Spin amplitudes and variables of events."""
        spin = self.model.spin_amplitudes(events, barrier=True, device=self.device, progress=False)
        used = {spec.structure for spec in self.channels.specs}
        complex_K = {t: spin.rows.restore(spin.K[t : t + 1], spin.structures[t][0][0].total_L)[0] for t in used}
        factors = [spec.factor / spin.phase(spec.structure) for spec in self.channels.specs]
        p4 = [events[label].to(self.device).T for label in self.model.final_names]
        places = {_place(p): p for spec in self.channels.specs for p in spec.propagators}
        variables = {place: vertex_variables(p4, p.system, p.daughters) for place, p in places.items()}
        return PlainSample([f * complex_K[spec.structure] for f, spec in zip(factors, self.channels.specs, strict=True)], variables)

    def ready(self, samples: list[PlainSample], x: np.ndarray) -> tuple[PlainSample, PlainSample | None]:
        """Data and phase space for a fit: if no lineshape floats, they are multiplied in, and phase space is not needed."""
        data, phase_space = samples
        return (data, phase_space) if self.norm is None else (self.with_lineshapes(data, x), None)

    def with_lineshapes(self, sample: PlainSample, x: np.ndarray) -> PlainSample:
        """Lineshapes multiplied in, for a fit in which they stand still."""
        _, theta = self.parameters.native(x)
        numbers = torch.tensor(theta, device=self.device)
        F = [self._lineshapes(spec.propagators, numbers, sample) for spec in self.channels.specs]
        return PlainSample([f * A for f, A in zip(F, sample.amplitudes, strict=True)], {})

    def _lineshapes(self, propagators: tuple[Propagator, ...], numbers: Tensor, sample: PlainSample) -> Any:
        result: Any = 1.0
        for propagator in propagators if sample.variables else ():
            s_R, q2_R = sample.variables[_place(propagator)]
            own = {s: s_R, q2: q2_R}
            parameters = zip(propagator.lineshape.parameters, propagator.names, strict=True)
            own |= {p.symbol: numbers[self.names.index(name)] for p, name in parameters}
            result = result * evaluate(propagator.lineshape.expression, own)
        return result

    def intensity(self, native: Tensor, sample: PlainSample) -> Tensor:
        """I of every event at (Re c, Im c, θ)."""
        n = len(self.channels.couplings)
        c, numbers = torch.complex(native[:n], native[n : 2 * n]), native[2 * n :]
        psi = torch.zeros(sample.amplitudes[0].shape, dtype=torch.complex128, device=self.device)
        for spec, A in zip(self.channels.specs, sample.amplitudes, strict=True):
            psi = psi + c[spec.coupling] * self._lineshapes(spec.propagators, numbers, sample) * A
        return psi.abs().square().sum(dim=0)

    def nll(self, native: Tensor, data: PlainSample, phase_space: PlainSample | None) -> Tensor:
        """The likelihood; without a phase-space sample the normalisation is one matrix."""
        if phase_space is None:
            n = len(self.channels.couplings)
            c = torch.complex(native[:n], native[n : 2 * n])
            sigma = (c.conj() @ self.norm @ c).real
        else:
            sigma = self.intensity(native, phase_space).mean()
        return -self.intensity(native, data).log().sum() + data.n_events * sigma.log()

    def gradient(self, x: np.ndarray, data: PlainSample, phase_space: PlainSample | None) -> tuple[float, np.ndarray]:
        """NLL and gradient over the free parameters."""
        y, native = self._point(x)
        value = self.nll(native(y), data, phase_space)
        return value.item(), torch.autograd.grad(value, y)[0].cpu().numpy()

    def hessian(self, x: np.ndarray, data: PlainSample, phase_space: PlainSample | None) -> np.ndarray:
        """Second derivatives over the free parameters."""
        y, native = self._point(x)
        return torch.autograd.functional.hessian(lambda z: self.nll(native(z), data, phase_space), y.detach()).cpu().numpy()

    def _point(self, x: np.ndarray) -> tuple[Tensor, Any]:
        """Free parameters, and the map from them to native ones, which is linear for cartesian couplings."""
        c, theta = self.parameters.native(x)
        here = torch.tensor(np.concatenate([c.real, c.imag, theta]), device=self.device)
        J = torch.tensor(self.parameters.jacobian(x), device=self.device)
        start = torch.tensor(x, device=self.device)
        return start.clone().requires_grad_(), lambda y: here + J @ (y - start)


def _place(propagator: Propagator) -> tuple[Any, Any]:
    return propagator.system, propagator.daughters
