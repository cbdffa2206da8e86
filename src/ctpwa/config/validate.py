"""From plain data to a ``ModelSpec``, with every type error as a ``Problem``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ValidationError

from ctpwa.config.schema import ChainSpec, ModelSpec, ParticleSpec, ResonanceSpec
from ctpwa.errors import ConfigError, Path, Problem, suggest

_SECTIONS: dict[str, type[BaseModel]] = {"particles": ParticleSpec, "resonances": ResonanceSpec, "chains": ChainSpec}
_EXPECTED = {
    "float_type": "a number",
    "int_type": "a whole number",
    "string_type": "text",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping of keys",
    "model_attributes_type": "a mapping of keys",
}


def validate(data: Any) -> ModelSpec:
    """The checked model description; all problems together if it is not valid."""
    if not isinstance(data, dict):
        raise ConfigError([Problem(f"a model is a mapping of keys, not {_shown(data)}", (), "start with: decay: J/psi(1S) -> K+ K- eta")])
    try:
        return ModelSpec.model_validate(data)
    except ValidationError as error:
        raise ConfigError(list(_problems(error, data))) from None


def _problems(error: ValidationError, data: dict) -> Iterator[Problem]:
    seen: set[Path] = set()
    for entry in error.errors():
        path = _real_path(entry["loc"], data)
        if path not in seen:  # a union reports the same value once for each of its members
            seen.add(path)
            yield _problem(entry, path)


def _real_path(location: tuple[int | str, ...], data: Any) -> Path:
    """The part of a pydantic location that exists in the data; union members are not part of it."""
    path: list[str | int] = []
    here = data
    for position, step in enumerate(location):
        if (isinstance(here, dict) and step in here) or (isinstance(here, list) and isinstance(step, int) and step < len(here)):
            path.append(step)
            here = here[step]  # type: ignore[index]
        elif position == len(location) - 1 and isinstance(here, dict):
            path.append(step)
        elif isinstance(here, str):
            break
    return tuple(path)


def _problem(entry: Any, path: Path) -> Problem:
    kind, value, context = entry["type"], entry["input"], entry.get("ctx", {})
    name = path[-1] if path else ""
    if kind == "extra_forbidden":
        return Problem(f"unknown key {str(name)!r}", path, suggest(str(name), _keys_at(path)))
    if kind == "missing":
        return Problem(f"key {str(name)!r} is missing", path, _description(path))
    if kind == "literal_error":
        return Problem(f"{_shown(value)} is not a value of {name!r}", path, suggest(str(value), _words(context)))
    if path and path[0] == "polarisation":
        return Problem(f"{_shown(value)} is not a polarisation", path, "write unpolarised, transverse, or a matrix [[…], …] of numbers")
    if kind in _EXPECTED:
        fix = f"write {_EXPECTED[kind]}"
        if kind == "float_type" and isinstance(value, str) and _is_number(value):
            fix = f"YAML reads {value!r} as text; write {float(value)!r}"
        return Problem(f"{name!r} must be {_EXPECTED[kind]}, not {_shown(value)}", path, fix)
    if kind in ("greater_than", "greater_than_equal"):
        sign = ">" if kind == "greater_than" else ">="
        return Problem(f"{name!r} is {_shown(value)}", path, f"it must be {sign} {context.get('gt', context.get('ge'))}")
    if kind in ("too_short", "too_long"):
        return Problem(f"{_shown(value)} is not an (L, S) pair", path, "write pairs such as [1, 1] or [0, 1/2]")
    return Problem(f"{name!r}: {entry['msg']}", path)


def _section(path: Path) -> type[BaseModel]:
    return _SECTIONS.get(str(path[0]), ModelSpec) if len(path) > 2 else ModelSpec


def _keys_at(path: Path) -> list[str]:
    return [field.alias or name for name, field in _section(path).model_fields.items()]


def _description(path: Path) -> str:
    for name, field in _section(path).model_fields.items():
        if path and (field.alias or name) == path[-1]:
            return f"add {path[-1]}: {field.description or '…'}"
    return ""


def _words(context: dict) -> list[str]:
    return [word.strip(" '") for word in str(context.get("expected", "")).replace(" or ", ",").split(",")]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
