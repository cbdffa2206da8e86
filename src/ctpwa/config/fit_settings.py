"""The ``fit`` section: how to fit, with names of couplings and parameters checked against the model."""

from __future__ import annotations

from cmath import isfinite
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ctpwa.base.errors import DataError, PhysicsError, suggest
from ctpwa.base.memory import parse_bytes
from ctpwa.config.backgrounds import amounts_of_data_sets, fraction_limits, mixture_parameters
from ctpwa.config.fit_spec import FitSpec
from ctpwa.config.problems import Problems, SpecError
from ctpwa.config.relations import Written, add_relation_error, fixes
from ctpwa.config.schema import ModelSpec
from ctpwa.model.couplings import CouplingMap, coupling_names, map_couplings
from ctpwa.model.fixing import own_parameters
from ctpwa.model.model import Model
from ctpwa.model.parameter import PARTS, Parameter, asymmetry_owner, check_name
from ctpwa.model.relations import Relation, RelationError, make_relations

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
        fix:             fixed parameter → value; None: that of the model
        ties:            coupling → (other coupling, complex factor)
        start:           start values by parameter
        minos:           parameters that get MINOS errors
        simulation:      whether errors count that the phase-space sample is finite
        extended:        whether yields of signal and backgrounds are fitted
        subtraction:     ``bounded`` or ``plain``
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
    fix: Mapping[str, float | None] = field(default_factory=dict)
    simulation: bool = True
    extended: bool = False
    subtraction: str = "bounded"


def fit_settings(whole: ModelSpec) -> FitSettings:
    """The settings of a description that ``check_fit`` has found right; what is fixed has no limits, start values and MINOS errors."""
    spec = whole.fit
    fix = fixes(spec)
    limits = fraction_limits(whole) | {name: (pair[0], pair[1]) for name, pair in spec.limits.items()}
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
        {name: pair for name, pair in limits.items() if name not in fix},
        {name: (str(other), _factor(factor)) for name, (other, factor) in spec.ties.items()},
        {name: value for name, value in spec.start.items() if name not in fix},
        tuple(name for name in spec.minos if name not in fix),
        fix,
        spec.errors.simulation,
        spec.extended,
        spec.subtraction,
    )


def check_fit(whole: ModelSpec, model: Model, problems: Problems, engines: Collection[str] | None, formulas: Mapping[str, Written]) -> None:
    """Every name and number of the section that is wrong becomes a problem; ``engines``, if given, are all that there are."""
    spec, mixed = whole.fit, mixture_parameters(whole)
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
    ties = {name: (str(other), _factor(factor)) for name, (other, factor) in spec.ties.items()}
    try:
        mapped = map_couplings(model, names, spec.couplings, ties, spec.reference_wave)
    except PhysicsError as wrong:
        problems.add(wrong, (SECTION,), *(("ties",) if spec.ties else ("couplings",)), fix="change 'ties', 'couplings' or 'reference_wave'")
        return
    _check_mixture(whole, model, mixed, problems)
    own = own_parameters(model.resonances, model.parameters) | mixed
    if not _check_relations(whole, own, model, mapped, problems, formulas):
        return
    free = [*_free_parameters(spec, own, mapped), *spec.fix]
    for section, listed in (("constraints", spec.constraints), ("limits", spec.limits), ("start", spec.start)):
        for name in listed:
            if name not in free:
                error = SpecError(f"{name!r} is not a free parameter", _how_to_free(name, free, model, mixed), key=())
                problems.add(error, (SECTION, section, name))
    for i, name in enumerate(spec.minos):
        if name not in free:
            error = SpecError(f"{name!r} is not a free parameter", _how_to_free(name, free, model, mixed), word=name)
            problems.add(error, (SECTION, "minos", i))


def with_tied(values: Mapping[str, complex], ties: Mapping[str, Sequence[float | str]]) -> dict[str, complex]:
    """Values of couplings, and of those that are tied to others: what is generated and what a fit starts from agree."""
    found = dict(values)
    for name in ties:
        source, factor = name, 1.0 + 0j
        while source in ties:
            other, own = ties[source]
            source, factor = str(other), factor * _factor(own)
        found.setdefault(name, factor * values.get(source, 1.0))
    return found


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


def _check_mixture(whole: ModelSpec, model: Model, mixed: Mapping[str, Parameter], problems: Problems) -> None:
    """Whether fractions and yields can be told from other parameters, and have values that make sense."""
    spec = whole.fit
    every = [name for own in amounts_of_data_sets(whole).values() for name in own.values()] if spec.extended else []
    for name in sorted({name for name in every if every.count(name) > 1}):
        problems.add(SpecError(f"two data sets would have the yield {name!r}", "give them names without dots"), (SECTION,), "extended")
    for name in mixed:
        if name in own_parameters(model.resonances, model.parameters):
            error = SpecError(f"{name!r} is a parameter of a resonance and of a background", "give the background another name")
            problems.add(error, (SECTION,))
    beside = fraction_limits(whole)
    for name, (lower, upper) in spec.limits.items():
        if name in beside:
            problems.add(
                SpecError(f"{name!r} has limits already, beside its value", "leave one of them out", key=()), (SECTION, "limits", name)
            )
        elif name in mixed and not mixed[name].lower <= lower < upper <= mixed[name].upper:
            allowed = f"{mixed[name].lower:g} to {mixed[name].upper:g}"
            problems.add(SpecError(f"the limits of {name!r} are {lower:g} and {upper:g}", f"stay in {allowed}"), (SECTION, "limits", name))
    for section, values in (("fix", spec.fix), ("start", spec.start)):
        for name, value in values.items():
            if name in mixed and value is not None and not mixed[name].lower <= value <= mixed[name].upper:
                error = SpecError(f"{name!r} is {value:g}", f"give a number from {mixed[name].lower:g} to {mixed[name].upper:g}")
                problems.add(error, (SECTION, section, name))
    for name in spec.relations:
        if name in mixed and not mixed[name].fixed:
            error = SpecError(f"{name!r} is a formula and cannot float", "let the parameters in it float", key=())
            problems.add(error, (SECTION, "relations", name))


def _check_relations(
    whole: ModelSpec,
    own: Mapping[str, Parameter],
    model: Model,
    mapped: CouplingMap,
    problems: Problems,
    formulas: Mapping[str, Written],
) -> bool:
    """Whether parameters that are fixed or follow from others exist, and formulas make sense."""
    spec = whole.fit
    parts = [f"{number}.{part}" for number in mapped.numbers for part in PARTS[spec.representation]]
    before = len(problems.found)
    for section, listed in (("fix", spec.fix), ("relations", spec.relations)):
        for name in listed:
            with problems.collect((SECTION, section, name)):
                _check_part(name, own, parts, mapped, spec.representation)
                if section == "fix" and name in spec.relations:
                    raise SpecError(f"{name!r} cannot be fixed: it is {spec.relations[name]}", "leave one of them out", key=(), word=name)
    if len(problems.found) == before:
        try:
            relations = make_relations({name: written.text for name, written in formulas.items()}, [*parts, *own])
        except RelationError as error:
            add_relation_error(error, formulas, problems)
            return False
        _check_same_data_set(whole, relations, problems)
        used = {name for relation in relations for name in relation.arguments} | _elements(model)
        used |= {node.growth.parameter for wave in model.waves for node in wave.chain.nodes}
        for p in model.parameters:
            if not p.fixed and p.name not in used and not asymmetry_owner(p.name):
                unused = SpecError(
                    f"{p.name!r} floats, and nothing depends on it",
                    "use it in a formula, or as the radius of a barrier, or remove it",
                    key=(),
                )
                problems.add(unused, ("parameters", p.name))
    return len(problems.found) == before


def _check_same_data_set(whole: ModelSpec, relations: Sequence[Relation], problems: Problems) -> None:
    """Refuse fractions and yields that follow from those of another data set, whose likelihood does not know them."""
    sets = {name: set(own.values()) for name, own in amounts_of_data_sets(whole).items()}
    every = {name for names in sets.values() for name in names}
    for relation in relations:
        for name, own in sets.items():
            missing = [argument for argument in relation.arguments if argument in every and argument not in own]
            if missing and (relation.name in own or relation.name not in every):
                fix = "leave it out" if whole.fit.extended else "backgrounds of the same name have the same fraction in all data sets"
                error = SpecError(f"{relation.name!r} follows from {missing[0]!r}, which data set {name!r} does not have", fix, key=())
                problems.add(error, (SECTION, "relations", relation.name))
                break


def _check_part(name: str, own: Collection[str], parts: Collection[str], mapped: CouplingMap, representation: str) -> None:
    if name in own:
        return
    try:
        check_name(name, [*parts, *own], representation)
    except PhysicsError as error:
        near = error.fix if error.fix.startswith(("did", "write")) else "ctpwa check lists couplings and parameters"
        raise SpecError(error.what, near, key=(), word=name) from None
    if name.rpartition(".")[0] in mapped.fixed:
        raise SpecError(
            f"{name!r} belongs to a coupling that is fixed to 1", "choose another reference_wave, or leave it out", key=(), word=name
        )


def _free_parameters(spec: FitSpec, own: Mapping[str, Parameter], mapped: CouplingMap) -> Iterator[str]:
    """Names of everything that floats."""
    for number in mapped.numbers:
        if number not in mapped.fixed:
            yield from (f"{number}.{part}" for part in PARTS[spec.representation] if f"{number}.{part}" not in spec.relations)
    yield from (p.name for p in own.values() if not p.fixed)


def _how_to_free(name: str, free: list[str], model: Model, mixed: Mapping[str, Parameter]) -> str:
    if name in mixed:
        return f"it is fixed; write  fraction: {{value: {mixed[name].value:g}, float: true}}"
    if name in model.relations:
        return f"it follows from others, {model.relations[name]}: name one of those"
    if asymmetry_owner(name) and any(p.name == name for p in model.parameters):
        return "it is fixed, since only differences of asymmetries are determined; fix another one instead:  fit: {fix: …}"
    if name in _elements(model):
        return f"it is fixed; write  {name}: float  under 'polarisation'"
    start, _, parameter = name.rpartition(".")
    resonance = model.resonances.get(start)
    if resonance is not None and parameter in resonance.parameters:
        return f"it is fixed; add {parameter!r} to 'float' of {start!r}"
    return _near(name, free)


def _elements(model: Model) -> set[str]:
    """Parameters of the spin density matrix of the parent."""
    factors = model.production.rows(model.decay).factors
    return set() if factors is None else set(factors.names)


def _factor(value: float | str) -> complex:
    return complex(str(value).replace(" ", ""))


def _near(name: str, known: tuple[str, ...] | list[str]) -> str:
    fix = suggest(name, known)
    return fix if fix.startswith("did you mean") else "ctpwa check lists couplings and parameters"
