"""What a model file may say: names, types and limits of every key."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Number = float | str  # a string is read as a complex number, such as 0.5+0.1j
LSPair = Annotated[list[int | float | str], Field(min_length=2, max_length=2)]
LSList = Annotated[list[LSPair], Field(min_length=1)]


class _OneOrMany:
    """Where a list is wanted, a single text will do: in the data, and in the schema that editors use."""

    @staticmethod
    def to_list(value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        many = handler(core_schema)
        return {"anyOf": [many["items"], many]}


T = TypeVar("T")
OneOrMany = Annotated[list[T], BeforeValidator(_OneOrMany.to_list), _OneOrMany()]


def _chain_text(value: Any) -> Any:
    return {"decay": value} if isinstance(value, str) else value


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=False)


class ParticleSpec(_Strict):
    """A particle of the user, or changes to one of the PDG."""

    JP: str | None = Field(None, description="J^P or J^PC, e.g. 1-- or 3/2+")
    mass: NotNegative | None = Field(None, description="GeV")
    width: NotNegative | None = Field(None, description="GeV")
    charge: int | None = Field(None, description="in units of e")
    massless: bool | None = Field(None, description="whether it has only the helicities ±J; true if mass is 0")
    antiparticle: str | None = Field(None, description="name of the antiparticle; its own name if self-conjugate")
    latex: str | None = Field(None, description="name in figures and tables")


class ResonanceSpec(_Strict):
    """A resonance or non-resonant structure."""

    in_: OneOrMany[str] = Field(default_factory=list, alias="in", description="the final particles it decays to, or a list of such systems")
    particle: str | None = Field(None, description="name of the particle if the key is another name")
    JP: str | None = Field(None, description="J^P or J^PC; from the PDG if left out")
    mass: Positive | None = Field(None, description="GeV; from the PDG if left out")
    width: Positive | None = Field(None, description="GeV; from the PDG if left out")
    lineshape: str = Field("breit_wigner", description="the propagator: a name, or an expression in s, q2 and parameters")
    parameters: dict[str, float] = Field(default_factory=dict, description="parameters of the lineshape besides mass and width")
    options: dict[str, Any] = Field(default_factory=dict, description="options of the lineshape, such as channels")
    float_: OneOrMany[str] = Field(default_factory=list, alias="float", description="parameters to fit")
    radius: Positive | None = Field(None, description="barrier radius of its decay vertex, GeV^-1")
    max_L: int | None = Field(None, ge=0, description="largest L at its decay and its production vertex")
    decay_ls: LSList | None = Field(None, description="only these (L, S) where it decays")
    production_ls: LSList | None = Field(None, description="only these (L, S) where it is produced")
    weak: bool | None = Field(None, description="whether its decay may violate parity; found from flavours if left out")
    tie: bool | None = Field(None, description="tie the couplings of charge-conjugate chains")
    off_shell: bool = Field(False, description="accept a resonance far outside the kinematic range")
    latex: str | None = Field(None, description="name in figures and tables")


class ChainSpec(_Strict):
    """A chain spelled out vertex by vertex."""

    decay: str = Field(description="vertices separated by ;")
    ls: list[LSList | None] | None = Field(None, description="for each vertex, only these (L, S); null for all")
    max_L: int | None = Field(None, ge=0, description="largest L at any vertex of this chain")
    tie: bool | None = Field(None, description="tie the couplings to those of the charge-conjugate chain")

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """A chain may also be a single text."""
        schema = handler.resolve_ref_schema(handler(core_schema))
        return {"anyOf": [{"type": "string"}, schema], "title": "ChainSpec"}


class PolarSpec(_Strict):
    """A complex number by modulus and phase."""

    abs: NotNegative = Field(description="modulus")
    phase: Finite = Field(description="phase in radians")


CouplingValue = Number | Annotated[list[Finite], Field(min_length=2, max_length=2)] | PolarSpec


class ModelSpec(_Strict):
    """A whole model file."""

    decay: str = Field(description="parent -> final particles")
    polarisation: Literal["unpolarised", "transverse"] | list[list[Number]] = Field(
        "unpolarised", description="spin state of the parent: unpolarised, transverse (m = ±1), or a density matrix"
    )
    formalism: Literal["canonical", "zou-bugg"] = Field("canonical", description="how daughter spins enter a vertex")
    weak: bool | None = Field(None, description="whether the parent's decay may violate parity")
    radius: Positive = Field(3.0, description="barrier radius of all vertices, GeV^-1")
    max_L: int | None = Field(None, ge=0, description="largest L at any vertex")
    tie_conjugates: bool = Field(True, description="tie the couplings of charge-conjugate chains")
    particles: dict[str, ParticleSpec] = Field(default_factory=dict, description="new particles, and changes to those of the PDG")
    resonances: dict[str, ResonanceSpec] = Field(default_factory=dict, description="resonances by name")
    chains: list[Annotated[ChainSpec, BeforeValidator(_chain_text)]] = Field(default_factory=list, description="chains spelled out")
    couplings: dict[str, CouplingValue] = Field(
        default_factory=dict,
        description="values of complex couplings by name: a number, [re, im] or {abs, phase}",
    )
