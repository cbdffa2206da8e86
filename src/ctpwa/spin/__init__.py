"""Spin amplitudes K."""

from ctpwa.spin.amplitudes import SpinAmplitudes

__all__ = ["SpinAmplitudes"]
