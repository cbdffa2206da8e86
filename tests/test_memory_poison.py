"""The poison of conftest works; without it, tests for unwritten outputs would test nothing."""

import torch


def test_torch_empty_is_poisoned():
    assert torch.empty(7, dtype=torch.float64).isnan().all()
    assert torch.empty(7, dtype=torch.complex128).isnan().all()
