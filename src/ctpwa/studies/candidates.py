"""Resonances that might be in a model besides its own."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ctpwa.analysis.analysis import Analysis, analysis_of
from ctpwa.base.errors import ConfigError, CtpwaError, DataError, PhysicsError, suggest
from ctpwa.config.model_file import read_text
from ctpwa.config.propose.addable import addable_states
from ctpwa.config.read import load_document
from ctpwa.config.source import Source
from ctpwa.decay.pdg import normalise
from ctpwa.engine.backends.registry import engine_names
from ctpwa.fitting.labels import group_label
from ctpwa.fitting.plain import to_plain
from ctpwa.model.couplings import coupling_names
from ctpwa.model.model import Model

Given = Sequence[str] | Mapping[str, Mapping[str, Any] | None] | None
_MAPPING = re.compile(r"[{\[]|:\s")  # a text that is YAML rather than a name
EXAMPLE = "write a name of the PDG such as 'f(0)(1500)', or  X: {in: K+ K-, JP: 1-, mass: 1.6, width: 0.15}  as in a model file"


@dataclass(frozen=True)
class Candidate:
    """A resonance that a model may get.

    Attributes:
        name:       its key under ``resonances``
        resonance:  what stands there
        chains:     what stands under ``chains`` besides
        remark:     what to know about it
        couplings:  how many it has; known once it was checked
        label:      its name, with LaTeX between dollar signs; the same
    """

    name: str
    resonance: Mapping[str, Any]
    chains: tuple[str, ...] = ()
    remark: str = ""
    couplings: int = 1
    label: str = ""

    @property
    def key(self) -> str:
        """Equal for candidates that are the same in the model."""
        text = json.dumps(to_plain([self.name, self.resonance, self.chains]), sort_keys=True)
        return f"{self.name} #{hashlib.sha256(text.encode()).hexdigest()[:8]}"


@dataclass(frozen=True)
class CandidateList:
    """Candidates of a search.

    Attributes:
        members:  the candidates
        refused:  states that cannot be added, and why
    """

    members: tuple[Candidate, ...]
    refused: Mapping[str, str] = field(default_factory=dict)


def described(analysis: Analysis, candidates: Sequence[Candidate]) -> dict[str, Any]:
    """The description of a model with candidates in it, whose names of couplings and reference wave are those of the model.

    Args:
        analysis:    of the model
        candidates:  what is added
    """
    data = deepcopy(dict(analysis.description))
    names = [name for name in coupling_names(analysis.model.waves) if name not in analysis.settings.ties]
    if data.pop("fractions", None):  # what couplings they stand for depends on all waves
        data["couplings"] = {name: [z.real, z.imag] for name, z in analysis.model.coupling_values.items()}
    data["fit"] = dict(data.get("fit") or {}) | {"reference_wave": analysis.settings.reference_wave or names[0]}
    return added_to(data, candidates)


def added_to(description: Mapping[str, Any], candidates: Sequence[Candidate]) -> dict[str, Any]:
    """A description with candidates in it."""
    data = dict(description)
    if candidates:
        data["resonances"] = dict(data.get("resonances") or {}) | {own.name: dict(own.resonance) for own in candidates}
    chains = [chain for own in candidates for chain in own.chains]
    if chains:
        data["chains"] = [*(data.get("chains") or []), *chains]
    return data


def analysis_with(analysis: Analysis, description: Mapping[str, Any]) -> Analysis:
    """The analysis of another description whose paths are relative to the same folder."""
    return analysis_of(load_document(description, analysis.folder, engine_names()), name=analysis.name)


def read_candidates(analysis: Analysis, given: Given = None) -> CandidateList:
    """What was asked for; without anything all states of the PDG that quantum numbers and masses allow and the model does not have.

    Args:
        analysis:  of the model
        given:     names of the PDG and texts as under ``resonances`` of a model file, or a mapping of the same form

    Raises:
        CtpwaError: if one of them cannot be added to the model
    """
    if given is None:
        found, refused = _listed(analysis)
        members = []
        for candidate in found:
            try:
                members.append(checked_candidate(analysis, candidate))
            except CtpwaError as error:
                refused[candidate.name] = str(error).removeprefix(f"{candidate.name}: ").partition("\n")[0]
        return CandidateList(tuple(members), refused)
    if isinstance(given, str):
        raise DataError(f"candidates are the text {given!r}\n fix: give a list of them")
    entries = _entries(given)
    return CandidateList(tuple(checked_candidate(analysis, own) for own in _named(analysis, entries)))


def candidates_in_file(path: Path) -> dict[str, Any]:
    """The candidates of a YAML file: a mapping as under ``resonances`` of a model file, or a file that has this key."""
    source = Source(read_text(path), str(path))
    data = source.data.get("resonances", source.data) if isinstance(source.data, dict) else None
    if not isinstance(data, dict):
        raise DataError(f"{str(path)!r} does not list candidates\n fix: {EXAMPLE}")
    return data


def _entries(given: Sequence[str] | Mapping[str, Any]) -> dict[str, Any]:
    """Names → what was said about them, None if nothing was."""
    entries: dict[str, Any] = {}
    parts = [given] if isinstance(given, Mapping) else [_read(text) for text in given]
    for part in parts:
        for name, entry in part.items():
            if not isinstance(name, str) or not isinstance(entry, Mapping | None):
                raise DataError(f"{name!r}: {entry!r} is not a candidate\n fix: {EXAMPLE}")
            if normalise(name) in map(normalise, entries):
                raise DataError(f"the candidate {name!r} is there twice\n fix: leave one of them out, or give it another name")
            entries[name] = entry
    if not entries:
        raise DataError(f"there is no candidate\n fix: {EXAMPLE}")
    return entries


def _read(text: str) -> dict[str, Any]:
    if not isinstance(text, str) or not text.strip():
        raise DataError(f"{text!r} is not a candidate\n fix: {EXAMPLE}")
    if not _MAPPING.search(text):
        return {text.strip(): None}
    data = Source(text, "the candidate").data
    if not isinstance(data, dict):
        raise DataError(f"{text!r} is not a candidate\n fix: {EXAMPLE}")
    return data


def _named(analysis: Analysis, entries: Mapping[str, Mapping[str, Any] | None]) -> list[Candidate]:
    """Candidates of entries; those with a name alone are looked up in what ``ctpwa init`` lists."""
    listed: list[Candidate] = []
    refused: dict[str, str] = {}
    if any(entry is None for entry in entries.values()):
        listed, refused = _listed(analysis)
    members = []
    for name, entry in entries.items():
        if entry is not None:
            members.append(Candidate(name, dict(entry)))
            continue
        found = [own for own in listed if normalise(own.name) == normalise(name)]
        if not found:
            if any(normalise(own) == normalise(name) for own in analysis.model.resonances):
                raise DataError(f"{name!r} is in the fit already\n fix: add another state: {EXAMPLE}")
            why = next((f": {reason}" for other, reason in refused.items() if normalise(other) == normalise(name)), "")
            near = suggest(name, [own.name for own in listed])
            raise DataError(f"{name!r} is no state that ctpwa init would list for this decay{why}\n fix: {near}; or {EXAMPLE}")
        members.append(found[0])
    return members


def _listed(analysis: Analysis) -> tuple[list[Candidate], dict[str, str]]:
    text = str(analysis.description["decay"])
    try:
        states, refused = addable_states(text, list(analysis.model.resonances))
    except PhysicsError as error:
        raise DataError(f"states of the PDG for {text!r} cannot be listed: {error.what}\n fix: name candidates; {EXAMPLE}") from None
    return [Candidate(own.name, own.resonance, own.chains, own.remark) for own in states], refused


def checked_candidate(analysis: Analysis, candidate: Candidate) -> Candidate:
    """A candidate with what is known about it in a model.

    Raises:
        DataError: if it is in the model already, has no wave of its own in it, or if the model is wrong with it
    """
    if normalise(candidate.name) in map(normalise, analysis.model.resonances):
        raise DataError(f"{candidate.name!r} is in the model already\n fix: give it another name, or leave it out")
    try:
        larger = analysis_with(analysis, described(analysis, [candidate])).model
    except ConfigError as error:
        first = error.problems[0]
        raise DataError(f"{candidate.name}: {first.what}\n fix: {first.fix or EXAMPLE}") from None
    couplings = couplings_of(larger, candidate.name)
    if not couplings:
        raise DataError(f"{candidate.name}: it has no wave of its own\n fix: {EXAMPLE}")
    return replace(candidate, couplings=len(couplings), label=group_label(larger, candidate.name))


def couplings_of(model: Model, name: str, others: Sequence[str] = ()) -> tuple[str, ...]:
    """Couplings of the waves in which a candidate is, and none of the others."""
    waves = [wave for wave in model.waves if (own := {r.name for r in wave.resonances}) and name in own and not own & set(others)]
    return coupling_names(waves)


def in_groups(candidates: Sequence[Candidate], most: int) -> list[list[Candidate]]:
    """Candidates that are put into one model together: as many as have at most so many couplings, and at least one.

    Args:
        candidates:  all of them, checked
        most:        couplings of a group
    """
    groups: list[list[Candidate]] = []
    room = 0
    for candidate in candidates:
        if not groups or candidate.couplings > room:
            groups.append([])
            room = most
        groups[-1].append(candidate)
        room -= candidate.couplings
    return groups
