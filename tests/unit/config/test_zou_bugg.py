"""Notes on covariant tensors."""

import ctpwa


def test_waves_with_traces_are_named():
    text = {"decay": "J/psi(1S) -> gamma pi0 pi0", "resonances": {"f(2)(1270)": {"in": "pi0 pi0"}, "f(0)(1500)": {"in": "pi0 pi0"}}}
    (note,) = [note for note in ctpwa.load_model({**text, "formalism": "zou-bugg"}).notes if "traces" in note]
    assert "f(2)(1270)[pi0_1 pi0_2] (0,1)(2,0)" in note
    assert "f(0)" not in note
    assert not [note for note in ctpwa.load_model(text).notes if "traces" in note]
