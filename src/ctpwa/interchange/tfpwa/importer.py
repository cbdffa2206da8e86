"""From a configuration of TF-PWA to a model file."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

from ctpwa.base.errors import ConfigError, Path
from ctpwa.config.read import load_model
from ctpwa.decay.helicity_couplings import to_ls
from ctpwa.decay.pdg import ParticleTable
from ctpwa.decay.spin import LS, format_spin
from ctpwa.interchange.errors import InterchangeError
from ctpwa.interchange.model_file import ImportedModel
from ctpwa.interchange.particles import spin_state
from ctpwa.interchange.tfpwa.configuration import Configuration, DecayEntry, ParticleEntry, Tree, read_configuration, tf_ls
from ctpwa.interchange.tfpwa.constraints import Constraints
from ctpwa.interchange.tfpwa.lineshapes import Lineshapes
from ctpwa.interchange.tfpwa.parameters import Values, read_parameters
from ctpwa.interchange.tfpwa.samples import samples_of
from ctpwa.kinematics.two_body import barrier_coefficients
from ctpwa.model.model import Model

LARGEST_MASS = 1e6  # GeV
SAFE_Q0 = 0.0501  # GeV; break-up momenta below are continued in ctpwa
IGNORED = {"plot": "how figures look", "decay_chain": "options of chains"}


def read_tfpwa(path: str | os.PathLike[str], parameters: str | os.PathLike[str] | Mapping[str, float] | None = None) -> ImportedModel:
    """Import a configuration of TF-PWA.

    Args:
        path:        its config.yml
        parameters:  values of its parameters: a final_params.json, or by name; couplings are 1 without them

    Raises:
        ConfigError: with file, line and column of what cannot be imported
    """
    given = {} if parameters is None else parameters if isinstance(parameters, Mapping) else read_parameters(parameters)
    return _Importer(read_configuration(path), Values(given), bool(given)).imported()


class _Importer:
    def __init__(self, configuration: Configuration, values: Values, has_values: bool) -> None:
        self.configuration, self.values, self.has_values = configuration, values, has_values
        self.constraints = Constraints(configuration)

    def imported(self) -> ImportedModel:
        configuration = self.configuration
        for key in configuration.data:
            if key in IGNORED and configuration.data[key]:
                configuration.note(f"{key!r} is not imported: {IGNORED[key]}", (str(key),))
            elif key not in ("data", "decay", "particle", "constrains", *IGNORED):
                raise configuration.error(f"{key!r} cannot be imported", (str(key),), "remove it if it does not change the amplitude")
        top = configuration.top
        entries, couplings, totals = self._chains()
        content: dict[str, Any] = {
            "decay": f"{self._names[top.name]} -> " + " ".join(self._label(name) for name in configuration.finals),
            "weak": bool(self._weak(top.name)),
            "tie_conjugates": False,
            **self._polarisation(),
            "particles": {self._names[p.name]: self._particle(p) for p in (top, *configuration.finals.values())},
            "resonances": self._resonances(),
            "chains": entries,
        }
        model = self._loaded(content)
        waves = [wave.name for wave in model.waves]
        content["couplings"] = {name: [c.real, c.imag] for name, c in zip(waves, couplings, strict=True)}
        firsts = {chain: (waves[index], couplings[index] / value) for chain, (index, value) in totals.items()}
        content |= samples_of(configuration, self.constraints)
        fit = self.constraints.fit(firsts, {p: self._titles[p] for p in configuration.particles}, list(totals))
        if fit:
            content["fit"] = fit
        if not self.has_values:
            configuration.notes.append("no parameters were given: all couplings of TF-PWA are taken to be 1")
        unused = [name for name in self.values.unused if name not in self.constraints.names]
        if unused:
            configuration.notes.append(f"parameters that nothing uses: {', '.join(unused[:10])}{' …' if len(unused) > 10 else ''}")
        self._loaded(content)
        return ImportedModel(os.path.basename(configuration.source.name), content, tuple(configuration.notes))

    def _loaded(self, content: Mapping[str, Any]) -> Model:
        try:
            return load_model(content)
        except ConfigError as error:
            what = f"what was imported is not a model: {error}"
            raise InterchangeError(what, self.configuration.source.name, "change the configuration") from None

    @cached_property
    def _names(self) -> dict[str, str]:
        """Names of top and final particles; those of the PDG would bring its quantum numbers."""
        table = ParticleTable()
        names = [self.configuration.top.name, *self.configuration.finals]
        return {name: f"{name}_own" if table.find(name) is not None else name for name in names}

    def _label(self, name: str) -> str:
        return name if self._names[name] == name else f"{name}:{self._names[name]}"

    @cached_property
    def _titles(self) -> dict[str, str]:
        """Names of resonances."""
        table, titles = ParticleTable(), {}
        for name in self.configuration.particles:
            known = any(table.find(name + charge) is not None for charge in ("", "0", "+", "-"))
            titles[name] = f"{name}_own" if known or name in self.configuration.finals else name
            if titles[name] != name:
                self.configuration.notes.append(f"{name!r} is called {titles[name]!r}: the PDG has a particle of that name")
        return titles

    def _particle(self, particle: ParticleEntry) -> dict[str, Any]:
        mass = self._mass(particle)
        if mass is None:
            raise self.configuration.error(f"{particle.name!r} has no mass", particle.path, "add mass: … (TF-PWA takes it from the data)")
        return {"JP": _jp(particle), "mass": mass, "charge": 0}

    def _mass(self, particle: ParticleEntry) -> float | None:
        given = self.values.real(f"{particle.name}_mass")
        if given is not None and not 0 <= given < LARGEST_MASS:
            raise self.configuration.error(
                f"the mass of {particle.name!r} is {given!r} in the parameters", particle.path, "correct it, in GeV"
            )
        return particle.mass if given is None else given

    def _find(self, name: str) -> ParticleEntry:
        if name == self.configuration.top.name:
            return self.configuration.top
        return self.configuration.finals.get(name) or self.configuration.particles[name]

    def _weak(self, name: str) -> bool:
        """Whether parity may be violated where a particle decays."""
        own = [step.decay for tree in self.configuration.chains for step in tree.walk() if step.decay.mother == name]
        said = {bool(decay.keys.get("p_break", False)) for decay in own}
        helicity = any(str(decay.keys.get("model", "")).startswith("helicity") for decay in own)
        return True in said or helicity or any(self._find(n).P is None for decay in own for n in (name, *decay.daughters))

    def _polarisation(self) -> dict[str, Any]:
        top = self.configuration.top
        spins = top.keys.get("spins")
        if top.keys.get("polarization") not in (None, "none"):
            what = f"polarization {top.keys['polarization']!r} cannot be imported"
            raise self.configuration.error(what, (*top.path, "polarization"), "give the density matrix as 'polarisation' of the model file")
        everything = list(range(-top.two_J, top.two_J + 1, 2))
        chosen = everything
        if spins is not None:
            try:
                chosen = sorted(round(2 * float(m)) for m in spins)
            except (TypeError, ValueError):
                raise self.configuration.error(
                    f"spins of {top.name!r} are {spins!r}", (*top.path, "spins"), "write a list of numbers"
                ) from None
        if not set(chosen) <= set(everything) or len(set(chosen)) != len(chosen) or not chosen:
            raise self.configuration.error(f"spins of {top.name!r} are {spins!r}", (*top.path, "spins"), "write projections of J")
        if chosen == everything:
            return {}
        if chosen == [-2, 2]:
            return {"polarisation": "transverse"}
        return {"polarisation": [[float(m == n and m in chosen) for n in everything[::-1]] for m in everything[::-1]]}

    def _resonances(self) -> dict[str, Any]:
        result, lineshapes = {}, Lineshapes(self.configuration, self.values)
        for name, particle in self.configuration.particles.items():
            decays = [step.decay for tree in self.configuration.chains for step in tree.walk() if step.decay.mother == name]
            smallest = min(ls.L for decay in decays for ls in self._ls(decay))
            masses = [self._mass(self._find(daughter)) for daughter in decays[0].daughters]
            pair = None if None in masses else (masses[0], masses[1])
            spec = lineshapes.of(particle, smallest, pair)  # type: ignore[arg-type]
            for key in ("mass", "width"):
                value = self.values.real(f"{name}_{key}")
                if key in spec and value is not None:
                    spec[key] = value
            entry = {"JP": _jp(particle), "off_shell": True, **spec}
            if self._weak(name):
                entry["weak"] = True
            if "mass" not in spec and self._needs_mass(name):
                entry["nominal_mass"] = self._mass(particle)
            self._check_head(particle)
            floating = [*self.constraints.floating(particle), *spec.get("float", ())]
            entry = {key: value for key, value in entry.items() if key != "float"} | ({"float": floating} if floating else {})
            result[self._titles[name]] = entry
        return result

    def _check_head(self, particle: ParticleEntry) -> None:
        head = particle.keys.get("coef_head")
        if head is None:
            return
        if head in self.configuration.particles:
            what = f"coef_head ties {particle.name!r} to {head!r}, which cannot be imported"
            raise self.configuration.error(
                what, (*particle.path, "coef_head"), "remove it, and tie couplings under 'fit' of the model file"
            )
        if particle.path[-1] != "$include":
            self.configuration.note(f"coef_head of {particle.name!r}: {head!r} is in no chain", (*particle.path, "coef_head"))

    def _needs_mass(self, name: str) -> bool:
        """Whether a running width needs the mass of a state without one."""
        mothers = [step.decay.mother for tree in self.configuration.chains for step in tree.walk() if name in step.decay.daughters]
        running = [self.configuration.particles[mother] for mother in mothers if mother in self.configuration.particles]
        return any(p.model in ("default", "BWR", "LASS") and p.width for p in running)

    def _ls(self, decay: DecayEntry) -> list[LS]:
        """(L, S) of a vertex in the order of its parameters."""
        mother, first, second = (self._find(name) for name in (decay.mother, *decay.daughters))
        parities = [p.P for p in (mother, first, second)]
        broken = decay.keys.get("p_break", False) or None in parities
        parity = None if broken else math.prod(P for P in parities if P is not None)
        found = tf_ls(mother.two_J, first.two_J, second.two_J, parity)
        if decay.keys.get("c_break") is False:
            raise self.configuration.error("c_break: False cannot be imported", decay.path, "write its (l, s) as ls_list")
        if decay.keys.get("ls_list") is not None:
            found = [self._pair(pair, decay.path) for pair in decay.keys["ls_list"]]
        elif decay.keys.get("l_list") is not None:
            allowed = [int(l) for l in decay.keys["l_list"]]
            found = [ls for ls in found if ls.L in allowed]
        if not found:
            what = f"{decay.name} has no (l, s): spins and parities do not allow any"
            raise self.configuration.error(what, decay.path, "correct J and P, or add p_break: True")
        return found

    def _pair(self, pair: Any, path: Path) -> LS:
        try:
            l, s = pair
            two_S = round(2 * float(s))
            return LS(int(l), Fraction(two_S, 2))
        except (TypeError, ValueError):
            raise self.configuration.error(f"{pair!r} is not a pair (l, s)", path, "write [0, 1]") from None

    def _chains(self) -> tuple[list[dict[str, Any]], list[complex], dict[str, tuple[int, complex]]]:
        """Entries of ``chains``, couplings of their waves in order, and for each chain its first wave and its total."""
        entries: list[dict[str, Any]] = []
        couplings: list[complex] = []
        totals: dict[str, tuple[int, complex]] = {}
        for tree in self.configuration.chains:
            name = self.values.chain_name(tree)
            total = self.values.complex(f"{name}_total_0") or 1.0
            choices = [self._vertex(step) for step in tree.walk()]
            pairs = [sorted(choice) for choice in choices]
            first = tuple(next(iter(choice)) for choice in choices)
            entry: dict[str, Any] = {"decay": self._text(tree), "ls": [[[ls.L, str(ls.S)] for ls in own] for own in pairs]}
            barriers = [self._barrier(step.decay) for step in tree.walk()]
            if any(barriers):
                entry["barriers"] = barriers
            entries.append(entry)
            for ls in product(*pairs):
                if ls == first:
                    totals[name] = (len(couplings), total)
                couplings.append(total * math.prod(choice[pair] for choice, pair in zip(choices, ls, strict=True)))
        return entries, couplings, totals

    def _barrier(self, decay: DecayEntry) -> Any:
        """The barrier of a vertex in a model file."""
        if str(decay.keys.get("model", "default")) == "helicity_full" or decay.keys.get("has_barrier_factor") is False:
            return "none"
        if decay.keys.get("has_bprime") is False:
            return "momentum"
        barrier: dict[str, Any] = {"radius": float(decay.keys.get("d", self.constraints.radius))}
        if self._moves(decay):  # then the normalisation moves with the masses
            barrier["normalised"] = "all" if decay.keys.get("barrier_factor_norm") else "barrier"
        return barrier

    def _moves(self, decay: DecayEntry) -> bool:
        """Whether a mass at a vertex is fitted."""
        own = [self.configuration.particles[name] for name in (decay.mother, *decay.daughters) if name in self.configuration.particles]
        return any("mass" in self.constraints.floating(particle) for particle in own)

    def _vertex(self, step: Tree) -> dict[LS, complex]:
        """What every (L, S) of a vertex is multiplied by, in the order of its parameters."""
        decay = step.decay
        mother, first, second = (self._find(name) for name in (decay.mother, *decay.daughters))
        unit = math.sqrt(4 * math.pi / (mother.two_J + 1)) * (-1j) ** second.two_J
        model = str(decay.keys.get("model", "default"))
        if model == "helicity_full":
            return self._helicities(decay, mother, first, second)
        if model not in ("default", "gls-bf"):
            raise self.configuration.error(
                f"the model {model!r} of {decay.name} cannot be imported", decay.path, "default and helicity_full can"
            )
        result = {}
        for index, ls in enumerate(self._ls(decay)):
            g = self.values.complex(f"{decay.name}_g_ls_{index}")
            result[ls] = (1.0 if g is None else g) * unit * self._at_nominal_masses(decay, ls.L)
        return result

    def _helicities(self, decay: DecayEntry, mother: ParticleEntry, first: ParticleEntry, second: ParticleEntry) -> dict[LS, complex]:
        H = {}
        for i, a in enumerate(range(-first.two_J, first.two_J + 1, 2)):
            for j, b in enumerate(range(-second.two_J, second.two_J + 1, 2)):
                value = self.values.complex(f"{decay.name}_H_{i}_{j}")
                if abs(a - b) <= mother.two_J:
                    H[a, b] = (1.0 if value is None else value) * (-1) ** ((second.two_J - b) // 2)
        return {
            ls: c * (-1j) ** second.two_J for ls, c in to_ls(mother.two_J, spin_state(first.two_J), spin_state(second.two_J), H).items()
        }

    def _at_nominal_masses(self, decay: DecayEntry, L: int) -> float:
        """√N_L(q0 d), by which TF-PWA normalises its barriers; divided by q0^L with ``barrier_factor_norm``."""
        if self._barrier(decay) in ("none", "momentum") or L == 0:
            return 1.0
        M, m1, m2 = (self._mass(self._find(name)) for name in (decay.mother, *decay.daughters))
        if M is None or m1 is None or m2 is None:
            what = f"the barrier of {decay.name} is normalised at nominal masses, and one of them is not given"
            raise self.configuration.error(what, decay.path, "add mass: … to its particles; TF-PWA takes the mean of the data")
        if M == 0:
            raise self.configuration.error(f"the mass of {decay.mother!r} is 0", decay.path, "correct it, in GeV")
        q2 = (M**2 - (m1 + m2) ** 2) * (M**2 - (m1 - m2) ** 2) / (4 * M**2)
        if q2 <= 0:
            what = f"{decay.name} is below threshold at nominal masses, where the barrier of TF-PWA is not defined"
            raise self.configuration.error(what, decay.path, "say has_barrier_factor: False, or correct the masses")
        if self._moves(decay) and q2 > SAFE_Q0**2:
            return 1.0
        if self._moves(decay):
            what = f"{decay.name} is close to threshold at nominal masses, one of which is fitted"
            raise self.configuration.error(what, decay.path, "fix the mass, or say has_barrier_factor: False")
        z2 = q2 * float(decay.keys.get("d", self.constraints.radius)) ** 2
        norm = math.sqrt(sum(n * z2**k for k, n in enumerate(barrier_coefficients(L))))
        return norm / q2 ** (L / 2) if decay.keys.get("barrier_factor_norm") else norm

    def _text(self, tree: Tree) -> str:
        def name(part: Tree | str) -> str:
            return part if isinstance(part, str) else self._titles[part.decay.mother]

        steps = []
        for step in tree.walk():
            mother = self._names[self.configuration.top.name] if step is tree else self._titles[step.decay.mother]
            steps.append(f"{mother} -> {name(step.below[0])} {name(step.below[1])}")
        return " ; ".join(steps)


def _jp(particle: ParticleEntry) -> str:
    return format_spin(particle.two_J) + {1: "+", -1: "-", None: ""}[particle.P]
