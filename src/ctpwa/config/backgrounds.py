"""The ``backgrounds`` of samples: densities with their fractions, as far as they can be judged without opening a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path as FilePath

from ctpwa.base.errors import Path, suggest
from ctpwa.config.background_resonances import background_peaks, check_peak, particle_table
from ctpwa.config.problems import Problems, SpecError
from ctpwa.config.schema import BackgroundSpec, DataSetSpec, DensityAxisSpec, DensitySpec, FractionSpec, ModelSpec, ParticleSpec, SampleSpec
from ctpwa.config.sources import BackgroundSource, DensitySource, SidebandSource, Source
from ctpwa.data.event_column import EventColumn
from ctpwa.data.located import SUFFIXES
from ctpwa.decay.chain import Decay
from ctpwa.model.amounts import SIGNAL, amount_names
from ctpwa.model.parameter import Parameter
from ctpwa.observe.errors import VariableError
from ctpwa.observe.variable import ProjectionSpec, parse_variable

FLAT = "flat"
KINDS = ("formula", "column", "histogram", "sideband")
SMOOTHING = 1.0  # phase-space events for each bin
DENSITY = "write  density: flat,  a formula of variables,  {column: b},  {histogram: b.json}  or  {sideband: side.root, variables: […]}"
SIDEBAND = 'write  variables: ["mass(K+, K-)"],  up to three, for a histogram, or  resonances: {phi(1020): K+ K-}  for a model'


def background_sources(
    backgrounds: Mapping[str, BackgroundSpec],
    decay: Decay,
    folder: FilePath,
    source: Callable[[SampleSpec], Source],
    particles: Mapping[str, ParticleSpec],
) -> tuple[BackgroundSource, ...]:
    """Backgrounds that ``BackgroundChecks`` has found right.

    Args:
        backgrounds:  by name
        decay:        the decay
        folder:       what paths are relative to
        source:       makes the source of a sample
        particles:    the user's own particles
    """
    return tuple(
        BackgroundSource(name, _density(own.density, decay, folder, source, particles), own.fraction.value, own.fraction.float_)
        for name, own in backgrounds.items()
    )


def _density(
    spec: DensitySpec, decay: Decay, folder: FilePath, source: Callable[[SampleSpec], Source], particles: Mapping[str, ParticleSpec]
) -> DensitySource:
    if spec.sideband is not None and spec.resonances is not None:
        peaks = background_peaks(spec.resonances, decay, particles)
        return DensitySource(sideband=SidebandSource(tuple(map(source, spec.sideband)), peaks=peaks))
    if spec.sideband is not None:
        axes = tuple(_axis(axis, decay) for axis in spec.variables or ())
        smoothing = SMOOTHING if spec.smoothing is None else spec.smoothing
        return DensitySource(sideband=SidebandSource(tuple(map(source, spec.sideband)), axes, smoothing))
    formula = None if spec.formula == FLAT else spec.formula
    histogram = None if spec.histogram is None else folder / spec.histogram
    return DensitySource(formula, spec.column, histogram, efficiency=spec.efficiency)


def _axis(axis: DensityAxisSpec, decay: Decay) -> ProjectionSpec:
    limits = None if axis.range is None else (axis.range[0], axis.range[1])
    return ProjectionSpec(parse_variable(axis.variable, decay), axis.bins, limits)


def fraction_limits(spec: ModelSpec) -> dict[str, tuple[float, float]]:
    """Limits that stand beside fractions, by parameter."""
    own = [(name, background.fraction.limits) for entry in data_set_specs(spec) for name, background in entry.backgrounds.items()]
    return {amount_names([name], None)[name]: (limits[0], limits[1]) for name, limits in own if limits is not None}


def data_set_specs(spec: ModelSpec) -> list[DataSetSpec]:
    """All data sets."""
    return [*([] if spec.samples is None else [spec.samples]), *spec.data_sets.values()]


def beginning_of_yields(spec: ModelSpec, data_set: str) -> str | None:
    """What the names of the yields of a data set begin with: its own name if there are several; None: fractions are fitted."""
    return None if not spec.fit.extended else data_set if len(spec.data_sets) > 1 else ""


def amounts_of_data_sets(spec: ModelSpec) -> dict[str, dict[str, str]]:
    """Data set → signal and backgrounds → the parameter that says how much there is."""
    sets = spec.data_sets or ({} if spec.samples is None else {"": spec.samples})
    return {name: amount_names(entry.backgrounds, beginning_of_yields(spec, name)) for name, entry in sets.items()}


def mixture_parameters(spec: ModelSpec) -> dict[str, Parameter]:
    """Fractions of all backgrounds by name; in an extended fit yields, whose values only the data know."""
    if spec.fit.extended:
        every = [name for own in amounts_of_data_sets(spec).values() for name in own.values()] or amount_names([], "").values()
        return {name: Parameter(name, 0.0, False, 0.0) for name in every}
    named = {name: own.fraction for entry in data_set_specs(spec) for name, own in entry.backgrounds.items()}
    parameters = amount_names(named, None)
    return {parameters[name]: Parameter(parameters[name], own.value, not own.float_, 0.0, 1.0) for name, own in named.items()}


class BackgroundChecks:
    """Everything about backgrounds that is certainly wrong becomes a problem; no file is opened.

    Args:
        decay:           the decay
        columns:         event columns of the model
        extended:        whether yields are fitted
        problems:        where problems go
        particles:       the user's own particles
        check_sideband:  checks a sample of sideband events that stands at a path
    """

    def __init__(
        self,
        decay: Decay,
        columns: Sequence[EventColumn],
        extended: bool,
        problems: Problems,
        particles: Mapping[str, ParticleSpec],
        check_sideband: Callable[[SampleSpec, Path], None],
    ) -> None:
        self._decay, self._columns, self._extended = decay, columns, extended
        self._problems, self._particles, self._check_sideband = problems, particles, check_sideband
        self._seen: dict[str, FractionSpec] = {}

    def check(self, backgrounds: Mapping[str, BackgroundSpec], path: Path) -> None:
        """Those of one data set.

        Args:
            backgrounds:  by name
            path:         where they stand
        """
        before = len(self._problems.found)
        for name, own in backgrounds.items():
            entry = (*path, name)
            with self._problems.collect(entry):
                self._check_name(name, own.fraction)
            with self._problems.collect(entry, "fraction"):
                self._check_fraction(name, own.fraction)
            with self._problems.collect(entry, "density"):
                self._check_density(own.density, (*entry, "density"))
        total = sum(own.fraction.value for own in backgrounds.values())
        if backgrounds and total >= 1 and len(self._problems.found) == before:
            self._problems.add(SpecError(f"the fractions add up to {total:g}", "leave something for the signal", key=()), path)

    def _check_name(self, name: str, fraction: FractionSpec) -> None:
        if name == SIGNAL or not name.strip() or name != name.strip():
            raise SpecError(f"a background cannot be called {name!r}", "give it another name, such as sideband", key=())
        if not self._extended and self._seen.setdefault(name, fraction) != fraction:
            fix = "write the same fraction, or give the background of every data set a name of its own"
            raise SpecError(f"{name!r} has another fraction in another data set, and is one parameter", fix, key=("fraction",))

    def _check_fraction(self, name: str, fraction: FractionSpec) -> None:
        if not 0 <= fraction.value <= 1:
            raise SpecError(f"the fraction of {name!r} is {fraction.value:g}", "give a number from 0 to 1", key=("fraction", "value"))
        if fraction.limits is None:
            return
        lower, upper = fraction.limits
        if self._extended or not fraction.float_:
            why = "yields are fitted" if self._extended else "it does not float"
            fix = "give limits of its yield under fit" if self._extended else "write  float: true,  or leave them out"
            raise SpecError(f"limits of the fraction of {name!r}: {why}", fix, key=("fraction", "limits"))
        if not 0 <= lower < upper <= 1:
            what = f"the limits of the fraction of {name!r} are {lower:g} and {upper:g}"
            raise SpecError(what, "write [lower, upper], both from 0 to 1", key=("fraction", "limits"))
        if not lower <= fraction.value <= upper:
            what = f"the fraction of {name!r} is {fraction.value:g}, outside its limits {lower:g} to {upper:g}"
            raise SpecError(what, "correct it", key=("fraction", "value"))

    def _check_density(self, density: DensitySpec, path: Path) -> None:
        named = [key for key in KINDS if getattr(density, key) is not None]
        if len(named) != 1:
            raise SpecError(f"a density with {' and '.join(named) or 'nothing'}", DENSITY)
        for key in ("variables", "smoothing", "resonances"):
            if getattr(density, key) is not None and density.sideband is None:
                raise SpecError(f"{key!r} without sideband events", "leave it out", key=("density", key))
        if density.efficiency is not None and density.column is None:
            raise SpecError("'efficiency' without a column", "leave it out", key=("density", "efficiency"))
        for key in ("column", "efficiency"):
            if (name := getattr(density, key)) is not None:
                self._check_column(name, key)
        if density.formula is not None and density.formula != FLAT:
            self._check_formula(density.formula)
        if density.sideband is not None:
            for i, sample in enumerate(density.sideband):
                self._check_sideband(sample, (*path, "sideband", i))
            self._check_shape(density, path)

    def _check_shape(self, density: DensitySpec, path: Path) -> None:
        """A histogram of sideband events, or a model of them."""
        if density.resonances is None:
            if density.variables is None:
                raise SpecError("sideband events without variables and without resonances", SIDEBAND)
            for i, axis in enumerate(density.variables):
                self._check_axis(axis, ("density", "variables", i))
            return
        for key in ("variables", "smoothing"):
            if getattr(density, key) is not None:
                raise SpecError(f"{key!r} beside resonances", SIDEBAND, key=("density", key))
        table = particle_table(self._particles)
        for name, resonance in density.resonances.items():
            with self._problems.collect((*path, "resonances", name), "in"):
                check_peak(name, resonance, self._decay, table)

    def _check_column(self, name: str, key: str) -> None:
        known = {column.name: column for column in self._columns}
        if name not in known:
            fix = suggest(name, known) if known else f"declare it:  columns: [{name}]"
            raise SpecError(f"the model declares no event column {name!r}", fix, key=("density", key))
        if known[name].size != 1:
            raise SpecError(f"event column {name!r} is a vector", "a density is one number for each event", key=("density", key))

    def _check_axis(self, axis: DensityAxisSpec, key: Path) -> None:
        self._check_variable(axis.variable, (*key, "variable"))
        if axis.range is not None and not axis.range[0] < axis.range[1]:
            raise SpecError(f"the range {axis.range} is empty", "write [lowest edge, highest edge]", key=(*key, "range"))
        if axis.range is None and parse_variable(axis.variable, self._decay).limits is None:
            fix = f'write  {{variable: "{axis.variable}", range: [lowest edge, highest edge]}}'
            raise SpecError(f"{axis.variable!r} has no range of its own", fix, key=(*key, "variable"))

    def _check_formula(self, text: str) -> None:
        suffix = FilePath(text).suffix.lower()
        if suffix == ".json" or suffix in SUFFIXES:
            what = "histogram: " + text if suffix == ".json" else f"sideband: {text}, variables: […]"
            raise SpecError(f"the file {text!r} is not a formula", f"write  density: {{{what}}}", key=("density", "formula"))
        if text.replace(".", "", 1).isdigit():
            raise SpecError(f"the density {text!r} is the same for all events", "write  density: flat", key=("density", "formula"))
        self._check_variable(text, ("density", "formula"))

    def _check_variable(self, text: str, key: Path) -> None:
        try:
            parse_variable(text, self._decay)
        except VariableError as error:
            raise SpecError(error.what, error.fix, key=key, word=error.word, offset=error.column - 1) from None
