"""What the section ``production`` of a model file may say."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from ctpwa.config.spec_types import Finite, NamesOrValues, NotNegative, OneOrMore, Pair, StrictSpec


class TableFileSpec(StrictSpec):
    """A table of two columns in a file: energies of the beam in GeV, and numbers; straight lines between them."""

    file: str = Field(description="a text file with two numbers on each line; a model file is read with its tables")


TablePoints = Annotated[list[Pair], Field(min_length=1)]


def _kind_of_numbers(value: Any) -> str:
    if isinstance(value, dict):
        return "file"
    if isinstance(value, list):
        return "points" if any(isinstance(own, list) for own in value) else "numbers"
    return "word" if isinstance(value, str) else "number"


TableOrNumber = Annotated[
    Annotated[Finite, Tag("number")]
    | Annotated[str, Tag("word")]
    | Annotated[list[Finite], Tag("numbers")]
    | Annotated[TablePoints, Tag("points")]
    | Annotated[TableFileSpec, Tag("file")],
    Discriminator(_kind_of_numbers),
]


class PhotonPolarisationSpec(StrictSpec):
    """The polarisation of photons: each a number of all events, or the name of an event column."""

    degree: TableOrNumber = Field(
        0.0,
        description="degree P of linear polarisation, 0 to 1; or a table of it against the energy of the beam: [[8.2, 0.3], …], {file: …}",
    )
    angle: Finite | str | None = Field(None, description="azimuth of linear polarisation in radians, with the beam along z")
    direction: str | list[Finite] | None = Field(
        None, description="instead of angle: the polarisation vector, perpendicular to the beam; a column of 3 numbers, or the numbers"
    )
    circular: Finite | str | None = Field(None, description="degree of circular polarisation, -1 to 1, positive for helicity +1")


class ProducedWaveSpec(StrictSpec):
    """The states in which X with one J^P is produced."""

    m: OneOrMore[int] | None = Field(None, description="spin projections; all if left out. Without polarisation 0 or more")
    reflectivity: OneOrMore[Literal[1, -1]] | None = Field(None, description="1, -1 or both; both if left out")


class GeneratedReactionSpec(StrictSpec):
    """What events of a production are generated with: f(E) dE · exp(bt) dt · phase space of X and its decay."""

    energy: TableOrNumber | None = Field(
        None, description="of the beam, GeV: a number, [lowest, highest], or how many there are at each: [[8.2, 1], [8.8, 3]], {file: …}"
    )
    beam: str | None = Field(None, description="the particle of the beam; gamma for photoproduction")
    recoil: str | Finite | None = Field(None, description="the particle, or its mass in GeV; p if charges allow it")
    slope: NotNegative = Field(5.0, description="b of exp(bt), GeV^-2")
    mass: Pair = Field(description="smallest and largest mass of X, GeV")
    degree: TableOrNumber | None = Field(None, description="of linear polarisation, where it is an event column: a number, or a table")
    angle: Finite | list[Finite] | None = Field(
        None,
        description="azimuth of linear polarisation in radians, where it or the direction is an event column; or several, each as often",
    )
    circular: Finite | None = Field(None, description="degree of circular polarisation, where it is an event column")


class RankSpec(StrictSpec):
    """How many incoherent copies every reflectivity has."""

    also: ClassVar = ({"type": "integer", "minimum": 1, "maximum": 4},)  # one number for both
    positive: int = Field(1, ge=1, le=4)
    negative: int = Field(1, ge=1, le=4)


def _both_ranks(value: Any) -> Any:
    return value if isinstance(value, dict) else {"positive": value, "negative": value}


def _produced_waves(value: Any) -> Any:
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return {name: {} for name in value}
    return {name: {} if own is None else own for name, own in value.items()} if isinstance(value, dict) else value


class ProductionSpec(StrictSpec):
    """X that a beam made: X has any mass, and every wave its own J^P."""

    kind: Literal["photoproduction", "diffraction"] = Field(description="by photons, or by a beam without spin")
    frame: Literal["helicity", "gottfried-jackson", "adair"] | None = Field(
        None, description="axes of the spin of X; helicity for photons, gottfried-jackson for diffraction if left out"
    )
    beam: str | list[Finite] = Field("beam", description="E, px, py, pz of the beam, GeV: an event column of 4 numbers, or the numbers")
    target: str | list[Finite] | None = Field(None, description="the same of the target; a proton at rest if left out")
    polarisation: PhotonPolarisationSpec | Literal["amptools"] | None = Field(
        None, description="of the photons; null if they have none; amptools: P cos a and P sin a are px and py of the beam"
    )
    waves: Annotated[dict[str, ProducedWaveSpec], BeforeValidator(_produced_waves), NamesOrValues()] = Field(
        description="J^P of X, with the states in which it is produced: [0+, 2+] for all of them, or {2+: {m: [0, 1, 2], reflectivity: 1}}"
    )
    rank: Annotated[RankSpec, BeforeValidator(_both_ranks)] = Field(
        default_factory=lambda: RankSpec.model_validate({}),
        description="incoherent copies of all waves, such as 2 for nucleon spin flip and non-flip; or {positive: 2, negative: 1}",
    )
    generate: GeneratedReactionSpec | None = Field(None, description="what phase space and toy data are generated with")
