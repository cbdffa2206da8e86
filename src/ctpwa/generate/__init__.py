"""Phase space for integrals, and toy data beyond ``ctpwa.generate_toy``."""

from ctpwa.generate.fractions import couplings_for_fractions
from ctpwa.generate.importance import sample_phase_space
from ctpwa.generate.toys import ToyGenerator, ToySettings

__all__ = ["ToyGenerator", "ToySettings", "couplings_for_fractions", "sample_phase_space"]
