"""What makes a fit another one: a checkpoint of other samples or of another model is not gone on from."""

import pytest

from ctpwa.fitting.checkpoint import hash_of_model, hash_of_samples

WEIGHTS = {"smallest": -0.5, "largest": 1.0, "total": 90.0}
SUMMARY = {
    "name": "data",
    "n_events": 100,
    "notes": [],
    "weights": WEIGHTS,
    "files": [{"path": "a.root", "n_events": 100, "sha256": "a1"}],
    "weight_files": [{"path": "w.txt", "n_events": 100, "sha256": "b1"}],
}


@pytest.mark.parametrize(
    "change",
    [
        {"name": "background"},
        {"n_events": 99},
        {"notes": ["momenta are put on shell"]},
        {"weights": None},
        {"weights": WEIGHTS | {"smallest": 0.5}},
        {"weights": WEIGHTS | {"largest": 2.0}},
        {"files": [{"path": "a.root", "n_events": 100, "sha256": "a2"}]},
        {"files": SUMMARY["files"] * 2},
        {"weight_files": [{"path": "w.txt", "n_events": 100, "sha256": "b2"}]},
        {"weight_files": []},
    ],
)
def test_other_samples(change):
    assert hash_of_samples([SUMMARY | change]) != hash_of_samples([SUMMARY])


def test_samples_may_move_and_their_sum_may_be_rounded():
    moved = SUMMARY | {"files": [{"path": "there/a.root", "n_events": 100, "sha256": "a1"}], "weights": WEIGHTS | {"total": 90.00000001}}
    assert hash_of_samples([moved]) == hash_of_samples([SUMMARY])
    assert hash_of_samples([SUMMARY, SUMMARY | {"name": "phase space"}]) != hash_of_samples([SUMMARY | {"name": "phase space"}, SUMMARY])


MODEL = {"decay": "J/psi(1S) -> K+ K- eta", "resonances": {"phi(1680)": {"in": "K+ K-", "mass": 1.68}}, "fit": {"starts": 3}}


@pytest.mark.parametrize("change", [{"decay": "J/psi(1S) -> K+ K- pi0"}, {"resonances": {}}, {"fit": {"constraints": {"x": [1, 2]}}}])
def test_another_model(change):
    assert hash_of_model(MODEL | change) != hash_of_model(MODEL)


@pytest.mark.parametrize("change", [{"fit": {"starts": 9, "seed": 2, "method": "lbfgs"}}, {"fit": {}}])
def test_how_it_is_minimised_does_not_count(change):
    assert hash_of_model(MODEL | change) == hash_of_model(MODEL)
