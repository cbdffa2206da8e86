"""The section ``constrains`` of TF-PWA, and what particles say about how they are fitted."""

from __future__ import annotations

import cmath
from collections.abc import Mapping, Sequence
from typing import Any

from ctpwa.base.errors import Path
from ctpwa.interchange.tfpwa.configuration import DEFAULT_RADIUS, Configuration, ParticleEntry, is_number
from ctpwa.interchange.tfpwa.models import FLATTES, OWN_KEYS, WITH_MASS

KEYS = {"particle", "decay", "fix_var", "free_var", "var_range", "var_equal", "gauss_constr", "from_trans"}
SHORT = {"m": "mass", "g": "width", "mass": "mass", "width": "width"}
REAL, IMAGINARY = "_total_0r", "_total_0i"


class Constraints:
    """What a configuration fixes, frees, limits, equates and constrains.

    Args:
        configuration:  the configuration
    """

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        section = configuration.data.get("constrains") or {}
        self._path: Path = ("constrains",)
        if not isinstance(section, dict):
            raise configuration.error(f"'constrains' is {section!r}", self._path, "write a mapping")
        self.section = {str(key): value for key, value in section.items() if value is not None}
        for key in self.section:
            if key not in KEYS:
                raise configuration.error(f"{key!r} of 'constrains' cannot be imported", (*self._path, key), "remove it")
        self.names: set[str] = set()
        self.extended = self.subtracted = False

    @property
    def radius(self) -> float:
        """Barrier radius of all vertices, GeV⁻¹."""
        decay = self.section.get("decay") or {}
        value = decay.get("decay_d") if isinstance(decay, dict) else None
        if value is None:
            return DEFAULT_RADIUS
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            raise self.configuration.error(f"decay_d is {value!r}", (*self._path, "decay", "decay_d"), "write a number in GeV^-1")
        return float(value)

    def floating(self, particle: ParticleEntry) -> list[str]:
        """Which of mass and width of a resonance are fitted."""
        given = particle.keys.get("float", "")
        couplings = OWN_KEYS.get(particle.model, set())
        letters = list(map(str, given)) if isinstance(given, list) else list(str(given))
        said = [letter for letter in letters if letter not in couplings]
        unknown = [letter for letter in said if letter not in ("m", "g")]
        if unknown:
            raise self.configuration.error(f"float of {particle.name!r} is {given!r}", (*particle.path, "float"), "write m, g or mg")
        if said and (particle.model not in WITH_MASS or ("g" in said and particle.model in FLATTES)):
            raise self.configuration.error(f"{particle.name!r} has no mass and width to fit", (*particle.path, "float"), "remove it")
        free = [self._parameter(name) for name in self._list("free_var")]
        related = self.section.get("from_trans") or {}
        found = [full for letter, full in (("m", "mass"), ("g", "width")) if letter in said or (particle.name, full) in free]
        return [full for full in found if f"{particle.name}_{full}" not in related]

    def fit(self, firsts: Mapping[str, tuple[str, complex]], titles: Mapping[str, str], chains: Sequence[str]) -> dict[str, Any]:
        """The section ``fit`` of a model file.

        Args:
            firsts:  chain → the wave that its total is the coupling of, and the factor between both
            titles:  names of resonances in the model file
            chains:  all chains, in order
        """
        fit: dict[str, Any] = {"extended": True} if self.extended else {}
        fit |= {"subtraction": "plain"} if self.subtracted else {}
        reference = self._reference(firsts, chains)
        if reference is not None:
            fit["reference_wave"] = reference
        limits, constraints = self._of_particles(titles)
        relations: dict[str, str] = {}
        fixed: dict[str, float] = {}
        for name, value in self._mapping("var_range").items():
            limits[self._full(name, firsts, titles, ("var_range", name))] = self._limits(value, ("var_range", name))
        for name, value in self._mapping("gauss_constr").items():
            pair = (
                [float(number) for number in value] if isinstance(value, list) and len(value) == 2 and all(map(is_number, value)) else None
            )
            if pair is None:
                raise self._error(f"{name!r} is {value!r}", ("gauss_constr", name), "write [mean, sigma]")
            constraints[self._full(name, firsts, titles, ("gauss_constr", name))] = pair
        for index, names in enumerate(self._list("var_equal")):
            relations |= self._equal(names, firsts, titles, ("var_equal", index))
        for name, value in self._mapping("fix_var").items():
            fixed |= self._fixed(name, value, firsts, titles, chains)
        for name, value in self._mapping("from_trans").items():
            relations[self._full(name, firsts, titles, ("from_trans", name))] = self._linear(name, value, firsts, titles)
        polar = [name for name in (*relations, *fixed, *limits) if name.endswith((".abs", ".phase"))]
        fit |= {"representation": "polar"} if polar else {}
        found = {"limits": limits, "constraints": constraints, "relations": relations, "fix": fixed}
        return fit | {key: value for key, value in found.items() if value}

    def _reference(self, firsts: Mapping[str, tuple[str, complex]], chains: Sequence[str]) -> str | None:
        """TF-PWA fixes the total of one chain."""
        decay = self.section.get("decay")
        index = decay.get("fix_chain_idx", 0) if isinstance(decay, dict) else 0
        for key in decay if isinstance(decay, dict) else ():
            if key not in ("fix_chain_idx", "fix_chain_val", "decay_d"):
                raise self._error(f"{key!r} cannot be imported", ("decay", str(key)), "remove it")
        if index is None:
            return None
        if not isinstance(index, int) or not 0 <= index < len(chains):
            raise self._error(f"fix_chain_idx is {index!r}", ("decay", "fix_chain_idx"), f"write a number from 0 to {len(chains) - 1}")
        return firsts[chains[index]][0]

    def _of_particles(self, titles: Mapping[str, str]) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
        """Limits and Gaussian constraints that stand at particles; those of fixed parameters mean nothing."""
        limits: dict[str, list[float]] = {}
        constraints: dict[str, list[float]] = {}
        equal = self.section.get("particle")
        if equal:
            raise self._error("'particle' of 'constrains' cannot be imported", ("particle",), "equate parameters with var_equal")
        for particle in self.configuration.particles.values():
            floating = self.floating(particle)
            for letter, full in (("m", "mass"), ("g", "width")):
                name = f"{titles[particle.name]}.{full}"
                ends = [particle.keys.get(f"{letter}_{end}", particle.keys.get(f"{full}_{end}")) for end in ("min", "max")]
                own = particle.keys.get("params")
                given = own.get(f"{full}_range") if isinstance(own, dict) else None
                if given is not None:
                    ends = list(given) if isinstance(given, list) and len(given) == 2 and all(map(is_number, given)) else [None, None]
                if None not in ends and full in floating and float(ends[0]) < float(ends[1]):
                    limits[name] = [float(ends[0]), float(ends[1])]
                sigma = self._sigma(particle, full)
                value = particle.mass if full == "mass" else particle.width
                if sigma is not None and value is not None and full in floating:
                    constraints[name] = [value, sigma]
                elif sigma is not None:
                    self.configuration.note(
                        f"the Gaussian constraint of {name!r} means nothing: it does not float", (*particle.path, "gauss_constr")
                    )
        return limits, constraints

    def _sigma(self, particle: ParticleEntry, full: str) -> float | None:
        given = particle.keys.get("gauss_constr")
        if given is None:
            return None
        if not isinstance(given, dict) or not set(given) <= set(SHORT):
            raise self.configuration.error(f"gauss_constr is {given!r}", (*particle.path, "gauss_constr"), "write {m: sigma, g: sigma}")
        values = [value for key, value in given.items() if SHORT[key] == full]
        return self.configuration.number(values[0], (*particle.path, "gauss_constr")) if values else None

    def _parameter(self, name: Any) -> tuple[str, str]:
        """Resonance and parameter of a name such as R_BC_mass."""
        text = str(name)
        for full in ("mass", "width"):
            owner = text.removesuffix(f"_{full}")
            if owner != text and owner in self.configuration.particles:
                self.names.add(text)
                return owner, full
        return text, ""

    def _full(self, name: str, firsts: Mapping[str, tuple[str, complex]], titles: Mapping[str, str], path: Path) -> str:
        """The name of a parameter in the model file."""
        owner, full = self._parameter(name)
        if full:
            return f"{titles[owner]}.{full}"
        for ending, part in ((REAL, "abs"), (IMAGINARY, "phase")):
            chain = name.removesuffix(ending)
            if chain != name and chain in firsts:
                return f"{firsts[chain][0]}.{part}"
        raise self._error(f"the parameter {name!r} cannot be imported", path, "masses, widths and totals of chains can")

    def _equal(self, names: Any, firsts: Mapping[str, tuple[str, complex]], titles: Mapping[str, str], path: Path) -> dict[str, str]:
        if not isinstance(names, list) or len(names) < 2 or not all(isinstance(name, str) for name in names):
            raise self._error(f"{names!r} is not a list of parameters", path, "write [name, name]")
        first, *others = names
        full = self._full(first, firsts, titles, path)
        relations = {}
        for name in others:
            own = self._full(name, firsts, titles, path)
            if own.rpartition(".")[2] != full.rpartition(".")[2]:
                raise self._error(f"{first!r} and {name!r} are of different kinds", path, "equate masses, widths, magnitudes or phases")
            relations[own] = full
            if own.endswith((".abs", ".phase")):
                ratio = firsts[name.rpartition("_total_")[0]][1] / firsts[first.rpartition("_total_")[0]][1]
                relations[own] = f"{abs(ratio)!r} * {full}" if own.endswith(".abs") else f"{full} + {cmath.phase(ratio)!r}"
        return relations

    def _fixed(
        self, name: str, value: Any, firsts: Mapping[str, tuple[str, complex]], titles: Mapping[str, str], chains: Sequence[str]
    ) -> dict[str, float]:
        full = self._full(name, firsts, titles, ("fix_var", name))
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._error(f"{name!r} is {value!r}", ("fix_var", name), "write a number")
        if not full.endswith((".abs", ".phase")):
            return {full: float(value)}
        own = firsts[name.rpartition("_total_")[0]][1]
        decay = self.section.get("decay")
        index = decay.get("fix_chain_idx", 0) if isinstance(decay, dict) else 0
        unit = decay.get("fix_chain_val", 1) if isinstance(decay, dict) else 1
        reference = firsts[chains[index]][1] * (unit or 1)
        ratio = own / reference  # the reference wave has the coupling 1 in a fit
        return {full: float(value) * abs(ratio)} if full.endswith(".abs") else {full: float(value) + cmath.phase(ratio)}

    def _linear(self, name: str, value: Any, firsts: Mapping[str, tuple[str, complex]], titles: Mapping[str, str]) -> str:
        path: Path = ("from_trans", name)
        if not isinstance(value, dict) or value.get("model") != "linear" or not isinstance(value.get("x"), str):
            raise self._error(
                f"{name!r}: only {{model: linear, x, k, b}} can be imported", path, "write it as a linear function of one parameter"
            )
        k, b = (value.get(key, default) for key, default in (("k", 1.0), ("b", 0.0)))
        if not isinstance(k, int | float) or not isinstance(b, int | float):
            raise self._error(f"{name!r}: k is {k!r} and b is {b!r}", path, "write numbers")
        return f"{float(k)!r} * {self._full(value['x'], firsts, titles, path)} + {float(b)!r}"

    def _limits(self, value: Any, path: Path) -> list[float]:
        ends = value if isinstance(value, list) and len(value) == 2 else None
        if ends is None or any(end is not None and not isinstance(end, int | float) for end in ends) or None in ends:
            raise self._error(f"{value!r} is not a range", path, "write [lower, upper]; ctpwa has no limits on one side")
        return [float(end) for end in ends]

    def _mapping(self, key: str) -> dict[str, Any]:
        value = self.section.get(key) or {}
        if not isinstance(value, dict):
            raise self._error(f"{key!r} is {value!r}", (key,), "write a mapping")
        return {str(name): own for name, own in value.items()}

    def _list(self, key: str) -> list[Any]:
        value = self.section.get(key) or []
        if not isinstance(value, list):
            raise self._error(f"{key!r} is {value!r}", (key,), "write a list")
        return value

    def _error(self, what: str, path: Path, fix: str) -> Exception:
        return self.configuration.error(what, ("constrains", *path), fix)
