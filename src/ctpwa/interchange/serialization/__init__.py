"""Amplitude models in the JSON format of amplitude-serialization."""
