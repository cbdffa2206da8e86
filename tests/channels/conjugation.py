"""A check of ties that knows nothing of how they are found: the whole amplitude must be an eigenstate of C."""

import torch

from ctpwa import generate_phase_space
from ctpwa.spin.final_spins import n_states


def total_amplitude(model, momenta, seed=0):
    """Σ_waves c K with random couplings, [m, spin of every final particle …, event]."""
    values = model.spin_amplitudes(momenta, polarisation="unpolarised").values
    random = torch.Generator().manual_seed(seed)
    c = {name: torch.randn((), generator=random, dtype=torch.complex128) for name in model.couplings}
    factors = torch.stack([wave.factor * c[wave.coupling] for wave in model.waves])
    psi = torch.einsum("w,wpe->pe", factors, values)
    return psi.reshape(model.decay.parent.two_J + 1, *(n_states(particle) for particle in model.decay.final), -1)


def conjugated(model, images, n_events=20):
    """ψ of random events, and ψ with momenta and spins of particles and antiparticles exchanged."""
    events = generate_phase_space(model, n_events, seed=5)
    labels = model.final_names
    swapped = {label: events[labels[image]] for label, image in zip(labels, images, strict=True)}
    order = [0, *(1 + image for image in images), len(images) + 1]
    return total_amplitude(model, events), total_amplitude(model, swapped).permute(*order)
