"""Errors of masses from errors of momenta: against momenta that are smeared and fitted, and points of events that follow them."""

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.base.errors import DataError
from ctpwa.data.stream import Piece
from ctpwa.kinematics.lorentz import mass_squared
from ctpwa.observe.mass_resolution import RANGE, MassResolution, NarrowState, measured_events
from ctpwa.observe.momentum_errors import MomentumErrors

ERRORS = MomentumErrors((0.01, 0.02, 0.03), (0.004, 0.003, 0.01))
PAIR = (0, 2)
LABELS = ("K+", "K-", "eta")


@pytest.fixture(scope="module")
def flat():
    model = ctpwa.load_model({"decay": "J/psi(1S) -> K+ K- eta", "resonances": {"phi(1680)": {"in": "K+ K-"}}})
    return ctpwa.generate_phase_space(model, 300, seed=3)


def fitted(p, C, masses, total, rounds=4):
    """Momenta [particle · 3] moved as little as possible, in units of their errors, so that they add up to a total four-momentum."""
    x = p.copy()
    for _ in range(rounds):
        own = x.reshape(-1, 3)
        E = np.sqrt(np.square(masses) + np.square(own).sum(axis=1))
        A = np.concatenate([np.concatenate([own[i : i + 1] / E[i], np.eye(3)]) for i in range(len(own))], axis=1)
        missing = np.concatenate([[E.sum()], own.sum(axis=0)]) - total
        x = p - C @ A.T @ np.linalg.solve(A @ C @ A.T, missing + A @ (p - x))
    return x


def test_momenta_that_are_smeared_and_fitted(flat):
    """A kinematic fit by hand: the masses that come out scatter as promised."""
    rng, small = np.random.default_rng(1), 0.05
    errors = MomentumErrors(tuple(small * e for e in ERRORS.magnitudes), tuple(small * e for e in ERRORS.angles))
    p4 = [flat[label][:3].numpy() for label in LABELS]
    promised = errors.of_mass([torch.from_numpy(p).T for p in p4], PAIR).numpy()
    for event in range(3):
        p, masses = np.array([own[event, 1:] for own in p4]), [np.sqrt(own[event, 0] ** 2 - own[event, 1:] @ own[event, 1:]) for own in p4]
        blocks = np.zeros((9, 9))
        for i, own in enumerate(p):
            along = np.outer(own, own)
            across = own @ own * np.eye(3) - along
            blocks[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] = errors.magnitudes[i] ** 2 * along + errors.angles[i] ** 2 * across
        total, found = sum(own[event] for own in p4), []
        for smeared in rng.multivariate_normal(p.ravel(), blocks, 2000):
            q = fitted(smeared, blocks, masses, total).reshape(3, 3)
            E = np.sqrt(np.square(masses) + np.square(q).sum(axis=1))
            np.testing.assert_allclose(E.sum(), total[0], rtol=1e-9)
            found.append(np.sqrt((E[0] + E[2]) ** 2 - np.square(q[0] + q[2]).sum()))
        assert np.std(found) == pytest.approx(promised[event], rel=5 / np.sqrt(2 * 2000))


def test_the_kinematic_fit_gains(flat):
    p4 = [flat[label].T for label in LABELS]
    worse = MomentumErrors((*ERRORS.magnitudes[:2], 1e4), (*ERRORS.angles[:2], 1e4))  # of the eta nothing is known
    pair = (0, 1)
    with_eta, without = ERRORS.of_mass(p4, pair), worse.of_mass(p4, pair)
    assert bool((with_eta <= without).all())
    assert float((with_eta / without).mean()) < 0.9


def test_points_are_as_wide_as_momenta_make_them(flat):
    resolution, piece = MassResolution(PAIR, ERRORS, 5), Piece([flat[label] for label in LABELS])
    found = resolution.points(piece)
    sigma = ERRORS.of_mass([p.T for p in piece.p4], PAIR)
    mass = mass_squared((found.piece.p4[0] + found.piece.p4[2]).T).sqrt().view(-1, 5)
    inside = (found.v > 0).all(dim=1)
    assert float(inside.double().mean()) > 0.7
    steps = (mass - mass[:, 2:3])[inside] / sigma[inside, None]
    torch.testing.assert_close(steps, torch.linspace(-RANGE, RANGE, 5, dtype=torch.float64).expand_as(steps), rtol=0, atol=1e-7)


def test_measured_events_scatter(flat):
    resolution = MassResolution(PAIR, ERRORS, 5)
    measured = measured_events(resolution, flat, LABELS, 7)
    before, after = (mass_squared((own["K+"] + own["eta"]).T).sqrt() for own in (flat, measured))
    pulls = (after - before) / resolution.spread([flat[label].T for label in LABELS])
    assert float(pulls.std()) == pytest.approx(1, abs=5 / np.sqrt(600))


def test_events_near_a_narrow_state_need_close_points(flat):
    p4 = [flat[label].T for label in LABELS]
    m, sigma = mass_squared(p4[0] + p4[2]).sqrt(), ERRORS.of_mass(p4, PAIR)
    state = NarrowState("narrow", "K+ eta", float(m[0]), 0.2 * float(sigma.min()))
    piece = Piece([flat[label] for label in LABELS])
    with pytest.raises(
        DataError, match=r"resolution of K\+ eta: its 5 points are .* MeV apart, and narrow is .* MeV wide\n fix: write  points: (\d+)"
    ):
        MassResolution(PAIR, ERRORS, 5, state).points(piece)
    elsewhere = NarrowState("narrow", "K+ eta", 9.0, state.width)
    assert MassResolution(PAIR, ERRORS, 5, elsewhere).points(piece).v.shape == (300, 5)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_errors_that_make_no_sense(value):
    with pytest.raises(DataError, match="resolution of a momentum"):
        MomentumErrors((0.1, value), (0.1, 0.1))
