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
KNOWN = {
    "dat_order", "data", "data_weight", "phsp", "phsp_weight", "phsp_noeff", "bg", "bg_weight", "resolution_size", "extended", "model",
    *DENSITIES, *WITHOUT_EFFECT,
}  # fmt: skip


def samples_of(configuration: Configuration, constraints: Constraints) -> dict[str, Any]:
    """The key ``samples`` of a model file; nothing if there are no data."""
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
        raise configuration.error(
            f"the likelihood {model!r} cannot be imported", (*place, "model"), "default can, and cfit without its densities"
        )
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
        configuration.notes.append(
            "−ln L of TF-PWA is multiplied by Σw/Σw² with weights; say  fit: {subtraction: plain}  for its signed sum"
        )
    if section.get("phsp_noeff"):
        samples["truth"] = sample("phsp_noeff")
    size = section.get("resolution_size")
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= MOST_ROWS):
        raise configuration.error(f"resolution_size is {size!r}", (*place, "resolution_size"), f"write a whole number up to {MOST_ROWS}")
    if size is not None and size > 1:
        samples["resolution"] = {"rows": size}
    for key in DENSITIES:
        if section.get(key) is not None:
            what = f"{key!r} is not imported: put the numbers of its file into a column of the events, and say  backgrounds  or  efficiency"
            configuration.note(what, (*place, key))
    return {"samples": samples}


def _files(configuration: Configuration, value: Any, path: Path) -> list[str]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise configuration.error(f"{value!r} is not a list of files", path, "write the names of files; groups of data cannot be imported")
    return names
