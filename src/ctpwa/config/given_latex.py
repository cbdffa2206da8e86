"""LaTeX that the user gives: names of particles and resonances, labels and units of projections."""

from __future__ import annotations

from typing import TypeVar

from ctpwa.config.schema import ModelSpec, ParticleSpec, ResonanceSpec
from ctpwa.decay.latex import label_problem, latex_of_text, latex_problem, written_out

Entry = TypeVar("Entry", ParticleSpec, ResonanceSpec)
_INSTEAD = "figures and tables show plain text"


def with_usable_latex(spec: ModelSpec) -> tuple[ModelSpec, list[str]]:
    """The model with LaTeX that can be shown, and a note on each that is written out as text instead."""
    notes: list[str] = []
    particles = {name: _named(name, entry, notes) for name, entry in spec.particles.items()}
    resonances = {name: _named(name, entry, notes) for name, entry in spec.resonances.items()}
    for entry in spec.projections:
        for key, label in (("label", entry.label), ("unit", entry.unit)):
            if label is not None and (problem := label_problem(label)):
                notes.append(f"{key} of {entry.variable}: {problem}; {_INSTEAD}")
    return (spec.model_copy(update={"particles": particles, "resonances": resonances}) if notes else spec), notes


def usable_label(label: str) -> str:
    """A label of a projection, or what stands for one that cannot be used."""
    return written_out(label) if label_problem(label) else label


def _named(name: str, entry: Entry, notes: list[str]) -> Entry:
    if entry.latex is None or not (problem := latex_problem(entry.latex)):
        return entry
    notes.append(f"latex of {name}: {problem}; {_INSTEAD}")
    return entry.model_copy(update={"latex": latex_of_text(entry.latex.strip() or name)})
