"""Models and samples of the fits that are studied."""

MODEL = """decay: J/psi(1S) -> K+ K- eta
polarisation: transverse
resonances:
  phi(1680):    {in: K+ K-, mass: 1.68, width: 0.15, float: mass}
  phi(3)(1850): {in: K+ K-}
  K(2)*(1430):  {in: [K+ eta, K- eta]}
SAMPLES
fit: {engine: reference, starts: 1}
"""
PHASE_SPACE = "phase_space: {generate: 1500, seed: 2}"
PLAIN = f"samples: {{data: data.npz, {PHASE_SPACE}}}"
DENSITY = f"samples: {{data: mixed.npz, {PHASE_SPACE}, backgrounds: {{b: {{density: flat, fraction: {{value: 0.14, float: true}}}}}}}}"
SUBTRACTED = f"samples: {{data: mixed.npz, {PHASE_SPACE}, background: {{file: side.npz, scale: 0.5}}}}"
TWO = f"data_sets:\n  one: {{data: data.npz, {PHASE_SPACE}}}\n  two: {{data: side.npz, {PHASE_SPACE}}}"
TRUTH = {
    "phi(1680)[K+ K-] (1,1)(1,0)": 1,
    "phi(3)(1850)[K+ K-] (3,3)(3,0)": 100 + 150j,
    "K(2)*(1430)+[K+ eta] (2,2)(2,0)": 12 - 6j,
}
