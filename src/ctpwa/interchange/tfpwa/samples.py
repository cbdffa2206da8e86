"""The section ``data`` of TF-PWA as the samples of a model file."""

from __future__ import annotations

from typing import Any

from ctpwa.base.errors import Path
from ctpwa.interchange.tfpwa.configuration import Configuration
from ctpwa.interchange.tfpwa.constraints import Constraints

WITHOUT_EFFECT = {
    "center_mass": "amplitudes do not depend on the frame",
    "align_ref": "all spins refer to the rest frame of the parent",
    "cached_data": "how TF-PWA keeps its data",
    "cached_int": "how TF-PWA computes integrals",
    "cached_amp": "how TF-PWA computes",
    "preprocessor": "how TF-PWA computes",
    "amp_model": "how TF-PWA computes",
    "use_tf_function": "how TF-PWA computes",
    "no_p4": "how TF-PWA computes",
    "no_angle": "how TF-PWA computes",
    "lazy_call": "how TF-PWA computes",
    "phsp_plot": "phase space for figures; ctpwa draws with that of the fit",
    "data_rec": "measured variables for figures",
    "phsp_rec": "measured variables for figures",
    "data_rec_bg_value": "densities of measured variables for figures",
    "phsp_rec_bg_value": "densities of measured variables for figures",
    "random_z": "z is that of the momenta in the rest frame of the parent, reached by a boost without rotation",
}
MOST_ROWS = 10_000  # that are points of one event
DENSITIES = ("bg_frac", "data_bg_value", "phsp_bg_value", "data_eff_value", "phsp_eff_value")
BACKGROUND, EFFICIENCY = "bg_value", "eff_value"  # event columns, and how the keys of both samples end
SAMPLES = {"data": "data", "phase_space": "phsp"}  # in a model file, and in a configuration
KNOWN = {
    "dat_order", "data", "data_weight", "phsp", "phsp_weight", "phsp_noeff", "bg", "bg_weight", "resolution_size", "extended", "model",
    *DENSITIES, *WITHOUT_EFFECT,
}  # fmt: skip


def samples_of(configuration: Configuration, constraints: Constraints) -> dict[str, Any]:
    """The keys ``samples`` and ``columns`` of a model file; nothing if there are no data."""
    section = configuration.data.get("data") or {}
    place: Path = ("data",)
    if not isinstance(section, dict):
        raise configuration.error(
            "several groups of data cannot be imported" if isinstance(section, list) else f"'data' is {section!r}",
            place,
            "give one mapping",
        )
    for key, value in section.items():
        if key not in KNOWN:
            raise configuration.error(
                f"{key!r} of 'data' cannot be imported", (*place, str(key)), "remove it if it does not change the likelihood"
            )
        if key in WITHOUT_EFFECT and value:
            configuration.note(f"{key!r} is not imported: {WITHOUT_EFFECT[key]}", (*place, str(key)))
    model = section.get("model", "default")
    if model not in ("default", "cfit"):
        raise configuration.error(f"the likelihood {model!r} cannot be imported", (*place, "model"), "default and cfit can")
    if not section.get("data") or not section.get("phsp"):
        configuration.notes.append("no samples: 'data' and 'phsp' are not given")
        return {}
    constraints.extended = bool(section.get("extended"))
    given = section.get("dat_order") or list(configuration.finals)
    order = [str(name) for name in given] if isinstance(given, list) else [str(given)]
    if sorted(order) != sorted(configuration.finals):
        raise configuration.error(f"dat_order is {order}", (*place, "dat_order"), f"it must hold {' '.join(configuration.finals)}")

    def sample(key: str, weights: str = "") -> dict[str, Any]:
        entry: dict[str, Any] = {"file": _files(configuration, section[key], (*place, key)), "momenta": order}
        if weights and isinstance(section.get(weights), str | list):
            entry["weight_file"] = _files(configuration, section[weights], (*place, weights))
        elif weights and section.get(weights) is not None:
            entry["scale"] = configuration.number(section[weights], (*place, weights))
        return entry

    samples = {"data": sample("data", "data_weight"), "phase_space": sample("phsp", "phsp_weight")}
    if section.get("bg"):
        samples["background"] = sample("bg", "bg_weight")
        constraints.subtracted = True
        configuration.notes.append(
            "subtraction: plain is the signed sum of TF-PWA; without it −ln L of subtracted background is bounded, which is safer"
        )
    if constraints.extended:
        configuration.notes.append(
            "extended: TF-PWA scales I, ctpwa has a yield: at  signal.yield = N⟨I⟩, N = Σw of the data, −ln L of TF-PWA is larger by N ln N"
        )
    if section.get("bg") or isinstance(section.get("data_weight"), str | list):
        configuration.notes.append("−ln L of TF-PWA is that of ctpwa times α = Σw/Σw² of data and background")
    if section.get("phsp_noeff"):
        samples["truth"] = sample("phsp_noeff")
    size = section.get("resolution_size")
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= MOST_ROWS):
        raise configuration.error(f"resolution_size is {size!r}", (*place, "resolution_size"), f"write a whole number up to {MOST_ROWS}")
    if size is not None and size > 1:
        samples["resolution"] = {"rows": size}
    if model == "cfit":
        return {**_densities(configuration, section, samples), "samples": samples}
    for key in DENSITIES:
        if section.get(key) is not None:
            configuration.note(f"{key!r} means nothing without  model: cfit", (*place, key))
    return {"samples": samples}


def _densities(configuration: Configuration, section: dict[str, Any], samples: dict[str, Any]) -> dict[str, Any]:
    """The event columns of cfit: background b and efficiency ε; samples and backgrounds get their part of them.

    TF-PWA has p = (1 − f) ε I/⟨ε I⟩ + f b/⟨b⟩. In ctpwa the phase-space sample holds ε, and the density is b/ε: p is the same up to ε/⟨ε⟩.
    """
    for key in ("bg", "resolution_size", "extended"):
        if section.get(key) and (key != "resolution_size" or section[key] != 1):
            raise configuration.error(f"cfit with {key!r} cannot be imported", ("data", key), "remove it")
    fraction = configuration.number(section.get("bg_frac"), ("data", "bg_frac" if "bg_frac" in section else "model"))
    if not 0 <= fraction < 1:
        raise configuration.error(f"bg_frac is {fraction!r}", ("data", "bg_frac"), "write a number from 0 to 1")
    with_efficiency = any(section.get(f"{key}_{EFFICIENCY}") for key in SAMPLES.values())
    if with_efficiency or any(section.get(f"{key}_{BACKGROUND}") for key in SAMPLES.values()):
        _column(configuration, section, samples, BACKGROUND)
        density: Any = {"column": BACKGROUND}
    else:
        density = "flat"
    if with_efficiency:
        _column(configuration, section, samples, EFFICIENCY)
        density["efficiency"] = EFFICIENCY
        if EFFICIENCY in samples["phase_space"].get("column_files", {}):
            samples["phase_space"]["efficiency"] = {"column": EFFICIENCY}
        configuration.notes.append(
            "−ln L of TF-PWA is smaller by Σ w ln(ε/⟨ε⟩) of the data, a constant: there the efficiency ε is part of the density"
        )
    if fraction > 0:
        samples["backgrounds"] = {"bg": {"density": density, "fraction": fraction}}
    columns: dict[str, Any] = {BACKGROUND: {}} if density != "flat" else {}
    columns |= {EFFICIENCY: {"limits": [0, 1]}} if with_efficiency else {}
    if "truth" in samples and columns:
        samples["truth"]["columns"] = dict.fromkeys(columns, 1.0)
    return {"columns": columns} if columns else {}


def _column(configuration: Configuration, section: dict[str, Any], samples: dict[str, Any], column: str) -> None:
    """Where data and phase space have an event column: in a file of its own, or 1 as in TF-PWA."""
    for sample, key in SAMPLES.items():
        value = section.get(f"{key}_{column}")
        if value:
            samples[sample].setdefault("column_files", {})[column] = _files(configuration, value, ("data", f"{key}_{column}"))
        else:
            samples[sample].setdefault("columns", {})[column] = 1.0


def _files(configuration: Configuration, value: Any, path: Path) -> list[str]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise configuration.error(f"{value!r} is not a list of files", path, "write the names of files; groups of data cannot be imported")
    return names
