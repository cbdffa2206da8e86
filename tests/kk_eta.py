"""J/ψ → K+ K− η: the decay of most tests that need resonances in several systems, and not any in particular."""

from __future__ import annotations

from typing import Any

THREE = """decay: J/psi(1S) -> K+ K- eta
polarisation: transverse
resonances:
  phi(1680):    {in: K+ K-, mass: 1.68, width: 0.15, float: mass}
  phi(3)(1850): {in: K+ K-}
  K(2)*(1430):  {in: [K+ eta, K- eta]}
"""
THREE_FIXED = THREE.replace(", float: mass", "")
TWO = THREE.replace("  phi(3)(1850): {in: K+ K-}\n", "")
TWO_FIXED = TWO.replace(", float: mass", "")
TRUTH = {  # couplings of three with which each of them can be seen
    "phi(1680)[K+ K-] (1,1)(1,0)": 1,
    "phi(3)(1850)[K+ K-] (3,3)(3,0)": 100 + 150j,
    "K(2)*(1430)+[K+ eta] (2,2)(2,0)": 12 - 6j,
}


def kk_eta(resonances: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A description of the decay with transverse polarisation.

    Args:
        resonances:  its resonances
        more:        other sections, such as couplings
    """
    return {"decay": "J/psi(1S) -> K+ K- eta", "polarisation": "transverse", "resonances": resonances, **more}
