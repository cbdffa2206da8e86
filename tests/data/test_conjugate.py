"""Files of the charge-conjugate decay."""

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.config.particles import read_decay
from ctpwa.decay.conjugate import conjugate_decay
from ctpwa.decay.pdg import ParticleTable

MODEL = {"decay": "B+ -> K+ pi- pi+", "resonances": {"rho(770)": {"in": "pi+ pi-"}}}


@pytest.fixture
def b_model():
    return ctpwa.load_model(MODEL)


@pytest.fixture
def b_events(b_model):
    return ctpwa.generate_phase_space(b_model, 7, seed=1)


@pytest.mark.parametrize(
    ("decay", "expected", "labels"),
    [
        ("B+ -> K+ pi- pi+", "B- -> K- pi+ pi-", ("K-", "pi+", "pi-")),
        ("D0 -> K_S0 pi+ pi-", "D~0 -> K(S)0 pi- pi+", ("K_S0", "pi-", "pi+")),
        ("B+ -> K+ K- K+", "B- -> K- K+ K-", ("K-_1", "K+", "K-_2")),
        ("Lambda_c+ -> p K- pi+", "Lambda(c)~- -> p~ K+ pi-", ("p~", "K+", "pi-")),
        ("J/psi(1S) -> pbar K+ Lambda", "J/psi(1S) -> p K- Lambda~", ("p", "K-", "Lambda~")),
        ("B+ -> kaon:K+ pi- pi+", "B- -> K- pi+ pi-", ("kaon", "pi+", "pi-")),
    ],
)
def test_the_conjugate_decay(decay, expected, labels):
    own = read_decay(decay, ParticleTable())
    found = conjugate_decay(own)
    assert (str(found), found.labels) == (expected, labels)
    assert [(p.name, p.charge, p.P) for p in conjugate_decay(found).final] == [(p.name, p.charge, p.P) for p in own.final]


@pytest.mark.parametrize("suffix", ["root", "parquet", "npz", "txt"])
def test_what_is_written_is_read_again(b_model, b_events, tmp_path, suffix):
    path = tmp_path / f"b.{suffix}"
    ctpwa.write_events(path, b_events, model=b_model, conjugate=True)
    found = ctpwa.read_events(b_model, path, conjugate=True)
    assert list(found) == ["K+", "pi-", "pi+"]
    for name, p4 in b_events.items():
        torch.testing.assert_close(found[name], p4, rtol=0, atol=0)
    stream = ctpwa.open_events(b_model, path, conjugate=True)
    for name, p4 in next(iter(stream.pieces())).items():
        torch.testing.assert_close(p4, b_events[name], rtol=0, atol=0)


def test_the_file_holds_antiparticles_that_fly_the_other_way(b_model, b_events, tmp_path):
    ctpwa.write_events(tmp_path / "b.npz", b_events, model=b_model, conjugate=True)
    with np.load(tmp_path / "b.npz") as file:
        assert sorted(file) == ["K-", "pi+", "pi-"]
        for there, here in (("K-", "K+"), ("pi+", "pi-"), ("pi-", "pi+")):
            np.testing.assert_array_equal(file[there], b_events[here].numpy() * [1, -1, -1, -1])


def test_names_in_messages_are_those_of_the_files(b_model, b_events, tmp_path):
    ctpwa.write_events(tmp_path / "b.npz", b_events, model=b_model)
    with pytest.raises(ctpwa.base.DataError, match="'K-'"):
        ctpwa.read_events(b_model, tmp_path / "b.npz", conjugate=True)


def test_conjugates_of_nothing(b_events, tmp_path):
    with pytest.raises(ctpwa.base.DataError, match="give the model"):
        ctpwa.write_events(tmp_path / "b.npz", b_events, conjugate=True)
