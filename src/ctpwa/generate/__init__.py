"""Phase space for integrals, and toy data beyond ``ctpwa.generate_toy``."""

import typing as _typing

from ctpwa.base.lazy import on_demand as _on_demand

if _typing.TYPE_CHECKING:
    from ctpwa.generate.fractions import couplings_for_fractions
    from ctpwa.generate.importance import sample_phase_space
    from ctpwa.generate.toys import ToyGenerator, ToySettings
else:
    __getattr__, __dir__ = _on_demand(__name__)

__all__ = ["ToyGenerator", "ToySettings", "couplings_for_fractions", "sample_phase_space"]
