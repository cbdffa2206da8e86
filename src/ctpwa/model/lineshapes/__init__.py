"""What a lineshape in a Python file is made of."""

import typing as _typing

from ctpwa.base.lazy import on_demand as _on_demand

if _typing.TYPE_CHECKING:
    from ctpwa.model.lineshapes.breit_wigner import MASS, WIDTH
    from ctpwa.model.lineshapes.formula import Formula, LineshapeKind, LineshapeParameter, Vertex, column_variable, q2, s
else:
    __getattr__, __dir__ = _on_demand(__name__)

__all__ = ["MASS", "WIDTH", "Formula", "LineshapeKind", "LineshapeParameter", "Vertex", "column_variable", "q2", "s"]
