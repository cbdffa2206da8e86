"""The ``cp`` section: couplings that differ between the decay and its charge conjugate, c(1 + Δ) and c(1 − Δ)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from ctpwa.base.errors import suggest
from ctpwa.config.couplings import read_number, refuse_tied
from ctpwa.config.names import meant
from ctpwa.config.problems import Problems, SpecError
from ctpwa.config.relations import fixes
from ctpwa.config.schema import ModelSpec
from ctpwa.decay.pdg import normalise
from ctpwa.model.couplings import coupling_names
from ctpwa.model.model import Wave
from ctpwa.model.parameter import Parameter, asymmetry_name, asymmetry_parts, undetermined_parts

SECTION = "cp"
ALL = "all"
BOTH = "mark the data set of the conjugate decay with  conjugate: true,  or leave 'cp' out"


@dataclass(frozen=True)
class Asymmetries:
    """What the section says.

    Attributes:
        of:          coupling → name of its Δ
        parameters:  Re Δ and Im Δ of all of them
        notes:       what was decided
    """

    of: Mapping[str, str]
    parameters: tuple[Parameter, ...] = ()
    notes: tuple[str, ...] = ()


def read_asymmetries(spec: ModelSpec, waves: Sequence[Wave], formulas: Collection[str], problems: Problems) -> Asymmetries:
    """The Δ of all couplings that have one; names that are not known become problems.

    Args:
        spec:      the model description
        waves:     all waves
        formulas:  parameters that follow from others
        problems:  where problems go
    """
    if not spec.cp:
        return Asymmetries({})
    names = coupling_names(waves)
    of: dict[str, str] = {}
    values: dict[str, complex] = {}
    given = {key: value for key, value in spec.cp.items() if key != ALL}
    for key, value in given.items():
        with problems.collect((SECTION, key)):
            meant = _couplings(key, names, waves)
            for coupling in meant:
                if coupling in of:
                    other = of[coupling].rpartition(".")[0]
                    what = f"{coupling!r} would have two asymmetries, of {other!r} and {key!r}"
                    raise SpecError(what, "leave one of them out", key=(), word=key)
            of |= dict.fromkeys(meant, asymmetry_name(key))
            values[asymmetry_name(key)] = 0j if value is None else read_number(key, value)
    if ALL in spec.cp:
        with problems.collect((SECTION, ALL)):
            value = spec.cp[ALL]
            start = 0j if value is None else read_number(ALL, value)
            rest = [name for name in names if name not in of and name not in spec.fit.ties]
            of |= {name: asymmetry_name(name) for name in rest}
            values |= {asymmetry_name(name): start for name in rest}
    of = {name: own for name in names if (own := _followed(name, of, spec))}
    parameters = [_parameter(part, x, spec, formulas) for name, z in values.items() for part, x in _parts(name, z)]
    found = _anchored(Asymmetries(of, tuple(parameters)), names, spec)
    _check_samples(found, spec, problems)
    return found


def _couplings(key: str, names: Sequence[str], waves: Sequence[Wave]) -> list[str]:
    """The couplings that are meant: one by its name, or those of all waves with a resonance, by its key or its particle."""
    if key in names:
        return [key]
    refuse_tied(key, waves)
    word = normalise(key)
    found = [wave for wave in waves if word in {normalise(name) for name in _states(wave)}]
    if not found:
        states = dict.fromkeys(resonance.name for wave in waves for resonance in wave.resonances)
        state = meant(key, states)
        if state is not None:
            return _couplings(state, names, waves)
        coupling = meant(key, names)
        if coupling is not None:
            return [coupling]
        known = [*names, *dict.fromkeys(name for wave in waves for name in _states(wave))]
        near = suggest(key, known)
        fix = near if near.startswith("did") else "name a resonance or a coupling; ctpwa check lists them"
        raise SpecError(f"no resonance and no coupling is called {key!r}", fix, key=(), word=key)
    return list(coupling_names(found))


def _states(wave: Wave) -> list[str]:
    return [*(resonance.name for resonance in wave.resonances), *(node.particle.name for node in wave.chain.carriers)]


def _followed(name: str, of: Mapping[str, str], spec: ModelSpec) -> str:
    """The Δ of a coupling; one that is tied and has none has that of the coupling that it is tied to."""
    seen = {name}
    while name not in of and name in spec.fit.ties:
        name = str(spec.fit.ties[name][0])
        if name in seen:  # a circle, which check_fit refuses
            return ""
        seen.add(name)
    return of.get(name, "")


def _parts(name: str, z: complex) -> list[tuple[str, float]]:
    return list(zip(asymmetry_parts(name), (z.real, z.imag), strict=True))


def _parameter(name: str, value: float, spec: ModelSpec, formulas: Collection[str]) -> Parameter:
    fix = fixes(spec.fit)
    fixed = fix.get(name)
    return Parameter(name, value if fixed is None else fixed, name in fix or name in formulas)


def _anchored(found: Asymmetries, names: Sequence[str], spec: ModelSpec) -> Asymmetries:
    """If every coupling has a Δ, that of the reference wave is fixed, unless another one is known."""
    reference = spec.fit.reference_wave or next((name for name in names if name not in spec.fit.ties), "")
    if reference not in found.of:  # it has none, or check_fit says that it is not known
        return found
    held = {p.name for p in found.parameters if p.fixed} | set(spec.fit.constraints)
    fixed = undetermined_parts([found.of.get(name, "") for name in names], found.of[reference], held)
    parameters = tuple(replace(p, fixed=True) if p.name in fixed else p for p in found.parameters)
    notes = (
        f"{p.name} is fixed at {p.value:g}: every coupling has an asymmetry, and shapes determine only their differences"
        for p in parameters
        if p.name in fixed
    )
    return replace(found, parameters=parameters, notes=tuple(notes))


def _check_samples(found: Asymmetries, spec: ModelSpec, problems: Problems) -> None:
    """Both kinds of samples must be there if any Δ is fitted."""
    sets = [*([] if spec.samples is None else [spec.samples]), *spec.data_sets.values()]
    kinds = {entry.conjugate for entry in sets}
    if len(kinds) == 1 and any(not p.fixed for p in found.parameters):
        which = "the conjugate decay" if kinds == {True} else "the decay"
        problems.add(SpecError(f"asymmetries are fitted, and all samples are of {which}", BOTH, key=()), (SECTION,))
