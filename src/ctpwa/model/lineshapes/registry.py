"""All lineshapes by name, and the one function that makes a lineshape from whatever a user gives.

Every file next to this one that defines ``KINDS`` adds its lineshapes automatically. Those of users and other packages are added with
``register_lineshape``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace as changed
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import sympy as sp

from ctpwa.base.errors import PhysicsError, suggest
from ctpwa.model.lineshapes.custom import ParameterSpec, callback_from_function, check_lineshape, formula_from_sympy, formula_from_text
from ctpwa.model.lineshapes.expression_parser import NAMES
from ctpwa.model.lineshapes.formula import RADIUS, Basis, Callback, Formula, Lineshape, LineshapeKind, Vertex, symbols_of


def _own() -> dict[str, LineshapeKind]:
    """The lineshapes of the files here, by name."""
    names = [module.name for module in iter_modules([str(Path(__file__).parent)])]
    modules = [import_module(f"{__package__}.{name}") for name in names if f"{__package__}.{name}" != __name__]
    return {kind.name: kind for module in modules for kind in getattr(module, "KINDS", ())}


_OWN = _own()
KINDS = dict(_OWN)


def register_lineshape(
    name: str,
    lineshape: str | sp.Expr | Callable[..., Any] | LineshapeKind,
    parameters: ParameterSpec | None = None,
    *,
    columns: Sequence[str] = (),
    replace: bool = False,
) -> None:
    """Give a lineshape of your own a name that models can use as ``lineshape``, from now on in this program.

    Args:
        name:        letters, digits and underscores
        lineshape:   an expression as text or in sympy, ``function(s, q2, parameters)`` on torch tensors that returns F of each event, or a
                     ``LineshapeKind``, which knows the vertex and may have options
        parameters:  names of its parameters, or names with default values; an expression in sympy has those of its symbols
        columns:     event columns that it uses; a function gets them as a fourth argument, tensors [event] by name
        replace:     whether it may take the place of a lineshape that exists
    """
    if not name.isidentifier() or name in NAMES:
        raise PhysicsError(
            f"{name!r} cannot be the name of a lineshape", "use letters, digits and underscores, and no name of an event variable"
        )
    if name in KINDS and not replace:
        raise PhysicsError(f"a lineshape {name!r} already exists", "choose another name, or say replace=True")
    if isinstance(lineshape, LineshapeKind) and (parameters is not None or columns):
        raise PhysicsError(f"lineshape {name!r} is a LineshapeKind, whose formula says its parameters and columns", "leave them out here")
    kind = changed(lineshape, name=name) if isinstance(lineshape, LineshapeKind) else _kind(name, lineshape, parameters, tuple(columns))
    KINDS[name] = kind


def unregister_lineshape(name: str) -> None:
    """Forget a lineshape that ``register_lineshape`` added; one whose place it took is back."""
    KINDS.pop(name, None)
    KINDS.update({name: _OWN[name]} if name in _OWN else {})


def _kind(
    name: str, lineshape: str | sp.Expr | Callable[..., Any], parameters: ParameterSpec | None, columns: tuple[str, ...]
) -> LineshapeKind:
    options: dict[str, Any] = {} if parameters is None else {"parameters": parameters}
    options |= {"columns": columns} if columns and callable(lineshape) else {}
    build_lineshape(lineshape, Vertex(0.14, 0.14, 0, 3.0, columns), **options)  # what is wrong with it is said here

    def build(vertex: Vertex) -> Lineshape:
        return build_lineshape(lineshape, vertex, **options)

    return LineshapeKind(name, build, "registered by the user")


def build_lineshape(spec: str | sp.Expr | Lineshape | LineshapeKind | Callable[..., Any], vertex: Vertex, **options: Any) -> Lineshape:
    """The lineshape that a user asks for.

    Args:
        spec:     name of a kind, expression as text or sympy, a finished lineshape, or a function (s, q2, parameters) on torch tensors
        vertex:   the vertex where the resonance decays
        options:  options of the kind; for expressions and functions ``parameters``: names, or names with default values; for functions
                  ``columns``: names of the event columns that they take as a fourth argument
    """
    lineshape = _built(spec, vertex, options)
    if isinstance(lineshape, Formula) and vertex.d == RADIUS.symbol and RADIUS.symbol in symbols_of(lineshape.expression):
        lineshape = changed(lineshape, parameters=(*lineshape.parameters, RADIUS))
    return check_lineshape(lineshape, vertex)


def _built(spec: str | sp.Expr | Lineshape | LineshapeKind | Callable[..., Any], vertex: Vertex, options: dict[str, Any]) -> Lineshape:
    if isinstance(spec, str):
        name = spec.strip()
        if name in KINDS:
            return _build(KINDS[name], vertex, options)
        if name.isidentifier() and name not in NAMES and name not in _declared(options):
            known = suggest(name, KINDS) or "known: " + ", ".join(sorted(KINDS))
            raise PhysicsError(
                f"unknown lineshape {name!r}", f"{known} To add your own: ctpwa.register_lineshape(...), or write an expression"
            )
        _check_options("expression", {"parameters": ""}, options)
        return formula_from_text(spec, vertex, **options)
    if isinstance(spec, LineshapeKind):
        return _build(spec, vertex, options)
    if isinstance(spec, Formula | Basis | Callback):
        _check_options(spec.name, {}, options)
        return spec
    if isinstance(spec, sp.Expr | int | float):
        _check_options("expression", {"parameters": "", "name": ""}, options)
        return formula_from_sympy(sp.sympify(spec), vertex, **options)
    if callable(spec):
        _check_options(getattr(spec, "__name__", "custom"), {"parameters": "", "columns": ""}, options)
        return callback_from_function(spec, **options)
    raise PhysicsError(f"{spec!r} is not a lineshape", "give a name, an expression, a lineshape or a function")


def _build(kind: LineshapeKind, vertex: Vertex, options: dict[str, Any]) -> Lineshape:
    _check_options(kind.name, dict(kind.options), options)
    if options or kind is not _OWN.get(kind.name):
        return kind.build(vertex, **options)
    return _shared(kind.name, vertex)


@lru_cache(1024)
def _shared(name: str, vertex: Vertex) -> Lineshape:
    """Resonances of one kind share their formula at equal vertices: sympy takes some milliseconds for it."""
    return _OWN[name].build(vertex)


def _check_options(name: str, known: dict[str, str], options: dict[str, Any]) -> None:
    for option in options:
        if option not in known:
            valid = f"it takes {', '.join(sorted(known))}" if known else "it takes none"
            near = suggest(option, known) if known else ""
            raise PhysicsError(f"unknown option {option!r} of lineshape {name!r}: {valid}", near or "remove it")


def _declared(options: dict[str, Any]) -> set[str]:
    parameters = options.get("parameters") or ()
    return {str(getattr(p, "name", p)) for p in parameters} | {"mass", "width"}
