"""Spin amplitudes K, and how the parent was produced."""

import typing as _typing

from ctpwa.base.lazy import on_demand as _on_demand

if _typing.TYPE_CHECKING:
    from ctpwa.spin.amplitudes import SpinAmplitudes
    from ctpwa.spin.diffraction import Diffraction
    from ctpwa.spin.photoproduction import PhotonPolarisation, Photoproduction
    from ctpwa.spin.polarisation import Polarisation
    from ctpwa.spin.production import Production, Rows
    from ctpwa.spin.reaction import Reaction
else:
    __getattr__, __dir__ = _on_demand(__name__)

__all__ = ["Diffraction", "PhotonPolarisation", "Photoproduction", "Polarisation", "Production", "Reaction", "Rows", "SpinAmplitudes"]
