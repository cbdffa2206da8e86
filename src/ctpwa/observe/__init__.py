"""Variables of the final state, from text; and how exactly masses are measured."""

from ctpwa.observe.mass_resolution import MassResolution, SeveralResolutions, measured_events
from ctpwa.observe.momentum_errors import MomentumErrors
from ctpwa.observe.variable import ProjectionSpec, Variable, default_variables, parse_variable

__all__ = [
    "MassResolution",
    "MomentumErrors",
    "ProjectionSpec",
    "SeveralResolutions",
    "Variable",
    "default_variables",
    "measured_events",
    "parse_variable",
]
