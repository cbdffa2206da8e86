"""Events per second and memory of reading and writing samples: python benchmarks/read.py [--events N] [--formats root parquet …]

Writes K+ K- eta phase space with weights in every format and reads it back, each in a process of its own. The gate before the timing is
that what is read is what was written, to the last bit. Peak memory is what reading adds to a process that has ctpwa loaded; beside the
tensors of the sample it should be a small constant. ``root-one-basket`` is a ROOT file with one basket per branch, as other
programs may write it.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import platform
import resource
import tempfile
import time
from pathlib import Path

import torch

import ctpwa

MODEL = {"decay": "J/psi(1S) -> K+ K- eta", "resonances": {"phi(1020)": {"in": "K+ K-"}}}
FORMATS = {"root": "root", "root-one-basket": "root", "parquet": "parquet", "npz": "npz", "txt": "txt"}


def peak_bytes() -> int:
    """Largest resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def sample(model: ctpwa.Model, n_events: int) -> ctpwa.Events:
    """Phase space with weights."""
    events = ctpwa.generate_phase_space(model, n_events, seed=1)
    return ctpwa.Events(events.momenta, torch.rand(n_events, dtype=torch.float64, generator=torch.Generator().manual_seed(2)))


def weight_file(path: Path) -> Path | None:
    """Text files have their weights beside them."""
    return path.with_name("weights.txt") if path.suffix == ".txt" else None


def write(kind: str, path: Path, n_events: int, answer) -> None:
    """Write a sample and say how long it took."""
    events = sample(ctpwa.load_model(MODEL), n_events)
    start = time.perf_counter()
    if kind == "root-one-basket":
        import uproot

        with uproot.recreate(path) as file:
            columns = {f"{name}_{x}": p[:, i].numpy() for name, p in events.items() for i, x in enumerate(("E", "px", "py", "pz"))}
            tree = file.mktree("events", dict.fromkeys([*columns, "weight"], "float64"))
            tree.extend({**columns, "weight": events.weights.numpy()})
    else:
        ctpwa.write_events(path, events, weight_file=weight_file(path), progress=False)
    answer.send({"write_seconds": time.perf_counter() - start, "file_bytes": path.stat().st_size})


def read(path: Path, answer) -> None:
    """Read a sample and say how long it took and how much memory it needed."""
    model = ctpwa.load_model(MODEL)
    warm = ctpwa.generate_phase_space(model, 10, seed=0)
    small = path.with_name(f"small{path.suffix}")
    ctpwa.write_events(small, warm)
    ctpwa.read_events(model, small)  # libraries are loaded now
    before = peak_bytes()
    start = time.perf_counter()
    events = ctpwa.read_events(model, path, weight_file=weight_file(path), progress=False)
    seconds = time.perf_counter() - start
    own = sum(p.numel() for p in [*events.values(), events.weights]) * 8
    answer.send({"read_seconds": seconds, "sample_bytes": own, "extra_bytes": peak_bytes() - before - own, "line": str(events.summary)})


def gate(path: Path, n_events: int, answer) -> None:
    """Whether what is read is what was written."""
    model = ctpwa.load_model(MODEL)
    written, found = sample(model, n_events), ctpwa.read_events(model, path, weight_file=weight_file(path))
    same = all(torch.equal(found[name], written[name]) for name in written) and torch.equal(found.weights, written.weights)
    answer.send(same)


def in_process(work, *arguments):
    """The answer of a function that runs in a fresh process."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=work, args=(*arguments, theirs))
    process.start()
    theirs.close()
    answer = ours.recv()
    process.join()
    return answer


def run(kind: str, folder: Path, n_events: int) -> dict:
    """Write, check and read one format."""
    path = folder / f"{kind}.{FORMATS[kind]}"
    row = {"format": kind, "events": n_events} | in_process(write, kind, path, n_events)
    if not in_process(gate, path, n_events):
        raise SystemExit(f"{kind}: what is read is not what was written")
    row |= in_process(read, path)
    path.unlink()
    return row


def main() -> None:
    """Run all formats and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=list(FORMATS))
    parser.add_argument("--folder", type=Path, help="where to put the files; default: a temporary folder")
    parser.add_argument("--out", type=Path, help="write the table as JSON")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        rows = [run(kind, Path(folder), arguments.events) for kind in arguments.formats]
    print(f"reading and writing, {platform.processor() or platform.machine()}, {torch.get_num_threads()} threads")
    print(f"{'format':<18}{'events':>10}{'file':>10}{'write':>9}{'read':>9}{'events/s':>13}{'sample':>10}{'extra':>10}")
    for row in rows:
        print(
            f"{row['format']:<18}{row['events']:>10}{row['file_bytes'] / 1e6:>7.0f} MB{row['write_seconds']:>7.2f} s"
            f"{row['read_seconds']:>7.2f} s{row['events'] / row['read_seconds']:>13.0f}"
            f"{row['sample_bytes'] / 1e6:>7.0f} MB{row['extra_bytes'] / 1e6:>7.0f} MB"
        )
    if arguments.out:
        arguments.out.write_text(json.dumps({"torch": torch.__version__, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
