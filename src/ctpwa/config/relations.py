"""Parameters that are formulas of others, parameters of no resonance, and parameters that are fixed: from texts to values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ctpwa.base.errors import Path, TextError
from ctpwa.config.draft import Draft
from ctpwa.config.fit_spec import FitSpec
from ctpwa.config.problems import Problems, SpecError
from ctpwa.config.propagators import check_on_shell
from ctpwa.config.schema import ModelSpec
from ctpwa.model.fixing import own_parameters
from ctpwa.model.parameter import Parameter, with_formulas
from ctpwa.model.relations import RESERVED, RelationError
from ctpwa.model.resonance import Resonance


@dataclass(frozen=True)
class Written:
    """A formula, and where it stands in the model file."""

    text: str
    entry: Path
    key: Path


def written_formulas(spec: ModelSpec, problems: Problems) -> dict[str, Written]:
    """All formulas of a model file by the name of their parameter."""
    found: dict[str, Written] = {}
    for name, own in spec.resonances.items():
        for key, value in (("mass", own.mass), ("width", own.width)):
            if isinstance(value, str):
                found[f"{name}.{key}"] = Written(value, ("resonances", name), (key,))
        for key, value in own.parameters.items():
            if isinstance(value, str):
                found[f"{name}.{key}"] = Written(value, ("resonances", name), ("parameters", key))
    for name, given in spec.parameters.items():
        if isinstance(given.value, str):
            found[name] = Written(given.value, ("parameters", name), ("value",))
    for name, text in spec.fit.relations.items():
        if name in found:
            error = SpecError(f"{name!r} has a formula already: {found[name].text}", "leave one of them out", key=())
            problems.add(error, ("fit", "relations", name))
        found[name] = Written(text, ("fit", "relations", name), ())
    return found


def fixes(spec: FitSpec) -> dict[str, float | None]:
    """Parameters that are fixed, with their values; None: the one that the model gives."""
    return {name: spec.start.get(name) if value is None else value for name, value in spec.fix.items()}


def own_numbers(spec: ModelSpec, problems: Problems) -> tuple[Parameter, ...]:
    """The ``parameters`` section: parameters of no resonance."""
    found = []
    for name, own in spec.parameters.items():
        with problems.collect(("parameters", name)):
            check_word(name)
            lower, upper = own.limits or (-float("inf"), float("inf"))
            if not lower < upper:
                raise SpecError(f"the limits of {name!r} are {lower:g} and {upper:g}", "write [lower, upper]", key=("limits",))
            if isinstance(own.value, str) and own.float_:
                raise SpecError(f"{name!r} is a formula and cannot float", "let the parameters in it float", key=("float",))
            value = 0.0 if isinstance(own.value, str) else own.value
            if not isinstance(own.value, str) and not lower <= value <= upper:
                raise SpecError(f"{name!r} is {value:g}, outside its limits {lower:g} to {upper:g}", "correct it", key=("value",))
            found.append(Parameter(name, value, not own.float_, lower, upper))
    return tuple(found)


def check_word(name: str) -> None:
    """Refuse the name of a parameter that a formula could not use."""
    if not (name.isidentifier() and name.isascii()) or name.startswith("_") or name in RESERVED:
        raise SpecError(f"a parameter cannot be called {name!r}", "use letters and numbers, and no name of a function", key=())


def relate(draft: Draft, formulas: Mapping[str, Written]) -> None:
    """Give every parameter that is fixed or a formula its value; resonances must still be where events are."""
    fix = fixes(draft.spec.fit)
    if not formulas and not fix:
        return
    draft.problems.stop()  # names are known only if all resonances are
    known = own_parameters(draft.resonances, draft.parameters)
    known |= {name: replace(known[name], lower=low, upper=high) for name, (low, high) in draft.ranges.items() if name in known}
    for name, value in fix.items():
        if name in known:
            with draft.problems.collect(("fit", "fix", name)):
                known[name] = _fixed(known[name], value, formulas)
    for name, own in formulas.items():
        if name in known and not known[name].fixed:
            error = SpecError(f"{name!r} is a formula and cannot float", "let the parameters in it float", key=own.key)
            draft.problems.add(error, own.entry)
    draft.problems.stop()
    try:
        found = with_formulas([replace(p, formula=formulas[name].text) if name in formulas else p for name, p in known.items()])
    except RelationError as error:
        add_relation_error(error, formulas, draft.problems)
        draft.problems.stop()
        return
    _put_back(draft, {p.name: p for p in found})


def _fixed(own: Parameter, value: float | None, formulas: Mapping[str, Written]) -> Parameter:
    if own.name in formulas:
        raise SpecError(
            f"{own.name!r} cannot be fixed: it is {formulas[own.name].text}", "fix the parameters that it is made of", key=(), word=own.name
        )
    if value is not None and not own.lower <= value <= own.upper:
        raise SpecError(f"{own.name!r} cannot be fixed at {value:g}", f"give a number from {own.lower:g} to {own.upper:g}")
    return replace(own, fixed=True, value=own.value if value is None else value)


def add_relation_error(error: RelationError, formulas: Mapping[str, Written], problems: Problems) -> None:
    """An error in a formula as a problem of the place where the formula stands."""
    own = formulas[error.parameter]
    text = isinstance(error, TextError) and bool(error.word)
    placed = SpecError(error.what, error.fix, key=own.key or None, word=error.word, offset=error.column - 1 if text else None)
    problems.add(placed, own.entry)


def _put_back(draft: Draft, values: Mapping[str, Parameter]) -> None:
    draft.parameters = tuple(replace(values[p.name], formula="") for p in draft.parameters)
    for name, resonance in draft.resonances.items():
        draft.resonances[name] = _with_values(resonance, values)
    for name, spec, leaves in draft.seen:
        with draft.problems.collect(("resonances", name)):
            check_on_shell(draft.resonances[name], spec, draft.decay, leaves)


def _with_values(resonance: Resonance, values: Mapping[str, Parameter]) -> Resonance:
    own = {key: values[f"{resonance.name}.{key}"] for key in resonance.parameters}
    floating = tuple(key for key in resonance.floating if not own[key].fixed)
    return replace(resonance, parameters={key: p.value for key, p in own.items()}, floating=floating)
