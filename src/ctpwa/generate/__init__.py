"""Toy data beyond ``ctpwa.generate_toy``."""

from ctpwa.generate.fractions import couplings_for_fractions
from ctpwa.generate.toys import ToyGenerator

__all__ = ["ToyGenerator", "couplings_for_fractions"]
