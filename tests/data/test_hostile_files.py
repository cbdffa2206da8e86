"""Files that claim what they do not hold, that are no files, or that come twice: refused before they take time or memory."""

import os
import socket
import struct
import zipfile
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

import ctpwa

SUFFIXES = ("root", "parquet", "npz", "txt")


@pytest.fixture
def written(events, tmp_path):
    def write(suffix, name="data"):
        path = tmp_path / f"{name}.{suffix}"
        ctpwa.write_events(path, events.momenta)
        return path

    return write


@pytest.fixture
def with_weight(events, columns, tmp_path, write_root):
    """A file whose column of weights has some type and shape."""

    def write(suffix, weight, name="weight"):
        path = tmp_path / f"a.{suffix}"
        if suffix == "npz":
            np.savez(path, **columns(), **{name: weight})
        elif suffix == "parquet":
            pq.write_table(pa.table(columns() | {name: weight}), path)
        else:
            write_root(path, columns() | {name: weight})
        return path

    return write


def npy_bytes(header, content=b"", version=(1, 0)):
    """An npy array with any header."""
    text = header.encode()
    width = "<H" if version == (1, 0) else "<I"
    return b"\x93NUMPY" + bytes(version) + struct.pack(width, len(text)) + text + content


def npy_of(shape, content=b"", descr="<f8", fortran=False):
    return npy_bytes(repr({"descr": descr, "fortran_order": fortran, "shape": shape}) + "\n", content)


def zip_of(path, members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


# weights are used or refused


def tall(weights):
    return pa.FixedSizeListArray.from_arrays(pa.array(weights), 1)


def decimals(weights):
    return pa.array([Decimal(f"{w:.20f}") for w in weights.tolist()], pa.decimal128(38, 20))


@pytest.mark.parametrize(
    ("suffix", "make"),
    [
        ("npz", lambda w: w[:, None]),
        ("npz", lambda w: np.asfortranarray(w[:, None])),
        ("root", lambda w: w[:, None]),
        ("parquet", tall),
        ("parquet", decimals),
    ],
    ids=["npz", "npz-fortran", "root", "parquet-list", "parquet-decimal"],
)
def test_weights_whose_meaning_is_plain_are_used(model, events, with_weight, suffix, make):
    found = ctpwa.read_events(model, with_weight(suffix, make(events.weights.numpy())), chunk=7)
    assert torch.allclose(found.weights, events.weights, rtol=0, atol=1e-15)  # decimals end somewhere


@pytest.mark.parametrize("name", ["weight", "Weights", "sw"])
@pytest.mark.parametrize(
    ("suffix", "make", "described"),
    [
        ("npz", lambda n: np.ones((n, 2)), "float64, 23×2"),
        ("npz", lambda n: np.ones(n, complex), "complex128, 23"),
        ("npz", lambda n: np.ones(n, bool), "bool, 23"),
        ("npz", lambda n: np.array(["1.0"] * n), "<U3, 23"),
        ("npz", lambda n: np.array([1.0] * n, object), "object, 23"),
        ("npz", lambda n: np.float64(1), "float64, a single number"),
        ("npz", lambda n: np.ones((n, 1, 1)), "float64, 23×1×1"),
        ("npz", lambda n: np.array(["2020-01-01"] * n, "M8[D]"), "datetime64[D], 23"),
        ("npz", lambda n: np.ones((n, 4)), "four numbers (float64, 23×4)"),
        ("parquet", lambda n: ["1.0"] * n, "string"),
        ("parquet", lambda n: [True] * n, "bool"),
        ("parquet", lambda n: pa.nulls(n), "null"),
        ("parquet", lambda n: [[1.0]] * n, "four numbers (list<element: double>)"),
        ("parquet", lambda n: pa.array(["1"] * n).dictionary_encode(), "dictionary<values=string"),
        ("root", lambda n: np.ones((n, 2)), "double[2]"),
        ("root", lambda n: np.ones(n, bool), "bool"),
    ],
    ids=[
        "npz-two", "npz-complex", "npz-bool", "npz-text", "npz-objects", "npz-single", "npz-axes", "npz-dates", "npz-four",
        "parquet-text", "parquet-bool", "parquet-null", "parquet-lists", "parquet-categories", "root-two", "root-bool",
    ],
)  # fmt: skip
def test_weights_of_another_type_are_refused(refused, with_weight, suffix, make, described, name):
    path = with_weight(suffix, make(23), name)
    message = refused(path, weight=name) if name == "sw" else refused(path)
    assert str(path) in message
    assert f"{name!r} is {described}" in message
    assert "no weight" in message


@pytest.mark.parametrize(("suffix", "make"), [("npz", lambda n: np.ones((n, 2))), ("parquet", lambda n: ["1.0"] * n)])
def test_weights_of_another_type_may_be_left_out(model, events, same, with_weight, suffix, make):
    same(ctpwa.read_events(model, with_weight(suffix, make(23)), weight=False), ctpwa.Events(events.momenta))


@pytest.mark.parametrize("weight", [True, 3])
def test_weights_that_are_asked_for_without_a_name(refused, with_weight, weight):
    assert f"weight is {weight}\n fix: name the array" in refused(with_weight("npz", np.ones(23)), weight=weight)


def test_weights_inside_a_structure_need_a_word(model, events, refused, columns, tmp_path):
    struct_column = pa.StructArray.from_arrays([pa.array(events.weights.numpy())], names=["weight"])
    pq.write_table(pa.table(columns() | {"event": struct_column}), tmp_path / "a.parquet")
    assert "the weights could be 'event.weight'" in refused(tmp_path / "a.parquet")
    assert torch.equal(ctpwa.read_events(model, tmp_path / "a.parquet", weight="event.weight").weights, events.weights)


def test_weights_in_the_file_and_in_one_of_their_own(model, events, refused, with_weight, tmp_path):
    np.save(tmp_path / "w.npy", 2 * events.weights)
    path = with_weight("npz", events.weights.numpy())
    assert "weights in array 'weight', and in weight files" in refused(path, weight_file=tmp_path / "w.npy")
    assert torch.equal(ctpwa.read_events(model, path, weight=False, weight_file=tmp_path / "w.npy").weights, 2 * events.weights)


def test_an_array_of_weights_of_another_type_is_not_passed_over_for_another_one(refused, written, tmp_path):
    np.savez(tmp_path / "w.npz", weight=np.array(["1.0"] * 23), other=np.ones(23))
    assert "which array holds the weights? It has weight (<U3, 23)" in refused(written("npz"), weight_file=tmp_path / "w.npz")


def test_columns_of_the_same_name(refused, columns, tmp_path):
    names, values = zip(*columns().items(), strict=True)
    pq.write_table(pa.Table.from_arrays([*map(pa.array, values), pa.array(values[0])], names=[*names, "kp_E"]), tmp_path / "a.parquet")
    assert "could be" in (message := refused(tmp_path / "a.parquet")) or "2 columns are called 'kp_E'" in message


def test_weights_of_the_same_name(refused, columns, tmp_path):
    names, values = zip(*columns().items(), strict=True)
    twice = [np.ones(23), np.full(23, 2.0)]
    pq.write_table(pa.Table.from_arrays([*map(pa.array, (*values, *twice))], names=[*names, "w", "w"]), tmp_path / "a.parquet")
    assert "2 columns are called 'w'" in refused(tmp_path / "a.parquet", weight="w")


# the same file twice


@pytest.mark.parametrize("how", ["list", "symlink", "hard link", "patterns", "another way to write it"])
def test_the_same_file_twice(refused, written, tmp_path, how):
    path = written("npz")
    other = tmp_path / "other.npz"
    if how == "symlink":
        other.symlink_to(path)
    elif how == "hard link":
        os.link(path, other)
    paths = {
        "list": [path, path],
        "patterns": [tmp_path / "*.npz", tmp_path / "d*"],
        "another way to write it": [path, tmp_path / ".." / tmp_path.name / path.name],
    }.get(how, [path, other])
    message = refused(paths)
    assert str(path) in message
    assert "would count twice\n fix: name it once" in message


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_copy_of_a_file(refused, written, tmp_path, suffix):
    path = written(suffix)
    (tmp_path / f"copy.{suffix}").write_bytes(path.read_bytes())
    assert "have the same content" in refused([path, tmp_path / f"copy.{suffix}"])


def test_a_file_of_weights_twice(refused, written, tmp_path):
    np.save(tmp_path / "w.npy", np.ones(10))
    assert "w.npy' is named twice" in refused(written("npz"), weight_file=[tmp_path / "w.npy"] * 2)


# what is no file


@pytest.fixture
def special(tmp_path):
    """The path of something that is no regular file."""
    opened = []

    def make(kind, name):
        path = tmp_path / name
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "socket":
            opened.append(socket.socket(socket.AF_UNIX))
            here = os.getcwd()
            os.chdir(tmp_path)  # names of sockets are short
            try:
                opened[0].bind(name)
            finally:
                os.chdir(here)
        elif kind == "device":
            path.symlink_to("/dev/zero")
        elif kind == "folder":
            path.mkdir()
        elif kind == "loop":
            path.symlink_to(path)
        else:
            path.symlink_to(tmp_path / "nowhere")
        return path

    yield make
    for one in opened:
        one.close()


KINDS = {
    "pipe": "is a named pipe, not a file",
    "socket": "is a socket, not a file",
    "device": "is a device, not a file",
    "folder": "it is a folder",
    "loop": "cannot read",
    "dangling link": "which is not there",
}


@pytest.mark.parametrize("suffix", [*SUFFIXES, "weights.txt", "weights.npy", "weights.npz"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_is_not_opened(refused, written, special, kind, suffix):
    """Opening a pipe would wait for ever, and a device has no end."""
    path = special(kind, f"special.{suffix}")
    message = refused(written("npz"), weight_file=path) if suffix.startswith("weights") else refused(path)
    assert str(path) in message
    assert KINDS[kind] in message


@pytest.mark.parametrize("name", ["x" * 300 + ".npz", "a\0.npz", "a\0/*.npz"])
def test_names_that_no_file_can_have(refused, tmp_path, name):
    assert "npz" in refused(f"{tmp_path}/{name}")


# headers that promise too much


HUGE = 10**12


@pytest.mark.parametrize("shape", [(HUGE, 4), (-5, 4), (-5, -4), (2**62, 4), (10**30, 4), (-1,)])
@pytest.mark.parametrize("fortran", [False, True])
def test_npz_headers_with_other_numbers_of_rows(refused, tmp_path, shape, fortran):
    members = {f"{name}.npy": npy_of(shape, bytes(64), fortran=fortran) for name in ("K+", "K-", "eta")}
    assert "the file is damaged" in refused(zip_of(tmp_path / "a.npz", members))


@pytest.mark.parametrize("fortran", [False, True])
def test_zip_bombs(refused, tmp_path, fortran):
    """Rows of zeros, a thousandth of their size in the file: the first chunk is enough to see that they are no momenta."""
    rows = 140_000
    members = {f"{name}.npy": npy_of((rows, 4), bytes(32 * rows), fortran=fortran) for name in ("K+", "K-", "eta")}
    path = zip_of(tmp_path / "a.npz", members, zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 100_000
    assert "has no positive energy" in refused(path)


def test_a_directory_that_promises_more_than_there_is(refused, written, monkeypatch):
    """More rows than memory: refused from the header alone."""
    from ctpwa.data import files

    monkeypatch.setattr(files, "available_bytes", lambda device: 1000)
    assert "23 events need 2.21 kB, but cpu has 1 kB left" in refused(written("npz"))


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_packing_without_a_limit_of_memory(refused, tmp_path, compression):
    path = zip_of(tmp_path / "a.npz", {"K+.npy": npy_of((23, 4), bytes(23 * 32))}, compression)
    assert "is not packed as numpy does it" in refused(path)


def test_an_npz_header_without_end(refused, tmp_path):
    header = b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1) + b" " * 1000
    assert "a header of 4294967295 bytes" in refused(zip_of(tmp_path / "a.npz", {"K+.npy": header}))


def test_too_many_arrays(refused, tmp_path):
    path = zip_of(tmp_path / "a.npz", {f"x{i}.npy": b"" for i in range(10_001)})
    assert "10001 arrays" in refused(path)


def test_pickles_are_not_opened(refused, tmp_path, events):
    """An object array would run what its pickle says."""

    class Harmful:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "harm"),))

    np.savez(tmp_path / "a.npz", **{"K+": np.array([Harmful()] * 23, object), "K-": events["K-"], "eta": events["eta"]})
    assert "array 'K+' for 'K+' is object, 23" in refused(tmp_path / "a.npz")
    np.save(tmp_path / "w.npy", np.array([Harmful()] * 23, object), allow_pickle=True)
    ctpwa.write_events(tmp_path / "b.npz", events.momenta)
    assert "weights of type object" in refused(tmp_path / "b.npz", weight_file=tmp_path / "w.npy")
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize("shape", [(HUGE,), (-23,), (HUGE, 1)])
def test_npy_weights_with_other_numbers_of_rows(refused, written, tmp_path, shape):
    (tmp_path / "w.npy").write_bytes(npy_of(shape, bytes(23 * 8)))
    assert "the file is damaged" in refused(written("npz"), weight_file=tmp_path / "w.npy")


def test_more_weights_than_events_are_not_read(refused, written, tmp_path):
    np.savez_compressed(tmp_path / "w.npz", np.ones(5_000_000))
    assert "5000000 weights for 23 events" in refused(written("npz"), weight_file=tmp_path / "w.npz")


def test_parquet_metadata_that_does_not_add_up(refused, written):
    """The number of all rows in the footer, which is one byte in thrift: 23 becomes 25."""
    path = written("parquet")
    content = bytearray(path.read_bytes())
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    at = content.index(b"\x16" + bytes([2 * 23]), start)  # an i64, zigzag
    content[at + 1] = 2 * 25
    path.write_bytes(content)
    assert "25 events in all, but 23 in its row groups" in refused(path)


@pytest.mark.parametrize(("claimed", "message"), [(10**6, "(23,) into shape (131072,)"), (HUGE, "1000000000000 events need 96 TB")])
def test_root_trees_that_announce_more_events_than_they_have(refused, written, claimed, message):
    """Tree, branches and baskets agree on the wrong number."""
    import uproot

    path = written("root")
    content = bytearray(path.read_bytes())
    with uproot.open(path) as file:
        key = file.key("events")
        start, length = key.fSeekKey + key.fKeylen, key.fNbytes - key.fKeylen
    assert content[start : start + 2] != b"ZS"  # not packed, so that its numbers can be found
    old, new = struct.pack(">q", 23), struct.pack(">q", claimed)
    tree = bytes(content[start : start + length])
    assert old in tree
    content[start : start + length] = tree.replace(old, new)
    path.write_bytes(content)
    assert message in refused(path)


# text


def test_a_line_without_end(refused, tmp_path):
    (tmp_path / "a.txt").write_text("1 " * 1_000_000)
    assert "a.txt:1: a line of more than 16384 characters" in refused(tmp_path / "a.txt")


def test_a_line_without_end_among_weights(refused, written, tmp_path):
    (tmp_path / "w.txt").write_text("1\n# " + "x" * 1_000_000)
    assert "w.txt:2: a line of more than 16384 characters" in refused(written("npz"), weight_file=tmp_path / "w.txt")


def test_a_long_word_is_cut_in_the_message(refused, tmp_path):
    (tmp_path / "a.txt").write_text(("1 2 3 " + "x" * 10_000 + "\n") * 3)
    assert len(refused(tmp_path / "a.txt")) < 500


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_other_encodings(refused, written, encoding):
    path = written("txt")
    path.write_bytes(("# µ\n" + path.read_text()).encode(encoding))
    assert "cannot read" in refused(path)


def test_a_byte_order_mark_does_no_harm(model, events, same, written):
    path = written("txt")
    path.write_bytes(path.read_text().encode("utf-8-sig"))
    same(ctpwa.read_events(model, path), ctpwa.Events(events.momenta))


# numbers


@pytest.mark.parametrize("value", [1e160, 1e200, 1e308])
@pytest.mark.parametrize("components", [[0], [0, 1], [0, 1, 2, 3]])
def test_momenta_whose_squares_are_no_numbers(refused, events, tmp_path, value, components):
    for p in events.values():
        p[11, components] = value
    ctpwa.write_events(tmp_path / "a.npz", events.momenta)
    assert "in event 11" in (message := refused(tmp_path / "a.npz"))
    assert "too large" in message


def test_numbers_that_double_precision_does_not_have(refused, events, tmp_path):
    if np.finfo(np.longdouble).max == np.finfo(np.float64).max:
        pytest.skip("the longest numbers of this machine are doubles")
    arrays = {name: p.numpy().astype(np.longdouble) for name, p in events.items()}
    arrays["K-"][7, 2] = np.longdouble("1e4000")
    np.savez(tmp_path / "a.npz", **arrays)
    assert "the momentum of 'K-' in event 7" in refused(tmp_path / "a.npz")


def test_names_of_columns_in_messages_are_short_and_printable(refused, tmp_path):
    pq.write_table(pa.table({"\x1b[2J\n" * 100_000: [1.0], "b": [1.0]}), tmp_path / "a.parquet")
    message = refused(tmp_path / "a.parquet")
    assert "\x1b" not in message
    assert len(message) < 1000
    assert message.count("\n") == 1
