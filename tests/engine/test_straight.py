"""The gradient of large samples on a GPU has a kernel of its own: it agrees with the general one, and with the reference."""

from dataclasses import replace

import numpy as np
import pytest

from ctpwa.data.density import Flat
from ctpwa.engine.backends.cuda.straight import BLOCK, is_straight, most_registers, n_sums
from ctpwa.engine.backends.cuda.straight_many import MOST_TOGETHER
from ctpwa.engine.likelihood.backgrounds import Background
from ctpwa.engine.plan.tables import LOG, PLAIN
from ctpwa.observe.mass_resolution import MassResolution
from engine.cases import CASES, CUDA, GPU, assert_close, events, likelihood, make, point
from engine.test_simulation import FLOORED, mixed

CLOSE = 1e-13
SLOW = ("four_pions", "kk_eta", "own_lineshapes", "small polar", "small not streamed", "arctangent")  # in Triton's interpreter
on_gpus = pytest.mark.parametrize("engine", [CUDA])


def straightened(like):
    """The same likelihood, whose engine takes all samples for large ones."""
    resolution = like.samples.resolution
    like.engine.expect(2**40, {LOG: 1 if resolution is None else resolution.n_points, PLAIN: 1})
    return like


def rising(piece):
    return 1 + piece.p4[0][:, 0]


def compare(name, engine, **options):
    general, reference = (make(name, kind, **options) for kind in (engine, "reference"))
    x, own = point(general), straightened(make(name, engine, **options))
    assert own.engine._straight is not None
    size = abs(reference.samples.totals.absolute)
    found = [*own.value_and_grad(x), *own.value_grad_hessian(x)]
    for other, tolerance in ((general, CLOSE), (reference, 1e-12)):
        value, gradient, H = other.value_grad_hessian(x)
        for one, expected, scale in zip(found, (value, gradient, value, gradient, H), (size, 0.0, size, 0.0, 0.0), strict=True):
            assert_close(one, expected, tolerance, scale)


@on_gpus
@pytest.mark.parametrize("name", [name for name in CASES if name not in ("p_pbar_eta", "polarised") and (GPU or name not in SLOW)])
def test_it_agrees_with_the_general_kernel(name, engine):
    compare(name, engine)


@on_gpus
def test_added_densities(engine):
    compare("small", engine, backgrounds=[Background("b", rising, 0.2, floating=True), Background("flat", Flat(), 0.1, floating=False)])


@on_gpus
@pytest.mark.parametrize("n_points", [3, 11] if GPU else [3])
def test_points_of_an_event(n_points, engine):
    """Events do not fill a turn of the kernel: some threads have nothing to do."""
    assert BLOCK % n_points
    resolution = MassResolution((0, 1), 0.01, n_points)
    assert straightened(make("small", engine, resolution=resolution)).engine._straight.has(2)
    compare("small", engine, resolution=resolution)
    compare("small", engine, resolution=resolution, backgrounds=[Background("b", rising, 0.2, floating=True)])


@on_gpus
@pytest.mark.skipif(not GPU, reason="half a minute in Triton's interpreter")
@pytest.mark.parametrize("n_points", [BLOCK - 1, BLOCK])
def test_points_and_the_event_itself_fit_into_a_turn(n_points, engine):
    """Errors take the event as one more of its points, where the floor is made of phase space."""
    flat = events("small", 12, 2, "positive")
    general, own = (mixed(flat, engine, **FLOORED, resolution=MassResolution((0, 1), 0.01, n_points)) for _ in range(2))
    x = point(general)
    assert_close(straightened(own).simulation_scatter(x).products, general.simulation_scatter(x).products, 1e-11)


MANY = {
    "plain": ("small", {}),
    "weights of both signs": ("small not streamed", {}),
    "densities and points": (
        "small",
        {"backgrounds": [Background("b", rising, 0.2, floating=True)], "resolution": MassResolution((0, 1), 0.01, 3)},
    ),
}


@on_gpus
@pytest.mark.parametrize("which", MANY)
def test_lineshapes_of_a_batch_share_a_pass(which, engine, monkeypatch):
    """More values than one pass takes; waves whose lineshapes are fixed are computed once for all of them."""
    name, options = MANY[which]
    reference, own = make(name, "reference", **options), straightened(make(name, engine, **options))
    monkeypatch.setattr(own.engine, "begin", None)
    x = np.array([point(own) * (1 + 0.01 * k) for k in range(MOST_TOGETHER + 1)])
    values, gradients = own.value_and_grad(x)
    expected, slopes = reference.value_and_grad(x)
    assert_close(values, expected, 1e-12, abs(reference.samples.totals.absolute))
    assert_close(gradients, slopes, 1e-12)


@on_gpus
def test_processes_with_and_without_it_send_the_same_numbers(engine):
    """One with few events may have no such kernel: a batch is one row of numbers all the same, and either makes the result of it."""
    one, other = straightened(make("small", engine)), make("small", "cpu")
    x = np.array([point(one) * (1 + 0.01 * k) for k in range(2)])
    tasks = [like.task(x, 1) for like in (one, other)]
    rows = [task.pack(task.local()) for task in tasks]
    assert_close(rows[0], rows[1], 1e-12, 100.0)
    for task, row, expected in zip(tasks, rows[::-1], (other, one), strict=True):
        values, gradients, _ = task.finish(task.unpack(row))
        assert_close(gradients, expected.value_and_grad(x)[1], 1e-12)
        assert_close(values, expected.value(x), 1e-12, 100.0)


@on_gpus
@pytest.mark.parametrize("name", ["kk_eta fixed", "own_lineshapes", "small streamed"])
def test_other_batches_take_other_ways(name, engine):
    """Fixed lineshapes have matrix products; values of Python functions are those of one point; events that pass through are not kept."""
    assert not straightened(make(name, engine)).evaluation._takes_many


@on_gpus
def test_bounded_subtraction(engine):
    compare("small streamed", engine, subtraction="bounded")


@on_gpus
def test_weights_of_one_sign_and_scores(engine):
    """What makes errors of it takes sums with other weights, by the same kernel."""
    options = {"data": events("small", 129, 1, "positive")}
    general, own = make("small", engine, **options), straightened(make("small", engine, **options))
    x = point(general)
    assert_close(own.simulation_scatter(x).products, general.simulation_scatter(x).products, 1e-12)


@on_gpus
def test_fewer_waves_use_the_general_kernel(engine):
    """Each set of waves would be compiled on its own."""
    own = straightened(make("small", engine))
    fewer = own.without(["NR1"])
    assert fewer.engine._straight is None
    x = point(fewer)
    assert_close(fewer.value_and_grad(x)[1], make("small", "reference").without(["NR1"]).value_and_grad(x)[1], 1e-12)


@on_gpus
def test_small_samples_use_the_general_kernel(engine):
    assert make("small", engine).engine._straight is None


@on_gpus
def test_models_with_too_many_columns_do_not_have_it(engine):
    like = straightened(make("polarised", engine))
    assert like.engine._straight is None
    assert not is_straight(like.plan)


def test_old_versions_of_triton_have_no_hessian():
    launch = pytest.importorskip("ctpwa.engine.backends.cuda.straight_launch", exc_type=ImportError)
    known = {"3.2.0": False, "3.5.1": False, "3.6.0": True, "3.10.0": True, "4.0.0+git": True}
    assert {version: launch.has_double_products(version) for version in known} == known


def test_numbers_of_a_warp():
    plan = likelihood("kk_eta", "reference").plan
    assert n_sums(1 + plan.n_variables) == 64  # the value, 23 complex couplings and ten floating numbers, filled up
    assert not is_straight(plan, most_kept=2 * (23 + 10) - 1)


def test_programs_on_a_multiprocessor():
    """Its registers are for 512 threads with 128 each: a compiler that takes a few more would cost a program of 128 threads."""
    plans = {name: likelihood(name, "reference").plan for name in ("kk_eta fixed", "kk_eta", "polarised")}
    assert {name: most_registers(plan) for name, plan in plans.items()} == {"kk_eta fixed": 128, "kk_eta": 168, "polarised": None}
    assert most_registers(replace(plans["kk_eta fixed"], n_added=1)) == 128
