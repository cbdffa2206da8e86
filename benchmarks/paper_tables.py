"""Tables of ``paper.py``: our numbers beside those of the paper and of automatic differentiation in the same run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

from common import markdown
from ctpwa.base.ranks import HEADER
from ctpwa.engine.likelihood.rank_sums import packed_size

AIM = 30.0  # every ratio to the paper should be at least that
FULL = (1_000_000, 5_000_000)  # data and phase-space events of the paper's demonstration
# what the paper gives for 10⁶ + 5·10⁶ events, 33 couplings and, floating, ten masses and widths, on its GPU: seconds and bytes
PAPER: Mapping[str, Mapping[bool, float]] = {
    "initialisation": {False: 94.0, True: 94.0},
    "NLL + gradient": {False: 15e-3, True: 100e-3},
    "Hessian": {False: 0.35, True: 1.6},
    "whole fit": {False: 7.0, True: 100.0},
    "memory": {False: 20e9, True: 32e9},
}
# the public code of the paper in double precision on an H200, measured once, not in the same run: seconds
PUBLIC_CODE: Mapping[str, Mapping[bool, float]] = {
    "initialisation": {False: 97.0, True: 97.0},
    "NLL + gradient": {False: 3.0e-3, True: 332e-3},
    "Hessian": {False: 339e-3, True: 18.6},
}
Row = dict[str, Any]


@dataclass(frozen=True)
class Entry:
    """A row of the one table.

    Attributes:
        what:      the quantity, a key of ``PAPER`` if the paper has it
        detail:    words behind it
        problem:   which likelihood it is
        floating:  whether masses and widths float
        ours:      seconds or bytes
        autograd:  the same of automatic differentiation; None if it has no such thing
        computed:  whether that is a product of measured numbers
    """

    what: str
    detail: str
    problem: str
    floating: bool
    ours: float
    autograd: float | None = None
    computed: bool = False

    @property
    def paper(self) -> float | None:
        """What the paper gives."""
        return PAPER.get(self.what, {}).get(self.floating)

    @property
    def ratio(self) -> float | None:
        """Paper over ours."""
        return None if self.paper is None else self.paper / self.ours

    @property
    def missed(self) -> bool:
        """Whether the ratio to the paper is below the aim."""
        return self.ratio is not None and self.ratio < AIM

    def shown(self, value: float | None) -> str:
        """A number with its unit."""
        if value is None:
            return "–"
        return size(value) if self.what == "memory" else duration(value)


def duration(seconds: float) -> str:
    """Seconds in a readable unit, three digits."""
    if seconds >= 0.9995:
        return f"{seconds:.3g} s" if seconds < 999.5 else f"{seconds:.0f} s"
    return f"{1e3 * seconds:.3g} ms" if seconds >= 0.9995e-3 else f"{1e6 * seconds:.3g} µs"


def size(n: float) -> str:
    """Bytes in a readable unit, three digits."""
    return f"{n / 1e9:.3g} GB" if n >= 0.9995e9 else f"{n / 1e6:.3g} MB"


def count(n: float) -> str:
    """A number of events: powers of ten as such."""
    text = f"{n:.0f}"
    digits, zeros = text.rstrip("0"), len(text) - len(text.rstrip("0"))
    if zeros < 3:
        return text
    power = "10" + str(zeros).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return power if digits == "1" else f"{digits}·{power}"


def factor(value: float | None) -> str:
    """A ratio, two digits below 10."""
    return "–" if value is None else f"{value:.0f}" if value >= 9.95 else f"{value:.2g}"


def entries(results: Row) -> Iterator[Entry]:
    """All rows of the one table."""
    device = "GPU" if results["about"]["device"] == "cuda" else "CPU"
    for row in results["demo"]["problems"]:
        floating = row["floating"]
        problem = f"{row['couplings']} couplings, {'ten floating' if floating else 'fixed'}"

        def entry(what: str, ours: float, autograd: float | None = None, detail: str = "", computed: bool = False) -> Entry:
            return Entry(what, detail, problem, floating, ours, autograd, computed)  # noqa: B023 - used at once

        gradient = row["autograd_gradient_ms"] / 1e3
        yield entry("initialisation", row["initialisation_s"], row["autograd_initialisation_s"])
        yield entry("NLL + gradient", row["gradient_ms"] / 1e3, gradient)
        hessian = row.get("autograd_hessian_ms")
        part = hessian is not None and row["autograd_hessian_events"] < row["N_data"]
        yield entry("Hessian", row["hessian_ms"] / 1e3, None if hessian is None else hessian / 1e3, computed=part)
        if "batch_of_64_ms" in row:
            yield entry("batch", row["batch_of_64_ms"] / 1e3, 64 * gradient, "NLL + gradient of 64 points in one batch", True)
        if row["peak_bytes"] is None:
            yield entry("memory", row["held_bytes"], None, f"{device} memory of the samples in a fit")
        else:
            yield entry("memory", row["peak_bytes"], row["autograd_peak_bytes"], "peak of GPU memory in a fit")
            yield entry(
                "memory", max(row["peak_bytes"], row["peak_initialisation_bytes"]), None, "peak of GPU memory, initialisation included"
            )
        lbfgs = row.get("lbfgs")
        words = f"whole fit: Newton, {row['fit']['hessians']} Hessians, errors, fractions"
        yield entry("whole fit", row["fit"]["seconds"], None if lbfgs is None else lbfgs["gradients"] * gradient, words, True)
        if "starts" in row:
            starts = row["starts"]
            yield entry("starts", starts["seconds"], None, f"fits from {starts['starts']} random starts together")


def demo_table(results: Row) -> str:
    """The one table: every row against the paper and against automatic differentiation."""
    about, rows = results["about"], list(entries(results))
    autograd = "autograd on the same GPU" if about["device"] == "cuda" else "autograd on the same CPU"
    full = (about["n_data"], about["n_phsp"]) == FULL
    if full:
        heads = ["", "problem", "here", "paper", "paper / here", f"aim {AIM:.0f}", "paper's code on an H200", autograd, "autograd / here"]
    else:
        heads = ["", "problem", "here", f"paper, {count(FULL[0])} + {count(FULL[1])} events on its GPU", autograd, "autograd / here"]
    lines = []
    for entry in rows:
        against = ("~" if entry.computed and entry.autograd is not None else "") + entry.shown(entry.autograd)
        line = [entry.detail or entry.what, entry.problem, f"**{entry.shown(entry.ours)}**", entry.shown(entry.paper)]
        if full:
            met = "–" if entry.ratio is None else "**missed**" if entry.missed else "met"
            line += [factor(entry.ratio), met, entry.shown(PUBLIC_CODE.get(entry.what, {}).get(entry.floating))]
        lines.append([*line, against, factor(None if entry.autograd is None else entry.autograd / entry.ours)])
    return "\n\n".join([markdown(heads, lines), _verdict(rows, about, full)])


def _verdict(rows: Sequence[Entry], about: Row, full: bool) -> str:
    if not full:
        events = f"{count(about['n_data'])} + {count(about['n_phsp'])}"
        return f"With {events} events instead of the paper's, and other hardware, a ratio to the paper has no meaning and is not given."
    missed = [f"{entry.detail or entry.what} ({entry.problem}): {factor(entry.ratio)}" for entry in rows if entry.missed]
    compared = sum(entry.ratio is not None for entry in rows)
    if not missed:
        return f"All {compared} ratios to the paper are at least {AIM:.0f}."
    return f"**{len(missed)} of {compared} ratios to the paper are below {AIM:.0f}:** {'; '.join(missed)}."


def demo_notes(results: Row) -> str:
    """What the one table is about, in words."""
    rows = results["demo"]["problems"]
    worst = {key: max(row[key] for row in rows) for key in ("gradient_difference", "hessian_difference", "autograd_difference")}
    parts = {row["autograd_hessian_events"] for row in rows if "autograd_hessian_events" in row}
    lines = [
        f"Largest relative differences of gradient and Hessian from the reference engine: {worst['gradient_difference']:.0e} and"
        f" {worst['hessian_difference']:.0e}; of the gradient by autograd from ours: {worst['autograd_difference']:.0e}."
    ]
    if parts:
        lines.append(f"`~` Hessians by autograd are timed with {count(min(parts))} events of data and scaled to all.")
    if any("lbfgs" in row for row in rows):
        many = ", ".join(f"{row['lbfgs']['gradients']} ({_short(row)})" for row in rows if "lbfgs" in row)
        lines.append(f"`~` Whole fits by autograd are the gradients that our L-BFGS takes from the same start, {many}, times that of one.")
    shares = [f"{row['batch_share']:.2g}" for row in rows if "batch_share" in row]
    lines.append(f"A batch of 64 takes {' and '.join(shares)} of the time of 64 calls.")
    lines += [_starts(row["starts"]) for row in rows if "starts" in row]
    compile_s = max(row["first_use_s"] for row in rows)
    lines.append(f"Kernels of a new model are compiled once and kept on disk: up to {duration(compile_s)} here, not counted above.")
    toys = results["demo"]["samples"]
    lines.append(f"Toy data took {duration(toys['toy_s'])}, phase space {duration(toys['phase_space_s'])}.")
    return "\n".join(f"* {line}" for line in lines)


def _short(row: Row) -> str:
    return f"{row['couplings']} {'floating' if row['floating'] else 'fixed'}"


def _starts(row: Row) -> str:
    return (
        f"{row['starts']} random starts take {row['times_one_fit']:.2g} times as long as one of them; {row['minima']} minima,"
        f" {row['in_best']} of the starts in the best."
    )


def iteration_table(results: Row) -> str:
    """Part (a)."""
    heads = ["N_data = N_phsp", "everything computed again", "here", "ratio"]
    lines = []
    for row in results["iterations"]:
        again, ours = row.get("recompute_ms"), row["gradient_ms"]
        lines.append([count(row["N_data"]), _ms(again), f"**{_ms(ours)}**", factor(None if again is None else again / ours)])
    return markdown(heads, lines)


def synthetic_table(results: Row) -> str:
    """Part (b)."""
    names = _methods(results)
    heads = ["N_data", *(f"gradient, {name}" for name in names.values()), *(f"Hessian, {name}" for name in names.values())]
    lines = []
    for row in results["synthetic"]:
        cells = [_ms(row.get(f"{key}{kind}_ms")) for kind in ("gradient", "hessian") for key in names]
        lines.append([count(row["N_data"]), *(f"**{cell}**" if k % len(names) == 0 else cell for k, cell in enumerate(cells))])
    return markdown(heads, lines)


def _methods(results: Row) -> dict[str, str]:
    """Beginning of a key of part (b) → what it is called."""
    if results["about"]["device"] == "cuda":
        return {"": "here", "b_matrix_": "B matrix", "autograd_": "GPU autograd", "cpu_autograd_": "CPU autograd"}
    return {"": "here", "b_matrix_": "B matrix", "autograd_": "CPU autograd"}


def _ms(value: float | None) -> str:
    return "–" if value is None else duration(value / 1e3)


def roofline_table(results: Row) -> str:
    """Bytes and operations of an evaluation, and how near the limits of the hardware it comes."""
    about = results["about"]
    heads = ["", "problem", "bytes", "operations", "time", "bytes/s", "of measured bandwidth", "operations/s", "of measured matrix product"]
    lines = []
    for row in results["demo"]["problems"]:
        for kind, name in (("gradient", "NLL + gradient"), ("hessian", "Hessian")):
            cost, seconds = row["costs"][kind], row[f"{kind}_ms"] / 1e3
            per_s, flops = cost["bytes"] / seconds, cost["flops"] / seconds
            problem = f"{row['couplings']} couplings, {'ten floating' if row['floating'] else 'fixed'}"
            line = [name, problem, size(cost["bytes"]), f"{cost['flops'] / 1e9:.3g}·10⁹", duration(seconds), f"{per_s / 1e9:.3g} GB/s"]
            line += [f"{100 * per_s / about['bandwidth']:.0f} %", f"{flops / 1e9:.3g} Gflop/s", f"{100 * flops / about['fp64']:.1f} %"]
            lines.append(line)
    return markdown(heads, lines)


def scaling_table(results: Row) -> str:
    """On paper: efficiencies of several GPUs from the measured times of one and the bytes of a sum over all of them."""
    heads = [
        "",
        "problem",
        "bytes per sum",
        "one GPU",
        "8 GPUs share the events",
        "64 machines with 8 each",
        "as many events for each of 512",
    ]
    lines = []
    for row in results["demo"]["problems"]:
        n, expansions = row["free"] + 2, 3 if row["floating"] else 2  # with the coupling that is fixed
        for order, kind, name in ((1, "gradient", "NLL + gradient"), (2, "hessian", "Hessian")):
            sent, alone = 8 * (HEADER + expansions * packed_size(n, order)), row[f"{kind}_ms"] / 1e3
            few, many = sum_seconds(sent, 8, 1), sum_seconds(sent, 8, 64)
            shares = [alone / (alone + 8 * few), alone / (alone + 512 * many), alone / (alone + many)]
            line = [name, f"{row['couplings']} couplings, {'ten floating' if row['floating'] else 'fixed'}", f"{sent:,}".replace(",", " ")]
            lines.append([*line, duration(alone), *(f"{100 * share:.3g} %" for share in shares)])
    return markdown(heads, lines)


def sum_seconds(sent: float, gpus: int, machines: int) -> float:
    """Assumed time of a sum over all GPUs: see docs/performance.md."""
    return 30e-6 + 2 * 3e-6 * log2(gpus) + 2 * 5e-6 * log2(machines) + 2 * sent / 20e9


def pull_tables(results: Row) -> str:
    """Fitted against generated values: masses, widths and fractions; couplings are in the file."""
    found = results["demo"]["truth"]
    lines = []
    for entry in found["entries"]:
        if entry["kind"] != "couplings":
            scale, unit = (100, " %") if entry["kind"] == "fractions" else (1e3, " MeV")
            name = f"fraction of {entry['name']}" if entry["kind"] == "fractions" else entry["name"]
            true, value, error = (scale * entry[key] for key in ("generated", "fitted", "error"))
            digits = max(0, 1 - _exponent(error))
            lines.append([name, f"{true:.{digits}f}{unit}", f"{value:.{digits}f} ± {error:.{digits}f}{unit}", f"{entry['pull']:+.2f}"])
    return markdown(["", "generated", "fitted", "pull"], lines)


def _exponent(x: float) -> int:
    return int(f"{x:e}".partition("e")[2]) if x > 0 else 0


def truth_notes(results: Row) -> str:
    """How well the fit finds what was put in, in words."""
    found = results["demo"]["truth"]
    pulls = [entry["pull"] for entry in found["entries"]]
    mean = sum(pulls) / len(pulls)
    width = (sum((p - mean) ** 2 for p in pulls) / (len(pulls) - 1)) ** 0.5
    low, high = found["error_growth"]
    chi2 = "; ".join(f"{p['variable']} χ²/ndf = {p['chi2']:.1f}/{p['ndf']}" for p in results["demo"]["projections"])
    largest = max(map(abs, pulls))
    return (
        f"χ² = {found['chi2']:.1f} for {found['free']} free parameters, p = {found['p']:.2g}; from the likelihood ratio"
        f" p = {found['ratio_p']:.2g}. {len(pulls)} pulls have mean {mean:+.2f} and width {width:.2f}, the largest is {largest:.1f}."
        f" Errors contain what the finite phase-space sample adds, a factor of {low:.2f} to {high:.2f}. Projections: {chi2}."
    )


def hardware_line(results: Row) -> str:
    """What was measured where."""
    about = results["about"]
    events = f"{count(about['n_data'])} data and {count(about['n_phsp'])} phase-space events"
    limits = f"{about['bandwidth'] / 1e9:.3g} GB/s read, {about['fp64'] / 1e9:.3g} Gflop/s in a matrix product"
    versions = f"double precision, torch {about['torch']}, ctpwa {about['ctpwa']}, {about['date']}"
    return f"**{about['hardware']}**, {events}, {versions}; measured there: {limits}."


def summary(results: Row) -> str:
    """All tables that the results so far allow, as one Markdown text."""
    parts = ["# Tables and figures of the paper", hardware_line(results)]
    if "iterations" in results:
        parts += ["## Time per iteration, J/psi -> 2(pi+ pi-)", iteration_table(results)]
    if "synthetic" in results:
        parts += ["## 10 channels, 3 polarisations, N_phsp = 10 N_data", synthetic_table(results)]
    if "demo" in results:
        parts += ["## J/psi -> K+ K- eta", demo_table(results), demo_notes(results), "## Roofline", roofline_table(results)]
    if "truth" in results.get("demo", {}):
        parts += ["## Fitted and generated values", truth_notes(results), pull_tables(results)]
    return "\n\n".join(parts) + "\n"
