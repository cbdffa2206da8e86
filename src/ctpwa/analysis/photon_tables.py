"""Density matrix and moments of X that polarised photons made: tables for ``ctpwa show``, and a chapter of a report."""

from __future__ import annotations

from collections.abc import Sequence

from ctpwa.analysis.reopen import OpenedFit
from ctpwa.base.errors import PhysicsError
from ctpwa.data.events import Events
from ctpwa.data.stream import picked_events
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.fitting.event_couplings import event_couplings
from ctpwa.fitting.result import FitResult
from ctpwa.fitting.text import Section, with_error
from ctpwa.model.model import Model
from ctpwa.model.spin_parity import spin_parity
from ctpwa.observables.moments_of_photons import PhotonMoments, measured_moments, photon_moments
from ctpwa.observables.spin_density_matrix import SpinDensity, measured_spin_density, spin_density
from ctpwa.report.content import StudyView
from ctpwa.spin.photoproduction import Photoproduction

TITLE = "Density matrix and moments"
VECTOR = "1⁻"


def spin_density_section(result: FitResult, model: Model) -> list[Section]:
    """The density matrix of the waves 1⁻ of a fit, if photons made them and each state has one; no event is read."""
    if not _has_vectors(model):
        return []
    try:
        return [spin_density(result, model).section()]
    except PhysicsError:  # several waves of a state
        return []


def photon_sections(opened: OpenedFit, engine: str | None = None, device: str | None = None) -> list[Section]:
    """Density matrix and moments of a fit, beside those of its events; empty if it has none.

    Args:
        opened:  the fit
        engine:  what computes; default: as the model file says
        device:  where
    """
    model, analysis = opened.model, opened.analysis
    if not isinstance(model.production, Photoproduction) or len(analysis.data_sets) != 1:
        return []
    sections = []
    (samples,) = opened.read()
    truth = analysis.read().truth
    everything = None if truth is None else picked_events(truth, None)
    events = (samples.data, samples.phase_space)
    if _has_vectors(model):
        found = spin_density_section(opened.result, model)
        alone = all(spin_parity(wave) == VECTOR for wave in model.waves)
        if found and alone:
            own = [spin_density(opened.result, model), measured_spin_density(model, *events, everything, samples.background)]
            found = [_density_table(own)]
        sections += found
    likelihood = analysis.likelihood(engine, device, False) if _two_pseudoscalars(model) else None
    if isinstance(likelihood, Likelihood) and likelihood.names == opened.result.names:
        sections += _moments(model, likelihood, opened.result, events, everything, samples.background)
    return sections


def photon_chapter(opened: OpenedFit, engine: str | None = None, device: str | None = None) -> list[StudyView]:
    """The same as a chapter of a report."""
    sections = photon_sections(opened, engine, device)
    words = (
        "What follows from fitted amplitudes, with errors from their covariance, and what events say directly, corrected for acceptance."
    )
    return [StudyView(TITLE, words, tuple(sections), (), ())] if sections else []


def _moments(
    model: Model, likelihood: Likelihood, result: FitResult, events: tuple[Events, Events], truth: Events | None, background: Events | None
) -> list[Section]:
    try:
        fitted = photon_moments(event_couplings(likelihood, result.x, result.covariance, {}, [truth]), model)
        highest = max(L for _, L, _ in fitted.indices)
        return [_moment_table([fitted, measured_moments(model, *events, highest, truth, background)])]
    except PhysicsError:  # lineshapes, or several waves of a state
        return []


def _density_table(own: Sequence[SpinDensity]) -> Section:
    rows = [(name, *(with_error(*each[name]) for each in own)) for name in own[0].names]
    rows.append(("(σN − σU)/(σN + σU)", *(with_error(*each.naturality) for each in own)))
    return Section(f"spin density matrix of {VECTOR}", ("element", "amplitudes", "events"), tuple(rows))


def _moment_table(own: Sequence[PhotonMoments]) -> Section:
    pairs = dict.fromkeys((L, M) for _, L, M in own[0].indices)
    rows = tuple(
        (f"H({L}{M})", *(with_error(*each[alpha, L, M]) if (alpha, L, M) in each.indices else "" for alpha in (0, 1, 2) for each in own))
        for L, M in pairs
    )
    columns = ("moment", *(f"{name} {what}" for name in ("H⁰", "H¹", "Im H²") for what in ("amplitudes", "events")))
    return Section("moments, in events", columns, rows)


def _has_vectors(model: Model) -> bool:
    return isinstance(model.production, Photoproduction) and any(spin_parity(wave) == VECTOR for wave in model.waves)


def _two_pseudoscalars(model: Model) -> bool:
    return len(model.decay.final) == 2 and not any(particle.two_J for particle in model.decay.final)
