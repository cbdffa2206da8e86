"""Files that cannot be read, or not as they are, are refused with a message that names them."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ctpwa

from .conftest import FILES

SUFFIXES = ("root", "parquet", "npz", "txt")


@pytest.fixture
def written(events, tmp_path):
    def write(suffix):
        path = tmp_path / f"data.{suffix}"
        ctpwa.write_events(path, events.momenta)
        return path

    return write


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_missing_file(refused, tmp_path, suffix):
    assert f"there is no file '{tmp_path}/data.{suffix}'" in refused(tmp_path / f"data.{suffix}")


@pytest.mark.parametrize("part", [0.0, 0.3, 0.7])
def test_a_root_file_that_is_cut_short(refused, written, part):
    path = written("root")
    path.write_bytes(path.read_bytes()[: int(part * path.stat().st_size)])
    message = refused(path)
    assert f"cannot read '{path}' as a ROOT file: " in message
    assert message.endswith(" fix: the file is damaged, cut short or of another kind; write it again")


def test_missing_file_with_a_near_name(refused, written):
    assert "did you mean 'data.root'?" in refused(written("root").with_name("dat.root"))


def test_missing_folder(refused, tmp_path):
    assert "there is no folder" in refused(tmp_path / "nowhere" / "data.root")


def test_a_folder(refused, tmp_path):
    (tmp_path / "data.root").mkdir()
    assert "it is a folder" in refused(tmp_path / "data.root")


def test_no_match_of_a_pattern(refused, tmp_path):
    assert "no file matches" in refused(tmp_path / "data_*.root")


def test_no_files(refused):
    assert "an empty list of files" in refused([])


@pytest.mark.parametrize("name", ["data.csv", "data", "data.root.gz"])
def test_unknown_suffix(refused, tmp_path, name):
    (tmp_path / name).write_text("")
    assert "unknown suffix" in (message := refused(tmp_path / name))
    assert "use one of .root, .parquet, .npz, .txt, .dat" in message


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("part", [0.0, 0.001, 0.3, 0.7, 0.97])
def test_a_file_that_is_cut_short(refused, written, suffix, part):
    path = written(suffix)
    content = path.read_bytes()
    path.write_bytes(content[: int(part * len(content))])
    assert str(path) in refused(path)


@pytest.mark.parametrize("suffix", ["root", "parquet", "npz"])
def test_a_file_of_another_kind(refused, tmp_path, suffix):
    (tmp_path / f"data.{suffix}").write_text("1 2 3 4\n" * 300)
    assert "cannot read" in refused(tmp_path / f"data.{suffix}")


def test_binary_content_in_a_text_file(refused, written):
    path = written("root")
    assert "cannot read" in refused(path.rename(path.with_suffix(".txt")))


@pytest.mark.parametrize("suffix", ["root", "parquet", "npz"])
@pytest.mark.parametrize("seed", range(15))
def test_damaged_content_is_noticed_or_harmless(model, events, written, suffix, seed):
    """Whatever happens to the bytes, there is a message or the right numbers, never other numbers or a crash."""
    path = written(suffix)
    content = bytearray(path.read_bytes())
    rng = np.random.default_rng(seed)
    for position in rng.integers(0, len(content), 3):
        content[position] ^= int(rng.integers(1, 256))
    path.write_bytes(content)
    try:
        found = ctpwa.read_events(model, path)
    except ctpwa.base.DataError as error:
        message = str(error)
    else:
        message = ""
        changed = max(float((found[name] - events[name]).abs().max()) for name in events)
        assert changed < 0.02  # a digit of a momentum may change; then masses still have to be right
    assert not message or "\n fix: " in message


@pytest.mark.parametrize("suffix", ["root", "parquet", "npz", "txt"])
def test_no_events(refused, model, columns, tmp_path, write_root, suffix):
    path = tmp_path / f"empty.{suffix}"
    none = {name: values[:0] for name, values in columns().items()}
    if suffix == "root":
        write_root(path, none)
    elif suffix == "parquet":
        pq.write_table(pa.table(none), path)
    elif suffix == "npz":
        np.savez(path, **none)
    else:
        path.write_text("# nothing\n")
    assert f"{path}" in (message := refused(path))
    assert "no events" in message


def test_fewer_events_than_the_file_says(refused, written, monkeypatch):
    from ctpwa.data.npz_files import NpzFile

    whole = NpzFile.chunks
    monkeypatch.setattr(NpzFile, "chunks", lambda self, names, size, *rows: list(whole(self, names, size, *rows))[:-1])
    assert "23 events expected, 21 found" in refused(written("npz"), chunk=7)


# ROOT


def test_several_trees(refused):
    message = refused(FILES / "folders.root")
    assert "has 2 trees: DecayTuple/DecayTree, lumi" in message
    assert "say which, with 'tree'" in message


def test_unknown_tree(refused):
    assert "did you mean 'DecayTuple/DecayTree'?" in refused(FILES / "folders.root", tree="DecayTupel/DecayTree")


def test_no_tree(refused, tmp_path):
    import uproot

    with uproot.recreate(tmp_path / "h.root") as file:
        file["h"] = np.histogram(np.ones(3))
    assert "h.root has no tree; it holds h (TH1D)" in refused(tmp_path / "h.root")


def test_vectors_in_other_coordinates(refused):
    message = refused(FILES / "ptetaphim.root")
    assert "branch 'kp' for 'K+' is ROOT::Math::LorentzVector<ROOT::Math::PtEtaPhiM4D<double> >, not a four-momentum" in message


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("many", "branch 'many' for 'K+' is std::vector<TLorentzVector>"),
        ("flag", "branch 'flag' for 'K+' is bool"),
        ("three", "branch 'three' for 'K+' is double[3]"),
        ("short", "branch 'short': 3 numbers in event 2, not four"),
    ],
)
def test_branches_that_are_no_momenta(refused, name, message):
    assert message in refused(FILES / "arrays.root", momenta={"K+": name})


def test_a_missing_branch(refused, columns, tmp_path, write_root):
    write_root(tmp_path / "a.root", {name: values for name, values in columns().items() if not name.startswith("km")})
    message = refused(tmp_path / "a.root")
    assert "tree 'events': no four-momentum of 'K-'; its branches: kp_E, kp_px, kp_py, kp_pz, eta_E" in message


def test_several_files_with_the_same_problem_name_the_file(refused, written, columns, tmp_path, write_root):
    write_root(tmp_path / "b.root", {name: values for name, values in columns().items() if not name.startswith("km")})
    assert "b.root, tree 'events': no four-momentum of 'K-'" in refused([written("npz"), tmp_path / "b.root"])


# Parquet


def test_missing_values(refused, columns, tmp_path):
    table = columns() | {"kp_E": pa.array([None, *columns()["kp_E"][1:]])}
    pq.write_table(pa.table(table), tmp_path / "a.parquet")
    assert "column 'kp_E': 1 missing value" in refused(tmp_path / "a.parquet")


@pytest.mark.parametrize("kind", ["struct", "list", "inside"])
def test_missing_four_vectors(refused, events, tmp_path, kind):
    rows = [dict(zip(("E", "px", "py", "pz"), p, strict=True)) if kind == "struct" else p for p in events["K+"].tolist()]
    if kind == "inside":
        rows[3][2] = None
    else:
        rows[3] = None
    others = {name: events[name].tolist() for name in ("K-", "eta")}
    pq.write_table(pa.table({"K+": rows, **others}), tmp_path / "a.parquet")
    assert "column 'K+" in (message := refused(tmp_path / "a.parquet"))
    assert "1 missing value" in message


def test_lists_of_the_wrong_length(refused, events, tmp_path):
    rows = {name: p.tolist() for name, p in events.items()}
    rows["K-"][17] = [1.0, 2.0, 3.0]
    pq.write_table(pa.table(rows), tmp_path / "a.parquet")
    assert "column 'K-': 3 numbers in event 17, not four" in refused(tmp_path / "a.parquet")


def test_a_column_of_text(refused, columns, tmp_path):
    pq.write_table(pa.table(columns() | {"w": ["a"] * 23}), tmp_path / "a.parquet")
    assert "column 'w' is string, no weight" in refused(tmp_path / "a.parquet", weight="w")


# npz


def test_different_numbers_of_events(refused, events, tmp_path):
    np.savez(tmp_path / "a.npz", **{name: p[: 23 - i] for i, (name, p) in enumerate(events.items())})
    assert "different numbers of events: K+ 23, K- 22, eta 21" in refused(tmp_path / "a.npz")


@pytest.mark.parametrize("value", [np.ones((23, 3)), np.ones((23, 2, 2)), np.float64(1), np.ones((23, 4), complex), np.array([None] * 23)])
def test_arrays_that_are_no_momenta(refused, events, tmp_path, value):
    np.savez(tmp_path / "a.npz", **{"K+": value, "K-": events["K-"], "eta": events["eta"]})
    message = refused(tmp_path / "a.npz")
    assert "array 'K+' for 'K+' is" in message or "no four-momentum of 'K+'" in message


# text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: lines[:-1], "68 lines of numbers are not a whole number of events with 3 particles"),
        (lambda lines: [*lines[:30], "1 2 3", *lines[31:]], "data.txt:31: 3 numbers instead of 4"),
        (lambda lines: [*lines[:30], "# c", "", "1 2 3 4 5", *lines[31:]], "data.txt:33: 5 numbers instead of 4"),
        (lambda lines: [*lines[:5], "1 2 x 4", *lines[6:]], "data.txt:6: 'x' is not a number"),
        (lambda lines: [line.replace(" ", ", ") for line in lines], "data.txt:1: '"),
        (lambda lines: [*lines[:5], "nan 0 0 0", *lines[6:]], "the momentum of 'eta' in event 1 (nan, 0, 0, 0) is not finite"),
        (lambda lines: [line.split(" ", 1)[0] for line in lines], "data.txt:1: 1 number instead of 4"),
    ],
    ids=["line-missing", "short", "long", "word", "commas", "nan", "one-column"],
)
def test_text_that_is_wrong(refused, written, change, message):
    path = written("txt")
    path.write_text("\n".join(change(path.read_text().splitlines())) + "\n")
    assert message in refused(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weight": "w"}, "a text file has no column 'w'"),
        ({"momenta": {"K+": "kp"}}, "list the particles in the order of their lines: [K+, K-, eta]"),
        ({"momenta": ["K+", "K-"]}, "K+, K- are not the final particles"),
        ({"momenta": ["K+", "K+", "eta"]}, "list each of K+, K-, eta once"),
        ({"tree": "t"}, "is not a ROOT file"),
    ],
)
def test_options_that_text_files_do_not_have(refused, written, options, message):
    assert message in refused(written("txt"), **options)


# order of components


@pytest.mark.parametrize("suffix", ["txt", "npz", "root", "parquet"])
def test_another_order_of_components_is_recognised(refused, events, tmp_path, write_root, suffix):
    path = tmp_path / f"a.{suffix}"
    arrays = {name: p.numpy()[:, [1, 2, 3, 0]] for name, p in events.items()}
    if suffix == "txt":
        np.savetxt(path, np.stack(list(arrays.values()), axis=1).reshape(-1, 4))
    elif suffix == "npz":
        np.savez(path, **arrays)
    elif suffix == "root":
        write_root(path, arrays)
    else:
        pq.write_table(pa.table({name: values.tolist() for name, values in arrays.items()}), path)
    assert "the components stand in another order; say order: px py pz E" in refused(path)


def test_the_usual_order_is_recognised_too(refused, written):
    assert "say order: E px py pz" in refused(written("npz"), order="px py pz E")


def test_an_order_that_is_of_no_use_is_refused(refused, written):
    assert "order is 'px py pz E', but the components have names" in refused(written("root"), order="px py pz E")


def test_particles_in_the_wrong_order_of_lines(refused, written):
    assert "this is the mass of 'eta'" in refused(written("txt"), momenta=["eta", "K-", "K+"])
