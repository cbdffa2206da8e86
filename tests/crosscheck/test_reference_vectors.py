"""Amplitudes against vectors from an independent helicity-formalism implementation, constant by constant (M = 1)."""

import numpy as np
import pytest

from crosscheck.reference import NAMES, gram_matrices, load


@pytest.mark.parametrize("rest_frame", [True, False], ids=["boosted-to-rest", "frame-as-given"])
@pytest.mark.parametrize("frame", ["momenta", "momenta_lab"])
@pytest.mark.parametrize("name", NAMES)
def test_reference_vectors(name, frame, rest_frame):
    data = load(name)
    computed = gram_matrices(data, frame, rest_frame)
    scale = np.ones(next(iter(data["B"].values())).shape[:2]) if data["qL"] is None else np.array(data["qL"])
    for polarisation, expected in data["B"].items():
        B = computed[polarisation] / (scale[:, :, None] * scale[:, None, :])
        np.testing.assert_allclose(B, expected, rtol=0, atol=1e-12 * np.abs(expected).max(), err_msg=polarisation)
