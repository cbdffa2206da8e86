"""Changes to a model description for a quick test, as the command line asks for them: they are made in the description itself.

A result then holds the changed description, and can be opened, resumed and repeated as if the file had said so.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import Any

from ctpwa.base.errors import suggest
from ctpwa.config.backgrounds import mixture_parameters
from ctpwa.config.fractions import couplings_of_share, share_of
from ctpwa.config.names import meant
from ctpwa.config.problems import SpecError
from ctpwa.config.schema import ModelSpec, ShareSpec
from ctpwa.config.set_values import ChangeError, Known, free, refuse_relative, set_value
from ctpwa.decay.pdg import normalise, split_charge
from ctpwa.model.couplings import coupling_names
from ctpwa.model.model import Model
from ctpwa.model.parameter import PARTS

_TOKENS = re.compile(r"\s+|;|->")
_PARTS = frozenset(part for parts in PARTS.values() for part in parts)
_OF_PARAMETERS = ("fix", "start", "limits", "constraints", "relations", "ties", "minos")  # keys of 'fit' that name parameters


@dataclass(frozen=True)
class Changes:
    """What is changed, in this order.

    Attributes:
        without:  resonances that are left out, with everything that names them
        free:     parameters that float
        set:      values of parameters or couplings by name
        data:     files in place of the measured events, relative to the working directory; NAME=FILE for one of several data sets
        fix:      parameters that are fixed; None: at their start value
    """

    without: tuple[str, ...] = ()
    free: tuple[str, ...] = ()
    set: Mapping[str, complex] = field(default_factory=dict)
    data: tuple[str, ...] = ()
    fix: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def in_place(self) -> bool:
        """Whether there is more than ``fix``, which stands in the description as it is."""
        return bool(self.without or self.free or self.set or self.data)

    @property
    def words(self) -> tuple[str, ...]:
        """The options of the command line that say the same."""
        values = {name: f"{value.real:.15g}" if not value.imag else f"{value:.15g}" for name, value in self.set.items()}
        return (
            *(f"--without {name}" for name in self.without),
            *(f"--float {name}" for name in self.free),
            *(f"--set {name}={value}" for name, value in values.items()),
            *(f"--data {name}" for name in self.data),
            *(f"--fix {name}" + ("" if value is None else f"={value:.15g}") for name, value in self.fix.items()),
        )


def changed(data: Mapping[str, Any], spec: ModelSpec, model: Model, folder: FilePath, changes: Changes) -> dict[str, Any]:
    """A description with everything changed in it but ``fix``.

    Args:
        data:     a description that is right
        spec:     the same, checked
        model:    what it describes
        folder:   what paths in it are relative to
        changes:  what to change

    Raises:
        ChangeError: if it has no such resonance, parameter or sample, or something cannot be changed
    """
    new = deepcopy(dict(data))
    gone = {_key(model, name) for name in changes.without}
    left = [wave for wave in model.waves if not gone & {resonance.name for resonance in wave.resonances}]
    if gone:
        _leave_out(new, spec, model, gone, coupling_names(left))
    resonances = {name: own for name, own in model.resonances.items() if name not in gone}
    known = Known(spec, replace(model, resonances=resonances), mixture_parameters(spec), coupling_names(left))
    about = ({*known.parameters, *known.parts}, resonances, known.couplings)
    for name in changes.free:
        free(new, known, full_name("--float", name, *about))
    for name, value in changes.set.items():
        set_value(new, known, full_name("--set", name, *about), value)
    if changes.data:
        _replace_data(new, folder, changes.data)
    return new


def _key(model: Model, name: str) -> str:
    """The resonance that is meant, in any spelling, or by its beginning."""
    found = _meant("--without", name, model.resonances)
    if found is None:
        raise ChangeError(
            f"--without {name!r}: the model has no such resonance", suggest(name, model.resonances) or "ctpwa check lists them"
        )
    return found


def _meant(option: str, name: str, known: Collection[str]) -> str | None:
    try:
        return meant(name, known)
    except SpecError as error:
        raise ChangeError(f"{option}: {error.what}", error.fix) from None


def full_name(option: str, name: str, parameters: Collection[str], resonances: Collection[str], couplings: Collection[str]) -> str:
    """The full name of a parameter or coupling that is spelled another way or only begun; others as they are.

    Args:
        option:      which names it
        name:        what it says
        parameters:  of the model
        resonances:  of the model
        couplings:   of the model
    """
    if name in parameters or name in couplings:
        return name
    owner, dot, part = name.rpartition(".")
    if dot and part not in _PARTS:
        found = _meant(option, owner, resonances)
    else:
        owner, part = (owner, part) if dot and part in _PARTS else (name, "")
        found = _meant(option, owner, couplings)
    return name if found is None else f"{found}.{part}" if part else found


def _leave_out(data: dict[str, Any], spec: ModelSpec, model: Model, gone: Collection[str], left: Sequence[str]) -> None:
    """Remove resonances, the chains that name them, and values of what no longer exists.

    Args:
        data:   the description, which is changed
        spec:   what it said before
        model:  what it described
        gone:   the resonances
        left:   couplings that stay
    """
    resonances = data.get("resonances") or {}
    for key in gone:
        resonances.pop(key, None)
    if data.get("chains"):
        data["chains"] = [chain for chain in data["chains"] if not {*gone} & set(_states(chain, model))]
    if not left:
        raise ChangeError(f"--without {' --without '.join(gone)} leaves no wave", "leave out less")
    for own in resonances.values():
        drop_names(own, "without", lambda text: normalise(text) in map(normalise, gone))
    names = {wave.name for wave in model.waves}
    couplings = {*coupling_names(model.waves), *names} - {*left, *(name for name in names if any(own.startswith(name) for own in left))}

    def is_gone(text: str) -> bool:
        owner = text.rpartition(".")[0].removesuffix(".delta")
        return text in couplings or owner in couplings or any(f"{text}.".startswith(f"{key}.") for key in gone)

    for section in ("couplings", "cp"):
        drop_names(data, section, is_gone)
    drop_names(data, "fractions", lambda text: is_gone(text) or {*couplings_of_share(text, model.waves)} <= couplings)
    if spec.fractions and data.get("fractions"):
        data["fractions"] = _rescaled(spec.fractions, data["fractions"])
    fit = data.get("fit") or {}
    for section in _OF_PARAMETERS:
        drop_names(fit, section, is_gone)
    reference = spec.fit.reference_wave or next(name for name in coupling_names(model.waves) if name not in spec.fit.ties)
    if is_gone(reference):
        _forget_reference(fit, reference, left)


def _rescaled(before: Mapping[str, ShareSpec], left: Mapping[str, Any]) -> dict[str, Any]:
    """Fractions in the same ratios that add up to what all of them did."""
    numbers = {name: share_of(before[name]) for name in left}
    remaining = sum(numbers.values())
    factor = sum(share_of(own) for own in before.values()) / remaining if remaining else 1.0
    return {name: {"fraction": factor * numbers[name], "phase": before[name].phase} for name in left}


def _forget_reference(fit: dict[str, Any], reference: str, left: Sequence[str]) -> None:
    """Without the reference wave another coupling is 1: parts of couplings mean something else then."""
    fit.pop("reference_wave", None)
    parts = [f"{name}.{part}" for name in left for own in PARTS.values() for part in own]
    why = f"--without leaves out the reference wave {reference!r}"
    refuse_relative(fit, parts, why, "choose another reference_wave in the model file")
    drop_names(fit, "start", lambda text: text in parts)
    drop_names(fit, "minos", lambda text: text.startswith(f"{left[0]}."))


def _states(chain: Any, model: Model) -> Iterator[str]:
    """The resonances that a chain names."""
    text = chain if isinstance(chain, str) else str(chain["decay"])
    for word in _TOKENS.split(text):
        bare = split_charge(word)[0]
        spelled = {normalise(one) for one in (word, bare, bare.removesuffix("~"))}
        yield from (key for key in model.resonances if {normalise(key), normalise(split_charge(key)[0])} & spelled)


def drop_names(data: dict[str, Any], section: str, is_gone: Callable[[str], bool]) -> None:
    """Names that no longer mean anything, from a text, a list or a mapping; what is empty then is removed."""
    value = data.get(section)
    if isinstance(value, str):
        value = [value]
    if isinstance(value, dict):
        left: Any = {name: own for name, own in value.items() if not is_gone(str(name))}
    elif isinstance(value, list):
        left = [name for name in value if not is_gone(str(name))]
    else:
        return
    if left:
        data[section] = left
    else:
        del data[section]


def _replace_data(data: dict[str, Any], folder: FilePath, files: Sequence[str]) -> None:
    """Other files of measured events; how to read them stays as it is."""
    sets = data.get("data_sets") or {}
    if data.get("samples"):
        data["samples"]["data"] = with_files(data["samples"].get("data"), [_seen_from(folder, file) for file in files])
        return
    if not sets:
        raise ChangeError(
            "--data: the model file has no samples", "add  samples: {data: data.root, phase_space: {generate: 500000}}  to it"
        )
    given: dict[str, list[str]] = {}
    for text in files:
        name, equals, file = text.partition("=")
        if not equals and len(sets) == 1:
            name, file = next(iter(sets)), text
        elif not equals or name not in sets:
            raise ChangeError(
                f"--data {text!r}: the model file has the data sets {', '.join(map(str, sets))}", "write NAME=FILE with one of them"
            )
        given.setdefault(name, []).append(_seen_from(folder, file))
    for name, own in given.items():
        sets[name]["data"] = with_files(sets[name].get("data"), own)


def with_files(sample: Any, files: list[str]) -> Any:
    """A sample of other files, which are read in the same way.

    Raises:
        ChangeError: if it cannot be said in which way
    """
    entries = sample if isinstance(sample, list) else [sample]
    one = entries[0] if len(entries) == 1 else {}
    if any(isinstance(entry, dict) for entry in entries) and len(entries) > 1:
        raise ChangeError("--data: 'data' is a list of samples that are read in different ways", "change the model file instead")
    for key in ("weight_file", "column_files"):
        if isinstance(one, dict) and one.get(key):
            raise ChangeError(f"--data: 'data' has {key}, which belong to the old file", "change the model file instead")
    return {**(one if isinstance(one, dict) else {}), "file": files}


def _seen_from(folder: FilePath, file: str) -> str:
    """A path of the command line as the model file would write it."""
    return file if os.path.isabs(file) else os.path.relpath(file, folder)
