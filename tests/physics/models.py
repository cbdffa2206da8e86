"""The models of ``models.yml``, in the language of model files."""

from functools import cache
from pathlib import Path

import yaml

import ctpwa

MODELS = yaml.safe_load((Path(__file__).parent / "models.yml").read_text(encoding="utf-8"))


@cache
def load(name):
    return ctpwa.load_model(MODELS[name])
