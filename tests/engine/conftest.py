"""Kernels of every engine without a GPU: Triton interpreted."""

import os

import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when triton is imported, which the engine does late
