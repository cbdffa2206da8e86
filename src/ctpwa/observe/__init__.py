"""Variables of the final state, from text; and how exactly masses are measured."""

import typing as _typing

from ctpwa.base.lazy import on_demand as _on_demand

if _typing.TYPE_CHECKING:
    from ctpwa.observe.mass_resolution import MassResolution, SeveralResolutions, measured_events
    from ctpwa.observe.momentum_errors import MomentumErrors
    from ctpwa.observe.variable import ProjectionSpec, Variable, default_variables, parse_variable
else:
    __getattr__, __dir__ = _on_demand(__name__)

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
