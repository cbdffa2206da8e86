"""Amplitudes, fractions and momenta at single points: what is compared with other programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from ctpwa.base.errors import DataError, PhysicsError
from ctpwa.data.event_column import checked_columns
from ctpwa.data.momenta import read_momenta
from ctpwa.engine.codegen.tensors import evaluate
from ctpwa.engine.likelihood.intensity import ModelIntensity
from ctpwa.engine.plan.channels import model_channels
from ctpwa.engine.plan.plan import BasisMember, Propagator
from ctpwa.engine.samples.sample import vertex_variables
from ctpwa.fitting.fractions import chain_groups, wave_groups
from ctpwa.kinematics.decay_angles import momenta_at
from ctpwa.model.lineshapes.formula import Callback, column_variable, q2, s
from ctpwa.model.model import Model

Groups = Literal["waves", "resonances", "chains", "jp"]


@dataclass(frozen=True)
class WaveAmplitudes:
    """Complex amplitudes of waves.

    Attributes:
        names:   names of the waves; NAME:LABEL for each function of a spline or K-matrix
        rows:    what each row is: a spin state of the parent and of the final particles
        values:  [wave, row, event]; I of an event is Σ_row |Σ_wave values|² if couplings are in them
    """

    names: tuple[str, ...]
    rows: tuple[str, ...]
    values: Tensor


@dataclass(frozen=True)
class PointFractions:
    """Fractions and interferences at a point, over some events.

    Attributes:
        names:         groups of waves
        values:        fraction of each; with interferences they add up to 1
        interference:  [group, group]: fractions on the diagonal, interferences off it, the same number above and below
    """

    names: tuple[str, ...]
    values: np.ndarray
    interference: np.ndarray


def wave_amplitudes(
    intensity: ModelIntensity, events: Mapping[str, Any], *, propagators: bool = True, couplings: bool = True
) -> WaveAmplitudes:
    """Amplitudes of every wave in every spin state, at the couplings and parameters of an intensity.

    Args:
        intensity:    the model with its couplings and parameters
        events:       momenta by name, [event, 4] each
        propagators:  multiply by the lineshapes
        couplings:    multiply by the couplings
    """
    model = intensity.model
    rows = model.production.rows(model.decay)
    if len(rows.feeds) > 1:
        raise PhysicsError("the parent is produced in several ways, each with amplitudes of its own", "give it one density matrix")
    spin = model.spin_amplitudes(events, barrier=True, progress=False)
    p4 = read_momenta(dict(events), model.decay.labels)
    columns = checked_columns(getattr(events, "columns", {}), model.columns, len(p4[0]), "events")
    places = _Places([p.T for p in p4], {name: values for name, values in columns.items() if values.ndim == 1}, intensity.parameters)
    channels = model_channels(intensity.untied)
    names = channels.couplings
    values = torch.zeros(len(names), len(spin.polarisations), len(p4[0]), dtype=torch.complex128)
    restored: dict[int, Tensor] = {}
    for spec in channels.specs:
        if spec.structure not in restored:
            total_L = spin.structures[spec.structure][0][0].total_L
            restored[spec.structure] = rows.restore(spin.K[spec.structure][None], total_L)[0] / rows.phase(total_L)
        F = torch.ones(len(p4[0]), dtype=torch.complex128)
        for propagator in spec.propagators if propagators else ():
            F = F * places.value(propagator)
        values[spec.coupling] += spec.factor * F * restored[spec.structure]
    if couplings:
        values *= torch.tensor([intensity.coupling_of(name) for name in names], dtype=torch.complex128)[:, None, None]
    return WaveAmplitudes(names, spin.polarisations, values)


class _Places:
    """Values of propagators at the masses of events."""

    def __init__(self, p4: list[Tensor], columns: Mapping[str, Tensor], parameters: Mapping[str, float]) -> None:
        self._p4, self._columns, self._parameters = p4, columns, parameters

    def value(self, propagator: Propagator) -> Tensor:
        """F of every event."""
        s_R, q2_R = vertex_variables(self._p4, propagator.system, propagator.daughters)
        lineshape = propagator.lineshape
        if isinstance(lineshape, BasisMember):
            return torch.as_tensor(lineshape.basis.values(s_R.numpy(), q2_R.numpy())[lineshape.index], dtype=torch.complex128)
        numbers = [torch.tensor(self._parameters[name], dtype=torch.float64) for name in propagator.names]
        if isinstance(lineshape, Callback):
            named = {p.name: number for p, number in zip(lineshape.parameters, numbers, strict=True)}
            return lineshape.values(s_R, q2_R, named, {name: self._columns[name] for name in lineshape.columns}).to(torch.complex128)
        values = {p.symbol: number for p, number in zip(lineshape.parameters, numbers, strict=True)}
        values |= {s: s_R, q2: q2_R, **{column_variable(name): own for name, own in self._columns.items()}}
        return evaluate(lineshape.expression, values).to(torch.complex128)


def fractions_at(intensity: ModelIntensity, events: Mapping[str, Any], by: Groups = "resonances", weights: Any = None) -> PointFractions:
    """Fractions and interferences without a fit, at the couplings and parameters of an intensity.

    Args:
        intensity:  the model with its couplings and parameters
        events:     phase space to integrate over
        by:         what is a group: ``waves``, ``resonances`` with all their charge states, ``chains`` of them, or ``jp``, J^P. Where
                    waves hold several resonances, these share waves, and only chains add up to 1
        weights:    of the events; default: theirs, or 1
    """
    groups = chain_groups(intensity.model) if by == "chains" else wave_groups(intensity.model)[by]
    waves = [wave.name for wave in intensity.model.waves]
    selected = {name: [waves[i] for i in members] for name, members in groups.items()}
    n_events = len(next(iter(dict(events).values())))
    given = getattr(events, "weights", None) if weights is None else weights
    w = torch.ones(n_events, dtype=torch.float64) if given is None else torch.as_tensor(given, dtype=torch.float64)
    if w.shape != (n_events,) or not bool(w.isfinite().all()):
        raise DataError(f"there are {n_events} events, and weights of shape {tuple(w.shape)}\n fix: give one finite weight per event")
    G = np.zeros((len(groups), len(groups)), dtype=complex)
    total = 0.0
    for part in intensity.sums(events, selected):
        own = w[part.start : part.stop].to(part.psi.device)
        G += torch.einsum("gre,hre,e->gh", part.psi.conj(), part.psi, own.to(torch.complex128)).cpu().numpy()
        total += float((own * part.intensity).sum())
    if not total > 0:
        raise DataError("the integral of the intensity is not positive\n fix: give events with positive weights")
    matrix = 2 * G.real / total
    np.fill_diagonal(matrix, np.diag(G).real / total)
    return PointFractions(tuple(groups), np.diag(matrix).copy(), matrix)


def dalitz_momenta(model: Model, s12: Any, s23: Any) -> dict[str, Tensor]:
    """Momenta of a decay to three particles at given points of its Dalitz plot, in its rest frame and in one plane.

    Args:
        model:  the model
        s12:    m² of the first and the second final particle, GeV², a number or [event]
        s23:    m² of the second and the third

    Raises:
        DataError: if a point is outside the plot
    """
    decay = model.decay
    if len(decay.final) != 3 or decay.parent.mass is None:
        raise PhysicsError(f"{decay} has no Dalitz plot", "give a decay to three particles, with the mass of the parent")
    first, second = torch.broadcast_tensors(*(torch.as_tensor(value, dtype=torch.float64).reshape(-1) for value in (s12, s23)))
    M = decay.parent.mass
    m1, m2, m3 = (0.0 if p.massless else float(p.mass or 0.0) for p in decay.final)
    m12 = first.clamp(min=0).sqrt()
    E2, E3 = (first + m2**2 - m1**2) / (2 * m12), (M**2 - first - m3**2) / (2 * m12)
    product = 2 * ((E2.square() - m2**2).clamp(min=0) * (E3.square() - m3**2).clamp(min=0)).sqrt()
    cos_theta = (m2**2 + m3**2 + 2 * E2 * E3 - second) / product
    inside = (m12 > m1 + m2) & (m12 < M - m3) & (cos_theta.abs() <= 1)
    if not bool(inside.all()):
        event = int((~inside).nonzero()[0, 0])
        where = f"m²(12) = {float(first[event]):g} and m²(23) = {float(second[event]):g} GeV²"
        raise DataError(
            f"point {event}, {where}, is outside the Dalitz plot of {decay}\n"
            " fix: give squared masses in GeV², in the order of the final particles"
        )
    one = torch.ones_like(m12)
    masses = {0: m1 * one, 1: m2 * one, 2: m3 * one, (0, 1): m12, ((0, 1), 2): M * one}
    p4 = momenta_at(((0, 1), 2), masses, {((0, 1), 2): (one, 0 * one), (0, 1): (cos_theta, 0 * one)})
    return {label: p4[i] for i, label in enumerate(decay.labels)}
