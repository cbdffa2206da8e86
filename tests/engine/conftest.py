"""Kernels of every engine without a GPU: Triton interpreted."""

import os
from dataclasses import replace

import pytest
import torch

from ctpwa.engine.backends.registry import all_backends, register_backend, unregister_backend

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when triton is imported, which the engine does late


@pytest.fixture
def tuned():
    """The name of an engine like ``cuda`` with another tuning, and perhaps another form of its plan."""
    name = "cuda tuned"

    def tune(adapt=None, **tuning):
        from ctpwa.engine.backends.cuda.engine import CudaEngine, CudaTuning

        cuda = all_backends()["cuda"]
        unregister_backend(name)
        register_backend(
            replace(
                cuda,
                name=name,
                automatic=lambda device: 0,
                engine=lambda plan, device: CudaEngine(plan, device, CudaTuning(**tuning)),
                adapt=adapt or cuda.adapt,
            )
        )
        return name

    yield tune
    unregister_backend(name)
