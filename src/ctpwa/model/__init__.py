"""What a model is made of."""

from ctpwa.model.model import Wave

__all__ = ["Wave"]
