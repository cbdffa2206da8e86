"""What could be there instead: spins and parities that would be allowed."""

from __future__ import annotations

from dataclasses import replace

from ctpwa.base.errors import PhysicsError
from ctpwa.decay.chain import Chain, Node
from ctpwa.decay.spin import format_spin
from ctpwa.decay.waves import chain_waves, vertex_ls

MAX_TWO_J = 8


def possible_jp(chain: Chain, resonance: str) -> list[str]:
    """``['1-', '3-']``: the J^P up to J = 4 that would give the chain a wave with this resonance."""
    own = next(node for node in chain.nodes if node.resonance == resonance)
    leaves = [chain.decay.final[i] for i in own.leaves]
    lowest = sum(particle.two_J for particle in leaves) % 2
    return [
        f"{format_spin(two_J)}{'+' if P > 0 else '-'}"
        for two_J in range(lowest, MAX_TWO_J + 1, 2)
        for P in (1, -1)
        if _has_waves(Chain(chain.decay, _with_jp(chain.root, resonance, two_J, P)))
    ]


def _with_jp(node: Node, resonance: str, two_J: int, P: int) -> Node:
    first, second = (_with_jp(d, resonance, two_J, P) if isinstance(d, Node) else d for d in node.daughters)
    particle = replace(node.particle, two_J=two_J, P=P, C=None) if node.resonance == resonance else node.particle
    return replace(node, particle=particle, daughters=(first, second))


def _has_waves(chain: Chain) -> bool:
    try:
        return bool(chain_waves(chain, [vertex_ls(chain, node) for node in chain.nodes]))
    except PhysicsError:
        return False
