"""From plain data to a ``ModelSpec``, with every type error as a ``Problem``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ctpwa.base.errors import ConfigError, Path, Problem, format_path, suggest
from ctpwa.base.words import counted, is_number
from ctpwa.config.couplings import ADVICE as COUPLING_ADVICE
from ctpwa.config.fit_spec import ErrorsSpec, FitSpec
from ctpwa.config.problems import MAX_PROBLEMS
from ctpwa.config.schema import (
    BackgroundSpec,
    ChainSpec,
    DataSetSpec,
    DensityAxisSpec,
    DensityResonanceSpec,
    DensitySpec,
    EfficiencySpec,
    ElementSpec,
    FractionSpec,
    MaxLSpec,
    ModelSpec,
    MomentumErrorSpec,
    ParameterSpec,
    ParticleSpec,
    ProjectionEntry,
    ResolutionSpec,
    ResonanceSpec,
    SampleSpec,
    ShareSpec,
)

_SECTIONS: dict[str, type[BaseModel]] = {
    "particles": ParticleSpec,
    "resonances": ResonanceSpec,
    "parameters": ParameterSpec,
    "polarisation": ElementSpec,
    "chains": ChainSpec,
    "projections": ProjectionEntry,
    "fractions": ShareSpec,
}
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
# advice for keys whose type alone does not tell what to write
_ADVICE = {
    "decay": "write parent -> particle particle …",
    "particles": "write one indented line per particle, such as  X(3872): {JP: 1++, mass: 3.872, charge: 0}",
    "resonances": "write one indented line per resonance, such as  phi(1020): {in: K+ K-}",
    "chains": "write a list with one line per chain:  - J/psi(1S) -> phi(1020) eta ; phi(1020) -> K+ K-",
    "couplings": "write one indented line per coupling, such as  phi(1020)[K+ K-] (1,1)(1,0): [0.5, 0.1]",
    "fractions": "write one indented line per resonance or wave, such as  phi(1020): 30 %",
    "backgrounds": "write one indented line per background, such as  sideband: {density: flat, fraction: 0.1}",
    "fraction": "write a number, or {value: 0.1, float: true}",
    "errors": "write  errors: {simulation: false}",
    "masses": "write  masses: {K+ K-: 0.0012},  or a list of pairs beside 'momenta'",
    "density": "write flat, a formula of variables, {column: …}, {histogram: file.json} or {sideband: file, variables: … or resonances: …}",
    "efficiency": "write a formula of variables, {column: …} or {histogram: file.json}; without it all events are measured",
    "resolution": "write  resolution: {masses: {K+ K-: 0.0012}, points: 11}  or  resolution: {rows: 8}",
    "variables": "write a variable, or a list of one to three of them",
    "data_sets": "write one indented line per data set, such as  '2018': {data: data.root, phase_space: {generate: 500000}}",
    "momenta": "write one stem per particle, such as {K+: kp}; for text files a list of the particles in the order of their lines",
    "mass_tolerance": "write a number of GeV, or one per particle, such as {eta: 0.02}",
    "constraints": "write parameter: [mean, standard deviation], such as {phi(1680).mass: [1.68, 0.02]}",
    "limits": "write parameter: [lower, upper], such as {phi(1680).mass: [1.6, 1.8]}",
    "ties": "write coupling: [other coupling, factor], with a factor such as -1 or 0.5+0.1j",
    "start": "write parameter: value, such as {phi(1680).mass: 1.68}",
    "fix": "write a parameter, a list of them, or {phi(1680).mass: 1.68}",
    "relations": "write parameter: formula, such as {phi(1680).mass: 2*K*(1410).mass - 0.1}",
    "parameters": "write one indented line per parameter, such as  delta: 0.1",
    "minos": "write a parameter, or a list of them",
    "projections": "write a list with one line per variable:  - mass(K+, K-)",
    "range": "write [lowest edge, highest edge]",
    "JP": "write spin and parity, such as 1-, 2++ or 3/2+",
    "float": "write mass, width, [mass, width] or pdg",
    "lineshape": "write a name or an expression; a sympy expression or a function gets a name with ctpwa.register_lineshape",
    "max_L": "write a whole number; of a resonance also {production: 1, decay: 2}, of a chain a list with one for each vertex",
    "without": "write the name of another resonance or of a wave, or a list of them",
    "in": "write the particles it decays to, such as  K+ K-",
    "ls": "give each vertex its own list of (L, S) pairs, or null: [[[1, 1]], [[1, 0]]]",
    "decay_ls": "write a list of (L, S) pairs: [[1, 0]]",
    "production_ls": "write a list of (L, S) pairs: [[1, 1], [3, 1]]",
}
_SHORTER = {"density", "efficiency", "errors", "fraction", "resolution"}  # mappings with few keys, which _ADVICE shows
_IN_THE_DATA = "write  backgrounds: {comb: {density: flat, fraction: 0.1}}  for a background that stays in the data"
_LS_KEYS = {"ls", "decay_ls", "production_ls"}
_FILE = "{file: data.root}"
# what an entry of a section looks like
_EXAMPLES = {
    "particles": "{JP: 1-, mass: 1.5, charge: 0}",
    "parameters": "{value: 0.1, float: true}",
    "fractions": "{fraction: 30 %, phase: 1.2}",
    "samples": "{data: data.root, phase_space: {generate: 500000}}",
    "data_sets": "{data: data.root, phase_space: {generate: 500000}}",
    "fit": "{starts: 20, seed: 1}",
    "projections": '{variable: "mass(K+, K-)", bins: 50}',
}

# keys that a data set does not have, and where to write them
MODEL_KEYS = {
    "polarisation": "write it beside 'data_sets'; if samples differ in it, add likelihoods of several models in Python: first + second",
    **dict.fromkeys(("decay", "resonances", "couplings", "chains", "fit"), "write it beside 'data_sets'"),
}


def validate(data: Any) -> ModelSpec:
    """The checked model description; all problems together if it is not valid."""
    if not isinstance(data, dict):
        raise ConfigError([Problem(f"a model is a mapping of keys, not {_shown(data)}", (), "start with: decay: J/psi(1S) -> K+ K- eta")])
    try:
        return ModelSpec.model_validate(data)
    except ValidationError as error:
        raise ConfigError(list(_problems(error, data))) from None


def _problems(error: ValidationError, data: dict[Any, Any]) -> Iterator[Problem]:
    seen: set[Path] = set()
    for entry in error.errors():
        problem = _problem(entry, real_path(entry["loc"], data))
        if problem.path not in seen:  # a union reports the same value once for each of its members
            seen.add(problem.path)
            yield problem
        if len(seen) >= MAX_PROBLEMS:
            return


def real_path(location: tuple[int | str, ...], data: Any) -> Path:
    """The part of a pydantic location that exists in the data; union members are not part of it."""
    path: list[str | int] = []
    here = data
    for position, step in enumerate(location):
        missing_key = isinstance(here, dict) and position == len(location) - 1 and isinstance(step, str) and step != "[key]"
        if _holds(here, step):
            here = here[step]
            path.append(step)
        elif missing_key:
            path.append(step)
    return tuple(path)


def _holds(here: Any, step: int | str) -> bool:
    if isinstance(here, list):
        return isinstance(step, int) and step < len(here)
    return isinstance(here, dict) and step in here


def _problem(entry: ErrorDetails, path: Path) -> Problem:
    kind, value = entry["type"], entry["input"]
    context: Mapping[str, Any] = entry.get("ctx", {})
    name = _last_key(path)
    if path[:1] == ("couplings",) and len(path) > 1 and entry["loc"][-1] != "[key]":
        return Problem(f"the value of {path[1]!r} is not a complex number", path[:2], COUPLING_ADVICE)
    if kind == "extra_forbidden" and path[:1] == ("projections",) and ")" in name:
        return Problem(f"unknown key {name!r}", path, "quote a variable that contains a comma, or leave the comma out", at_key=True)
    if kind == "extra_forbidden" and path[:1] == ("data_sets",) and name in MODEL_KEYS:
        return Problem(f"{name!r} is the same for all data sets", path, MODEL_KEYS[name], at_key=True)
    if kind == "extra_forbidden" and name in BackgroundSpec.model_fields and "background" in path[1:3]:
        return Problem(f"{name!r} of events that are subtracted", path, _IN_THE_DATA, at_key=True)
    if kind == "extra_forbidden":
        return Problem(f"unknown key {name!r}", path, suggest(name, _keys_at(path)) or "remove it", at_key=True)
    if kind == "missing":
        return Problem(f"key {name!r} is missing", path, _description(path))
    if kind == "invalid_key":
        return Problem(f"the key {name} is not text", path, suggest(name, _keys_at(path)), at_key=True)
    if entry["loc"][-1] == "[key]":
        fix = f"quote it: '{value}'" if isinstance(value, (int, float)) and not isinstance(value, bool) else "give it a name"
        return Problem(f"the name {_shown(value)} is not text", path, fix, at_key=True)
    if path and path[0] == "polarisation":
        return _polarisation_problem(value, path)
    if any(key in _LS_KEYS for key in path):
        return _ls_problem(path, value)
    if kind == "literal_error":
        return Problem(f"{_shown(value)} is not a value of {name!r}", path, suggest(str(value), _words(context)))
    if path[:1] == ("fit",) and len(path) > 2 and path[1] in ("constraints", "limits", "ties", "relations", "fix"):
        return Problem(f"{_shown(value)} is not what {path[1]!r} hold", path[:3], _ADVICE[str(path[1])])
    if kind in _EXPECTED:
        return _type_problem(kind, value, path)
    if kind == "too_short":
        return Problem(f"{name!r} is an empty list", path, "name at least one")
    if kind == "too_long":
        return Problem(
            f"{name!r} has {counted(len(value), 'entry', 'entries')}", path, _ADVICE.get(name, f"write at most {context.get('max_length')}")
        )
    if kind in ("greater_than", "greater_than_equal", "less_than_equal", "finite_number"):
        return Problem(f"{name!r} is {_shown(value)}", path, f"it must be a number {_bound(kind, context)}".rstrip())
    return Problem(f"{name!r}: {entry['msg']}", path)


def _type_problem(kind: str, value: Any, path: Path) -> Problem:
    name = _last_key(path)
    what = f"{_named(path)} must be {_EXPECTED[kind]}, not {_shown(value)}"
    if value is None:
        what = f"{_named(path)} is empty"
    if kind in ("model_type", "model_attributes_type") and name in _SHORTER:
        return Problem(what, path, _ADVICE[name], at_key=value is None)
    if kind in ("model_type", "model_attributes_type"):
        own = {DataSetSpec: _FILE, BackgroundSpec: "{density: flat, fraction: 0.1}"}
        example = own.get(_section(path)) or _EXAMPLES.get(str(path[0]), "{in: K+ K-}")
        if isinstance(path[-1], int):
            return Problem(what, path, f"write  - {example}")
        return Problem(what, path, f"write  {name}: {example}", at_key=value is None)
    if kind == "float_type" and isinstance(value, str) and is_number(value):
        return Problem(what, path, f"YAML reads {value!r} as text; write {_yaml_number(float(value))}")
    if kind == "float_type":
        unit = next((unit for unit in ("GeV^-1", "GeV") if unit in _field_text(path)), "")
        return Problem(what, path, f"write a number in {unit}, without the unit" if unit else "write a number")
    advice = _ADVICE.get("max_L" if "max_L" in path else name) if kind != "bool_type" else None
    fix = advice or f"write {_EXPECTED[kind]}"
    return Problem(what, path, f"{fix}, or remove the key" if value is None else fix, at_key=value is None)


def _polarisation_problem(value: Any, path: Path) -> Problem:
    if len(path) > 1 and isinstance(path[1], str):
        return Problem(f"{_shown(value)} is not what {path[-1]!r} can be", path, "write a number, float, or {value: 0.1, float: true}")
    near = suggest(value, ["unpolarised", "transverse", "float"]) if isinstance(value, str) else ""
    advice = "write unpolarised, transverse, names of elements that float, or a density matrix [[…], …] of numbers such as 0.5 or 0.1+0.2j"
    fix = near if near.startswith("did you mean") else advice
    return Problem(f"{_shown(value)} is not a polarisation", ("polarisation",), fix)


def _ls_problem(path: Path, value: Any) -> Problem:
    """All problems inside one list of (L, S) pairs are one problem, at the list."""
    depth = next(i for i, key in enumerate(path) if key in _LS_KEYS)
    name = str(path[depth])
    if isinstance(value, list) and value and len(path) > depth + 1:
        return Problem(f"{_shown(value)} is not an (L, S) pair", path, "write pairs such as [1, 1] or [0, 1/2]")
    if isinstance(value, list) and not value:
        return Problem(f"the list of (L, S) pairs in {name!r} is empty", path, f"{_ADVICE[name]}, or leave it out to allow all")
    return Problem(f"{name!r} is not a list of (L, S) pairs", path[: depth + 1], _ADVICE[name])


def _last_key(path: Path) -> str:
    return next((step for step in reversed(path) if isinstance(step, str)), "")


def _named(path: Path) -> str:
    """``'mass'``, or ``chains[0]`` for an entry of a list."""
    return repr(path[-1]) if path and isinstance(path[-1], str) else format_path(path[-2:])


def _bound(kind: str, context: Mapping[str, Any]) -> str:
    if kind == "finite_number":
        return "and finite"
    sign = {"greater_than": ">", "greater_than_equal": ">=", "less_than_equal": "<="}[kind]
    return f"{sign} {context.get('gt', context.get('ge', context.get('le'))):g}"


def _section(path: Path) -> type[BaseModel]:
    """The description of what the last key of a path stands in."""
    match path:
        case ("fit", "errors", _):
            return ErrorsSpec
        case ("fit", _, *_):
            return FitSpec
        case ("resonances", _, "max_L", _):
            return MaxLSpec
        case ("samples", "backgrounds", _, *inside) | ("data_sets", _, "backgrounds", _, *inside):
            return _background_section(inside)
        case ("samples", _) | ("data_sets", _, _) | ("samples", _, int()) | ("data_sets", _, _, int()):
            return DataSetSpec
        case ("samples", "resolution", *inside) | ("data_sets", _, "resolution", *inside):
            return MomentumErrorSpec if len(inside) == 3 else ResolutionSpec
        case ("samples", _, "efficiency", _) | ("data_sets", _, _, "efficiency", _):
            return EfficiencySpec
        case ("samples", _, _, *_) | ("data_sets", _, _, _, *_):
            return SampleSpec
        case (section, _, _, *_):
            return _SECTIONS.get(str(section), ModelSpec)
    return ModelSpec


def _background_section(inside: list[str | int]) -> type[BaseModel]:
    """The same for a path inside a background."""
    match inside:
        case ["fraction", _, *_]:
            return FractionSpec
        case ["density", "variables", _, *_]:
            return DensityAxisSpec
        case ["density", "resonances", _, _, *_]:
            return DensityResonanceSpec
        case ["density", "sideband", _, *_]:
            return SampleSpec
        case ["density", _]:
            return DensitySpec
    return BackgroundSpec


def _keys_at(path: Path) -> list[str]:
    return [field.alias or name for name, field in _section(path).model_fields.items()]


def _field_text(path: Path) -> str:
    fields = {field.alias or name: field for name, field in _section(path).model_fields.items()}
    field = fields.get(_last_key(path))
    return field.description or "" if field is not None else ""


def _description(path: Path) -> str:
    return f"add {path[-1]}: {_field_text(path) or '…'}"


def _words(context: Mapping[str, Any]) -> list[str]:
    return [word.strip(" '") for word in str(context.get("expected", "")).replace(" or ", ",").split(",")]


def _yaml_number(value: float) -> str:
    """A number that YAML reads as one: powers of ten need a point before them."""
    mantissa, e, exponent = repr(value).partition("e")
    return f"{mantissa}.0e{exponent}" if e and "." not in mantissa else repr(value)


def _shown(value: Any) -> str:
    """A value as the user wrote it, shortened."""
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
