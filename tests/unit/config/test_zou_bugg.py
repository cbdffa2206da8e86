"""Notes on covariant tensors."""

import pytest

import ctpwa

TEXT = {"decay": "J/psi(1S) -> gamma pi0 pi0", "resonances": {"f(2)(1270)": {"in": "pi0 pi0"}, "f(0)(1500)": {"in": "pi0 pi0"}}}


@pytest.mark.parametrize(
    ("formalism", "does", "other"), [("zou-bugg", "keeps", "zou-bugg-traceless has"), ("zou-bugg-traceless", "removes", "zou-bugg has")]
)
def test_waves_with_traces_are_named(formalism, does, other):
    (note,) = [note for note in ctpwa.load_model({**TEXT, "formalism": formalism}).notes if "traces" in note]
    assert f"formalism {formalism} {does} traces" in note
    assert f"; {other}" in note
    assert "f(2)(1270)[pi0_1 pi0_2] (0,1)(2,0)" in note
    assert "(2,2)(2,0)" not in note  # the trace of a tensor and a vector make S = 1 alone
    assert "f(0)" not in note


def test_canonical_amplitudes_have_no_traces():
    assert not [note for note in ctpwa.load_model(TEXT).notes if "traces" in note]
