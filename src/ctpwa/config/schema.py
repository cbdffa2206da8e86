"""What a model file may say: names, types and limits of every key."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from ctpwa.config.fit_spec import FitSpec
from ctpwa.config.production_spec import ProductionSpec
from ctpwa.config.spec_types import (
    MAX_CHARGE,
    MAX_L,
    MAX_MASS,
    NUMBER,
    TEXT,
    TEXTS,
    ByName,
    Finite,
    FormulaText,
    LSList,
    Mass,
    NamesOrValues,
    NotNegative,
    Number,
    OneOrMany,
    OneOrManySchema,
    Pair,
    Positive,
    Radius,
    StrictSpec,
    Tolerance,
    Width,
    names_alone,
)


class ParticleSpec(StrictSpec):
    """A particle of the user, or changes to one of the PDG."""

    JP: str | None = Field(None, description="J^P or J^PC, e.g. 1-- or 3/2+")
    mass: NotNegative | None = Field(None, le=MAX_MASS, description="GeV")
    width: NotNegative | None = Field(None, le=MAX_MASS, description="GeV")
    charge: int | None = Field(None, ge=-MAX_CHARGE, le=MAX_CHARGE, description="in units of e")
    massless: bool | None = Field(None, description="whether it has only the helicities ±J; true if mass is 0")
    antiparticle: str | None = Field(None, description="name of the antiparticle; its own name if self-conjugate")
    latex: str | None = Field(None, description="name in figures and tables")


VertexL = Annotated[int, Field(ge=0, le=MAX_L)]


class BarrierSpec(StrictSpec):
    """How a vertex grows with its break-up momentum q."""

    also: ClassVar = (TEXT,)  # just the form
    form: Literal["blatt-weisskopf", "exponential", "momentum", "none"] = Field(
        "blatt-weisskopf",
        description="blatt-weisskopf: q^l/sqrt(N_l(q d)); exponential: q^l exp(-q^2 d^2/2); momentum: q^l; none: 1",
    )
    l: VertexL | None = Field(None, description="l of this factor; L of the wave if left out")
    radius: Radius | str | None = Field(None, description="d in GeV^-1, or the name of a parameter; that of the state if left out")
    normalised: Literal["no", "barrier", "all"] = Field(
        "no",
        description="what is divided by its value at nominal masses: no, nothing; barrier, 1/sqrt(N_l) or the exponential; all, q^l too",
    )


def _barrier_form(value: Any) -> Any:
    return {"form": value} if isinstance(value, str) else value


VertexBarrier = Annotated[BarrierSpec, BeforeValidator(_barrier_form)]


class MaxLSpec(StrictSpec):
    """Largest L at the two vertices of a resonance."""

    also: ClassVar = ({"type": "integer", "minimum": 0, "maximum": MAX_L},)  # one number for both
    production: VertexL | None = Field(None, description="largest L where it is produced")
    decay: VertexL | None = Field(None, description="largest L where it decays")


def _both_vertices(value: Any) -> Any:
    return value if value is None or isinstance(value, dict) else {"production": value, "decay": value}


class ResonanceSpec(StrictSpec):
    """A resonance or non-resonant structure."""

    in_: OneOrMany[str] = Field(default_factory=list, alias="in", description="the final particles it decays to, or a list of such systems")
    particle: str | None = Field(None, description="name of the particle if the key is another name")
    JP: str | None = Field(None, description="J^P or J^PC; from the PDG if left out")
    mass: Mass | FormulaText | None = Field(None, description="GeV; from the PDG if left out; or a formula of other parameters")
    width: Width | FormulaText | None = Field(None, description="GeV; from the PDG if left out; or a formula of other parameters")
    lineshape: str = Field("breit_wigner", description="the propagator: a name, or an expression in s, q2 and parameters")
    parameters: dict[str, Finite | FormulaText] = Field(
        default_factory=dict, description="parameters of the lineshape besides mass and width: numbers, or formulas of other parameters"
    )
    options: dict[str, Any] = Field(default_factory=dict, description="options of the lineshape, such as channels")
    float_: OneOrMany[str] = Field(
        default_factory=list, alias="float", description="parameters to fit; pdg: mass and width, constrained to the PDG"
    )
    radius: Radius | None = Field(None, description="barrier radius of its lineshape and its decay vertex, GeV^-1")
    barrier: VertexBarrier | None = Field(None, description="barrier of its decay vertex: a form, or {form, l, radius, normalised}")
    production_barrier: VertexBarrier | None = Field(None, description="barrier of the vertex where it is produced")
    nominal_mass: Mass | None = Field(
        None, description="GeV; the mass that lineshapes and barriers of other states see; that of its own lineshape if left out"
    )
    width_l: VertexL | None = Field(None, description="l of its running width; the smallest L of its vertex if left out")
    max_L: Annotated[MaxLSpec | None, BeforeValidator(_both_vertices)] = Field(
        None, description="largest L at its production and its decay vertex: a number, or {production: 1, decay: 2}"
    )
    decay_ls: LSList | None = Field(None, description="only these (L, S) where it decays")
    production_ls: LSList | None = Field(None, description="only these (L, S) where it is produced")
    without: OneOrMany[str] = Field(
        default_factory=list,
        description="what is left out of its chains: those with another resonance, by its name; waves, by their names or how these begin",
    )
    weak: bool | None = Field(None, description="whether its decay may violate parity; found from flavours if left out")
    tie: bool | None = Field(None, description="tie the couplings of charge-conjugate chains")
    off_shell: bool = Field(False, description="accept a resonance far outside the kinematic range")
    latex: str | None = Field(None, description="name in figures and tables")


class ParameterSpec(StrictSpec):
    """A parameter of no resonance, for formulas."""

    also: ClassVar = (NUMBER, TEXT)  # just its value
    value: Finite | FormulaText = Field(description="its value, or a formula of other parameters")
    float_: bool = Field(False, alias="float", description="whether it is fitted")
    limits: Pair | None = Field(None, description="limits that a fit respects: [lower, upper]")


def _parameter_value(value: Any) -> Any:
    return value if isinstance(value, dict) else {"value": value}


class ElementSpec(StrictSpec):
    """An element of the spin density matrix of the parent, or a component of its polarisation vector."""

    also: ClassVar = (NUMBER, TEXT)  # just its value, or the word float
    value: Finite | FormulaText | None = Field(
        None, description="its value, or a diagonal element that it is equal to; unpolarised if left out"
    )
    float_: bool = Field(False, alias="float", description="whether it is fitted")
    limits: Pair | None = Field(None, description="limits that a fit respects: [lower, upper]")


FLOAT = "float"  # instead of a number


def _element(value: Any) -> Any:
    if value == FLOAT:
        return {"float": True}
    return value if isinstance(value, dict) else {"value": value}


def _kind_of_polarisation(value: Any) -> str:
    return "elements" if isinstance(value, dict) else "matrix" if isinstance(value, list) else "word"


def _elements(value: Any) -> Any:
    """Names of elements that float, as a mapping."""
    names = [value] if isinstance(value, str) and value.startswith(("P_", "rho_")) else value
    return {name: FLOAT for name in names} if isinstance(names, list) and names and all(isinstance(name, str) for name in names) else names


def _chain_text(value: Any) -> Any:
    return {"decay": value} if isinstance(value, str) else value


class ChainSpec(StrictSpec):
    """A chain spelled out vertex by vertex."""

    also: ClassVar = (TEXT,)  # just its vertices
    decay: str = Field(description="vertices separated by ;")
    ls: list[LSList | None] | None = Field(None, description="for each vertex, only these (L, S); null for all")
    max_L: VertexL | list[VertexL | None] | None = Field(
        None, description="largest L at any vertex of this chain, or a list with one entry per vertex; null for no limit"
    )
    barriers: list[VertexBarrier | None] | None = Field(None, description="for each vertex its barrier; null for that of its resonances")
    tie: bool | None = Field(None, description="tie the couplings to those of the charge-conjugate chain")


class PolarSpec(StrictSpec):
    """A complex number by modulus and phase."""

    abs: NotNegative = Field(description="modulus")
    phase: Finite = Field(description="phase in radians")


CouplingValue = Number | Annotated[list[Finite], Field(min_length=2, max_length=2)] | PolarSpec


class ShareSpec(StrictSpec):
    """How much of all events a resonance, a wave or all waves with a J^P make up."""

    also: ClassVar = (NUMBER, TEXT)  # just the fraction
    fraction: Finite | str = Field(description="its part of all events, over phase space: a number such as 0.3, or 30 %")
    phase: Finite | None = Field(None, description="phase of its couplings in radians; found if left out")


def _share(value: Any) -> Any:
    return value if isinstance(value, dict) else {"fraction": value}


class ColumnSpec(StrictSpec):
    """An event column: numbers of each event besides momenta and weights."""

    size: int = Field(1, ge=1, le=16, description="numbers for each event: 1, or the components of a vector")
    limits: Pair | None = Field(None, description="lowest and highest number that an event may have")


def _column_names(value: Any) -> Any:
    names = [value] if isinstance(value, str) else value
    return {name: {} for name in names} if isinstance(names, list) and all(isinstance(name, str) for name in names) else names


class EfficiencySpec(StrictSpec):
    """How likely it is that an event is measured: one of these."""

    also: ClassVar = (TEXT,)  # just a formula
    formula: str | None = Field(None, description="a formula of variables, such as 0.3 + 0.1*cos_theta(K+; K+ K-)")
    column: str | None = Field(None, description="column of the files, or one of column_files")
    histogram: str | None = Field(None, description="JSON file with axes, each a variable and its edges, and values")


def _formula_text(value: Any) -> Any:
    return {"formula": value} if isinstance(value, str) else value


class SampleSpec(StrictSpec):
    """Where the events of a sample come from: files, or generated phase space."""

    also: ClassVar = (TEXT,)  # just a file
    file: OneOrMany[str] = Field(default_factory=list, description=".root, .parquet, .npz, .txt or .dat; a pattern, or a list of files")
    tree: str | None = Field(None, description="name of the tree in ROOT files; the only one if left out")
    momenta: ByName[OneOrMany[str], list[str]] = Field(
        default_factory=dict,
        description="final particle: stem of its columns, its column, or its four columns; for text files the particles in order of lines",
    )
    weight: str | bool | None = Field(None, description="column of the weights; false: none")
    weight_file: OneOrMany[str] = Field(
        default_factory=list, description="weights in a file of their own: one number per line, .npy or .npz"
    )
    scale: Positive = Field(1.0, description="multiplies all weights")
    order: str | None = Field(None, description="order of four numbers; E px py pz if left out")
    unit: Literal["GeV", "MeV"] = Field("GeV", description="unit of momenta and energies in the files")
    mass_tolerance: ByName[Tolerance, Tolerance | None] = Field(
        None, description="by how much masses of final particles may differ from nominal ones, GeV; for all or by name"
    )
    parent_tolerance: Tolerance | None = Field(None, description="the same for the mass of all particles together, GeV")
    columns: dict[str, str | Finite | list[str] | list[Finite]] = Field(
        default_factory=dict,
        description="event column: its column in the files, those of the components of a vector, or numbers that all events have",
    )
    column_files: dict[str, OneOrMany[str]] = Field(
        default_factory=dict, description="event column: a file of its own, one number per line, .npy or .npz"
    )
    generate: int | None = Field(None, ge=1, description="how many events of phase space to generate instead of reading files")
    seed: int | None = Field(None, ge=0, description="seed of generated events; 0 if left out")
    proposal: Literal["model", "flat"] | None = Field(
        None, description="how events are generated: model, most at its resonances, with weights; flat, without weights; model if left out"
    )
    efficiency: Annotated[EfficiencySpec | None, BeforeValidator(_formula_text)] = Field(
        None, description="of phase space: a formula of variables, {column: …} or {histogram: file.json}; multiplies the weights"
    )


def _sample_list(value: Any) -> Any:
    samples = value if isinstance(value, list) else [value]
    return [{"file": sample} if isinstance(sample, str) else sample for sample in samples]


Samples = Annotated[list[SampleSpec], Field(min_length=1), BeforeValidator(_sample_list), OneOrManySchema()]


def _projection_list(value: Any) -> Any:
    entries = [value] if isinstance(value, str) else value
    return [{"variable": entry} if isinstance(entry, str) else entry for entry in entries] if isinstance(entries, list) else entries


class DensityAxisSpec(StrictSpec):
    """A variable of the final state with bins."""

    also: ClassVar = (TEXT,)  # just a variable
    variable: str = Field(description="such as mass(K+, K-)")
    bins: int = Field(20, ge=1, le=10_000, description="number of bins")
    range: Pair | None = Field(None, description="lowest and highest edge; what kinematics allows if left out")


class DensityResonanceSpec(StrictSpec):
    """A resonance of a background, which does not interfere."""

    also: ClassVar = (TEXT, TEXTS)  # just what it decays to
    in_: OneOrMany[str] = Field(default_factory=list, alias="in", description="the final particles it decays to, or a list of such systems")
    mass: Mass | None = Field(None, description="GeV; from the PDG if left out")
    width: Width | None = Field(None, description="GeV; from the PDG if left out")


def _system_text(value: Any) -> Any:
    return {"in": value} if isinstance(value, (str, list)) else value


class DensitySpec(StrictSpec):
    """What a background looks like, relative to the phase-space sample: one of formula, column, histogram and sideband."""

    also: ClassVar = (TEXT,)  # flat, or just a formula
    formula: str | None = Field(None, description="flat, or a formula of variables, such as 1 + mass2(K+, K-)")
    column: str | None = Field(None, description="event column of the samples")
    efficiency: str | None = Field(None, description="of a column: the event column of the efficiency that it holds, and is divided by")
    histogram: str | None = Field(None, description="JSON file with axes, each a variable and its edges, and values")
    sideband: Samples | None = Field(None, description="events that look like the background: a file, {file: …}, or a list of them")
    variables: (
        Annotated[list[DensityAxisSpec], Field(min_length=1, max_length=3), BeforeValidator(_projection_list), OneOrManySchema()] | None
    ) = Field(None, description="of sideband events: one to three variables, each a text or {variable, bins, range}")
    smoothing: NotNegative | None = Field(
        None, description="phase-space events that are added to the sideband events, as many for each bin; 1 if left out"
    )
    resonances: (
        Annotated[dict[str, Annotated[DensityResonanceSpec, BeforeValidator(_system_text)]], Field(min_length=1, max_length=50)] | None
    ) = Field(
        None,
        description="of sideband events, instead of variables: resonances that do not interfere, by name, each with the particles it decays"
        " to; their fractions and that of phase space are fitted to the sideband events",
    )


class FractionSpec(StrictSpec):
    """How much of the data is background."""

    also: ClassVar = (NUMBER,)  # just its value
    value: Finite = Field(description="its part of all events; where a fit starts if it floats")
    float_: bool = Field(False, alias="float", description="whether it is fitted")
    limits: Pair | None = Field(None, description="limits that a fit respects: [lower, upper]; 0 and 1 if left out")


class BackgroundSpec(StrictSpec):
    """A background that is in the data as a density."""

    density: Annotated[DensitySpec, BeforeValidator(_formula_text)] = Field(
        description="flat, a formula of variables, {column: …}, {histogram: file.json} or {sideband: file, variables: … or resonances: …}"
    )
    fraction: Annotated[FractionSpec, BeforeValidator(_parameter_value)] = Field(
        description="its part of all events: a number, or {value: 0.1, float: true}"
    )


class MomentumErrorSpec(StrictSpec):
    """How exactly the momentum of a particle is measured."""

    magnitude: Positive = Field(description="standard deviation of |p|, relative to it")
    angle: Positive = Field(description="standard deviation of the direction, rad")


class ResolutionSpec(StrictSpec):
    """How exactly events are measured: masses of pairs, momenta, or points in the files."""

    masses: ByName[Positive, list[str]] = Field(
        default_factory=dict,
        description="pair of particles: standard deviation of its measured mass, GeV, such as K+ K-: 0.0012; with momenta a list of pairs",
    )
    momenta: dict[str, MomentumErrorSpec] = Field(
        default_factory=dict, description="final particle: {magnitude, angle}, the errors of its momentum that masses are computed from"
    )
    points: int | None = Field(None, ge=3, le=1000, description="points of every event for each mass, within 4 standard deviations; 11")
    rows: int | None = Field(None, ge=2, le=10_000, description="so many rows of the files of data each are the points of one event")


class DataSetSpec(StrictSpec):
    """The samples of one data set."""

    data: Samples = Field(description="measured events: a file, {file: …, weight: …}, or a list of them")
    phase_space: Samples = Field(description="events for the normalisation: a file, or {generate: 500000, seed: 1}")
    background: Samples = Field(default_factory=list, description="events whose contribution is subtracted, with weights and scale > 0")
    backgrounds: dict[str, BackgroundSpec] = Field(
        default_factory=dict, description="backgrounds in the data as densities, by name: {density: flat, fraction: 0.1}"
    )
    truth: Samples = Field(default_factory=list, description="phase space before acceptance, for efficiency-corrected fractions")
    resolution: ResolutionSpec | None = Field(
        None, description="how exactly events are measured, such as {masses: {K+ K-: 0.0012}} or {rows: 8}"
    )
    conjugate: bool = Field(False, description="whether its files hold the charge-conjugate decay")


class ProjectionEntry(StrictSpec):
    """A histogram of a variable of the final state."""

    also: ClassVar = (TEXT,)  # just a variable
    variable: str = Field(description="what is drawn, such as mass(K+, K-)")
    label: str | None = Field(None, description="LaTeX between dollar signs; made from the variable if left out")
    unit: str | None = Field(None, description="its unit; found from the variable if left out")
    bins: int | None = Field(None, ge=1, le=10_000, description="number of bins; 60, or 40 for angles")
    range: Pair | None = Field(None, description="lowest and highest edge; all events if left out")


class ModelSpec(StrictSpec):
    """A whole model file."""

    include: OneOrMany[str] = Field(
        default_factory=list, description="other YAML files whose keys are added: a file, or a list; what stands here counts before them"
    )
    decay: str = Field(description="parent -> final particles")
    polarisation: Annotated[
        Annotated[
            Annotated[Literal["unpolarised", "transverse", "float"], Tag("word")]
            | Annotated[list[list[Number]], Tag("matrix")]
            | Annotated[dict[str, Annotated[ElementSpec, BeforeValidator(_element)]], Tag("elements")],
            Discriminator(_kind_of_polarisation),
        ],
        BeforeValidator(_elements),
        NamesOrValues(),
    ] = Field(
        "unpolarised",
        description="spin state of the parent: unpolarised, transverse (m = ±1), a density matrix, or elements of it that are parameters:"
        " float for all of them, names of those that float, or {name: value or {value, float, limits}}",
    )
    production: ProductionSpec | None = Field(None, description="how the parent was made, if a beam made it: it has any mass and J^P then")
    formalism: Literal["canonical", "zou-bugg", "zou-bugg-traceless"] = Field("canonical", description="how daughter spins enter a vertex")
    weak: bool | None = Field(None, description="whether the parent's decay may violate parity")
    radius: Radius = Field(3.0, description="barrier radius of all vertices, GeV^-1")
    barrier: VertexBarrier | None = Field(None, description="barrier of all vertices: a form, or {form, l, radius, normalised}")
    max_L: int | None = Field(None, ge=0, le=MAX_L, description="largest L at any vertex")
    tie_conjugates: bool = Field(True, description="tie the couplings of charge-conjugate chains")
    particles: dict[str, ParticleSpec] = Field(default_factory=dict, description="new particles, and changes to those of the PDG")
    resonances: dict[str, ResonanceSpec] = Field(default_factory=dict, description="resonances by name")
    parameters: dict[str, Annotated[ParameterSpec, BeforeValidator(_parameter_value)]] = Field(
        default_factory=dict, description="parameters of no resonance, which formulas may use: a number, or {value, float, limits}"
    )
    chains: list[Annotated[ChainSpec, BeforeValidator(_chain_text)]] = Field(default_factory=list, description="chains spelled out")
    couplings: dict[str, CouplingValue] = Field(
        default_factory=dict,
        description="values of complex couplings by name: a number, [re, im] or {abs, phase}",
    )
    helicity_couplings: dict[str, dict[str, CouplingValue]] = Field(
        default_factory=dict,
        description="values of couplings by helicities: chain: {(1/2,0)(0,1/2): value}, a pair for every vertex; converted to (L, S)",
    )
    fractions: dict[str, Annotated[ShareSpec, BeforeValidator(_share)]] = Field(
        default_factory=dict,
        description="instead of couplings: how much of all events resonances, waves or all waves with a J^P, such as 1-, make up:"
        " 30 %, 0.3 or {fraction: 30 %, phase: 1.2}",
    )
    cp: Annotated[dict[str, CouplingValue | None], BeforeValidator(names_alone), NamesOrValues()] = Field(
        default_factory=dict,
        description="couplings c(1 + Δ), and c(1 - Δ) in conjugate data sets: all, names of resonances or couplings, or {name: Δ}",
    )
    columns: Annotated[dict[str, ColumnSpec], BeforeValidator(_column_names)] = Field(
        default_factory=dict,
        description="numbers of each event besides momenta and weights, which formulas may use; names, or {name: {limits: …}}",
    )
    samples: DataSetSpec | None = Field(None, description="the samples of one data set")
    data_sets: dict[str, DataSetSpec] = Field(default_factory=dict, description="several data sets with shared parameters, by name")
    projections: Annotated[list[ProjectionEntry], Field(min_length=1), BeforeValidator(_projection_list), OneOrManySchema()] = Field(
        default_factory=list, description="variables of the final state to be drawn; masses and helicity angles if left out"
    )
    fit: FitSpec = Field(default_factory=lambda: FitSpec.model_validate({}), description="how to fit")
