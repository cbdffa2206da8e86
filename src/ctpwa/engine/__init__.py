"""The likelihood from below: backgrounds, values of its parameters by name, and the backends that compute it."""

import typing as _typing

from ctpwa.base.lazy import on_demand as _on_demand

if _typing.TYPE_CHECKING:
    from ctpwa.engine.backends.engine import Engine
    from ctpwa.engine.backends.registry import Backend, register_backend
    from ctpwa.engine.likelihood.backgrounds import Background
    from ctpwa.engine.likelihood.values import ModelValues, free_parameters, model_values
    from ctpwa.engine.plan.plan import Plan
else:
    __getattr__, __dir__ = _on_demand(__name__)

__all__ = ["Backend", "Background", "Engine", "ModelValues", "Plan", "free_parameters", "model_values", "register_backend"]
