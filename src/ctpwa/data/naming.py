"""Which columns of a file belong to which particle: names in common use, or those the user gives.

A four-momentum is four columns, a stem with a component such as ``kp_px`` or ``px_kp``, or one column with four numbers such as ``kp``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from ctpwa.base.errors import DataError, suggest
from ctpwa.base.words import counted
from ctpwa.data.columns import FINAL_STATE, Column, ColumnKind, EventFile, short
from ctpwa.data.event_column import EventColumn
from ctpwa.decay.chain import Decay
from ctpwa.decay.particle import Particle
from ctpwa.decay.pdg import normalise

MomentaNames = Mapping[str, str | Sequence[str]]

# E, px, py, pz as they are called; upper and lower case do not count
COMPONENTS = (
    ("e", "px", "py", "pz"),
    ("pe", "px", "py", "pz"),
    ("en", "px", "py", "pz"),
    ("energy", "px", "py", "pz"),
    ("p_e", "p_x", "p_y", "p_z"),
    ("p0", "p1", "p2", "p3"),
)
SEPARATORS = ("_", ".", "/", "")
WHOLE = ("{}", "{}_p4", "{}_p4_kin", "{}p4", "p4_{}", "p4{}", "{}.p4", "{}_lv", "lv_{}", "p_{}")  # one column with four numbers
WEIGHTS = ("weight", "weights")
LISTED = 40  # columns that a message names

CHARGES = {"+": ("p", "plus", "_p", "_plus", "+"), "-": ("m", "minus", "_m", "_minus", "-"), "0": ("0", "_0", "zero", "z")}
LONG_NAMES = {
    "p": ("proton", "prot"),
    "n": ("neutron",),
    "k": ("kaon",),
    "pi": ("pion",),
    "mu": ("muon",),
    "e": ("electron", "ele"),
    "gamma": ("photon", "gam", "g"),
    "lambda": ("lam",),
}


@dataclass(frozen=True)
class Place:
    """Where a four-momentum stands: four columns E, px, py, pz, or one that holds all four."""

    columns: tuple[str, ...]

    def __str__(self) -> str:
        return self.columns[0] if len(self.columns) == 1 else f"({', '.join(self.columns)})"


def find_momenta(file: EventFile, decay: Decay, given: MomentaNames, order: Sequence[int]) -> dict[str, Place]:
    """The place of every final particle.

    Args:
        file:   where to look
        decay:  the final particles
        given:  what the user gives: particle → stem, column, or four columns
        order:  where E, px, py and pz are among four numbers or four columns that the user lists
    """
    for name in given:
        if name not in decay.labels:
            raise DataError(f"momenta: {name!r} is not a final particle of {decay}\n fix: {suggest(name, decay.labels)}")
    listed = _amptools_places(file, decay) if not given else {}
    if listed:
        return listed
    stems = stems_of_particles(decay)
    places = {
        label: _given_place(file, label, given[label], order) if label in given else _guessed_place(file, label, stems[label])
        for label in decay.labels
    }
    _refuse_shared(file, places)
    _refuse_unequal(file, places)
    return places


def find_weight(file: EventFile, given: str | bool | None) -> str | None:
    """The column of the weights; None if there is none. ``False`` means that a column ``weight`` is not used.

    A column with such a name is used or refused, never ignored.
    """
    if given is False:
        return None
    if isinstance(given, str):
        column = file.column(given)
        if column is None:
            raise DataError(f"{file.place}: no {file.word} {given!r} for the weights\n fix: {_advice(file, given, ColumnKind.NUMBER)}")
        return _weight_column(file, column)
    if given is not None:
        raise DataError(f"weight is {given!r}\n fix: name the {file.word} of the weights, or say false to use none")
    found = [column for column in file.columns if column.name.casefold() in WEIGHTS]
    inside = [column for column in file.columns if re.split("[./]", column.name.casefold())[-1] in WEIGHTS]
    if len(found) > 1 or (not found and inside):
        names = " or ".join(repr(column.name) for column in (found or inside)[:LISTED])
        raise DataError(f"{file.place}: the weights could be {names}\n fix: say which, with 'weight', or weight: false to use none")
    return _weight_column(file, found[0]) if found else None


def _amptools_places(file: EventFile, decay: Decay) -> dict[str, Place]:
    """Places in a tree of AmpTools, whose particles have numbers: the recoil, then the final particles in their order, or these alone."""
    n = len(file.of_stem(FINAL_STATE))
    if n == 0:
        return {}
    recoils = n - len(decay.labels)
    if recoils not in (0, 1):
        example = f"{decay.labels[0]}: {FINAL_STATE}[1]"
        raise DataError(
            f"{file.place}: {n} particles for {counted(len(decay.labels), 'final particle')} of {decay} and a recoil\n"
            f" fix: say which are which: momenta: {{{example}, …}}, counted from 0"
        )
    quadruples = [tuple(f"{part}_{FINAL_STATE}[{recoils + i}]" for part in ("E", "Px", "Py", "Pz")) for i in range(len(decay.labels))]
    return {label: Place(columns) for label, columns in zip(decay.labels, quadruples, strict=True)}


def find_column(file: EventFile, column: EventColumn, names: Sequence[str]) -> tuple[str, ...]:
    """The columns of an event column, or why they cannot be used. A four-momentum may be called as those of particles are."""
    if column.size == 4 and (len(names) == 1 or (tuple(names) == column.parts and file.column(names[0]) is None)):
        found = _places(file, [names[0]] if len(names) == 1 else [column.name], exact=len(names) == 1)
        if len(found) > 1:
            choices = " or ".join(map(str, found[:LISTED]))
            raise DataError(
                f"{file.place}: the event column {column.name!r} could be {choices}\n fix: say which: columns: {{{column.name}: …}}"
            )
        if found:
            return found[0].columns
    return _numbers(file, column.name, names)


def _numbers(file: EventFile, wanted: str, names: Sequence[str]) -> tuple[str, ...]:
    """The columns of numbers, or why they cannot be used."""
    for name in names:
        column = file.column(name)
        if column is None:
            own = f"say  columns: {{{wanted}: …}}  with its {file.word} or a number"
            near = _advice(file, name, ColumnKind.NUMBER) if file.of_kind(ColumnKind.NUMBER) else ""
            if " " in wanted:  # not a column of the model
                raise DataError(f"{file.place}: no {file.word} {name!r} for the {wanted}\n fix: {near or 'it has no numbers but momenta'}")
            advice = f"{near} Or {own}" if near else own
            raise DataError(f"{file.place}: no {file.word} {name!r} for the event column {wanted!r}\n fix: {advice}")
        if column.kind is not ColumnKind.NUMBER:
            raise DataError(
                f"{file.place}: {file.word} {name!r} is {_described(column)}, not the event column {wanted!r}\n"
                " fix: write one real number per event there; a vector has one for each component"
            )
    return tuple(names)


def _weight_column(file: EventFile, column: Column) -> str:
    if column.kind is not ColumnKind.NUMBER:
        raise DataError(
            f"{file.place}: {file.word} {column.name!r} is {_described(column)}, no weight\n"
            f" fix: write one real number per event there, or say weight: … to name another {file.word}, or weight: false to use none"
        )
    return column.name


def refuse_two_of_a_name(file: EventFile, used: Sequence[str]) -> None:
    """Refuse a column if there is another of the same name: it is unclear which is meant."""
    names = [column.name for column in file.columns]
    for name in used:
        if names.count(name) > 1:
            raise DataError(f"{file.place}: {names.count(name)} {_plural(file)} are called {name!r}\n fix: give them different names")


def written_stems(labels: Sequence[str]) -> dict[str, str]:
    """Names under which momenta are written: plain letters that ``find_momenta`` knows, or the labels where these would clash."""
    plain = {label: _canonical(label) for label in labels}
    distinct = len({stem.casefold() for stem in plain.values()} | set(WEIGHTS)) == len(labels) + len(WEIGHTS)
    return plain if distinct else {label: label for label in labels}


def stems_of_particles(decay: Decay) -> dict[str, tuple[str, ...]]:
    """What each final particle may be called; a name that two of them could have belongs to neither."""
    stems = {
        label: {stem.casefold() for stem in _stems(label, particle, decay)}
        for label, particle in zip(decay.labels, decay.final, strict=True)
    }
    own: dict[str, tuple[str, ...]] = {}
    for label, mine in stems.items():
        others = set().union(*(theirs for other, theirs in stems.items() if other != label))
        own[label] = (label, *sorted(mine - others))
    return own


# names of particles


def _stems(label: str, particle: Particle, decay: Decay) -> Iterator[str]:
    """All names in use for a particle, as ``kp``, ``k_plus``, ``kaonplus`` for ``K+``."""
    name, index = _split_index(label)
    yield label
    yield _canonical(label)
    alone = sum(other.name == particle.name for other in decay.final) == 1
    if normalise(name) != normalise(particle.name) and not alone:  # identical particles that only their own names tell apart
        return
    indices = (index, f"_{index}") if index else ("",)
    sign = {1: "+", -1: "-"}.get(particle.charge, "0" if particle.charge == 0 else "")
    for bare in _bare_names(particle.name):
        charged = [bare + ending for ending in CHARGES.get(sign, ())]
        yield from (stem + ending for stem in (bare, *charged) for ending in indices)
    if particle.name == "p~":  # whose name has no sign: also pm, proton_minus
        yield from (bare + sign + ending for bare in ("p", *LONG_NAMES["p"]) for sign in CHARGES["-"] for ending in indices)


def _split_index(label: str) -> tuple[str, str]:
    """``pi+_2`` into ``pi+`` and ``2``."""
    start, _, end = label.rpartition("_")
    return (start, end) if start and end.isdigit() else (label, "")


def _bare_names(name: str) -> Iterator[str]:
    """Names without charge: ``K``, ``kaon``; ``Lambdabar``, ``antiLambda``; ``etaprime``, ``etap``."""
    text = re.sub(r"\(\d{3,4}\)|\(\dS\)", "", name)
    anti = "~" in text
    core = text.replace("~", "").rstrip("+-0").replace("(", "").replace(")", "").replace("/", "")
    spellings = {core.replace("'", "prime"), core.replace("'", "p"), core} if "'" in core else {core}
    spellings = {variant for spelling in spellings for variant in (spelling, spelling.replace("*", "st"), spelling.replace("*", "star"))}
    spellings |= {long for spelling in tuple(spellings) for long in LONG_NAMES.get(spelling.casefold(), ())}
    for spelling in sorted(spellings):
        if not anti:
            yield spelling
            continue
        yield from (spelling + ending for ending in ("bar", "_bar", "~", "b"))
        yield from (start + spelling for start in ("anti", "anti_"))


def _canonical(label: str) -> str:
    """A label in letters, digits and underscores: ``K+`` as ``Kp``, ``p~`` as ``pbar``."""
    text = re.sub(r"\(\d{3,4}\)|\(\dS\)", "", label)
    for sign, word in (("+", "p"), ("-", "m"), ("~", "bar"), ("'", "prime"), ("*", "st")):
        text = text.replace(sign, word)
    return re.sub(r"\W", "", text) or label


# places of momenta


def _given_place(file: EventFile, label: str, given: str | Sequence[str], order: Sequence[int]) -> Place:
    if not isinstance(given, str):
        names = list(given)
        if len(names) != 4:
            raise DataError(f"momenta of {label!r}: {len(names)} {file.word} names instead of four\n fix: list E, px, py, pz")
        for name in names:
            column = file.column(name)
            if column is None:
                raise DataError(f"{file.place}: no {file.word} {name!r} for {label!r}\n fix: {_advice(file, name, ColumnKind.NUMBER)}")
            if column.kind is not ColumnKind.NUMBER:
                raise DataError(f"{file.place}: {file.word} {name!r} is {_described(column)}\n fix: list four {_plural(file)} of numbers")
        return Place(tuple(names[position] for position in order))
    found = _places(file, [given], exact=True)
    if len(found) > 1:
        raise _ambiguous(file, label, found)
    if found:
        return found[0]
    column = file.column(given)
    raise _not_found(file, label, [given]) if column is None else _no_momentum(file, label, column)


def _guessed_place(file: EventFile, label: str, stems: Sequence[str]) -> Place:
    found = _places(file, stems[:1], exact=True)
    found += [place for place in _places(file, stems[1:], exact=False) if place not in found]
    if len(found) > 1:
        raise _ambiguous(file, label, found)
    if not found:
        others = (column for column in file.columns if column.kind is ColumnKind.OTHER and column.name.casefold() in {label, *stems})
        column = next(others, None)
        raise _not_found(file, label, stems) if column is None else _no_momentum(file, label, column)
    return found[0]


def _places(file: EventFile, stems: Sequence[str], exact: bool) -> list[Place]:
    """All four-momenta with one of these stems; ``exact``: the stem is spelled like this."""
    numbers, wholes = _by_folded_name(file.of_kind(ColumnKind.NUMBER)), _by_folded_name(file.of_kind(ColumnKind.FOUR, ColumnKind.VECTOR))
    found: dict[Place, None] = {}
    for stem in stems:
        for template in ("{}",) if exact else WHOLE:
            for column in wholes.get(template.format(stem).casefold(), ()):
                if not exact or stem in column:
                    found[Place((column,))] = None
        for quadruple in _quadruples(stem):
            candidates = [[name for name in numbers.get(part, ()) if not exact or stem in name] for part in quadruple]
            for columns in product(*candidates):
                found[Place(columns)] = None
    return list(found)


def _quadruples(stem: str) -> Iterator[tuple[str, ...]]:
    """Folded names of E, px, py, pz that a stem may have."""
    for words in COMPONENTS:
        for separator in SEPARATORS:
            yield tuple(f"{stem}{separator}{word}".casefold() for word in words)
            yield tuple(f"{word}{separator}{stem}".casefold() for word in words)


def _by_folded_name(names: Sequence[str]) -> dict[str, list[str]]:
    folded: dict[str, list[str]] = {}
    for name in names:
        folded.setdefault(name.casefold(), []).append(name)
    return folded


def _known_stems(file: EventFile) -> list[str]:
    """Stems of all four-momenta in a file, for advice."""
    stems = dict.fromkeys(file.of_kind(ColumnKind.FOUR, ColumnKind.VECTOR))
    for name in file.of_kind(ColumnKind.NUMBER):
        for start, end in ((r"(.+?)[_./]?", ""), ("", r"[_./]?(.+)")):
            match = re.fullmatch(f"{start}p_?x{end}", name, re.IGNORECASE)
            if match and _places(file, [match[1]], exact=True):
                stems[match[1]] = None
    return list(stems)


def _refuse_shared(file: EventFile, places: Mapping[str, Place]) -> None:
    """Two particles with the same momentum are a mistake."""
    owner: dict[str, str] = {}
    for label, place in places.items():
        for column in place.columns:
            if column in owner:
                raise DataError(
                    f"{file.place}: {file.word} {column!r} would be used for {owner[column]!r} and for {label!r}\n"
                    f" fix: say where each is, with 'momenta'"
                )
            owner[column] = label


def _refuse_unequal(file: EventFile, places: Mapping[str, Place]) -> None:
    lengths = {name: column.n_events for place in places.values() for name in place.columns if (column := file.column(name)) is not None}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} {number}" for name, number in lengths.items())
        raise DataError(f"{file.place}: different numbers of events: {listed}\n fix: give every particle the same number of events")


# messages


def _no_momentum(file: EventFile, label: str, column: Column) -> DataError:
    return DataError(
        f"{file.place}: {file.word} {column.name!r} for {label!r} is {_described(column)}, not a four-momentum\n"
        " fix: give four numbers E, px, py, pz, a TLorentzVector or a PxPyPzEVector for every event"
    )


def _not_found(file: EventFile, label: str, stems: Sequence[str]) -> DataError:
    partial = _partial(file, stems)
    if partial:
        return DataError(
            f"{file.place}: no energy of {label!r} to go with {partial}\n fix: give all four: momenta: {{{label}: [E, px, py, pz]}}"
        )
    names = [column.name for column in file.columns]
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    listed = f"{_listed(names)}{more}" if names else "none"
    known = _known_stems(file)
    near = [suggest(stem, known) for stem in stems] if known else []
    hint = next((text for text in near if text.startswith("did you mean")), "")
    hint = hint or (f"four-momenta in it: {_listed(known)}." if known else "")
    what = f"no four-momentum of {label!r}" + (f" called {stems[0]!r}" if len(stems) == 1 and stems[0] != label else "")
    four = _likely_four(file, stems[0]) if len(stems) == 1 else []
    hint = "" if four else hint
    advice = f"say where it is: momenta: {{{label}: {f'[{_listed(four)}]' if four else '…'}}}"
    return DataError(f"{file.place}: {what}; its {_plural(file)}: {listed}\n fix: {advice}; {hint}".rstrip("; "))


def _likely_four(file: EventFile, stem: str) -> list[str]:
    """Columns that begin with a stem and could be E, px, py, pz under names that are not known, such as ``kp_ener``, ``kp_x``."""
    ends = {name: name.removeprefix(stem).casefold() for name in file.of_kind(ColumnKind.NUMBER) if name.startswith(stem)}
    parts = ("(e[a-z]*|t|0)", "x", "y", "z")
    candidates = [[name for name, end in ends.items() if re.fullmatch(f"[_.]?p?_?{part}", end)] for part in parts]
    return [own[0] for own in candidates] if all(len(own) == 1 for own in candidates) else []


def _partial(file: EventFile, stems: Sequence[str]) -> str:
    """px, py and pz without an energy."""
    numbers = _by_folded_name(file.of_kind(ColumnKind.NUMBER))
    for stem in stems:
        for _, *three in _quadruples(stem):
            if all(part in numbers for part in three):
                return ", ".join(numbers[part][0] for part in three)
    return ""


def _ambiguous(file: EventFile, label: str, found: Sequence[Place]) -> DataError:
    choices = " or ".join(map(str, found[:LISTED]))
    return DataError(f"{file.place}: the momentum of {label!r} could be {choices}\n fix: say which: momenta: {{{label}: …}}")


def _advice(file: EventFile, name: str, kind: ColumnKind) -> str:
    near = suggest(name, file.of_kind(kind))
    return near or f"choose one of its {_plural(file)}: {_listed(file.of_kind(kind))}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(short(name if name.isprintable() else repr(name), 80) for name in names[:LISTED])


def _described(column: Column) -> str:
    detail = short(column.detail)
    if column.kind is ColumnKind.OTHER and detail:
        return detail
    return f"{column.kind.value} ({detail})" if detail else column.kind.value


def _plural(file: EventFile) -> str:
    return file.word + ("es" if file.word.endswith("ch") else "s")
