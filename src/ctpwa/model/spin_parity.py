"""J^P of waves: the name of a group of them."""

from __future__ import annotations

from ctpwa.decay.spin import format_parity, format_spin
from ctpwa.model.model import Wave


def spin_parity(wave: Wave) -> str:
    """J^P of the intermediate states that the parent decays to; of X if a beam made it."""
    if wave.chain.root.made is not None:
        return f"{format_spin(wave.chain.root.particle.two_J)}{format_parity(wave.chain.root.particle.P)}"
    top = [node for node in wave.chain.nodes[0].daughters if not isinstance(node, int) and not wave.chain.is_held(node)]
    return " ".join(f"{format_spin(node.particle.two_J)}{format_parity(node.particle.P)}" for node in top) or "none"
