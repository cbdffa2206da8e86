"""Toy data beyond ``ctpwa.generate_toy``."""

from ctpwa.generate.fractions import couplings_for_fractions
from ctpwa.generate.toys import ToyGenerator, ToySettings

__all__ = ["ToyGenerator", "ToySettings", "couplings_for_fractions"]
