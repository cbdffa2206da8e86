"""Phases whose common sign no data determine: K of a production is real, and waves without a lineshape have no other phase of their own."""

from __future__ import annotations

from ctpwa.model.model import Model

CONSTANT = "constant"


def open_signs(model: Model) -> list[str]:
    """A sentence for each reflectivity whose couplings may all be conjugated without any change of the intensity                (F13.6)"""
    rows = model.production.rows(model.decay)
    made = [(wave.chain.root.made, wave) for wave in model.waves]
    found = []
    for sign in (1, -1):
        own = [wave for state, wave in made if state is not None and state.reflectivity == sign]
        alone = all(resonance.lineshape == CONSTANT for wave in own for resonance in wave.resonances)
        if rows.real and alone and len(own) > 1:
            found.append(
                f"the common sign of all phases of reflectivity {'+-'[sign < 0]} is open: complex conjugate couplings have the same"
                " intensity in every event; a lineshape or circular polarisation would tell them apart"
            )
    return found
