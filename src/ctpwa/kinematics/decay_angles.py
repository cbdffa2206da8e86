"""Momenta of a decay from invariant masses and helicity angles."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import torch
from torch import Tensor

from ctpwa.kinematics.two_body import breakup_momentum_squared

Topology = Any  # a final particle, or a tuple of two topologies


def momenta_at(
    topology: Topology, masses: Mapping[Topology, Tensor], angles: Mapping[Topology, tuple[Tensor, Tensor]]
) -> dict[Hashable, Tensor]:
    """Momenta [event, 4] of the final particles in the rest frame of the decay.

    The first daughter of a vertex flies along (θ, φ). Its own frame is that in which it was before it was boosted along z and rotated by
    R(φ, θ, 0); the second daughter is turned around by R_y(π) first.

    Args:
        topology:  nested pairs of final particles, such as ``((2, 3), 1)``
        masses:    mass of every pair and final particle, [event]
        angles:    cos θ and φ of the first daughter of every pair, in its frame, [event]
    """
    if not isinstance(topology, tuple):
        m = masses[topology]
        return {topology: torch.stack([m, *[torch.zeros_like(m)] * 3], dim=1)}
    first, second = topology
    M, m1, m2 = masses[topology], masses[first], masses[second]
    q = breakup_momentum_squared(M.square(), m1, m2).clamp(min=0).sqrt()
    cos_theta, phi = angles[topology]
    result = {}
    for daughter, mass, turned in ((first, m1, False), (second, m2, True)):
        for name, p in momenta_at(daughter, masses, angles).items():
            boosted = _boosted_along_z(p, q, mass)
            if turned:
                boosted = boosted * boosted.new_tensor([1.0, -1.0, 1.0, -1.0])  # R_y(π)
            result[name] = _rotated(boosted, cos_theta, phi)
    return result


def _boosted_along_z(p: Tensor, q: Tensor, mass: Tensor) -> Tensor:
    """A momentum in the frame in which the system at rest before has momentum q along z; a massless one is along z already."""
    massless = mass == 0
    safe = torch.where(massless, torch.ones_like(mass), mass)
    E = (q.square() + mass.square()).sqrt()
    energy, along = (E * p[:, 0] + q * p[:, 3]) / safe, (E * p[:, 3] + q * p[:, 0]) / safe
    return torch.stack([torch.where(massless, q, energy), p[:, 1], p[:, 2], torch.where(massless, q, along)], dim=1)


def _rotated(p: Tensor, cos_theta: Tensor, phi: Tensor) -> Tensor:
    """R_z(φ) R_y(θ) p."""
    sin_theta = (1 - cos_theta.square()).clamp(min=0).sqrt()
    x, z = cos_theta * p[:, 1] + sin_theta * p[:, 3], -sin_theta * p[:, 1] + cos_theta * p[:, 3]
    return torch.stack([p[:, 0], phi.cos() * x - phi.sin() * p[:, 2], phi.sin() * x + phi.cos() * p[:, 2], z], dim=1)


def angles_at(topology: Topology, momenta: Mapping[Any, Tensor]) -> tuple[dict[Topology, Tensor], dict[Topology, tuple[Tensor, Tensor]]]:
    """Masses, and cos θ and φ of all pairs: the inverse of ``momenta_at``.

    Args:
        topology:  nested pairs of final particles
        momenta:   of the final particles in the rest frame of the decay, [event, 4]
    """
    masses: dict[Topology, Tensor] = {}
    angles: dict[Topology, tuple[Tensor, Tensor]] = {}
    total = torch.stack([momenta[i] for i in _leaves(topology)]).sum(dim=0)
    masses[topology] = (total[:, 0].square() - total[:, 1:].square().sum(dim=1)).clamp(min=0).sqrt()
    if not isinstance(topology, tuple):
        return masses, angles
    first, second = topology
    p = torch.stack([momenta[i] for i in _leaves(first)]).sum(dim=0)
    q = p[:, 1:].square().sum(dim=1).sqrt()
    cos_theta, phi = (p[:, 3] / q).clamp(-1, 1), torch.atan2(p[:, 2], p[:, 1])
    angles[topology] = (cos_theta, phi)
    for daughter, turned in ((first, False), (second, True)):
        own = {}
        for name in _leaves(daughter):
            x, y, z = (momenta[name][:, i] for i in (1, 2, 3))
            x, y = phi.cos() * x + phi.sin() * y, -phi.sin() * x + phi.cos() * y
            sin_theta = (1 - cos_theta.square()).clamp(min=0).sqrt()
            x, z = cos_theta * x - sin_theta * z, sin_theta * x + cos_theta * z
            own[name] = torch.stack([momenta[name][:, 0], -x if turned else x, y, -z if turned else z], dim=1)
        if isinstance(daughter, tuple):
            whole = torch.stack(list(own.values())).sum(dim=0)
            m = (whole[:, 0].square() - whole[:, 1:].square().sum(dim=1)).sqrt()
            own = {name: _boosted_along_z(v, -q, m) for name, v in own.items()}
        inner_masses, inner_angles = angles_at(daughter, own)
        masses |= inner_masses
        angles |= inner_angles
    return masses, angles


def _leaves(topology: Topology) -> list[Any]:
    return [leaf for part in topology for leaf in _leaves(part)] if isinstance(topology, tuple) else [topology]
