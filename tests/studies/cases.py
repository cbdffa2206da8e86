"""Models and samples of the fits that are studied."""

from kk_eta import THREE

MODEL = THREE + "SAMPLES\nfit: {engine: reference, starts: 1}\n"
PHASE_SPACE = "phase_space: {generate: 1500, seed: 2}"
PLAIN = f"samples: {{data: data.npz, {PHASE_SPACE}}}"
DENSITY = f"samples: {{data: mixed.npz, {PHASE_SPACE}, backgrounds: {{b: {{density: flat, fraction: {{value: 0.14, float: true}}}}}}}}"
SUBTRACTED = f"samples: {{data: mixed.npz, {PHASE_SPACE}, background: {{file: side.npz, scale: 0.5}}}}"
TWO = f"data_sets:\n  one: {{data: data.npz, {PHASE_SPACE}}}\n  two: {{data: side.npz, {PHASE_SPACE}}}"
