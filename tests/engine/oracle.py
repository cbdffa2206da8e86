"""The likelihood once more, end to end in torch: formulas as they are, no stages, no tables, derivatives by torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from ctpwa.engine.plan.channels import model_channels
from ctpwa.engine.plan.plan import BasisMember
from ctpwa.model.lineshapes.formula import Callback, Formula, column_variable, columns_of, q2, s
from lineshapes.evaluate import torch_tree


def mass_squared(p4: Tensor) -> Tensor:
    return p4[:, 0] ** 2 - (p4[:, 1:] ** 2).sum(dim=1)


class Oracle:
    """NLL as a function of the free parameters.

    Args:
        model:           the model
        names:           names of the free parameters
        samples:         data, phase_space and perhaps background
        representation:  of couplings
        constraints:     parameter name → (mean, standard deviation)
        derived:         parameter name → function of all values, of those that follow from others
    """

    def __init__(self, model, names, samples, *, representation="cartesian", constraints=None, derived=None, **_: Any):
        self.model, self.names, self.samples = model, list(names), samples
        self.polar = representation == "polar"
        self.constraints = constraints or {}
        self.derived = derived or {}
        self.channels = model_channels(model)
        self.K = {key: model.spin_amplitudes(sample, barrier=True).K for key, sample in samples.items()}

    def variables(self, key, system, daughters):
        """s and q² of a vertex."""
        momenta = [self.samples[key][label] for label in self.model.final_names]
        whole, one, two = (mass_squared(sum(momenta[i] for i in group)) for group in (system, *daughters))
        kallen = whole**2 + one.clamp(min=0) ** 2 + two.clamp(min=0) ** 2
        kallen = kallen - 2 * (whole * one.clamp(min=0) + whole * two.clamp(min=0) + one.clamp(min=0) * two.clamp(min=0))
        return whole, (kallen / (4 * whole)).clamp(min=0)

    def propagator(self, key, propagator, values):
        s_R, q2_R = self.variables(key, propagator.system, propagator.daughters)
        shape = propagator.lineshape
        if isinstance(shape, BasisMember):
            shape = shape.basis.functions[shape.index]
        if isinstance(shape, Formula):
            own = {p.symbol: values[name] for p, name in zip(shape.parameters, propagator.names, strict=True)}
            columns = {column_variable(name): self.samples[key].columns[name] for name in columns_of(shape)}
            return torch_tree(shape.expression, {s: s_R, q2: q2_R, **columns, **own}, {}).to(torch.complex128)
        if isinstance(shape, Callback):
            own = {p.name: values[n] for p, n in zip(shape.parameters, propagator.names, strict=True)}
            return shape.values(s_R, q2_R, own, getattr(self.samples[key], "columns", {}))
        return torch.from_numpy(np.asarray(shape(s_R.numpy(), q2_R.numpy())).astype(complex))

    def couplings(self, values):
        first, second = ("abs", "phase") if self.polar else ("re", "im")
        result = []
        for index, name in enumerate(self.channels.couplings):
            start = (1.0, 0.0) if index == 0 else (None, 0.0)  # the phase of a set of waves that do not interfere with others may be fixed
            a, b = (values.get(f"{name}.{part}", x) for part, x in ((first, start[0]), (second, start[1])))
            a, b = torch.as_tensor(a, dtype=torch.float64), torch.as_tensor(b, dtype=torch.float64)
            result.append(torch.polar(a, b) if self.polar else torch.complex(a, b))
        return result

    def intensity(self, x: Tensor, key: str) -> Tensor:
        values = {p.name: torch.tensor(p.value, dtype=torch.float64) for p in self.channels.theta}
        values |= dict(zip(self.names, x, strict=True))
        for name, function in self.derived.items():
            values[name] = function(values)
        c = self.couplings(values)
        psi: Any = 0
        known: dict[Any, Tensor] = {}
        for spec in self.channels.specs:
            F: Any = 1
            for propagator in spec.propagators:
                if propagator not in known:
                    known[propagator] = self.propagator(key, propagator, values)
                F = F * known[propagator]
            psi = psi + spec.factor * c[spec.coupling] * F * self.K[key][spec.structure]
        return psi.abs().square().sum(dim=0)

    def weights(self, key):
        w = getattr(self.samples[key], "weights", None)
        return torch.ones(self.K[key].shape[-1], dtype=torch.float64) if w is None else w

    def nll(self, x: Tensor) -> Tensor:
        w, w_phsp = self.weights("data"), self.weights("phase_space")
        value, total = -(w * self.intensity(x, "data").log()).sum(), w.sum()
        if "background" in self.samples:
            w_b = self.weights("background")
            value, total = value + (w_b * self.intensity(x, "background").log()).sum(), total - w_b.sum()
        value = value + total * ((w_phsp * self.intensity(x, "phase_space")).sum() / w_phsp.sum()).log()
        for name, (mean, sigma) in self.constraints.items():
            value = value + ((x[self.names.index(name)] - mean) / sigma) ** 2 / 2
        return value

    def expand(self, x: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        at = torch.tensor(x, requires_grad=True)
        value = self.nll(at)
        (grad,) = torch.autograd.grad(value, at)
        H = torch.autograd.functional.hessian(self.nll, torch.tensor(x))
        return float(value.detach()), grad.numpy(), H.numpy()
