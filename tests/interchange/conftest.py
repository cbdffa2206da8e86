"""What tests of importers share."""

from pathlib import Path

import pytest

import ctpwa

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def example_model():
    return lambda name: ctpwa.load_model(EXAMPLES / name / "model.yml")
