"""Which models of resonances of TF-PWA can be imported, and the keys that only they have."""

from __future__ import annotations

from collections.abc import Mapping

PLAIN = ("default", "BWR")
SMOOTH = {"interp_c": "linear", "spline_c": "not-a-knot"}  # values at points, and what joins them
FLATTES = {"Flatte": 1, "FlatteC": -1, "FlatteGen": -1, "Flatte2": -1}  # sign of the imaginary part
GENERAL = ("FlatteGen", "Flatte2")
WITH_MASS = (*PLAIN, "BWR2", "BWR_normal", "BWR_coupling", "BW", "GS_rho", "LASS", *FLATTES)  # all but FLATTES with a width
KNOWN = (
    *WITH_MASS, "KMatrixSingleChannel", "one", "x", "exp", "exp_com", "poly", *SMOOTH,
)  # fmt: skip
_FLATTE_KEYS = {"mass_list", "im_sign", *(f"g_{i}" for i in range(8))}
_POINT_KEYS = {"points", "min_m", "max_m", "interp_N", "with_bound", "bc_type", "fix_idx", "polar"}
OWN_KEYS: Mapping[str, set[str]] = {
    **{model: _FLATTE_KEYS | ({"l_list", "has_bprime", "no_m0", "no_q0", "cut_phsp"} if model in GENERAL else set()) for model in FLATTES},
    **dict.fromkeys(SMOOTH, _POINT_KEYS),
    "KMatrixSingleChannel": {"mass_list", "width_list", "m1", "m2"},
    "GS_rho": {"c_daug2Mass", "c_daug3Mass"},
    "poly": {"n_order"},
}
