"""Sample files of every format with something wrong: bytes that changed, and columns that are not what they should be."""

from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

import ctpwa

N = 23
FORMATS = ("root", "parquet", "npz", "compressed.npz", "txt")
WEIGHT_FORMATS = ("npy", "npz", "txt")
COMPONENTS = ("E", "px", "py", "pz")
DECAY = {"decay": "J/psi(1S) -> K+ K- eta", "resonances": {"phi(1020)": {"in": "K+ K-"}}}
COLUMNS = [f"{stem}_{component}" for stem in ("kp", "km", "eta") for component in COMPONENTS]

model = ctpwa.load_model(DECAY)
events = ctpwa.generate_phase_space(model, N, seed=8)
WEIGHTS = np.linspace(0.3, 1.9, N)


def plain_columns():
    """The events as columns of numbers."""
    return dict(zip(COLUMNS, np.concatenate([p.numpy() for p in events.values()], axis=1).T.copy(), strict=True))


def written(columns, suffix):
    """A file with any columns, as other programs write it; None if the format does not have such columns."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"a.{suffix}"
        try:
            _WRITERS[suffix](path, columns)
        except (TypeError, ValueError, NotImplementedError, pa.ArrowInvalid, pa.ArrowTypeError, KeyError, AttributeError):
            return None
        return path.read_bytes()


def _write_root(path, columns):
    import uproot

    with uproot.recreate(path) as file:
        arrays = {name: np.ascontiguousarray(values) for name, values in columns.items()}
        kinds = {name: values.dtype if values.ndim == 1 else (values.dtype, values.shape[1:]) for name, values in arrays.items()}
        file.mktree("events", kinds)
        file["events"].extend(arrays)


def _write_parquet(path, columns):
    table = pa.table({name: values if values.ndim == 1 else pa.array(values.tolist()) for name, values in columns.items()})
    pq.write_table(table, path, row_group_size=10, write_page_checksum=True)


def _write_text(path, columns):
    np.savetxt(path, np.stack([columns[name] for name in COLUMNS], axis=1).reshape(-1, 4), fmt="%.17g")


_WRITERS = {
    "root": _write_root,
    "parquet": _write_parquet,
    "npz": lambda path, columns: np.savez(path, **columns),
    "compressed.npz": lambda path, columns: np.savez_compressed(path, **columns),
    "txt": _write_text,
}


def weights_file(suffix):
    """The weights in a file of their own."""
    content = BytesIO()
    if suffix == "npy":
        np.save(content, WEIGHTS)
    elif suffix == "npz":
        np.savez(content, WEIGHTS)
    else:
        np.savetxt(content, WEIGHTS, fmt="%.17g")
    return content.getvalue()


# bytes

LARGE_NUMBERS = [
    value.to_bytes(size, order, signed=True)
    for size in (2, 4, 8)
    for value in (-1, -5, 2 ** (8 * size - 1) - 1, 2 ** (8 * size - 3), -(2 ** (8 * size - 1)))
    for order in ("little", "big")
]
TEXTS = (b"nan", b"inf", b"1e999", b"-", b"\x00", b"\n", b"#", b"1 2 3 4\n", b"\xff\xfe", b"-5", b"99999999999999")
places = st.floats(0, 1, exclude_max=True)


@st.composite
def _changes(draw):
    kind = draw(st.sampled_from(["flip", "flip", "flip", "number", "cut", "insert", "remove", "repeat", "text"]))
    size = draw(st.integers(1, 40))
    payload = {
        "flip": st.integers(1, 255).map(lambda bits: bytes([bits])),
        "number": st.sampled_from(LARGE_NUMBERS),
        "insert": st.binary(min_size=1, max_size=40),
        "text": st.sampled_from(TEXTS),
    }.get(kind, st.just(b""))
    return kind, draw(places), size, draw(payload)


changes = st.lists(_changes(), min_size=1, max_size=4)


def changed(content, what):
    """A file after some changes of its bytes."""
    content = bytearray(content)
    for kind, place, size, payload in what:
        at = int(place * len(content))
        if kind == "flip" and content:
            content[at] ^= payload[0]
        elif kind in ("number", "text"):
            content[at : at + len(payload)] = payload
        elif kind == "cut":
            del content[at:]
        elif kind == "insert":
            content[at:at] = payload
        elif kind == "remove":
            del content[at : at + size]
        elif kind == "repeat":
            content[at:at] = content[at : at + size]
    return bytes(content)


# columns

TYPES = ("f4", "f2", "i8", "i4", "u1", "?", "c16", "U5", "S3", "M8[s]", "m8[s]", "O", ">f8", "g")
SHAPES = ("column", "row", "two", "four", "scalar", "shorter", "longer", "empty", "fortran")
VALUES = (np.nan, np.inf, -np.inf, 1e300, 1e160, -1.0, 0.0, 5e-324, 2.0**60)
NAMES = ("weight", "Weight", "weights", "kp_E", "KP_PX", "x", "", "K+", "event.weight", "a/b", "π", "\x1b[2J", "x" * 3000, "a\nb")


@st.composite
def _edits(draw):
    kind = draw(st.sampled_from(["rename", "remove", "retype", "reshape", "value", "add", "exchange"]))
    name = draw(st.sampled_from([*COLUMNS, "weight", "weight"]))
    options = {"rename": NAMES, "add": NAMES, "retype": TYPES, "reshape": SHAPES, "value": VALUES, "exchange": COLUMNS}
    return kind, name, draw(st.sampled_from(options.get(kind, (None,)))), draw(st.integers(0, N - 1))


edits = st.lists(_edits(), min_size=1, max_size=3)


def edited(what):
    """Columns after some edits; None if an edit has no meaning."""
    columns = plain_columns() | {"weight": WEIGHTS.copy()}
    for kind, name, how, event in what:
        values = columns.get(name)
        if values is None:
            continue
        try:
            if kind == "rename":
                columns = {how if key == name else key: column for key, column in columns.items()}
            elif kind == "remove":
                del columns[name]
            elif kind == "retype":
                with np.errstate(all="ignore"):
                    columns[name] = values.astype(how)
            elif kind == "reshape":
                columns[name] = _reshaped(values, how)
            elif kind == "value":
                values[event] = how
            elif kind == "add":
                columns[how] = values.copy()
            elif how in columns:
                columns[name], columns[how] = columns[how], values
        except (ValueError, TypeError, IndexError, OverflowError, np.exceptions.ComplexWarning):
            return None
    return columns


def _reshaped(values, how):
    return {
        "column": lambda: values[:, None],
        "row": lambda: values[None],
        "two": lambda: np.stack([values, values], axis=1),
        "four": lambda: np.stack([values] * 4, axis=1),
        "scalar": lambda: values[0],
        "shorter": lambda: values[:-1],
        "longer": lambda: np.concatenate([values, values[:1]]),
        "empty": lambda: values[:0],
        "fortran": lambda: np.asfortranarray(np.stack([values] * 4, axis=1)),
    }[how]()
