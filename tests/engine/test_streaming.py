"""Samples that do not lie on the device: the same numbers wherever they are, and no more memory than allowed."""

import gc
import os
import shutil
import subprocess
import sys
import warnings
import weakref

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.base.errors import DataError
from ctpwa.base.memory import parse_bytes
from ctpwa.data.events import Events
from ctpwa.engine.samples import memory_plan
from ctpwa.engine.samples.memory_plan import MOST_SMALL, Limits, Placement, plan_memory
from ctpwa.engine.samples.prepare import Preparation
from ctpwa.engine.samples.scratch_file import ScratchFile, check_scratch
from ctpwa.engine.samples.streamer import Streamer
from engine.cases import CUDA, FAST_ENGINES, assert_close, likelihood, make, model, point, samples

TOLERANCE = 1e-12
MIXED = "small not streamed"  # floating, weights of both signs, background


def all_negative(sample, first, last):
    """The same events with negative weights in a row."""
    weights = sample.weights.clone()
    weights[first:last] = -0.1 * weights[first:last].abs()
    return Events(sample.momenta, weights)


def assert_same(found, expected):
    """Everything that a likelihood computes from its samples."""
    x = point(expected)
    for own, other in zip(found.value_grad_hessian(x), expected.value_grad_hessian(x), strict=True):
        assert_close(own, other, TOLERANCE, 300)
    X = np.stack([x, point(expected, 1)])
    for own, other in zip(found.value_and_grad(X), expected.value_and_grad(X), strict=True):
        assert_close(own, other, TOLERANCE, 300)
    assert_close(found.score_products(x), expected.score_products(x), TOLERANCE, 300)
    own, other = found.integrals(x), expected.integrals(x)
    assert_close(own.matrix, other.matrix, TOLERANCE)
    assert_close(own.slopes, other.slopes, TOLERANCE)
    for name in ("data", "background", "phase space"):
        np.testing.assert_allclose(found.intensity(x, name).cpu(), expected.intensity(x, name).cpu(), rtol=1e-12)
    assert found.coarse(x, 60, seed=3).value(x) == pytest.approx(expected.coarse(x, 60, seed=3).value(x), rel=1e-12)
    assert found.weight == pytest.approx(expected.weight, rel=1e-13)
    assert found.weighted == expected.weighted


@pytest.mark.parametrize(
    ("engine", "chunk", "spill"),
    [
        ("cpu", 32, False),
        ("cpu", 64, True),  # a last chunk of one event
        ("cpu", 500, True),
        ("reference", 128, True),
        pytest.param("cuda", 128, True, marks=CUDA.marks),
    ],
)
def test_everything_is_the_same(engine, chunk, spill):
    streamed = make(MIXED, engine, chunk=chunk, spill=spill)
    places = {source.chunks[0].block is None for source in (streamed.data, streamed.background, streamed.phase_space)}
    assert places == {spill}
    assert not streamed.data.resident
    assert_same(streamed, likelihood(MIXED, engine))


@pytest.mark.parametrize("engine", FAST_ENGINES)
def test_a_chunk_of_negative_weights(engine):
    data = all_negative(samples(MIXED)["data"], 32, 64)
    whole, streamed = make(MIXED, engine, data=data), make(MIXED, engine, data=data, chunk=32, spill=engine == "cpu")
    assert [chunk.layout.n_positive for chunk in streamed.data.chunks][1] == 0
    x = point(whole)
    for own, other in zip(streamed.value_grad_hessian(x), whole.value_grad_hessian(x), strict=True):
        assert_close(own, other, TOLERANCE, 300)
    np.testing.assert_allclose(streamed.intensity(x).cpu(), whole.intensity(x).cpu(), rtol=1e-12)


@pytest.mark.parametrize("spill", [False, True])
def test_lineshapes_without_a_formula(spill):
    whole, streamed = likelihood("own_lineshapes", "reference"), make("own_lineshapes", "reference", chunk=63, spill=spill)
    assert streamed.data.chunks[0].layout.inputs
    x = point(whole)
    for own, other in zip(streamed.value_grad_hessian(x), whole.value_grad_hessian(x), strict=True):
        assert_close(own, other, TOLERANCE, 300)
    np.testing.assert_allclose(streamed.intensity(x).cpu(), whole.intensity(x).cpu(), rtol=1e-12)


def test_fixed_lineshapes_keep_nothing_of_the_phase_space():
    whole, streamed = likelihood("kk_eta fixed", "cpu"), make("kk_eta fixed", "cpu", chunk=32, spill=True)
    assert streamed.memory().integrated == ("phase space",)
    assert set(streamed.memory().placed) == {"data", "background"}
    x = np.stack([point(whole, seed) for seed in range(2)])
    for own, other in zip(streamed.value_and_grad(x), whole.value_and_grad(x), strict=True):
        assert_close(own, other, TOLERANCE, 300)
    assert_close(streamed.hessian(x), whole.hessian(x), TOLERANCE, 300)
    assert_close(streamed.integrals(x[0]).matrix, whole.integrals(x[0]).matrix, TOLERANCE)


def test_pieces_of_an_integrated_sample_are_dropped(monkeypatch):
    prepare, pieces, alive = Preparation.sample, [], []

    def watched(self, *arguments, exact=False, **options):
        alive.append(sum(piece() is not None for piece in pieces))
        sample = prepare(self, *arguments, exact=exact, **options)
        if exact:
            pieces.append(weakref.ref(sample.K))
        return sample

    monkeypatch.setattr(Preparation, "sample", watched)
    make("kk_eta fixed", "reference", chunk=32)
    assert len(pieces) == 5
    assert max(alive) <= 1
    assert all(piece() is None for piece in pieces)


def test_a_small_integrated_sample_is_kept(monkeypatch):
    """Errors that count that it is finite read its events twice; they are not computed again."""
    like, again = make("kk_eta fixed", "cpu"), make("kk_eta fixed", "cpu", chunk=32)
    assert (like.memory().integrated, again.memory().integrated) == ((), ("phase space",))
    n_bytes = like.memory().samples["phase space"]
    assert n_bytes == sum(own.K.nbytes + own.E.nbytes + 8 * own.n_events for own in like.norm.events.resident)
    assert like.memory().total == n_bytes + sum(like.memory().samples[name] for name in ("data", "background"))
    x = point(like)
    expected = again.simulation_scatter(x)
    monkeypatch.delattr(Preparation, "sample")
    found = like.simulation_scatter(x)
    assert_close(found.products, expected.products, TOLERANCE)
    assert found.sizes[0].total == pytest.approx(expected.sizes[0].total, rel=TOLERANCE)


@pytest.mark.parametrize(("room", "most"), [(None, MOST_SMALL), (80 * MOST_SMALL, MOST_SMALL), (8 * 10**6, 10**6)])
def test_a_large_integrated_sample_is_not_kept(room, most):
    plan = likelihood("kk_eta fixed", "cpu").plan
    n, per_event = most // plan.exact_bytes_per_event, plan.exact_bytes_per_event
    found = []
    for more in (0, 1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(memory_plan, "available_bytes", lambda device: None)
            limits = Limits(host=None if room is None else room + room // 3)  # a quarter is for work
            found.append(plan_memory(plan, {"data": 10, "phase space": n + more}, torch.device("cpu"), limits, separate=False))
    assert [(own.small, own.integrated) for own in found] == [({"phase space": n * per_event}, ()), ({}, ("phase space",))]


def test_a_chunk_in_main_memory_is_not_copied_on_a_cpu():
    streamed = make("small", "cpu", chunk=50)
    blocks = [chunk.block.data_ptr() for chunk in streamed.data.chunks]
    assert [sample.E.data_ptr() for sample in streamed.data.passing()] == blocks
    assert streamed.streamer.bytes_copied == 0


def test_bytes_are_counted():
    spilled = make("small", "cpu", chunk=50, spill=True)
    spilled.value(spilled.start)
    moved = sum(chunk.layout.size for source in (spilled.data, spilled.phase_space) for chunk in source.chunks)
    assert spilled.streamer.bytes_read == moved


def test_an_interrupted_pass_leaves_nothing_behind():
    spilled, whole = make("small", "cpu", chunk=20, spill=True), likelihood("small", "cpu")
    x = point(whole)
    engine, calls = spilled.engine.sum_row, []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return engine(*arguments)

    spilled.engine.sum_row = interrupted
    with pytest.raises(KeyboardInterrupt):
        spilled.value(x)
    assert_close(spilled.value_and_grad(x)[1], whole.value_and_grad(x)[1], TOLERANCE, 300)


# where things are put


def planned(*, separate=False, **limits):
    plan = likelihood("small", "cpu").plan
    counts = {"data": 1000, "phase space": 4000, "background": 500}
    return plan_memory(plan, counts, torch.device("cpu"), Limits(**limits), separate=separate), plan.bytes_per_event


def test_everything_that_fits_is_one_piece():
    plan, size = planned(host=10**9)
    assert plan.chunk_events is None
    assert plan.placed == {"data": Placement(1000), "phase space": Placement(4000), "background": Placement(500)}
    assert not plan.streamed
    assert plan.total == 5500 * size


def test_data_come_first_and_disk_last():
    plan, size = planned(separate=True, device=2000 * 110, host=1500 * 110)
    n = plan.chunk_events
    assert plan.device <= 2000 * 110
    assert plan.host <= 1500 * 110
    assert plan.placed["data"].device > 0
    assert plan.placed["data"].disk == 0
    assert plan.placed["phase space"].device == 0
    assert plan.placed["phase space"].disk > 0
    for name, count in (("data", 1000), ("phase space", 4000), ("background", 500)):
        placed = plan.placed[name]
        assert placed.device + placed.host + placed.disk == count
        assert placed.device % n == 0 or placed.device == count
    text = str(plan)
    assert " on cpu, " in text
    assert "in main memory, " in text
    assert f"on disk in {plan.scratch}, streamed in chunks of {n} events" in text
    assert plan.device + plan.host + plan.disk == plan.total == 5500 * size


def test_a_limit_of_a_device_without_memory_of_its_own_is_mentioned():
    assert str(planned(device=10**9)[0]).endswith("; device_memory has no meaning on a CPU")


@pytest.mark.parametrize("size", [0, -1, "4 GX", "much", "", float("nan"), True, "-3 GB"])
def test_sizes_that_are_none(size):
    with pytest.raises(DataError, match=r"host_memory is .*\n fix: give a number of bytes, or a size such as '4 GB'"):
        make("small", "reference", host_memory=size)


def test_sizes():
    assert parse_bytes("4 GB", "") == 4 * 10**9
    assert parse_bytes("1.5GiB", "") == 3 << 29
    assert parse_bytes("1e9", "") == parse_bytes(1e9, "") == 10**9


# disks


def test_a_disk_without_room(monkeypatch, tmp_path):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(100, 50, 50))
    with pytest.raises(DataError, match="has only 50 B left\n fix: make room there"):
        make("small", "reference", host_memory=9000, scratch=str(tmp_path))
    assert not list(tmp_path.iterdir())


def test_a_scratch_folder_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match=r"there is no scratch folder .*missing'\n fix: make it, or choose another: scratch"):
        make("small", "reference", host_memory=9000, scratch=str(tmp_path / "missing"))


def test_a_scratch_folder_in_main_memory(monkeypatch, tmp_path):
    monkeypatch.setattr("ctpwa.engine.samples.scratch_file._file_system", lambda folder: "tmpfs")
    with pytest.raises(DataError, match=r"is in main memory \(tmpfs\)"):
        check_scratch(str(tmp_path), 1)


def test_scratch_files_have_no_name_and_are_closed(tmp_path):
    gc.collect()  # files of other tests are closed
    before = len(os.listdir("/proc/self/fd"))
    spilled = make("small", "reference", host_memory=9000, scratch=str(tmp_path))
    assert spilled.memory().disk > 0
    assert not list(tmp_path.iterdir())
    assert len(os.listdir("/proc/self/fd")) == before + 2  # data and phase space
    del spilled
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_scratch_file_that_was_cut(tmp_path):
    file = ScratchFile(str(tmp_path))
    file.append(torch.zeros(100, dtype=torch.uint8))
    with pytest.raises(DataError, match="is shorter than it was"):
        file.read(50, torch.zeros(100, dtype=torch.uint8))


def test_memory_that_cannot_be_locked(monkeypatch):
    streamer, empty = Streamer(torch.device("cpu"), separate=True), torch.empty

    def refuse(*arguments, **options):
        if options.pop("pin_memory", False):
            raise RuntimeError("CUDA error: out of memory")
        return empty(*arguments, **options)

    monkeypatch.setattr(torch, "empty", refuse)
    streamer._pinned = True
    with pytest.warns(UserWarning, match="main memory for 64 B could not be locked, so copies to the GPU are slower"):
        assert len(streamer.host_block(64)) == 64
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        streamer.host_block(64)  # says it once


# files


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for key, sample in samples(MIXED).items():
        ctpwa.write_events(folder / f"{key}.parquet", sample, model=model(MIXED))
    return folder


@pytest.mark.parametrize("limits", [{}, {"host_memory": 20_000}])
def test_files_that_are_read_in_pieces(files, limits):
    opened = {key: ctpwa.open_events(model(MIXED), files / f"{key}.parquet", name=key, chunk=37) for key in samples(MIXED)}
    like = make(MIXED, "cpu", **opened, **limits)
    assert like.memory().streamed == bool(limits)
    assert_same(like, likelihood(MIXED, "cpu"))
    for key, sample in opened.items():
        read = ctpwa.read_events(model(MIXED), files / f"{key}.parquet", name=key).summary
        assert sample.summary.files == read.files
        assert sample.summary.weights.total == pytest.approx(read.weights.total, rel=1e-13)
        assert str(sample.summary) == str(read)
        assert torch.equal(sample.load()["K+"], samples(MIXED)[key]["K+"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda events: events.momenta["K+"].__setitem__((70, 1), float("nan")), "phsp: .*in event 70 .* is not finite"),
        (lambda events: events.momenta["K+"].__setitem__((70, 0), 5.0), "phsp: .*the mass of 'K\\+' in event 70 is"),
        (lambda events: events.momenta["K+"][70].mul_(1.0).add_(torch.tensor([0.5, 0, 0, 0])), "phsp: .*event 70"),
        (lambda events: events.weights.__setitem__(70, float("inf")), "phsp: .*the weight of event 70 is inf"),
    ],
)
def test_checks_are_those_of_reading(tmp_path, change, message):
    good = samples(MIXED)["phase_space"]
    events = Events({name: p4.clone() for name, p4 in good.momenta.items()}, good.weights.clone())
    change(events)
    ctpwa.write_events(tmp_path / "phsp.parquet", events, model=model(MIXED))
    opened = ctpwa.open_events(model(MIXED), tmp_path / "phsp.parquet", name="phsp")
    with pytest.raises(DataError, match=message) as found:
        make(MIXED, "reference", phase_space=opened)
    with pytest.raises(DataError) as expected:
        ctpwa.read_events(model(MIXED), tmp_path / "phsp.parquet", name="phsp")
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize(
    ("announced", "message"),
    [(130, "data: 129 events came, but 130 were announced"), (128, "data: at least 129 events came, but 128 were announced")],
)
@pytest.mark.parametrize("chunk", [None, 50])
def test_a_stream_of_another_length(announced, message, chunk):
    class Wrong(ctpwa.data.EventStream):
        n_events = announced

        def pieces(self):
            yield samples("small")["data"]

    with pytest.raises(DataError, match=message):
        make("small", "reference", chunk=chunk, data=Wrong())


def test_a_model_file_does_it_by_itself(files, monkeypatch):
    description = {
        "decay": "J/psi(1S) -> K+ K- eta",
        "polarisation": "transverse",
        "resonances": {"phi(1680)": {"in": "K+ K-", "float": ["mass"]}},
        "samples": {"data": str(files / "data.parquet"), "phase_space": str(files / "phase_space.parquet")},
    }
    whole = ctpwa.load_analysis(description)
    small = ctpwa.load_analysis(description | {"fit": {"host_memory": "8 kB"}})
    assert isinstance(whole.read().data, Events)
    assert isinstance(small.read().data, ctpwa.data.EventFiles)
    like, expected = small.likelihood(engine="reference"), whole.likelihood(engine="reference")
    assert like.memory().disk > 0
    x = expected.start
    assert like.value(x) == pytest.approx(expected.value(x), rel=1e-12)
    assert [str(s) for s in small.summaries] == [str(s) for s in whole.summaries]


GROWTH = """
import resource, sys
import torch
import ctpwa
from ctpwa.data.events import Events
model = ctpwa.load_model({"decay": "J/psi(1S) -> K+ K- eta", "polarisation": "transverse",
                          "resonances": {"phi(1680)": {"in": "K+ K-", "float": ["mass"]}, "K(2)*(1430)": {"in": ["K+ eta", "K- eta"]}}})
few = ctpwa.generate_phase_space(model, 1000, seed=1)
peak = []
for n in (100, 500):
    class Repeated(ctpwa.data.EventStream):
        n_events = 1000 * n
        def pieces(self):
            return (few for _ in range(n))
    like = ctpwa.build_likelihood(model, few, Repeated(), engine="reference", host_memory="2 MB", scratch=sys.argv[1])
    assert like.memory().disk > 0.5 * like.memory().total, like.memory()
    like.value(like.start)
    peak.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
print(1024 * (peak[1] - peak[0]), like.memory().total)
"""


def test_memory_does_not_grow_with_the_number_of_events(tmp_path):
    """The second sample is five times as large as the first, and would take 30 MB more."""
    run = subprocess.run([sys.executable, "-c", GROWTH, tmp_path], capture_output=True, text=True, check=True)
    grown, total = map(int, run.stdout.split())
    assert total > 30e6
    assert grown < 0.25 * total


def test_ranks_of_one_machine_share_its_memory(monkeypatch):
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    monkeypatch.setattr(memory_plan, "available_bytes", lambda device: 4 * 5500 * 80)
    assert planned()[0].streamed
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "1")
    assert not planned()[0].streamed
