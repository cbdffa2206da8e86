"""What is computed after a fit: goodness-of-fit tests, angular moments, and what ``ctpwa.argand``, ``poles`` and ``compare`` return."""

from ctpwa.observables.argand import ArgandCurve
from ctpwa.observables.compare import Comparison
from ctpwa.observables.goodness import adaptive_chi2, mixed_sample_test, point_to_point
from ctpwa.observables.moments import MomentSample, angular_moments
from ctpwa.observables.poles import Pole

__all__ = ["ArgandCurve", "Comparison", "MomentSample", "Pole", "adaptive_chi2", "angular_moments", "mixed_sample_test", "point_to_point"]
