"""Partial wave analysis of hadron decays: covariant L-S amplitudes, fitted at the speed of the hardware.

What an analysis needs every day is here; the rest has its place in ``ctpwa.data``, ``ctpwa.generate``, ``ctpwa.observables`` and other
submodules, which ``docs/api`` lists.
"""

import typing as _typing

from ctpwa.platforms import refuse_other_systems as _refuse_other_systems

_refuse_other_systems()  # before anything is imported that other systems do not have

from ctpwa.base.lazy import on_demand as _on_demand  # noqa: E402
from ctpwa.version import VERSION as __version__  # noqa: E402, F401

if _typing.TYPE_CHECKING:
    from ctpwa import analysis, base, data, engine, fitting, generate, interchange, model, observables, observe, spin, studies  # noqa: F401
    from ctpwa.analysis.analysis import Analysis, load_analysis
    from ctpwa.analysis.export import export
    from ctpwa.analysis.reopen import open_fit
    from ctpwa.analysis.write_report import write_report
    from ctpwa.base.errors import CtpwaError
    from ctpwa.config.read import load_model
    from ctpwa.data.event_files import open_events
    from ctpwa.data.events import Events
    from ctpwa.data.files import read_events
    from ctpwa.data.write import write_events
    from ctpwa.engine.likelihood.build import build_likelihood
    from ctpwa.engine.likelihood.intensity import ModelIntensity
    from ctpwa.engine.likelihood.likelihood import Likelihood
    from ctpwa.fitting.fit import fit
    from ctpwa.fitting.result import FitResult
    from ctpwa.generate.phase_space import generate_phase_space
    from ctpwa.generate.toys import generate_toy
    from ctpwa.model.lineshapes.registry import register_lineshape
    from ctpwa.model.model import Model
    from ctpwa.observables.argand import argand
    from ctpwa.observables.compare import compare
    from ctpwa.observables.poles import poles
else:
    __getattr__, __dir__ = _on_demand(__name__)

__all__ = [
    "Analysis",
    "CtpwaError",
    "Events",
    "FitResult",
    "Likelihood",
    "Model",
    "ModelIntensity",
    "argand",
    "build_likelihood",
    "compare",
    "export",
    "fit",
    "generate_phase_space",
    "generate_toy",
    "load_analysis",
    "load_model",
    "open_events",
    "open_fit",
    "poles",
    "read_events",
    "register_lineshape",
    "write_events",
    "write_report",
]
