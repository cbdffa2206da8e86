"""Events that are several points: −ln L against sums by hand, derivatives against automatic ones, and points that are given or made."""

import numpy as np
import pytest
import torch

from ctpwa.base.errors import DataError
from ctpwa.data.density import Flat
from ctpwa.data.events import Events
from ctpwa.data.resolution import GivenPoints, Points, group_points
from ctpwa.data.stream import Piece
from ctpwa.engine.likelihood.backgrounds import Background
from ctpwa.engine.likelihood.build import build_likelihood
from ctpwa.kinematics.lorentz import mass_squared
from ctpwa.observe.mass_resolution import MassResolution, SeveralResolutions
from engine.cases import CUDA, FAST_ENGINES, assert_close, events, model, point, streamed_in
from engine.test_mixture import slope

PAIR = MassResolution((0, 1), 0.02, 5)
BACKGROUNDS = [Background("sideband", slope, 0.2, floating=True), Background("flat", Flat(), 0.1, floating=True)]


def likelihood(engine, name="small", weights="mixed", data=None, **options):
    data = events(name, 40, 1, weights) if data is None else data
    phase_space = events(name, 90, 2, "positive")
    options = {"resolution": PAIR, "subtraction": "plain"} | options
    return build_likelihood(model(name), data, phase_space, None, engine, progress=False, **options)


def piece_of(sample, name="small"):
    return Piece([sample[label] for label in model(name).decay.labels])


def as_rows(points, name="small"):
    return Events(dict(zip(model(name).decay.labels, points.piece.p4, strict=True)))


@pytest.mark.parametrize("engine", ["reference", *FAST_ENGINES])
def test_value(engine):
    """−Σ w ln Σ v I + W ln σ, from the intensities of points that are events of their own."""
    like, data = likelihood(engine), events("small", 40, 1, "mixed")
    points = PAIR.points(piece_of(data))
    each = likelihood("reference", data=as_rows(points), resolution=None)
    x, w = point(like), data.weights.numpy()
    I = (points.v.numpy() * each.intensity(x).cpu().numpy().reshape(40, 5)).sum(axis=1)
    v, I_phsp = events("small", 90, 2, "positive").weights.numpy(), like.intensity(x, "phase space").cpu().numpy()
    assert like.value(x) == pytest.approx(-(w * np.log(I)).sum() + w.sum() * np.log((v * I_phsp).sum() / v.sum()), rel=1e-12)
    assert_close(like.intensity(x).cpu().numpy(), I, 1e-12)
    assert like.n_events == 40
    assert like.weight == pytest.approx(w.sum())


DENSITIES = {"backgrounds": BACKGROUNDS, "subtraction": "bounded"}


@pytest.mark.parametrize(
    ("name", "engine", "options"),
    [
        ("small", "cpu", {}),
        ("kk_eta fixed", "cpu", DENSITIES),
        ("polarised", "cpu", {}),
        ("own_lineshapes", "cpu", DENSITIES),
        pytest.param("small", "cuda", DENSITIES, marks=CUDA.marks),
    ],
)
def test_derivatives_are_automatic_ones(name, engine, options):
    """The reference engine differentiates the definition."""
    like, reference = (likelihood(own, name, **options) for own in (engine, "reference"))
    x = point(like)
    expected = reference.value_grad_hessian(x)
    for found, other in zip(like.value_grad_hessian(x), expected, strict=True):
        assert_close(found, other, 1e-10)
    assert_close(like.value_and_grad(x)[1], expected[1], 1e-10)
    assert like.value(x) == pytest.approx(expected[0], rel=1e-12)
    assert_close(like.score_products(x), reference.score_products(x), 1e-10)


def test_the_gradient_is_that_of_the_value():
    like = likelihood("reference")
    x = point(like)
    gradient = like.value_and_grad(x)[1]
    for i in (0, len(x) - 1):
        step = np.eye(len(x))[i] * 1e-5
        assert gradient[i] == pytest.approx((like.value(x + step) - like.value(x - step)) / 2e-5, rel=1e-6, abs=1e-5)


def test_points_at_the_same_place_are_one():
    class Same:
        n_points, columns = 3, ()

        def points(self, found):
            p4 = [p.repeat_interleave(3, dim=0) for p in found.p4]
            return Points(Piece(p4), torch.tensor([0.2, 0.5, 0.3], dtype=torch.float64).expand(found.n_events, 3))

    like, plain = likelihood("cpu", resolution=Same()), likelihood("cpu", resolution=None)
    x = point(like)
    for one, other in zip(like.value_grad_hessian(x), plain.value_grad_hessian(x), strict=True):
        assert_close(one, other, 1e-10)


def test_streamed_samples():
    whole = likelihood("cpu", **DENSITIES)
    with streamed_in(50, False):
        streamed = likelihood("cpu", **DENSITIES)
    assert streamed.memory().streamed
    x = point(whole)
    for one, other in zip(streamed.value_grad_hessian(x), whole.value_grad_hessian(x), strict=True):
        assert_close(one, other, 1e-11)
    assert_close(streamed.intensity(x).cpu().numpy(), whole.intensity(x).cpu().numpy(), 1e-12)


def test_relatives():
    like, data = likelihood("cpu"), events("small", 40, 1, "mixed")
    x = point(like)
    w = torch.linspace(-0.1, 1, 40, dtype=torch.float64)
    other = likelihood("cpu", data=Events(data.momenta, w))
    assert like.with_weights(w).value(x) == pytest.approx(other.value(x), rel=1e-12)
    assert like.with_data(Events(data.momenta, w)).value(x) == pytest.approx(other.value(x), rel=1e-12)
    part = like.subsample(15, seed=3)
    assert part.intensity(x).cpu().numpy().shape == (15,)
    assert set(np.round(part.intensity(x).cpu().numpy(), 9)) <= set(np.round(like.intensity(x).cpu().numpy(), 9))


def test_a_batch_is_its_points():
    like = likelihood("cpu", "kk_eta fixed")
    x = np.stack([point(like, seed) for seed in range(2)])
    values, gradients, _ = like.value_grad_hessian(x)
    for k, row in enumerate(x):
        assert values[k] == pytest.approx(like.value(row), rel=1e-12)
        assert_close(gradients[k], like.value_and_grad(row)[1], 1e-11)


# points that are given


def rows(n=40, k=5):
    """The points of events as rows, with weights of events times weights of points."""
    data = events("small", n, 1, "mixed")
    points = PAIR.points(piece_of(data))
    shares = points.v / points.v.sum(dim=1, keepdim=True)
    return Events(as_rows(points).momenta, (data.weights[:, None] * shares).flatten())


def test_given_points():
    grouped = group_points(rows(), 5)
    assert grouped.n_events == 40
    resolution = GivenPoints(tuple(model("small").decay.labels), 5)
    like = likelihood("cpu", data=grouped, resolution=resolution)
    made = likelihood("cpu")
    x = point(like)
    (sample,), (other,) = like.samples.data.resident, made.samples.data.resident
    shift = float((other.w * other.v.sum(dim=1).log()).sum())  # a common factor of the points of an event
    assert like.value(x) - shift == pytest.approx(made.value(x), rel=1e-12)
    assert_close(like.value_and_grad(x)[1], made.value_and_grad(x)[1], 1e-10)
    assert sample.v.shape == (40, 5)


@pytest.mark.parametrize("given", [False, True])
def test_truth_is_what_happened(given):
    """Integrals over a truth sample, and fractions with them, are those without resolution."""
    own = {"data": group_points(rows(), 5), "resolution": GivenPoints(tuple(model("small").decay.labels), 5)} if given else {}
    like, exact, truth = likelihood("cpu", **own), likelihood("cpu", resolution=None), events("small", 60, 3, "positive")
    x = point(like)
    ours, theirs = like.integrals(x, truth), exact.integrals(x, truth)
    assert_close(ours.matrix, theirs.matrix, 1e-12)
    assert ours.weight == pytest.approx(theirs.weight, rel=1e-12)


@pytest.mark.parametrize(
    ("change", "k", "message"),
    [
        (lambda own: own, 7, "200 rows are not a multiple of 7 resolution points"),
        (lambda own: own, 10, "the 10 rows of an event lie as far from each other as those of different events"),
        (lambda own: own.picked(torch.arange(200).reshape(5, 40).T.flatten()), 5, "the 5 rows of an event lie as far from each other"),
        (lambda own: own.picked(torch.arange(200).reshape(40, 5)[:, :4].flatten()), 2, "52 % of all events, of 2 rows each, lie as near"),
        (lambda own: own, 1, "1 resolution points for each event"),
        (lambda own: Events(own.momenta, torch.where(torch.arange(200) == 11, -own.weights, own.weights)), 5, "rows 10 to 14 have weights"),
    ],
)
def test_rows_that_are_no_points(change, k, message):
    with pytest.raises(DataError, match=message):
        group_points(change(rows()), k)


def test_given_points_and_a_floor():
    resolution = GivenPoints(tuple(model("small").decay.labels), 5)
    with pytest.raises(DataError, match="known for measured events only"):
        likelihood("cpu", data=group_points(rows(), 5), resolution=resolution, subtraction="bounded")


@pytest.mark.parametrize("v", [float("nan"), -1.0])
def test_weights_of_points_that_are_wrong(v):
    class Wrong:
        n_points, columns = 3, ()

        def points(self, found):
            weights = torch.ones(found.n_events, 3, dtype=torch.float64)
            weights[6, 1] = v
            return Points(Piece([p.repeat_interleave(3, dim=0) for p in found.p4]), weights)

    with pytest.raises(DataError, match="resolution points of event 6"):
        likelihood("reference", resolution=Wrong())


# resolution of masses


@pytest.mark.parametrize("pair", [(0, 1), (2, 1)])
def test_points_of_a_mass(pair):
    """Mass shells, the total momentum and the direction of the pair stay; its mass is where it should be."""
    data = piece_of(events("small", 20, 1))
    found = MassResolution(pair, 0.003, 9).points(data)
    moved = [p.view(20, 9, 4) for p in found.piece.p4]
    inside = found.v > 0
    assert inside[:, 4].all()
    assert_close(sum(moved).numpy(), sum(data.p4)[:, None].expand(20, 9, 4).numpy(), 1e-12)
    for p, before in zip(moved, data.p4, strict=True):
        assert_close(mass_squared(p.flatten(0, 1).T).view(20, 9).numpy(), mass_squared(before.T)[:, None].expand(20, 9).numpy(), 1e-10, 1.0)
    mass = mass_squared((moved[pair[0]] + moved[pair[1]]).flatten(0, 1).T).sqrt().view(20, 9)
    before = mass_squared((data.p4[pair[0]] + data.p4[pair[1]]).T).sqrt()
    shift = torch.linspace(-4, 4, 9, dtype=torch.float64) * 0.003
    assert_close((mass - before[:, None])[inside].numpy(), shift.expand(20, 9)[inside].numpy(), 1e-10, 1.0)
    assert_close(moved[0][:, 4].numpy(), data.p4[0].numpy(), 1e-12)


def test_density_of_phase_space():
    """v of flat events adds up to what a Gaussian takes from p q around the mass."""
    data = piece_of(events("small", 5, 1))
    found = MassResolution((0, 1), 0.0005, 21).points(data)
    assert_close(found.v.sum(dim=1).numpy(), np.ones(5), 2e-4)


def test_two_pairs():
    data = piece_of(events("four_pions", 6, 1), "four_pions")
    one, other = MassResolution((0, 1), 0.01, 3), MassResolution((2, 3), 0.02, 5)
    found, turned = SeveralResolutions((one, other)).points(data), SeveralResolutions((other, one)).points(data)
    assert found.v.shape == (6, 15)
    for p, q in zip(found.piece.p4, turned.piece.p4, strict=True):
        kept = (found.v.view(6, 3, 5) > 0) & (turned.v.view(6, 5, 3).transpose(1, 2) > 0)
        assert_close(p.view(6, 3, 5, 4)[kept].numpy(), q.view(6, 5, 3, 4).transpose(1, 2)[kept].numpy(), 1e-10)
        assert_close(found.v.view(6, 3, 5)[kept].numpy(), turned.v.view(6, 5, 3).transpose(1, 2)[kept].numpy(), 1e-10)


@pytest.mark.parametrize(
    ("given", "message"),
    [(((0, 1), 0.0, 5), "resolution of a mass: 0.0 GeV"), (((0, 1), 0.1, 2), "at least 3"), (((1, 1), 0.1, 5), "with itself")],
)
def test_resolutions_that_make_no_sense(given, message):
    with pytest.raises(DataError, match=message):
        MassResolution(*given)


def test_an_estimated_density_that_is_zero_at_all_points_of_an_event():
    """Zero at some of them is harmless, and so is one that is given as it is; this is counted."""

    def density(piece):
        b = torch.ones(len(piece.p4[0]), dtype=torch.float64)
        if len(b) == 200:  # the points of the data
            b[5 * 17 : 5 * 17 + zeros] = 0.0
        return b

    zeros = 4
    likelihood("reference", weights="positive", backgrounds=[Background("b", density, 0.1)])
    zeros = 5
    found = likelihood("reference", weights="positive", backgrounds=[Background("b", density, 0.1)])
    assert found.events_without_background() == {"b": 1}
    density.estimated = True
    with pytest.raises(DataError, match="data: the density of background 'b' is 0 at event 17\n fix: "):
        likelihood("reference", weights="positive", backgrounds=[Background("b", density, 0.1)])
