"""Types of numbers and texts in model files, and what may stand in their place."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, GetJsonSchemaHandler, Tag
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

MIN_MASS, MAX_MASS = 1e-6, 1e6  # GeV, of resonances; widths and formulas hold powers of masses
MIN_RADIUS, MAX_RADIUS = 1e-3, 1e3  # GeV^-1; barrier factors hold powers up to 2L of it
MAX_CHARGE = 10
MAX_L = 100
MAX_SEED = 2**63 - 1
TEXT, NUMBER = {"type": "string"}, {"type": "number"}  # of a JSON schema
TEXTS = {"type": "array", "items": TEXT}

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Mass = Annotated[float, Field(ge=MIN_MASS, le=MAX_MASS, allow_inf_nan=False)]
Width = Annotated[float, Field(gt=0, le=MAX_MASS, allow_inf_nan=False)]
Radius = Annotated[float, Field(ge=MIN_RADIUS, le=MAX_RADIUS, allow_inf_nan=False)]
Tolerance = Annotated[float, Field(gt=0)]  # infinity switches a check off
Pair = Annotated[list[Finite], Field(min_length=2, max_length=2)]
Number = float | str  # a string is read as a complex number, such as 0.5+0.1j


def _formula(text: str) -> str:
    """A formula of parameters; a number in quotes, or with a unit, is meant to be a number."""
    if not text.strip() or _NUMBER_WITH_UNIT.fullmatch(text):
        raise PydanticCustomError("float_type", "Input should be a valid number")
    return text


_NUMBER_WITH_UNIT = re.compile(r"\s*[-+]?(\d[\d_]*\.?\d*|\.\d+)([eE][-+]?\d+)?\s*[A-Za-z^-]*\d*\s*|[-+.]*(?i:nan|inf|infinity)")
FormulaText = Annotated[str, AfterValidator(_formula)]  # of other parameters
LSPair = Annotated[list[int | float | str], Field(min_length=2, max_length=2)]
LSList = Annotated[list[LSPair], Field(min_length=1)]


class OneOrManySchema:
    """Where a list is expected, a single text will do: in the data, and in the schema that editors use."""

    @staticmethod
    def to_list(value: Any) -> Any:
        """A list of one text."""
        return [value] if isinstance(value, str) else value

    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        many = handler(core_schema)
        return {"anyOf": [many["items"], many]}


T = TypeVar("T")
OneOrMany = Annotated[list[T], BeforeValidator(OneOrManySchema.to_list), OneOrManySchema()]


def _number_alone(value: Any) -> Any:
    return [value] if isinstance(value, int) else value


OneOrMore = Annotated[list[T], BeforeValidator(_number_alone), OneOrManySchema()]  # of numbers


def _named_or_not(value: Any) -> str:
    return "by_name" if isinstance(value, dict) else "plain"


N = TypeVar("N")
M = TypeVar("M")
ByName = Annotated[Annotated[dict[str, N], Tag("by_name")] | Annotated[M, Tag("plain")], Discriminator(_named_or_not)]  # or one for all


class StrictSpec(BaseModel):
    """A section of a model file. ``also`` is what may stand in its place, as a shorthand, in the schema that editors use."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=False)
    also: ClassVar[tuple[JsonSchemaValue, ...]] = ()

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The section, or a shorthand."""
        schema = handler(core_schema)
        return {"anyOf": [*cls.also, handler.resolve_ref_schema(schema)], "title": cls.__name__} if cls.also else schema


class NamesOrValues:
    """Where values by name are expected, names alone will do."""

    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [TEXT, TEXTS, handler(core_schema)]}


def names_alone(value: Any) -> Any:
    """Names without values, as a mapping to None."""
    names = [value] if isinstance(value, str) else value
    return dict.fromkeys(names) if isinstance(names, list) and all(isinstance(name, str) for name in names) else names
