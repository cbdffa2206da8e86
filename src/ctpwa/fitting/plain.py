"""Dataclasses to plain numbers, texts, lists and mappings, as JSON has them, and back with every type checked.

A number is finite unless its type, ``Extended``, says that it need not be.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from functools import cache
from reprlib import Repr
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from ctpwa.base.words import counted
from ctpwa.minimise.steps import Extended

NOT_FINITE = ("inf", "-inf", "nan")
LARGEST_COUNT = 2**63
LARGEST_NUMBER = sys.float_info.max


def to_plain(value: Any) -> Any:
    """Arrays and tuples as lists, infinities as texts, dataclasses as mappings."""
    if hasattr(value, "__dataclass_fields__"):
        return {name: to_plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return to_plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    if isinstance(value, complex):
        return str(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else str(float(value))
    if isinstance(value, (np.integer, np.bool_)):
        return value.item()
    return value


def from_plain(value: Any) -> Any:
    """Infinities back from texts, where nothing else is known of a value."""
    if isinstance(value, dict):
        return {key: from_plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [from_plain(item) for item in value]
    return float(value) if isinstance(value, str) and value in NOT_FINITE else value


def build(kind: Any, value: Any, where: str = "") -> Any:
    """What ``to_plain`` described.

    Args:
        kind:   its type: a dataclass, a number, a text, ``tuple[…]``, ``Mapping[str, …]``, ``… | None``, an array of finite numbers
                or ``Any``
        value:  the description
        where:  the keys that lead to it, for messages

    Raises:
        ValueError: where the description does not fit the type, with the place
    """
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return from_plain(value)
    if kind == Extended:
        return float(value) if isinstance(value, str) and value in NOT_FINITE else _scalar(float, value, where)
    if origin in (Union, UnionType):
        if value is None and NoneType in inner:
            return None
        return build(next(k for k in inner if k is not NoneType), value, where)
    if hasattr(kind, "__dataclass_fields__"):
        return _dataclass(kind, value, where)
    if origin is tuple and inner[-1] is not Ellipsis:
        items = _list(value, where)
        if len(items) != len(inner):
            raise ValueError(f"{where} has {counted(len(items), 'entry', 'entries')} instead of {len(inner)}")
        return tuple(build(k, item, f"{where}[{i}]") for i, (k, item) in enumerate(zip(inner, items, strict=True)))
    if origin in (tuple, list):
        return origin(build(inner[0], item, f"{where}[{i}]") for i, item in enumerate(_list(value, where)))
    if kind is np.ndarray:
        return _array(value, where)
    if origin is not None and issubclass(origin, Mapping):
        return {key: build(inner[1], item, f"{where}[{key!r}]") for key, item in _mapping(value, where).items()}
    return _scalar(kind, value, where)


def _dataclass(kind: Any, value: Any, where: str) -> Any:
    given = _mapping(value, where)
    kinds = _kinds(kind)
    names = list(kind.__dataclass_fields__)
    prefix = f"{where}." if where else ""
    for name in names:
        if name not in given:
            raise ValueError(f"{prefix}{name} is missing")
    for name in given:
        if name not in names:
            raise ValueError(f"{prefix}{name} is not known")
    return kind(**{name: build(kinds[name], given[name], f"{prefix}{name}") for name in names})


@cache
def _kinds(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _mapping(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{where or 'it'} is {_short(value)}, not a mapping")
    return value


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{where} is {_short(value)}, not a list")
    return value


def _array(value: Any, where: str) -> np.ndarray:
    """Lists of numbers, all of them equally long."""

    def numbers(item: Any, place: str) -> Any:
        if isinstance(item, list):
            return [numbers(inner, f"{place}[{i}]") for i, inner in enumerate(item)]
        return _scalar(float, item, place)

    try:
        return np.array(numbers(_list(value, where), where), dtype=float)
    except ValueError as error:
        raise ValueError(str(error) if where in str(error) else f"the rows of {where} are not equally long") from None


def _scalar(kind: Any, value: Any, where: str) -> Any:
    if kind is float:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if number and abs(value) <= LARGEST_NUMBER:
            return float(value)
        not_finite = number or (isinstance(value, str) and value in NOT_FINITE)
        raise ValueError(f"{where} is {_short(value)}, not a {'finite number' if not_finite else 'number'}")
    words = {int: "a whole number", str: "a text", bool: "true or false"}
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ValueError(f"{where} is {_short(value)}, not {words[kind]}")
    if kind is int and abs(value) >= LARGEST_COUNT:
        raise ValueError(f"{where} is {_short(value)}, larger than anything that was counted")
    return value


_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 40


def _short(value: Any) -> str:
    """A value for a message, however large it is."""
    text = _SHORT.repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
