"""Mistakes are refused with what is wrong and what to do; memory is what it says."""

import dataclasses
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
import torch

from ctpwa.base.errors import CtpwaError, DataError, PhysicsError
from ctpwa.base.memory import format_bytes, give_back_freed
from ctpwa.data.events import Events
from ctpwa.engine.backends.cuda import backend
from ctpwa.engine.backends.registry import make_engine
from ctpwa.engine.likelihood.build import build_likelihood
from ctpwa.engine.samples.memory_plan import Limits, plan_memory
from ctpwa.engine.samples.sample import build_sample
from ctpwa.model.lineshapes.formula import Callback, LineshapeParameter
from engine.cases import GPU, events, likelihood, make, model, point, samples, with_resonance


def build(**changes):
    return make("small", "reference", **changes)


def weights(values):
    data = samples("small")["data"]
    return Events(data.momenta, torch.as_tensor(values, dtype=torch.float64))


def ones(n=129):
    return np.ones(n)


def at(index, value):
    w = ones()
    w[index] = value
    return w


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"reference_wave": "phi(1020)"}, PhysicsError, "reference wave 'phi(1020)' is not a coupling of the model\n fix: did you mean"),
        ({"representation": "polr"}, PhysicsError, "unknown representation 'polr' of couplings\n fix: did you mean 'polar'?"),
        (
            {"constraints": {"phi(1680).mas": (1.68, 0.02)}},
            PhysicsError,
            "constraint on 'phi(1680).mas', which is not a free parameter\n fix: did you mean 'phi(1680).mass'",
        ),
        (
            {"constraints": {"phi(1020).mass": (1.02, 0.02)}},
            PhysicsError,
            "it is fixed; to fit it, write  float: mass  in",
        ),
        (
            {"constraints": {"phi(1680).mass": (1.68, 0.0)}},
            PhysicsError,
            "constraint on 'phi(1680).mass' is (1.68, 0.0)\n fix: give (mean, standard deviation > 0)",
        ),
        ({"constraints": {"phi(1680).mass": (1.68, -0.1)}}, PhysicsError, "standard deviation > 0"),
        ({"constraints": {"phi(1680).mass": (float("nan"), 0.1)}}, PhysicsError, "standard deviation > 0"),
        ({"constraints": {"phi(1680).mass": (1.68, 0.1, 2.0)}}, PhysicsError, "standard deviation > 0"),
        ({"limits": {"phi(1680).mass": (1.8, 1.6)}}, PhysicsError, "the limits of 'phi(1680).mass' are 1.8 and 1.6\n fix: give a lower"),
        ({"limits": {"phi(1680).mass": (-2.0, -1.0)}}, PhysicsError, "are outside what makes sense: 0 to inf"),
        ({"limits": {"phi(1680).mas": (1.6, 1.8)}}, PhysicsError, "which is not a free parameter\n fix: did you mean 'phi(1680).mass'"),
    ],
)
def test_mistakes_in_options(changes, error, message):
    with pytest.raises(error) as found:
        build(**changes)
    assert message in str(found.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (ones(128), "data: 128 weights for 129 events\n fix: give one weight per event"),
        (ones(129)[:, None], "weights have shape 129×1 for 129 events\n fix: give one weight per event"),
        (at(77, np.nan), "the weight of event 77 is not finite\n fix: remove these events or correct their weights"),
        (at(3, np.inf), "the weight of event 3 is not finite"),
        (0 * ones(), "the weights of the data add up to 0\n fix: check them"),
        (-ones(), "the weights of the data add up to -129\n"),
        (np.where(np.arange(129) % 2, 1.0, -64 / 65), "the weights of the data add up to "),
    ],
)
def test_mistakes_in_data_weights(data, message):
    with pytest.raises(DataError) as error:
        build(data=weights(data))
    assert message in str(error.value)


def test_number_of_an_event_in_a_chunk_counts_from_the_start():
    with pytest.raises(DataError, match="the weight of event 77 is not finite"):
        build(data=weights(at(77, np.nan)), chunk=50)


def test_too_much_background():
    with pytest.raises(DataError, match="data minus the background add up to -71"):
        build(background=events("small", 200, 3))


@pytest.mark.parametrize("value", [0.0, -0.1])
def test_a_background_without_weight(value):
    with pytest.raises(DataError, match=r"the weights of the background add up to .*\n fix: give positive weights"):
        build(background=Events(events("small", 50, 3).momenta, torch.full((50,), value, dtype=torch.float64)))


@pytest.mark.parametrize("value", [0.0, -1.0])
def test_a_normalisation_without_weight(value):
    phase_space = samples("small")["phase_space"]
    with pytest.raises(DataError, match="the weights of the phase-space sample add up to"):
        build(phase_space=Events(phase_space.momenta, torch.full((300,), value, dtype=torch.float64)))


def test_empty_samples():
    with pytest.raises(DataError, match="the weights of the data add up to 0"):
        build(data=events("small", 0, 1))
    with pytest.raises(DataError, match="the weights of the phase-space sample add up to 0"):
        build(phase_space=events("small", 0, 1))
    assert build(background=events("small", 0, 1)).value(point(likelihood("small", "reference"))) == pytest.approx(
        likelihood("small", "reference").value(point(likelihood("small", "reference"))), rel=1e-14
    )


def test_momenta_of_a_sample_are_named_in_errors():
    incomplete = {name: p for name, p in samples("small")["data"].items() if name != "eta"}
    with pytest.raises(DataError, match="phase space: momenta of eta are missing"):
        build(phase_space=incomplete)


@pytest.mark.parametrize("method", ["value", "value_and_grad", "hessian", "intensity"])
@pytest.mark.parametrize("shape", [(3,), (2, 3), (), (2, 2, 3)])
def test_wrong_number_of_parameters(method, shape):
    like = likelihood("small", "reference")
    with pytest.raises(DataError) as error:
        getattr(like, method)(np.zeros(shape))
    n = len(like.names)
    assert f"parameters have shape {shape}; this likelihood has {n} free parameters\n fix: see .names" in str(error.value)


def test_wrong_number_of_parameters_of_a_sum():
    total = likelihood("small", "reference") + likelihood("small", "reference")
    for x in (np.zeros(len(total.names) + 1), np.zeros(len(total.names) - 1)):
        with pytest.raises(DataError, match="free parameters"):
            total.value(x)


def test_unknown_engine():
    with pytest.raises(CtpwaError, match="unknown engine 'cdua'\n fix: did you mean 'cuda'"):
        make("small", "cdua")


@pytest.mark.skipif(GPU, reason="there is a GPU")
def test_the_gpu_engine_without_a_gpu(monkeypatch):
    monkeypatch.delenv("TRITON_INTERPRET")
    with pytest.raises(CtpwaError, match="engine 'cuda' needs an NVIDIA GPU, and torch sees none\n fix: choose engine cpu"):
        make("small", "cuda")
    with pytest.raises(CtpwaError, match="needs an NVIDIA GPU"):
        make("small", "auto", device="cuda")


def test_a_process_uses_one_gpu_and_makes_it_the_current_one(monkeypatch):
    current = [0]
    monkeypatch.setattr(backend, "_gpu", None)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: current[0])
    monkeypatch.setattr(torch.cuda, "set_device", lambda number: current.__setitem__(0, number))
    assert backend.own_gpu(torch.device("cuda:1")) == torch.device("cuda", 1)
    assert current == [1]
    assert backend.own_gpu(None) == backend.own_gpu(torch.device("cuda")) == torch.device("cuda", 1)
    with pytest.raises(CtpwaError, match="already computes on cuda:1, and cannot use cuda:0 as well\n fix: start another process"):
        backend.own_gpu(torch.device("cuda:0"))
    assert current == [1]


def test_the_cpu_engine_on_a_gpu():
    with pytest.raises(CtpwaError, match="engine 'cpu' cannot compute on cuda:0"):
        make_engine("cpu", likelihood("small", "reference").plan, "cuda:0")


@pytest.mark.skipif(GPU, reason="there is a GPU")
def test_the_default_engine_without_a_gpu():
    assert make_engine("auto", likelihood("small", "reference").plan, None).name == "cpu"
    assert make_engine("auto", likelihood("small", "reference").plan, "cpu").name == "cpu"


def test_intensities_of_a_released_sample():
    like = likelihood("kk_eta fixed", "reference")
    with pytest.raises(DataError, match="no intensities of 'phase space'\n fix: the phase-space sample was released: no resonance floats"):
        like.intensity(point(like), "phase space")


def test_intensities_of_an_unknown_sample():
    like = likelihood("small", "reference")
    with pytest.raises(DataError, match="no intensities of 'signal'\n fix: data, background, phase space"):
        like.intensity(point(like), "signal")
    assert like.intensity(point(like), "background").shape == (0,)


def test_parameters_of_a_lineshape_without_value_and_without_meaning():
    mine = Callback("mine", lambda s, q2, p: s * p["strength"], (LineshapeParameter("strength"),))
    without = with_resonance(model("small"), "phi(1680)", lineshape=mine)
    with pytest.raises(PhysicsError, match=r"'phi\(1680\)' has no value for 'strength'\n fix: add it under 'parameters' of phi\(1680\)"):
        build_likelihood(without, **samples("small"), engine="reference")
    typo = with_resonance(model("small"), "phi(1680)", lineshape=mine, parameters={"strength": 1.0}, floating=("stregth",))
    with pytest.raises(PhysicsError, match="has no parameter 'stregth'\n fix: did you mean 'strength'"):
        build_likelihood(typo, **samples("small"), engine="reference")


# memory


@pytest.mark.parametrize("name", ["small", "polarised", "own_lineshapes", "four_pions"])
def test_memory_is_what_is_allocated(name):
    like = likelihood(name, "reference")
    plan = like.memory()
    groups = {"data": like.data, "phase space": like.phase_space, "background": like.background}
    total = 0
    for key, planned in plan.samples.items():
        held = sum(
            t.numel() * t.element_size()
            for sample in groups[key].resident
            for t in (sample.K, sample.E, sample.w, *chain(*sample.inputs.values()))
        )
        n = sum(sample.n_events for sample in groups[key].resident)
        assert held == planned == n * plan.bytes_per_event
        total += held
    assert plan.total == total
    assert str(plan.bytes_per_event) in str(plan)


def test_the_preparation_takes_no_more_than_was_said():
    """The most memory that the process ever had, beyond what it has before."""
    data, phase_space = events("kk_eta", 1000, 1), events("kk_eta", 150_000, 2)
    build_likelihood(model("kk_eta"), data, data, engine="reference")  # everything is loaded
    give_back_freed()
    try:
        Path("/proc/self/clear_refs").write_text("5")  # the most from now on
    except OSError:
        pytest.skip("the system does not tell")
    before = bytes_of("VmRSS")
    like = build_likelihood(model("kk_eta"), data, phase_space, engine="reference")
    plan = like.memory()
    assert plan.total > 30e6
    assert bytes_of("VmHWM") - before < plan.total + plan.preparing + 20e6


def bytes_of(what):
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines())
    return 1024 * int(lines[what].split()[0])


def test_what_preparation_takes():
    """No more than a few chunks of events, however many there are; those that are integrated are a piece at a time."""
    for name in ("small", "kk_eta fixed"):
        plan = likelihood(name, "reference").plan
        few, many, most = (
            plan_memory(plan, {"data": 10, "phase space": n}, torch.device("cpu"), Limits(host=10**12), separate=False)
            for n in (1000, 10**8, 10**9)
        )
        assert 0 < few.preparing < 1e7 < many.preparing == most.preparing
        piece = 0 if name == "small" else many.piece_events * plan.exact_bytes_per_event
        assert many.preparing > piece
        assert f"up to {format_bytes(few.total + few.preparing)} while events are prepared" in str(few)
        tight = plan_memory(plan, {"data": 10, "phase space": 500_000}, torch.device("cpu"), Limits(host=10**8), separate=False)
        assert tight.preparing < many.preparing


def test_events_are_put_in_order_where_they_are():
    random = torch.Generator().manual_seed(3)
    K, E = (torch.rand(shape, generator=random, dtype=torch.float64) for shape in ((3, 2, 50), (4, 50)))
    w = torch.rand(50, generator=random, dtype=torch.float64) - 0.3
    copies = K.clone(), E.clone()
    sample = build_sample(K, E, w, {})
    assert sample.order is not None
    assert torch.equal(sample.K, copies[0][..., sample.order])
    assert torch.equal(sample.E, copies[1][:, sample.order])
    assert (sample.K.data_ptr(), sample.E.data_ptr()) == (K.data_ptr(), E.data_ptr())


def test_memory_without_copies():
    # every tensor is as large as its storage: no view keeps a larger one alive
    for sample in likelihood("small", "cpu").data.resident:
        for tensor in (sample.K, sample.E, sample.w):
            assert tensor.is_contiguous()
            assert tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size()
            assert dataclasses.is_dataclass(sample)
