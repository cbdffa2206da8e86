"""The ``fit`` section: how to fit, with names of couplings and parameters checked against the model."""

from __future__ import annotations

from cmath import isfinite
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from ctpwa.base.errors import DataError, PhysicsError, suggest
from ctpwa.base.memory import parse_bytes
from ctpwa.config.problems import Problems, SpecError
from ctpwa.config.schema import FitSpec
from ctpwa.model.couplings import coupling_names, map_couplings
from ctpwa.model.model import Model
from ctpwa.model.parameters import PARTS

SECTION = "fit"


@dataclass(frozen=True)
class FitSettings:
    """How to fit; ``docs/model-format.md`` explains each key.

    Attributes:
        method:          ``newton``, ``lbfgs`` or ``minuit``
        starts:          number of start points
        seed:            seed of random start points
        engine, device:  what computes the likelihood, and where
        precision:       ``double`` or ``mixed``
        device_memory:   how much prepared events may take on a GPU; None: most of what is free
        host_memory:     the same for main memory
        scratch:         folder for what does not fit into main memory
        representation:  couplings as ``cartesian`` or ``polar`` parameters
        reference_wave:  the coupling that is fixed to 1; None: the first
        couplings:       ``wave`` or ``vertex``
        constraints:     parameter → (mean, standard deviation)
        limits:          parameter → (lower, upper)
        ties:            coupling → (other coupling, complex factor)
        start:           start values by parameter
        minos:           parameters that get MINOS errors
        simulation:      whether errors count that the phase-space sample is finite
    """

    method: str = "newton"
    starts: int = 20
    seed: int = 0
    engine: str = "auto"
    device: str | None = None
    precision: str = "double"
    device_memory: float | str | None = None
    host_memory: float | str | None = None
    scratch: str | None = None
    representation: str = "cartesian"
    reference_wave: str | None = None
    couplings: str = "wave"
    constraints: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    ties: Mapping[str, tuple[str, complex]] = field(default_factory=dict)
    start: Mapping[str, float] = field(default_factory=dict)
    minos: tuple[str, ...] = ()
    simulation: bool = True


def fit_settings(spec: FitSpec) -> FitSettings:
    """The settings of a section that ``check_fit`` has found right."""
    return FitSettings(
        spec.method,
        spec.starts,
        spec.seed,
        spec.engine,
        spec.device,
        spec.precision,
        spec.device_memory,
        spec.host_memory,
        spec.scratch,
        spec.representation,
        spec.reference_wave,
        spec.couplings,
        {name: (pair[0], pair[1]) for name, pair in spec.constraints.items()},
        {name: (pair[0], pair[1]) for name, pair in spec.limits.items()},
        {name: (str(other), _factor(factor)) for name, (other, factor) in spec.ties.items()},
        dict(spec.start),
        tuple(spec.minos),
        spec.errors.simulation,
    )


def check_fit(spec: FitSpec, model: Model, problems: Problems, engines: Collection[str] | None = None) -> None:
    """Every name and number of the section that is wrong becomes a problem; ``engines``, if given, are all that there are."""
    names = coupling_names(model.waves)
    if engines is not None and spec.engine not in engines:
        problems.add(SpecError(f"there is no engine {spec.engine!r}", f"known: {', '.join(engines)}"), (SECTION,), "engine")
    before = len(problems.found)
    if spec.reference_wave is not None and spec.reference_wave not in names:
        error = SpecError(f"no coupling is called {spec.reference_wave!r}", _near(spec.reference_wave, names))
        problems.add(error, (SECTION,), "reference_wave")
    for key in ("device_memory", "host_memory"):
        with problems.collect((SECTION,), key):
            _check_size(getattr(spec, key), key)
    for name, (other, factor) in spec.ties.items():
        with problems.collect((SECTION, "ties", name)):
            _check_tie(name, other, factor, names)
    for name, (_, sigma) in spec.constraints.items():
        if sigma <= 0:
            error = SpecError(f"the standard deviation of {name!r} is {sigma:g}", "write [mean, standard deviation > 0]")
            problems.add(error, (SECTION, "constraints", name))
    for name, (lower, upper) in spec.limits.items():
        if not lower < upper:
            error = SpecError(f"the limits of {name!r} are {lower:g} and {upper:g}", "write [lower, upper]")
            problems.add(error, (SECTION, "limits", name))
    if len(problems.found) > before:
        return  # which parameters there are depends on ties and the reference wave
    try:
        free = list(_free_parameters(spec, model, names))
    except PhysicsError as wrong:
        problems.add(wrong, (SECTION,), *(("ties",) if spec.ties else ("couplings",)), fix="change 'ties', 'couplings' or 'reference_wave'")
        return
    for section, listed in (("constraints", spec.constraints), ("limits", spec.limits), ("start", spec.start)):
        for name in listed:
            if name not in free:
                error = SpecError(f"{name!r} is not a free parameter", _how_to_free(name, free, model), key=())
                problems.add(error, (SECTION, section, name))
    for i, name in enumerate(spec.minos):
        if name not in free:
            error = SpecError(f"{name!r} is not a free parameter", _how_to_free(name, free, model), word=name)
            problems.add(error, (SECTION, "minos", i))


def _check_size(size: float | str | None, key: str) -> None:
    try:
        if size is not None:
            parse_bytes(size, key)
    except DataError as error:
        what, _, fix = str(error).partition("\n fix: ")
        raise SpecError(what, fix) from None


def _check_tie(name: str, other: float | str, factor: float | str, names: tuple[str, ...]) -> None:
    if name not in names:
        raise SpecError(f"no coupling is called {name!r}", _near(name, names), key=())
    if str(other) not in names:
        raise SpecError(f"no coupling is called {str(other)!r}", _near(str(other), names))
    try:
        value = _factor(factor)
    except ValueError:
        value = complex("nan")
    if not isfinite(value) or value == 0:
        raise SpecError(f"{factor!r} is not a factor", "write a number such as -1 or 0.5+0.1j, not zero")


def _free_parameters(spec: FitSpec, model: Model, names: tuple[str, ...]) -> Iterator[str]:
    """Names of everything that floats."""
    ties = {name: (str(other), _factor(factor)) for name, (other, factor) in spec.ties.items()}
    mapped = map_couplings(model, names, spec.couplings, ties, spec.reference_wave)
    for number in mapped.numbers:
        if number not in mapped.fixed:
            yield from (f"{number}.{part}" for part in PARTS[spec.representation])
    for resonance in model.resonances.values():
        yield from (f"{resonance.name}.{parameter}" for parameter in resonance.floating)


def _how_to_free(name: str, free: list[str], model: Model) -> str:
    start, _, parameter = name.rpartition(".")
    resonance = model.resonances.get(start)
    if resonance is not None and parameter in resonance.parameters:
        return f"it is fixed; add {parameter!r} to 'float' of {start!r}"
    return _near(name, free)


def _factor(value: float | str) -> complex:
    return complex(str(value).replace(" ", ""))


def _near(name: str, known: tuple[str, ...] | list[str]) -> str:
    fix = suggest(name, known)
    return fix if fix.startswith("did you mean") else "ctpwa check lists couplings and parameters"
