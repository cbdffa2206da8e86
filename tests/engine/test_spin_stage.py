"""Spin amplitudes chunk by chunk: what is forgotten in between, and recorded on a GPU, changes nothing."""

from functools import cache
from pathlib import Path

import pytest
import torch
import yaml
from tests.engine.cases import GPU

import ctpwa
from ctpwa.base.errors import DataError
from ctpwa.data.stream import Piece
from ctpwa.engine.samples.build import find_rotation, spin_stage
from ctpwa.spin import stage as stage_module
from ctpwa.spin.build import collect_structures
from ctpwa.spin.evaluate import Evaluator, harmonics_needed
from ctpwa.spin.rotate import RowRotation, RowsNeeded
from ctpwa.spin.stage import SpinStage, _sum_parts, chunks_to_record

EXAMPLES = Path(__file__).parents[2] / "examples"
POLARISED = [[0.8, 0.1 + 0.2j], [0.1 - 0.2j, 0.2]]
NAMES = ["jpsi_kk_eta", "jpsi_gamma_pi0_pi0", "jpsi_p_pbar_eta", "jpsi_4pi", "lambdac_p_k_pi", "jpsi_phi_pi_pi", "polarised", "zou_bugg"]
CPU = torch.device("cpu")


@cache
def model(name):
    folder = {"polarised": "lambdac_p_k_pi", "zou_bugg": "jpsi_p_pbar_eta"}.get(name, name)
    description = yaml.safe_load((EXAMPLES / folder / "model.yml").read_text(encoding="utf-8"))
    if name == "polarised":
        description["polarisation"] = POLARISED
    if name == "zou_bugg":
        description["formalism"] = "zou-bugg"
    return ctpwa.load_model(description)


@cache
def momenta(name, n_events=230):
    events = ctpwa.generate_phase_space(model(name), n_events, seed=4, device="cpu")
    return [events[label] for label in model(name).decay.labels]


def filled(stage, p4, **options):
    K = stage.allocate(len(p4[0]), options.get("storage"))
    done = []
    stage.fill(K, [p.to(stage.device) for p in p4], {}, advance=done.append, **options)
    stage.finish()
    return K


def stage_of(name, device=CPU, rotation=None, **options):
    own = model(name)
    structures, _ = collect_structures(own.waves, barrier=True)
    rows = own.production.rows(own.decay)
    return SpinStage(own.decay, structures, rows, device, rotation, barrier=True, formalism=own.formalism, **options)


@pytest.mark.parametrize("name", NAMES)
def test_forgetting_changes_nothing(name):
    stage = stage_of(name)
    K = filled(stage, momenta(name))
    own = model(name)
    tops = [structure for parts in stage.structures for structure, _ in parts]
    p4 = [p.T.contiguous() for p in momenta(name)]
    evaluator = Evaluator(own.decay.final, stage._evaluator(p4).p4, harmonics_needed(tops), barrier=True, formalism=own.formalism)
    expected = torch.empty_like(K)
    for index, parts in enumerate(stage.structures):
        stage.rows.store(_sum_parts(evaluator, parts, stage.rows.two_ms), parts[0][0], {}, expected[index : index + 1])
    torch.testing.assert_close(K, expected, rtol=1e-11, atol=1e-13 * float(expected.abs().max()))


def test_forgetting_saves_memory():
    stage = stage_of("jpsi_kk_eta")
    evaluator = stage._evaluator([p[:1].T.contiguous() for p in momenta("jpsi_kk_eta")])
    target = torch.empty(len(stage.structures), stage.rows.n_rows, 1, dtype=stage.rows.dtype)
    stage._evaluate(evaluator, {}, target, [])
    everything = sum(t.numel() * t.element_size() for v in evaluator._cache.values() for t in (v.values() if isinstance(v, dict) else [v]))
    assert evaluator.most_bytes() < 0.6 * everything
    expiring = evaluator.expiring()
    evaluator = stage._evaluator([p[:1].T.contiguous() for p in momenta("jpsi_kk_eta")])
    stage._evaluate(evaluator, {}, target, expiring)
    assert not evaluator._cache  # everything is forgotten in the end


@pytest.mark.parametrize("size", [1, 64, 229, 230, 1000])
def test_chunks(size):
    expected = filled(stage_of("jpsi_gamma_pi0_pi0"), momenta("jpsi_gamma_pi0_pi0"))
    K = filled(stage_of("jpsi_gamma_pi0_pi0", chunk_size=size), momenta("jpsi_gamma_pi0_pi0"))
    torch.testing.assert_close(K, expected, rtol=1e-12, atol=1e-13 * float(expected.abs().max()))


def test_events_of_a_chunk():
    stage = stage_of("jpsi_kk_eta")
    found = stage.chunk_events(momenta("jpsi_kk_eta"), {})
    assert found == stage_of("jpsi_kk_eta").chunk_events([p[:1] for p in momenta("jpsi_kk_eta")], {})
    filled(stage, momenta("jpsi_kk_eta"))
    assert stage._chunk_size == found
    bad = [p.clone() for p in momenta("jpsi_kk_eta")]
    bad[2][0, 0] = torch.nan
    with pytest.raises(DataError, match=r"'eta' in event 0 .* is not finite"):
        stage_of("jpsi_kk_eta").chunk_events(bad, {})


def test_only_harmonics_that_are_needed_are_kept():
    needed = harmonics_needed([structure for parts in stage_of("jpsi_kk_eta").structures for structure, _ in parts])
    assert needed[(0, 1), (0,)] == {1, 3, 5, 7}  # C parity
    assert needed[(0, 2), (0,)] == {1, 2, 3, 4, 5}


def test_progress_counts_every_event_and_bad_momenta_are_named():
    stage, p4 = stage_of("jpsi_kk_eta", chunk_size=100), [p.clone() for p in momenta("jpsi_kk_eta")]
    done = []
    stage.fill(stage.allocate(230), p4, {}, advance=done.append)
    assert sum(done) == 230
    p4[1][210, 2] = torch.nan
    with pytest.raises(DataError, match=r"'K-' in event 1210 .* is not finite"):
        filled(stage, p4, first=1000)


@pytest.mark.parametrize("n", [1, 5, 99, 100, 101, 150, 200, 201, 999, 1000])
@pytest.mark.parametrize("recorded", [None, 60, 100])
@pytest.mark.parametrize("again", [False, True])
def test_chunks_to_record(n, recorded, again):
    chunks, records = chunks_to_record(n, 100, recorded, again=again)
    assert [i for start, stop in chunks for i in range(start, stop)] == list(range(n))
    assert records is (recorded is not None or again or n > 100)
    first, *_, last = sizes = [stop - start for start, stop in (*chunks, chunks[-1])]
    assert set(sizes[:-2]) <= {first}
    assert last <= first <= 100
    if recorded is None:
        assert len(chunks) == -(-n // 100)  # as few as possible
        assert len(chunks) * first < n + len(chunks)  # and hardly anything twice
    else:
        assert first == min(recorded, n)


class Unrecorded:
    """Work that is done at once instead of recorded, in the same place every time."""

    made = 0

    def __init__(self, work, p4):
        Unrecorded.made += 1
        self.work, self.n_events, self.bytes = work, p4[0].shape[1], 1
        self.inputs = [torch.full_like(p, torch.nan) for p in p4]
        self.results = None

    def __call__(self, p4):
        n = p4[0].shape[1]
        for own, values in zip(self.inputs, p4, strict=True):
            own[:, :n] = values
        found = self.work([p.contiguous() for p in self.inputs])
        if self.results is None:
            self.results = found
        for own, new in zip(self.results, found, strict=True):
            own.copy_(new)
        return self.results[0][..., :n], self.results[1]


@pytest.mark.parametrize("name", ["jpsi_kk_eta", "jpsi_p_pbar_eta", "polarised"])
def test_what_a_gpu_would_do(name, monkeypatch):
    """Few events first, which are no reason for short chunks; then three chunks, and more events with the same recording."""
    monkeypatch.setattr(stage_module, "_Recorded", Unrecorded)
    Unrecorded.made = 0
    p4 = momenta(name)
    rotation = find_rotation(model(name), [Piece(p4)])
    expected = filled(stage_of(name, rotation=rotation), p4)
    stage = stage_of(name, rotation=rotation, chunk_size=100)
    stage._on_gpu = True
    for n in (7, 230, 100, 157, 230, 60):
        K = filled(stage, [p[:n] for p in p4])
        torch.testing.assert_close(K, expected[..., :n], rtol=1e-11, atol=1e-14 * float(expected.abs().max()))
    assert Unrecorded.made == 1
    assert stage._graph.n_events == 77
    few = stage_of(name, rotation=RowRotation(1, rotation.scale), chunk_size=100)
    few._on_gpu = True
    if rotation.n_rows > 1:
        with pytest.raises(RowsNeeded):
            filled(few, p4)


# on a GPU


@pytest.mark.gpu
@pytest.mark.skipif(not GPU, reason="no GPU")
@pytest.mark.parametrize("name", NAMES)
def test_recorded_amplitudes(name):
    """Few events first, which are no reason for short chunks; then three chunks, and more events with the same recording."""
    p4, device = momenta(name), torch.device("cuda", 0)
    rotation = find_rotation(model(name), [Piece(p4)])
    expected = filled(stage_of(name, rotation=rotation), p4)
    stage = stage_of(name, device, rotation, chunk_size=100)
    for n in (7, 230, 100, 157, 230, 60):
        K = filled(stage, [p[:n] for p in p4])
        torch.testing.assert_close(K.cpu(), expected[..., :n], rtol=1e-9, atol=1e-11 * float(expected.abs().max()))
    assert stage._graph is not None
    assert stage._graph.n_events == 77
    stage.release()
    assert stage._graph is None


@pytest.mark.gpu
@pytest.mark.skipif(not GPU, reason="no GPU")
def test_recorded_amplitudes_are_checked():
    name, device = "jpsi_p_pbar_eta", torch.device("cuda", 0)
    rotation = find_rotation(model(name), [Piece(momenta(name))])
    few = RowRotation(rotation.n_rows - 1, rotation.scale)
    with pytest.raises(RowsNeeded):
        filled(stage_of(name, device, few, chunk_size=50), momenta(name))
    p4 = [p.clone() for p in momenta(name)]
    p4[0][201, 0] = -1.0
    with pytest.raises(DataError, match="event 201"):
        filled(spin_stage(model(name), rotation, device), p4)
