"""What is in a file is what is read, in every format and layout, to the last bit."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ctpwa
from ctpwa.data.text_files import TextFile, read_column

from .conftest import COMPONENTS, FILES

FORMATS = ("root", "parquet", "npz", "txt", "dat")


def weight_file(path):
    return path.with_name("weights.txt") if path.suffix in (".txt", ".dat") else None


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("weighted", [False, True])
def test_what_is_written_is_read(model, events, same, tmp_path, suffix, weighted):
    path = tmp_path / f"sample.{suffix}"
    sample = events if weighted else ctpwa.Events(events.momenta)
    beside = weight_file(path) if weighted else None
    ctpwa.write_events(path, sample, model=model, weight_file=beside)
    same(ctpwa.read_events(model, path, weight_file=beside), sample)


@pytest.mark.parametrize("suffix", FORMATS)
def test_chunks_make_no_difference(model, events, same, tmp_path, suffix):
    path = tmp_path / f"sample.{suffix}"
    ctpwa.write_events(path, events, weight_file=weight_file(path), chunk=7)
    same(ctpwa.read_events(model, path, weight_file=weight_file(path), chunk=7), events)


def test_a_chunk_has_at_least_one_event(model, events, tmp_path):
    ctpwa.write_events(tmp_path / "a.npz", events, chunk=1)
    for call in (
        lambda: ctpwa.read_events(model, tmp_path / "a.npz", chunk=0),
        lambda: ctpwa.open_events(model, tmp_path / "a.npz", chunk=-1),
        lambda: ctpwa.write_events(tmp_path / "b.npz", events, chunk=0),
    ):
        with pytest.raises(ctpwa.base.DataError, match=r"^chunk is (0|-1)\n fix: give a number of events, at least 1$"):
            call()


def test_lines_of_text_in_memory_are_few(model, events, tmp_path):
    ctpwa.write_events(tmp_path / "a.txt", events, weight_file=tmp_path / "w.txt")
    with TextFile(tmp_path / "a.txt", tuple(events), max_lines=3 * 5) as file:
        chunks = list(file.chunks(["K-"], 7))
    assert [len(chunk["K-"]) for chunk in chunks] == [5, 5, 5, 5, 3]
    np.testing.assert_array_equal(np.concatenate([chunk["K-"] for chunk in chunks]), events["K-"])
    np.testing.assert_array_equal(read_column(tmp_path / "w.txt", max_lines=5), events.weights)


@pytest.mark.parametrize("suffix", FORMATS)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=12))
def test_every_weight_survives(model, generated, tmp_path, suffix, weights):
    """Denormal numbers, minus zero and the largest double included."""
    path = tmp_path / f"sample.{suffix}"
    sample = ctpwa.Events({name: p[: len(weights)] for name, p in generated.items()}, torch.tensor(weights, dtype=torch.float64))
    ctpwa.write_events(path, sample, weight_file=weight_file(path))
    if not any(weights):
        with pytest.raises(ctpwa.base.DataError, match="all weights are zero"):
            ctpwa.read_events(model, path, weight_file=weight_file(path))
        return
    found = ctpwa.read_events(model, path, weight_file=weight_file(path))
    assert found.weights.numpy().tobytes() == sample.weights.numpy().tobytes()


def test_momenta_are_used_in_the_frame_they_are_given_in(model, events, same, tmp_path):
    """A parent that moves is not boosted to rest."""
    beta = 0.6
    gamma = 1 / np.sqrt(1 - beta**2)
    moving = {}
    for name, p in events.items():
        E, px, py, pz = p.T
        moving[name] = torch.stack([gamma * (E + beta * pz), px, py, gamma * (pz + beta * E)], dim=1)
    ctpwa.write_events(tmp_path / "moving.root", moving)
    same(ctpwa.read_events(model, tmp_path / "moving.root"), ctpwa.Events(moving))


# ROOT


@pytest.fixture(scope="module")
def five():
    """The events from which ROOT made the files of the folder."""
    table = np.loadtxt(FILES / "events.txt").reshape(-1, 3, 4)
    return ctpwa.Events({name: torch.from_numpy(table[:, i].copy()) for i, name in enumerate(("K+", "K-", "eta"))})


@pytest.mark.parametrize(
    "name", ["tlorentzvector", "tlorentzvector_unsplit", "pxpypze", "pxpypze_unsplit", "arrays"], ids=lambda name: name
)
@pytest.mark.parametrize("size", [2, 100])
def test_four_vectors_that_root_wrote(model, five, same, name, size):
    same(ctpwa.read_events(model, FILES / f"{name}.root", chunk=size), five)


def test_four_vectors_in_single_precision(model, five):
    found = ctpwa.read_events(model, FILES / "pxpypze_float.root")
    for name in five:
        assert torch.equal(found[name], five[name].float().double())


def test_members_of_a_class_of_events(model, five, same):
    names = {"K+": "event/kp", "K-": "event/km", "eta": "event/eta"}
    found = ctpwa.read_events(model, FILES / "class.root", momenta=names, weight="event/w")
    same(found, five, weights=False)
    assert found.weights.tolist() == [0.5, 1.5, 2.5, 3.5, 4.5]


def test_a_tree_in_a_folder_with_momenta_in_mev(model, five):
    found = ctpwa.read_events(model, FILES / "folders.root", tree="DecayTuple/DecayTree", unit="MeV")
    for name in five:
        torch.testing.assert_close(found[name], five[name], rtol=1e-15, atol=0)


def test_one_basket_for_the_whole_branch(model, events, columns, same, tmp_path, write_root):
    """A basket reaches over many chunks; it is unpacked once and used for all of them."""
    write_root(tmp_path / "one.root", columns())
    same(ctpwa.read_events(model, tmp_path / "one.root", chunk=7), events, weights=False)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["E px py pz", "px py pz E", "px,py,pz,e", "pz py px E"])
def test_array_branches_in_any_order(model, events, tmp_path, write_root, dtype, order):
    positions = [["e", "px", "py", "pz"].index(word) for word in order.lower().replace(",", " ").split()]
    arrays = {name: p.numpy()[:, positions].astype(dtype) for name, p in zip(("kp", "km", "eta"), events.values(), strict=True)}
    write_root(tmp_path / "a.root", arrays)
    found = ctpwa.read_events(model, tmp_path / "a.root", order=order)
    for name in events:
        assert torch.equal(found[name], torch.from_numpy(events[name].numpy().astype(dtype).astype(np.float64)))


def test_integers_are_numbers(model, events, columns, tmp_path, write_root):
    write_root(tmp_path / "a.root", columns() | {"n": np.arange(23, dtype=np.int32) + 1})
    found = ctpwa.read_events(model, tmp_path / "a.root", weight="n")
    assert found.weights.tolist() == list(range(1, 24))


def test_branch_names_are_not_expressions(model, events, columns, same, tmp_path, write_root):
    write_root(tmp_path / "a.root", columns(("K+", "K-", "eta")))
    same(ctpwa.read_events(model, tmp_path / "a.root"), events, weights=False)


# Parquet


def table_of(events, layout):
    if layout == "scalars":
        return pa.table({f"{n}.{c}": p[:, i].numpy() for n, p in events.items() for i, c in enumerate(COMPONENTS)})
    arrays = {}
    for name, p in events.items():
        flat = pa.array(p.numpy().reshape(-1))
        if layout == "fixed":
            arrays[name] = pa.FixedSizeListArray.from_arrays(flat, 4)
        elif layout in ("list", "large"):
            kind = pa.ListArray if layout == "list" else pa.LargeListArray
            arrays[name] = kind.from_arrays(np.arange(0, 4 * len(p) + 1, 4), flat)
        else:
            arrays[name] = pa.StructArray.from_arrays([pa.array(p[:, i].numpy()) for i in range(4)], names=list(COMPONENTS))
    return pa.table(arrays)


@pytest.mark.parametrize("layout", ["scalars", "fixed", "list", "large", "struct"])
@pytest.mark.parametrize("rows", [5, 1000], ids=["many-row-groups", "one-row-group"])
def test_parquet_layouts(model, events, same, tmp_path, layout, rows):
    pq.write_table(table_of(events, layout), tmp_path / "a.parquet", row_group_size=rows)
    same(ctpwa.read_events(model, tmp_path / "a.parquet", chunk=7), events, weights=False)


# npz


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize(
    "convert", [np.ascontiguousarray, np.asfortranarray, lambda p: p.astype(">f8")], ids=["c", "fortran", "big-endian"]
)
def test_npz_layouts(model, events, same, tmp_path, save, convert):
    save(tmp_path / "a.npz", weights=events.weights.numpy(), **{name: convert(p.numpy()) for name, p in events.items()})
    same(ctpwa.read_events(model, tmp_path / "a.npz", chunk=7), events)


def test_npz_with_one_array_per_component(model, events, columns, same, tmp_path):
    np.savez(tmp_path / "a.npz", **columns())
    same(ctpwa.read_events(model, tmp_path / "a.npz"), events, weights=False)


# text


def test_text_with_comments_and_empty_lines(model, events, same, tmp_path):
    ctpwa.write_events(tmp_path / "a.txt", ctpwa.Events(events.momenta))
    lines = (tmp_path / "a.txt").read_text().splitlines()
    lines.insert(4, "\n   # second event")
    lines[7] += "  # a remark"
    (tmp_path / "a.txt").write_text("# E px py pz\n" + "\n".join(lines) + "\n\n")
    same(ctpwa.read_events(model, tmp_path / "a.txt"), events, weights=False)


def test_text_with_the_energy_last_and_particles_in_another_order(model, events, same, tmp_path):
    rows = torch.stack([events[name][:, [1, 2, 3, 0]] for name in ("eta", "K-", "K+")], dim=1).reshape(-1, 4)
    np.savetxt(tmp_path / "a.dat", rows.numpy(), fmt="%.17g", delimiter="\t")
    found = ctpwa.read_events(model, tmp_path / "a.dat", order="px py pz E", momenta=["eta", "K-", "K+"])
    same(found, events, weights=False)


# several files


@pytest.mark.parametrize("how", ["pattern", "list", "paths"])
def test_several_files_are_one_sample(model, events, same, tmp_path, how):
    cuts = [0, 5, 6, 23]
    names = ["part_1.root", "part_2.npz", "part_3.parquet"]
    for name, start, stop in zip(names, cuts[:-1], cuts[1:], strict=True):
        part = ctpwa.Events({key: p[start:stop] for key, p in events.items()}, events.weights[start:stop])
        ctpwa.write_events(tmp_path / name, part)
    paths = {"pattern": str(tmp_path / "part_*"), "list": [str(tmp_path / name) for name in names], "paths": [tmp_path / n for n in names]}
    found = ctpwa.read_events(model, paths[how])
    same(found, events)
    assert [(record.path.rsplit("/", 1)[1], record.n_events) for record in found.summary.files] == list(zip(names, [5, 1, 17], strict=True))


def test_a_file_whose_name_looks_like_a_pattern(model, events, same, tmp_path):
    ctpwa.write_events(tmp_path / "data[1].npz", events)
    same(ctpwa.read_events(model, tmp_path / "data[1].npz"), events)


# weights


@pytest.mark.parametrize("suffix", ["txt", "dat", "npy", "npz", "named.npz"])
def test_weights_in_a_file_of_their_own(model, events, same, tmp_path, suffix):
    path, w = tmp_path / f"w.{suffix}", events.weights.numpy()
    ctpwa.write_events(tmp_path / "a.npz", events.momenta)
    if suffix == "npy":
        np.save(path, w[:, None])
    elif suffix == "npz":
        np.savez(path, w)
    elif suffix == "named.npz":
        np.savez(path, Weights=w, other=w + 1)
    else:
        np.savetxt(path, w, fmt="%.17g", header="weights")
    same(ctpwa.read_events(model, tmp_path / "a.npz", weight_file=path), events)


def test_weights_in_several_files(model, events, same, tmp_path):
    ctpwa.write_events(tmp_path / "a.npz", events.momenta)
    np.save(tmp_path / "w1.npy", events.weights[:4])
    np.save(tmp_path / "w2.npy", events.weights[4:])
    found = ctpwa.read_events(model, tmp_path / "a.npz", weight_file=[tmp_path / "w1.npy", tmp_path / "w2.npy"])
    same(found, events)
    assert [record.n_events for record in found.summary.weight_files] == [4, 19]


def test_scale_multiplies_weights(model, events, tmp_path):
    ctpwa.write_events(tmp_path / "a.npz", events)
    found = ctpwa.read_events(model, tmp_path / "a.npz", scale=0.25)
    assert torch.equal(found.weights, 0.25 * events.weights)


def test_scale_without_weights(model, events, tmp_path):
    ctpwa.write_events(tmp_path / "a.npz", events.momenta)
    assert ctpwa.read_events(model, tmp_path / "a.npz", scale=0.3).weights.tolist() == [0.3] * 23
    assert ctpwa.read_events(model, tmp_path / "a.npz").weights is None


def test_weights_that_are_not_wanted(model, events, tmp_path):
    ctpwa.write_events(tmp_path / "a.npz", events)
    assert ctpwa.read_events(model, tmp_path / "a.npz", weight=False).weights is None


# the summary


def test_summary_in_one_line(model, events, tmp_path):
    ctpwa.write_events(tmp_path / "a.root", events)
    summary = ctpwa.read_events(model, tmp_path / "a.root", name="data", weight="weight").summary
    assert str(summary) == "data: a.root, 23 events, weights 18.4 (min −0.3, max 1.9), m(J/psi(1S)) 3.09690 ± 0.00000 GeV"


def test_weights_found_by_themselves_are_mentioned(model, events, tmp_path):
    ctpwa.write_events(tmp_path / "a.root", events)
    assert str(ctpwa.read_events(model, tmp_path / "a.root").summary).endswith("; weights found in branch 'weight'")


def test_summary_knows_the_hash_and_goes_through_json(model, events, tmp_path):
    import hashlib

    np.save(tmp_path / "w.npy", events.weights)
    ctpwa.write_events(tmp_path / "a.npz", events.momenta)
    summary = ctpwa.read_events(model, tmp_path / "a.npz", weight_file=tmp_path / "w.npy").summary
    for record, name in ((summary.files[0], "a.npz"), (summary.weight_files[0], "w.npy")):
        assert record.sha256 == hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
    assert ctpwa.data.SampleSummary.from_dict(json.loads(json.dumps(summary.as_dict()))) == summary


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (100_000, "100 000"), (99_812.34, "99 812.3"), (-0.31, "−0.31"), (1.0, "1"), (0.0, "0"), (1234567.0, "1 234 567"), (1e-7, "1e−07"),
        (-12, "−12"), (0.000230514, "0.000230514"), (1e20, "1e+20"), (100.0, "100"),
    ],
)  # fmt: skip
def test_numbers_in_groups(number, text):
    from ctpwa.data.summary import grouped

    assert grouped(number) == text


def test_events_go_to_the_device(model, events, tmp_path):
    ctpwa.write_events(tmp_path / "a.npz", events)
    assert ctpwa.read_events(model, tmp_path / "a.npz", device=torch.device("cpu"))["K+"].device.type == "cpu"


def test_a_progress_bar_can_be_shown(model, events, tmp_path, capsys):
    ctpwa.write_events(tmp_path / "a.npz", events, progress=True)
    ctpwa.read_events(model, tmp_path / "a.npz", progress=True, name="data", chunk=7)
    assert "reading data" in capsys.readouterr().err
