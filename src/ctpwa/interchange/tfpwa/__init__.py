"""Configurations of TF-PWA."""
