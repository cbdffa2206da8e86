"""Event quantities that are computed in every pass instead of being kept, and weights of 1 that take no memory."""

import gc
import weakref
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import sympy as sp
import torch

import ctpwa
from ctpwa.data.events import Events
from ctpwa.data.stream import Piece
from ctpwa.engine.backends.cuda.engine import CudaEngine, CudaTuning
from ctpwa.engine.backends.reference import definition as reference
from ctpwa.engine.codegen.tensors import evaluate
from ctpwa.engine.plan.channels import model_channels
from ctpwa.engine.plan.compact import compacted
from ctpwa.engine.plan.tables import LOG, PLAIN, Tables
from ctpwa.engine.samples.build import find_rotation, in_pieces, sample_of, spin_stage
from ctpwa.engine.samples.chunk_bytes import ChunkLayout
from ctpwa.engine.samples.sample import Sample, fill_table
from ctpwa.engine.samples.stored_sample import WeightSums
from ctpwa.kinematics.two_body import breakup_momentum_squared
from ctpwa.model.lineshapes.formula import Formula, LineshapeParameter, q2, s
from engine.cases import CASES, CUDA, GPU, assert_close, events, example, likelihood, make, model, point, samples, with_resonance

CPU = torch.device("cpu")
ALWAYS = {"least_saving": 0.0, "most_kinds": 1000}  # compact whatever can be, however little that saves


def plan_of(own):
    return model_channels(own).plan(own)


def momenta(name, n=40):
    flat = events(name, n, 7)
    return [flat[label] for label in model(name).decay.labels]


def intensity(plan, sample, seed=0):
    random = np.random.default_rng(seed)
    c = torch.from_numpy(random.normal(size=plan.n_couplings) + 1j * random.normal(size=plan.n_couplings))
    theta = np.array([plan_value(plan, name) for name in plan.parameters])
    return reference.intensity(plan, c, torch.from_numpy(plan.iteration.values(theta)), sample)


def plan_value(plan, name):
    return {"mass": 1.4, "width": 0.2}.get(name.rsplit(".", 1)[1], 0.5)


@pytest.mark.parametrize("name", ["kk_eta", "kk_eta fixed", "flatte", "p_pbar_eta", "rho_rho", "polarised"])
def test_intensities_are_the_same(name):
    """The definition in torch with either plan: what is computed in every pass is what would have been kept."""
    own, p4 = model(name), momenta(name)
    plan = plan_of(own)
    less = compacted(plan, **ALWAYS)
    assert less.n_event_rows < plan.n_event_rows
    stage = spin_stage(own, find_rotation(own, [Piece(p4)]), CPU)
    plans = [replace(p, n_rows=stage.n_rows) for p in (less, plan)]
    found, expected = (intensity(p, sample_of(stage, p, len(p4[0]), in_pieces(Piece(p4)))) for p in plans)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-14 * float(expected.max()))


def test_three_vertices_of_kk_eta_keep_two_numbers_each():
    plan = plan_of(model("kk_eta"))
    less = compacted(plan)
    assert plan.n_event_rows == 15
    assert {quantity.source for quantity in less.quantities} == {s, sp.sqrt(q2 / s)}
    assert less.n_event_rows == 6
    assert plan.bytes_per_event - less.bytes_per_event == 9 * 8
    assert sorted(less.quantities.values()) == list(range(6))
    assert [(c.coupling, c.structure, c.factor) for c in sorted(plan.channels, key=lambda c: c.wave)] == [
        (c.coupling, c.structure, c.factor) for c in sorted(less.channels, key=lambda c: c.wave)
    ]


def test_running_widths_need_no_square_root():
    for kind in compacted(plan_of(model("kk_eta"))).kinds:
        for _, expression in kind.inner:
            assert not any((2 * power.exp).is_odd for power in expression.atoms(sp.Pow))


@pytest.mark.parametrize("name", list(CASES))
def test_nothing_is_left_to_compact(name):
    less = compacted(plan_of(model(name)), **ALWAYS)
    assert compacted(less, **ALWAYS) is less
    assert less.n_event_rows <= plan_of(model(name)).n_event_rows


def test_what_saves_little_is_left_as_it_is():
    plan = plan_of(model("polarised"))  # seven numbers would become six, of three kinds of formulas instead of two
    assert compacted(plan) is plan
    own = plan_of(model("kk_eta"))
    assert compacted(own) is not own
    assert compacted(own, most_kinds=8) is own


def test_two_numbers_of_a_vertex_are_kept_as_they_are():
    plan = plan_of(model("small"))  # one running width at each vertex
    assert compacted(plan) is plan


def test_rows_that_are_filled_in_between_stay_where_they_are():
    plan = plan_of(model("own_lineshapes"))
    assert plan.callbacks
    assert compacted(plan) is plan


def without_roots():
    """Lineshapes of q² without any root: keeping q/√s would be of no use."""
    every = example("jpsi_kk_eta")
    names = ["phi(1680)", "X(1750)", "phi(1020)"]
    own = ctpwa.load_model(every | {"resonances": {name: every["resonances"][name] for name in names}})
    a = sp.Symbol("a", real=True)
    for k, name in enumerate(names):
        formula = Formula("mine", 1 / (a**2 - s - sp.I * a * q2 / (q2 + sp.Rational(k + 1, 3))), (LineshapeParameter("a"),))
        own = with_resonance(own, name, lineshape=formula, options={}, parameters={"a": 2.0}, floating=("a",))
    return own


def test_without_square_roots_q2_is_kept():
    plan = plan_of(without_roots())
    less = compacted(plan, **ALWAYS)
    assert plan.n_event_rows == 4
    assert {quantity.source for quantity in less.quantities} == {s, q2}
    p4 = momenta("small")
    one, other = (torch.empty(p.n_event_rows, 40, dtype=torch.float64) for p in (plan, less))
    fill_table(plan, one, p4, {})
    fill_table(less, other, p4, {})
    p = torch.from_numpy(plan.iteration.values(np.full(len(plan.parameters), 1.9)))
    found, expected = (reference.channel_values(own, p, table) for own, table in ((less, other), (plan, one)))
    order = [[c.p for c in less.channels].index(c.p) for c in plan.channels]
    for k, F in zip(order, expected, strict=True):
        torch.testing.assert_close(found[k], F, rtol=1e-13, atol=0)


def test_expensive_and_complex_numbers_are_kept():
    plan = plan_of(model("kk_eta"))
    cheap = {q.source.count_ops() for q in plan.quantities if q.source != s}
    assert compacted(plan, most_operations=min(cheap), **ALWAYS) is plan  # L = 1 alone
    less = compacted(plan, most_operations=sorted(cheap)[1], **ALWAYS)  # and L = 2
    assert less.n_event_rows == 15 - 2 * 1  # s, L = 1 and 2 at two vertices of Kη become s and v; the third vertex has L = 1 and 3
    p4 = momenta("kk_eta")
    stage = spin_stage(model("kk_eta"), find_rotation(model("kk_eta"), [Piece(p4)]), CPU)
    plans = [replace(p, n_rows=1) for p in (plan, less)]
    found, expected = (intensity(p, sample_of(stage, p, 40, in_pieces(Piece(p4)))) for p in plans)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)
    flatte = plan_of(model("flatte"))
    kept = {quantity for quantity in flatte.quantities if quantity.complex}
    assert kept
    assert {quantity for quantity in compacted(flatte, least_saving=0.0).quantities if quantity.complex} == kept


def test_at_threshold():
    """Two daughters at rest: q is 0 there, and running widths vanish."""
    less = compacted(plan_of(model("kk_eta")))
    m_K, m_eta = 0.493677, 0.547862
    rest = torch.tensor([[m_K, 0.0, 0.0, 0.0]], dtype=torch.float64)
    p4 = [rest, rest.clone(), torch.tensor([[np.hypot(m_eta, 0.3), 0.0, 0.0, 0.3]], dtype=torch.float64)]
    E = torch.empty(less.n_event_rows, 1, dtype=torch.float64)
    fill_table(less, E, p4, {})
    velocity = next(row for q, row in less.quantities.items() if q.system == (0, 1) and q.source != s)
    assert float(E[velocity]) == 0.0
    p = torch.from_numpy(less.iteration.values(np.array([plan_value(less, name) for name in less.parameters])))
    for channel, F in zip(less.channels, reference.channel_values(less, p, E), strict=True):
        assert bool(F.isfinite().all())
        if velocity in channel.e:
            assert float(F.imag) == 0.0


def test_what_is_kept_is_what_it_says():
    less, p4 = compacted(plan_of(model("kk_eta"))), momenta("kk_eta")
    E = torch.empty(less.n_event_rows, 40, dtype=torch.float64)
    fill_table(less, E, p4, {})
    for quantity, row in less.quantities.items():
        i, j = quantity.system
        P = p4[i] + p4[j]
        mass2 = P[:, 0].square() - P[:, 1:].square().sum(dim=1)
        masses = [(p4[k][:, 0].square() - p4[k][:, 1:].square().sum(dim=1)).sqrt() for k in (i, j)]
        expected = mass2 if quantity.source == s else (breakup_momentum_squared(mass2, *masses) / mass2).sqrt()
        torch.testing.assert_close(E[row], expected, rtol=1e-12, atol=0)


# the tables of the GPU kernels


@pytest.mark.parametrize("name", list(CASES))
def test_every_channel_is_visited_once(name):
    plan = compacted(plan_of(model(name)), **ALWAYS)
    visits = Tables(plan).visits
    seen = []
    for k, (kind, structure, closes, first, last, *rows) in enumerate(visits.tolist()):
        for a in range(first, last):
            seen.append(a)
            assert (plan.channels[a].kind, plan.channels[a].structure) == (kind, structure)
            assert tuple(rows[: len(plan.channels[a].e)]) == plan.channels[a].e
        assert closes == (k + 1 == len(visits) or visits[k + 1][1] != structure)
    assert sorted(seen) == list(range(len(plan.channels)))
    structures = [row[1] for row in visits.tolist() if row[2]]
    assert len(structures) == len(set(structures))  # none is left and met again


@pytest.mark.parametrize("engine", [CUDA])
@pytest.mark.parametrize("name", ["arctangent", "p_pbar_eta", "polarised"])
def test_k_is_read_early_or_late(name, engine, tuned):
    """With few rows K is asked for in every visit, with many once for a structure; the result is the same, also of compacted plans."""
    few = {"data": events(name, 20, 1), "phase_space": events(name, 9, 2), "background": None}
    reference = make(name, "reference", **few)
    expected = reference.value_grad_hessian(point(reference))
    for most, saving in ((0, 0.0), (100, 0.0), (0, 1.0)):
        like = make(name, tuned(most_early=most, adapt=partial(compacted, least_saving=saving)), **few)
        assert any(kind.inner for kind in like.plan.kinds) == (saving == 0.0)
        for found, other in zip(like.value_grad_hessian(point(like)), expected, strict=True):
            assert_close(found, other, 1e-12, 300)


@pytest.mark.parametrize("engine", [CUDA])
def test_programs_share_columns(engine):
    like = likelihood("small", engine)
    (sample,) = like.data.resident
    c, p = np.ones(like.plan.n_couplings, dtype=complex), like.plan.iteration.values(np.ones(len(like.plan.parameters)))
    found = []
    for shared in (1, 3, 100):  # fewer and more than there are columns
        engine = CudaEngine(like.plan, like.engine.device, CudaTuning(shared_log=shared, shared_plain=shared))
        engine.set_numbers(c, p)
        found.append([engine._launch_columns(sample, sample.w, mode, 0, sample.n_events)[k] for k, mode in ((1, LOG), (0, PLAIN))])
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            assert torch.equal(a, b)


@pytest.mark.gpu
@pytest.mark.skipif(not GPU, reason="no GPU")
def test_a_hessian_that_is_not_recorded(tuned):
    recorded, plain = (make("kk_eta", tuned(most_recorded=most, recorded_after=1)) for most in (1 << 30, 0))
    x = point(recorded)
    for _ in range(3):
        expected = recorded.value_grad_hessian(x)
        found = plain.value_grad_hessian(x)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
    assert recorded.engine._graphs
    assert not plain.engine._graphs


# weights


@pytest.mark.parametrize("engine", [CUDA])
def test_weights_of_one_are_one_number(engine):
    data, phase_space = samples("small")["data"], samples("small")["phase_space"]
    ones = Events(data.momenta, torch.ones(data.n_events, dtype=torch.float64))
    without, given = make("small", engine), make("small", engine, data=ones)
    (one,), (many,) = without.data.resident, given.data.resident
    assert one.w.untyped_storage().nbytes() == 8
    assert one.w.shape == many.w.shape
    assert many.w.stride(0) == 1
    assert without.phase_space.resident[0].w.stride(0) == 0
    x = point(without)
    for found, expected in zip(without.value_grad_hessian(x), given.value_grad_hessian(x), strict=True):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(without.score_products(x), given.score_products(x))
    assert without.weight == given.weight == data.n_events
    assert not without.weighted
    part = without.coarse(x, 40, 3)
    assert part.data.resident[0].w.stride(0) == 1
    assert float(part.weight) == pytest.approx(data.n_events)
    assert phase_space.weights is None


def test_sums_of_one_weight():
    """Of weights that are one number in memory: the same sums, and nothing as long as the sample is made of it."""
    for value in (1.0, -2.5):
        w = torch.full((1,), value, dtype=torch.float64).expand(1000)
        assert WeightSums.of(w) == WeightSums.of(w.clone())
    assert WeightSums.of(w[:0]) == WeightSums()


def test_weights_on_a_cpu_are_an_array():
    (sample,) = likelihood("small", "cpu").data.resident
    assert sample.w.is_contiguous()


def test_weights_that_come_later_are_taken():
    own, p4 = model("small"), momenta("small", 30)
    stage = spin_stage(own, find_rotation(own, [Piece(p4)]), CPU)
    w = torch.arange(1.0, 21.0, dtype=torch.float64)
    pieces = [Piece([p[:10] for p in p4]), Piece([p[10:] for p in p4], w)]
    sample = sample_of(stage, replace(plan_of(own), n_rows=stage.n_rows), 30, pieces, one_weight=True)
    assert sample.w.tolist() == [1.0] * 10 + w.tolist()


@pytest.mark.parametrize("one", [False, True])
def test_a_packed_sample_has_its_weights(one):
    n = 600
    K, E = torch.rand(2, 1, n, dtype=torch.float64), torch.rand(3, n, dtype=torch.float64)
    w = torch.ones(1, dtype=torch.float64).expand(n) if one else torch.rand(n, dtype=torch.float64)
    sample = Sample(K, E, w, n, None, {})
    layout = ChunkLayout.of(sample)
    block = torch.zeros(layout.size, dtype=torch.uint8)
    layout.pack(sample, block)
    found = layout.sample(block, with_order=True)
    assert torch.equal(found.w, w)
    assert torch.equal(found.K, K)
    assert torch.equal(found.E, E)
    assert found.w.stride(0) == (0 if one else 1)
    assert layout.size < 8 * 6 * n + (0 if one else 8 * n + 1024)


def test_expressions_leave_nothing_behind():
    """Values are free as soon as nobody asks for them, without the garbage collector."""
    gc.collect()
    gc.disable()
    try:
        x = torch.rand(5, dtype=torch.float64)
        alive = weakref.ref(x)
        value = evaluate(sp.Piecewise((sp.sqrt(s) + s**2, s > 1), (s, True)), {s: x})
        expected = torch.where(x > 1, x.sqrt() + x**2, x)
        del x
        assert alive() is None
        assert torch.equal(value, expected)
    finally:
        gc.enable()
