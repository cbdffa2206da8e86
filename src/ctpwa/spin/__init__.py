"""Spin amplitudes K, and how the parent was produced."""

from ctpwa.spin.amplitudes import SpinAmplitudes
from ctpwa.spin.polarisation import Polarisation
from ctpwa.spin.production import Production, Rows

__all__ = ["Polarisation", "Production", "Rows", "SpinAmplitudes"]
