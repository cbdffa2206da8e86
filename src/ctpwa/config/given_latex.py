"""LaTeX names that the user gives."""

from __future__ import annotations

from ctpwa.config.schema import ModelSpec
from ctpwa.decay.latex import latex_of_text, latex_problem


def with_usable_latex(spec: ModelSpec) -> tuple[ModelSpec, list[str]]:
    """The model with LaTeX that can be shown, and a note on each that is written out as text instead."""
    notes: list[str] = []
    sections = {}
    for section, entries in (("particles", spec.particles), ("resonances", spec.resonances)):
        changed = {}
        for name, entry in entries.items():
            if entry.latex is not None and (problem := latex_problem(entry.latex)):
                notes.append(f"latex of {name}: {problem}; figures and tables show plain text")
                changed[name] = entry.model_copy(update={"latex": latex_of_text(entry.latex.strip() or name)})
        sections[section] = {**entries, **changed}
    return (spec.model_copy(update=sections) if notes else spec), notes
