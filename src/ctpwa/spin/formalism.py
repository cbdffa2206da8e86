"""How wave functions of daughters enter a vertex."""

from __future__ import annotations

CANONICAL = "canonical"  # carried to the rest frame of the parent by the rotation-free boost
ZOU_BUGG = "zou-bugg"  # projected orthogonal to the momentum of the parent
ZOU_BUGG_TRACELESS = "zou-bugg-traceless"  # the same, without the traces that projected tensors have
