"""What a configuration of TF-PWA says, checked: particles, decays and chains, each with its line."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path as FilePath
from typing import Any

from ctpwa.base.errors import ConfigError, Path, Problem, shortened
from ctpwa.base.trees import walk
from ctpwa.config.model_file import read_text
from ctpwa.config.source import Source
from ctpwa.decay.spin import LS, couplings
from ctpwa.interchange.tfpwa.models import OWN_KEYS

MOST_CHAINS = 500
MOST_PARTICLES = 500
PARTICLE_KEYS = {
    "J", "P", "Par", "C", "m0", "mass", "g0", "width", "spins", "model", "bw_l", "running_width", "float", "d", "params", "gauss_constr",
    "m_min", "m_max", "g_min", "g_max", "mass_min", "mass_max", "width_min", "width_max", "coef_head", "disable", "display", "polarization",
    "a", "b", "r",
}  # fmt: skip
DECAY_KEYS = {
    "model", "l_list", "ls_list", "p_break", "c_break", "has_barrier_factor", "has_bprime", "barrier_factor_norm", "d", "curve_style",
    "params_polar", "display",
}  # fmt: skip
NUMBERS = ("a", "b", "r", "m_min", "m_max", "g_min", "g_max", "mass_min", "mass_max", "width_min", "width_max")
DEFAULT_RADIUS = 3.0
SMALLEST_RADIUS, LARGEST_RADIUS, LARGEST_L, LARGE = 1e-3, 1e3, 20, 1e6


@dataclass(frozen=True)
class ParticleEntry:
    """A particle: doubled spin, parity, mass and width in GeV where given, all its keys and where it stands."""

    name: str
    two_J: int
    P: int | None
    mass: float | None
    width: float | None
    keys: Mapping[str, Any]
    path: Path

    @property
    def radius(self) -> float:
        """Barrier radius of its lineshape, GeV⁻¹."""
        return float(self.keys.get("d", DEFAULT_RADIUS))

    @property
    def model(self) -> str:
        """Name of its lineshape."""
        return str(self.keys.get("model", "default"))


@dataclass(frozen=True)
class DecayEntry:
    """A vertex: the mother and two daughters by name, all its keys and where it stands."""

    mother: str
    daughters: tuple[str, str]
    keys: Mapping[str, Any]
    path: Path

    @property
    def name(self) -> str:
        """As in names of parameters: ``A->R_BC.D``."""
        return f"{self.mother}->{self.daughters[0]}.{self.daughters[1]}"


@dataclass(frozen=True)
class Tree:
    """A decay of a chain, and those of its daughters."""

    decay: DecayEntry
    below: tuple[Tree | str, Tree | str]

    def walk(self) -> Iterator[Tree]:
        """All decays, mothers before daughters, first daughters first."""
        return walk(self, lambda own: own.below)


@dataclass
class Configuration:
    """A whole configuration."""

    source: Source
    folder: FilePath
    data: Mapping[str, Any]
    top: ParticleEntry
    finals: dict[str, ParticleEntry]
    particles: dict[str, ParticleEntry]
    chains: list[Tree]
    notes: list[str] = field(default_factory=list)

    def error(self, what: str, path: Path, fix: str) -> ConfigError:
        """An error at the line of a key."""
        return ConfigError(self.source.locate([Problem(what, path, fix)]))

    def number(self, value: Any, path: Path) -> float:
        """A finite number."""
        if not is_number(value):
            raise self.error(f"{shortened(repr(value), 60)} is not a number", path, "write a number")
        return float(value)

    def note(self, what: str, path: Path) -> None:
        """Something that was not imported, with its line."""
        (placed,) = self.source.locate([Problem(what, path, "")])
        self.notes.append(f"line {placed.location.split(':')[-2]}: {what}")


def read_configuration(path: str | os.PathLike[str]) -> Configuration:
    """Read a configuration, and the file of resonances that it includes.

    Raises:
        ConfigError: with line and column of what is wrong
    """
    file = FilePath(path)
    return _Reader(Source(read_text(file), str(file)), file.parent).read()


class _Reader:
    def __init__(self, source: Source, folder: FilePath) -> None:
        self.source, self.folder = source, folder

    def error(self, what: str, path: Path, fix: str) -> ConfigError:
        return ConfigError(self.source.locate([Problem(what, path, fix)]))

    def read(self) -> Configuration:
        data = self.source.data
        if not isinstance(data, dict) or not isinstance(data.get("decay"), dict) or not isinstance(data.get("particle"), dict):
            raise self.error("this is not a configuration of TF-PWA: it has no 'decay' and 'particle'", (), "give its config.yml")
        section = data["particle"]
        tops, finals = self._group("$top"), self._group("$finals")
        if len(tops) != 1:
            raise self.error(f"there are {len(tops)} top particles", ("particle", "$top"), "give one")
        (top,) = tops.values()
        included = self._include(section.get("$include"))
        self.candidates: dict[str, list[str]] = {}
        listed: dict[str, tuple[dict[str, Any], Path]] = {}
        for name, value in section.items():
            if str(name).startswith("$"):
                continue
            place: Path = ("particle", str(name))
            if isinstance(value, list):
                self.candidates[str(name)] = [str(item) for item in value]
            elif isinstance(value, dict):
                listed[str(name)] = ({**included.get(str(name), {}), **value}, place)
            else:
                raise self.error(f"{name!r} is {value!r}", place, "write its properties, or a list of resonances")
        for name, value in included.items():
            listed.setdefault(name, (value, ("particle", "$include")))
        if len(listed) > MOST_PARTICLES:
            raise self.error(f"there are {len(listed)} particles", ("particle",), f"keep them below {MOST_PARTICLES}")
        self.top, self.finals = top, finals
        self.listed = listed
        self.particles: dict[str, ParticleEntry] = {}
        self.decays = self._decays(data["decay"])
        chains = self._trees(top.name, ())
        if not chains:
            raise self.error("there is no decay chain", ("decay",), f"say what {top.name} decays to")
        for tree in chains:
            leaves = sorted(leaf for step in tree.walk() for leaf in step.below if isinstance(leaf, str))
            if leaves != sorted(finals):
                raise self.error(f"a chain ends in {' '.join(leaves)}", tree.decay.path, f"it must end in {' '.join(sorted(finals))}")
        return Configuration(self.source, self.folder, data, top, finals, self.particles, chains)

    def _include(self, value: Any) -> dict[str, dict[str, Any]]:
        names = [] if value is None else [value] if isinstance(value, str) else value
        found: dict[str, dict[str, Any]] = {}
        place: Path = ("particle", "$include")
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise self.error(f"$include is {value!r}", place, "write the name of a YAML file")
        for name in names:
            try:
                part = Source(read_text(self.folder / name), name).data
            except ConfigError as error:
                raise self.error(f"cannot read {name!r}: {error.problems[0].what}", place, "correct the path") from None
            if not isinstance(part, dict) or not all(isinstance(entry, dict) for entry in part.values()):
                raise self.error(f"{name!r} is not a list of resonances", place, "give a file of resonances and their properties")
            found |= {str(key): entry for key, entry in part.items()}
        return found

    def _group(self, key: str) -> dict[str, ParticleEntry]:
        value = self.source.data["particle"].get(key)
        if not isinstance(value, dict) or not value:
            raise self.error(f"'particle' has no {key}", ("particle",), f"add {key}: {{name: {{J: 1, P: -1, mass: …}}}}")
        return {str(name): self._particle(str(name), entry, ("particle", key, str(name))) for name, entry in value.items()}

    def _particle(self, name: str, value: Any, path: Path) -> ParticleEntry:
        if not isinstance(value, dict):
            raise self.error(f"{name!r} is {value!r}", path, "write its properties: J, P, mass")
        model = value.get("model")
        known = PARTICLE_KEYS | (OWN_KEYS.get(model, set()) if isinstance(model, str) else set())
        for key in value:
            if key not in known:
                raise self.error(
                    f"{key!r} of {name!r} cannot be imported", (*path, str(key)), "remove it if it does not change the amplitude"
                )
        keys = {str(key): entry for key, entry in value.items()}
        for key, low, high in (("d", SMALLEST_RADIUS, LARGEST_RADIUS), ("bw_l", 0, LARGEST_L), *((key, -LARGE, LARGE) for key in NUMBERS)):
            value = keys.get(key)
            if value is not None and not (is_number(value) and low <= value <= high):
                raise self.error(f"{key!r} of {name!r} is {shortened(repr(value), 60)}", (*path, key), "write a number")
        P = keys.get("P", keys.get("Par"))
        if P not in (1, -1, None):
            raise self.error(f"the parity of {name!r} is {P!r}", path, "write 1 or -1")
        mass, width = self._number(keys, ("mass", "m0"), path), self._number(keys, ("width", "g0"), path)
        return ParticleEntry(name, self._spin(keys.get("J"), name, path), P, mass, width, keys, path)

    def _spin(self, value: Any, name: str, path: Path) -> int:
        try:
            two_J = 2 * Fraction(str(value))
        except (ValueError, ZeroDivisionError):
            two_J = Fraction(-1)
        if two_J.denominator != 1 or not 0 <= two_J <= 20:
            raise self.error(f"J of {name!r} is {value!r}", path, "write 0, 1/2, 1, …")
        return int(two_J)

    def _number(self, keys: Mapping[str, Any], names: Sequence[str], path: Path) -> float | None:
        for name in names:
            value = keys.get(name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e6:
                raise self.error(f"{name!r} is {value!r}", (*path, name), "write a number in GeV")
            return float(value)
        return None

    def _decays(self, section: Mapping[Any, Any]) -> dict[str, list[DecayEntry]]:
        found: dict[str, list[DecayEntry]] = {}
        for mother, value in section.items():
            path: Path = ("decay", str(mother))
            if not isinstance(value, list) or not value:
                raise self.error(f"the decay of {mother!r} is {value!r}", path, "write [first, second], or a list of such lists")
            nested = isinstance(value[0], list)
            for index, entry in enumerate(value if nested else [value]):
                place = (*path, index) if nested else path
                if not isinstance(entry, list):
                    raise self.error(f"the decay of {mother!r} has {entry!r}", place, "write [first, second]")
                names = [str(item) for item in entry if not isinstance(item, dict)]
                keys = {str(key): own for item in entry if isinstance(item, dict) for key, own in item.items()}
                if len(names) != 2:
                    raise self.error(f"{mother!r} decays to {len(names)} particles", place, "ctpwa has vertices with two daughters")
                for key in keys:
                    if key not in DECAY_KEYS:
                        raise self.error(f"{key!r} of a decay cannot be imported", place, "remove it if it does not change the amplitude")
                self._check_keys(keys, place)
                found.setdefault(str(mother), []).append(DecayEntry(str(mother), (names[0], names[1]), keys, place))
        return found

    def _check_keys(self, keys: Mapping[str, Any], path: Path) -> None:
        """Values of keys of a decay that numbers are computed from."""
        if keys.get("d") is not None and not (is_number(keys["d"]) and SMALLEST_RADIUS <= keys["d"] <= LARGEST_RADIUS):
            raise self.error(f"d is {keys['d']!r}", path, "write a radius in GeV^-1")
        pairs = keys.get("ls_list")
        if pairs is not None and not (isinstance(pairs, list) and pairs and all(isinstance(p, list) and len(p) == 2 for p in pairs)):
            raise self.error(f"ls_list is {shortened(repr(pairs), 60)}", path, "write a list of pairs, such as [[0, 1], [2, 1]]")
        listed = keys.get("l_list") or []
        orbital = [*listed, *(pair[0] for pair in pairs or ())] if isinstance(listed, list) else [listed]
        for l in orbital:
            if not is_number(l) or not 0 <= l <= LARGEST_L or l != int(l):
                raise self.error(f"{shortened(repr(l), 60)} is not an l", path, f"write whole numbers up to {LARGEST_L}")

    def _trees(self, name: str, above: tuple[str, ...], slot: str | None = None) -> list[Tree]:
        """All chains that begin with a particle; ``slot`` is the name in 'decay' that it stands for."""
        if name in above:
            raise self.error(f"{name!r} decays into itself", ("decay", name), "correct the decays")
        decays = self.decays.get(name) or self.decays.get(slot or name) or []
        found: list[Tree] = []
        for decay in decays:
            first, second = (self._daughters(daughter, (*above, name), decay) for daughter in decay.daughters)
            for a in first:
                for b in second:
                    names = [part if isinstance(part, str) else part.decay.mother for part in (a, b)]
                    found.append(Tree(DecayEntry(name, (names[0], names[1]), decay.keys, decay.path), (a, b)))
                    if len(found) > MOST_CHAINS:
                        raise self.error(f"there are more than {MOST_CHAINS} chains", ("decay",), "remove some")
        return found

    def _daughters(self, name: str, above: tuple[str, ...], decay: DecayEntry) -> list[Tree | str]:
        if name in self.finals:
            return [name]
        found: list[Tree | str] = []
        for candidate in self.candidates.get(name, [name]):
            if candidate not in self.listed:
                raise self.error(f"there is no particle {candidate!r}", decay.path, "add it under 'particle'")
            value, path = self.listed[candidate]
            if value.get("disable"):
                continue
            if candidate not in self.particles:
                self.particles[candidate] = self._particle(candidate, value, path)
            trees = self._trees(candidate, above, name)
            if not trees:
                raise self.error(f"nothing says what {candidate!r} decays to", decay.path, f"add {name} under 'decay'")
            found += trees
        return found


def is_number(value: Any) -> bool:
    """Whether a value is a finite real number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def tf_ls(two_J: int, two_s1: int, two_s2: int, parity: int | None) -> list[LS]:
    """(L, S) of a vertex in the order of TF-PWA's parameters: by S, then L; ``parity`` is P·P1·P2, None if it may be violated."""
    return [
        LS(two_L // 2, Fraction(two_S, 2))
        for two_S in couplings(two_s1, two_s2)
        for two_L in couplings(two_J, two_S)
        if two_L % 2 == 0 and (parity is None or (-1) ** (two_L // 2) == parity)
    ]
