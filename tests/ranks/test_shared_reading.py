"""Every rank reads its own rows; the summary is that of the whole."""

import dataclasses

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.base.errors import DataError
from ctpwa.fitting.checkpoint import hash_of_samples
from ranks import cases
from ranks.cases import model, part, phase_space
from ranks.threads import on_ranks

SUFFIXES = ("root", "parquet", "npz", "txt")


def joined(parts):
    """All rows in their order."""
    numbers = np.concatenate([p.part.numbers() for p in parts])
    order = torch.from_numpy(np.argsort(numbers))
    assert sorted(numbers) == list(range(parts[0].part.total))
    weights = None if parts[0].weights is None else torch.cat([p.weights for p in parts])[order]
    return {name: torch.cat([p[name] for p in parts])[order] for name in parts[0]}, weights


def same_summary(found, expected):
    assert dataclasses.replace(found, mass=None, weights=None) == dataclasses.replace(expected, mass=None, weights=None)
    assert found.mass.mean == pytest.approx(expected.mass.mean, rel=1e-12)
    assert found.mass.spread == pytest.approx(expected.mass.spread, abs=1e-9)
    assert (found.weights is None) == (expected.weights is None)
    if found.weights is not None:
        assert dataclasses.astuple(found.weights) == pytest.approx(dataclasses.astuple(expected.weights), rel=1e-12)
    assert hash_of_samples([found.as_dict()]) == hash_of_samples([expected.as_dict()])


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("size", [2, 5])
def test_the_rows_of_all_ranks_are_the_sample(tmp_path, suffix, size):
    weights = np.linspace(-1, 2, 20)
    paths = [tmp_path / f"{i}.{suffix}" for i in range(2)]
    for path, rows in zip(paths, (range(3), range(3, 20)), strict=True):
        own = None if suffix == "txt" else weights[list(rows)]
        ctpwa.write_events(path, part(phase_space("fixed", 900, 7), rows, own), model=model("fixed"))
    whole = ctpwa.read_events(model("fixed"), paths, scale=0.5, name="data", chunk=4)
    parts = on_ranks(size, lambda ranks: ctpwa.read_events(model("fixed"), paths, scale=0.5, name="data", ranks=ranks, chunk=4))
    momenta, found = joined(parts)
    for name, p4 in whole.items():
        assert torch.equal(momenta[name], p4)
    assert torch.equal(found, whole.weights)
    for own in parts:
        same_summary(own.summary, whole.summary)


def test_row_groups_of_a_parquet_file(tmp_path):
    """Only those are read that hold rows of the rank."""
    from pyarrow import parquet

    from ctpwa.data.parquet_files import ParquetFile

    ctpwa.write_events(tmp_path / "a.parquet", part(phase_space("fixed", 900, 7), range(20)), model=model("fixed"))
    table = parquet.read_table(tmp_path / "a.parquet")
    parquet.write_table(table, tmp_path / "b.parquet", row_group_size=6)
    with ParquetFile(tmp_path / "b.parquet") as file:
        assert file._groups(7, 11) == ([1], 6)
        assert file._groups(5, 13) == ([0, 1, 2], 0)
        assert file._groups(4, 4) == ([0], 0)
    whole = ctpwa.read_events(model("fixed"), tmp_path / "b.parquet")
    momenta, _ = joined(on_ranks(3, lambda ranks: ctpwa.read_events(model("fixed"), tmp_path / "b.parquet", ranks=ranks)))
    assert all(torch.equal(momenta[name], p4) for name, p4 in whole.items())


def test_weights_in_a_file_of_their_own(tmp_path):
    ctpwa.write_events(tmp_path / "a.npz", part(phase_space("fixed", 900, 7), range(7)), model=model("fixed"))
    np.savetxt(tmp_path / "w.txt", np.arange(7.0))
    arguments = {"path": tmp_path / "a.npz", "weight_file": tmp_path / "w.txt"}
    _, weights = joined(on_ranks(3, lambda ranks: ctpwa.read_events(model("fixed"), **arguments, ranks=ranks)))
    np.testing.assert_array_equal(weights, np.arange(7.0))


@pytest.mark.parametrize("weighted", [False, True])
def test_generated_phase_space(weighted):
    whole = ctpwa.generate_phase_space(model("fixed"), 1500, seed=4, weighted=weighted)
    parts = on_ranks(4, lambda ranks: ctpwa.generate_phase_space(model("fixed"), 1500, seed=4, weighted=weighted, ranks=ranks))
    momenta, weights = joined(parts)
    assert all(torch.equal(momenta[name], p4) for name, p4 in whole.items())
    if weighted:
        torch.testing.assert_close(weights, whole.weights, rtol=1e-13, atol=0)


def test_a_bad_event_is_named_by_all_ranks_with_its_number_in_the_file(tmp_path):
    events = part(phase_space("fixed", 900, 7), range(10))
    events["K+"][8, 0] *= 2
    np.savez(tmp_path / "a.npz", **{name: p4.numpy() for name, p4 in events.items()})

    def read(ranks):
        with pytest.raises(DataError, match=r"data: .*'K\+' in event 8 is") as caught:
            ctpwa.read_events(model("fixed"), tmp_path / "a.npz", name="data", ranks=ranks)
        return str(caught.value)

    assert len(set(on_ranks(3, read))) == 1


def test_several_sources_make_one_sample(tmp_path):
    """Each is shared by itself; the likelihood is that of one process."""
    for i, rows in enumerate((range(5), range(5, 60), range(60, 63))):
        ctpwa.write_events(tmp_path / f"{i}.npz", part(phase_space("fixed", 900, 7), rows), model=model("fixed"))
    description = {
        "decay": "J/psi(1S) -> K+ K- eta",
        "polarisation": "transverse",
        "resonances": {"phi(1680)": {"in": "K+ K-"}, "K(2)*(1430)": {"in": ["K+ eta", "K- eta"]}},
        "samples": {
            "data": [str(tmp_path / "0.npz"), {"file": str(tmp_path / "1.npz"), "scale": 0.5}],
            "phase_space": {"generate": 100, "seed": 2},
            "background": {"file": str(tmp_path / "2.npz"), "scale": 0.1},
            "truth": {"generate": 50, "seed": 6},
        },
        "fit": {"engine": "reference", "starts": 1},
    }

    def look(ranks):
        analysis = ctpwa.load_analysis(description, ranks=ranks)
        like = analysis.likelihood()
        return like.value(like.start), [str(s) for s in analysis.summaries], analysis.fit(likelihood=like, progress=False)

    value, lines, result = look(None)
    for found in on_ranks(2, look):
        assert found[0] == pytest.approx(value, rel=1e-12)
        assert found[1] == lines
        assert found[2].nll == pytest.approx(result.nll, rel=1e-10)
        assert found[2].fractions[0].over == result.fractions[0].over == "truth"


def test_files_that_are_read_in_pieces_by_their_ranks(tmp_path):
    """Each rank streams its own rows, in chunks that it keeps on disk."""
    for key, sample in cases.samples("weighted").items():
        ctpwa.write_events(tmp_path / f"{key}.parquet", sample, model=cases.model("floating"))
    whole = cases.make("floating", "weighted")
    x = whole.start

    def streamed(ranks):
        model = cases.model("floating")
        opened = {key: ctpwa.open_events(model, tmp_path / f"{key}.parquet", ranks=ranks) for key in cases.samples("weighted")}
        like = ctpwa.build_likelihood(model, **opened, engine="reference", ranks=ranks, host_memory=9000, scratch=str(tmp_path))
        assert like.memory().disk > 0
        summaries = [sample.summary for sample in opened.values()]
        return like.value_grad_hessian(x), [summary.n_events for summary in summaries], summaries[0].weights.total

    for found, sizes, total in on_ranks(3, streamed):
        for own, expected in zip(found, whole.value_grad_hessian(x), strict=True):
            np.testing.assert_allclose(own, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
        assert sizes == [201, 500, 2]
        assert total == pytest.approx(float(cases.samples("weighted")["data"].weights.sum()), rel=1e-13)
