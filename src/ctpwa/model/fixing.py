"""A model with some of its lineshape parameters fixed, and with formulas of parameters worked out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ctpwa.base.errors import PhysicsError
from ctpwa.model.model import Model
from ctpwa.model.parameter import Parameter, with_formulas
from ctpwa.model.resonance import Resonance


def own_parameters(resonances: Mapping[str, Resonance], others: tuple[Parameter, ...] = ()) -> dict[str, Parameter]:
    """Parameters of resonances by name, and others after them; limits of resonances are known to their lineshapes only."""
    named = {
        f"{name}.{key}": Parameter(f"{name}.{key}", value, fixed=key not in resonance.floating)
        for name, resonance in resonances.items()
        for key, value in resonance.parameters.items()
    }
    return named | {p.name: p for p in others}


def fixed_model(model: Model, values: Mapping[str, float | None]) -> Model:
    """The model with lineshape parameters fixed; names that it does not have are not touched.

    Args:
        model:   the model
        values:  name of a parameter → its value; None: the one that it has
    """
    known = own_parameters(model.resonances, model.parameters)
    for name in values:
        if name in model.relations:
            raise PhysicsError(f"{name!r} cannot be fixed: it is {model.relations[name]}", "fix the parameters that it is made of")
    own = {name: known[name].value if value is None else float(value) for name, value in values.items() if name in known}
    if not own:
        return model
    others = tuple(replace(p, value=own[p.name], fixed=True) if p.name in own else p for p in model.parameters)
    changed = {
        r.name: replace(r, floating=tuple(key for key in r.floating if f"{r.name}.{key}" not in own)) for r in model.resonances.values()
    }
    return _with(replace(model, parameters=others), _set(changed, own))


def related_model(model: Model, formulas: Mapping[str, str]) -> Model:
    """The model with more formulas, and the values that follow from them.

    Args:
        model:     the model
        formulas:  parameter → its formula; parameters of couplings may be among them
    """
    for name in formulas:
        if name in own_parameters(model.resonances) and not own_parameters(model.resonances)[name].fixed:
            raise PhysicsError(f"{name!r} floats, and cannot be a formula as well", "leave one of them out")
    return _with(replace(model, relations={**model.relations, **formulas}), model.resonances)


def worked_out(resonances: Mapping[str, Resonance], others: tuple[Parameter, ...], formulas: Mapping[str, str]) -> dict[str, Resonance]:
    """Resonances with the values that formulas give their parameters."""
    known = own_parameters(resonances, others)
    own = {name: text for name, text in formulas.items() if name in known}
    if not own:
        return dict(resonances)
    found = with_formulas([replace(p, formula=own.get(p.name, "")) for p in known.values()])
    return _set(resonances, {p.name: p.value for p in found if p.formula})


def _set(resonances: Mapping[str, Resonance], values: Mapping[str, float]) -> dict[str, Resonance]:
    """Resonances with other values of parameters."""
    return {
        name: replace(r, parameters={key: values.get(f"{name}.{key}", value) for key, value in r.parameters.items()})
        for name, r in resonances.items()
    }


def _with(model: Model, resonances: Mapping[str, Resonance]) -> Model:
    """The model with changed resonances, and formulas worked out."""
    new = worked_out(resonances, model.parameters, model.relations)
    waves = tuple(replace(wave, resonances=tuple(new[r.name] for r in wave.resonances)) for wave in model.waves)
    return replace(model, resonances=new, waves=waves)
