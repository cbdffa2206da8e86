"""Variables of the final state, from text."""

from ctpwa.observe.variable import ProjectionSpec, Variable, default_variables, parse_variable

__all__ = ["ProjectionSpec", "Variable", "default_variables", "parse_variable"]
