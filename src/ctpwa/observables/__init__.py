"""What is computed after a fit: goodness-of-fit tests, angular moments, and what ``ctpwa.argand``, ``poles`` and ``compare`` return."""

import typing as _typing

from ctpwa.base.lazy import on_demand as _on_demand

if _typing.TYPE_CHECKING:
    from ctpwa.observables.argand import ArgandCurve
    from ctpwa.observables.compare import Comparison
    from ctpwa.observables.goodness import adaptive_chi2, mixed_sample_test, point_to_point
    from ctpwa.observables.moments import MomentSample, angular_moments
    from ctpwa.observables.moments_of_photons import PhotonMoments, measured_moments, photon_moments
    from ctpwa.observables.poles import Pole
    from ctpwa.observables.spin_density_matrix import SpinDensity, measured_spin_density, spin_density
else:
    __getattr__, __dir__ = _on_demand(__name__)

__all__ = [
    "ArgandCurve",
    "Comparison",
    "MomentSample",
    "PhotonMoments",
    "Pole",
    "SpinDensity",
    "adaptive_chi2",
    "angular_moments",
    "measured_moments",
    "measured_spin_density",
    "mixed_sample_test",
    "photon_moments",
    "point_to_point",
    "spin_density",
]
