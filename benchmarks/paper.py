"""Every table and figure of the paper in one command, with the paper's numbers beside ours.

    python benchmarks/paper.py [--device cpu|cuda] [--quick] [--parts a,b,c] [--out FOLDER]
    python benchmarks/paper.py --docs RESULTS.json [RESULTS.json …]

(a) Time per iteration versus N_data for a four-body decay, with all amplitudes computed again in every iteration and as it is done here.
(b) NLL with gradient and Hessian versus N_data for 10 channels and 3 polarisations: automatic differentiation on CPU and GPU, a matrix B
    per event, and here.
(c) The demonstration J/psi -> K+ K- eta with 10⁶ data and 5·10⁶ phase-space events, a tenth of it on a CPU: initialisation, NLL with
    gradient, Hessian, batches, memory, whole fits, many starts, projections, fitted against generated values. 33 waves, with a coupling
    each (as many as the paper has) or with charge conjugates tied (23), fixed or with ten floating masses and widths.

Results are compared with the reference engine and with automatic differentiation before they are timed. Times are medians by wall clock
after a warm-up, until results are on the host. FOLDER gets results.json after each part, tables.md, and figures as PDF and PNG. --docs
writes the tables and figures of one or several runs into docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from PIL import Image

import ctpwa
import paper_tables as tables
from common import ROOT, bandwidth, fp64_throughput, hardware
from ctpwa.base.output import write_texts, written_whole
from ctpwa.report.figures.style import save_figure
from likelihood import recompute, synthetic
from paper_demo import compare_with_truth, draw_demo, make_samples, measure_problem, measure_starts
from paper_figures import draw_iterations, draw_pulls_of_fit, draw_synthetic

PARTS = {"a": "iterations", "b": "synthetic", "c": "demo"}
PAGE = ROOT / "docs" / "performance.md"
SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
BEGIN, END = "<!-- made by benchmarks/paper.py: {name} -->", "<!-- end of {name} -->"
BUDGET_S = 1.0  # for every time that is measured
FIGURE_OF = {"a": ("iterations", draw_iterations), "b": ("synthetic", draw_synthetic), "c": ("pulls", draw_pulls_of_fit)}
FIGURES = ("iterations", "synthetic", "projections", "pulls")


class Run:
    """One run of the benchmark.

    Args:
        device:  cpu or cuda
        engine:  our engine
        out:     folder for all that is written
        quick:   a tenth of the events
        events:  so many events of data instead
    """

    def __init__(self, device: str, engine: str, out: Path, *, quick: bool = False, events: int | None = None) -> None:
        self.device, self.engine, self.out, self.quick, self.cuda = device, engine, out, quick, device == "cuda"
        self.begin = time.perf_counter()
        n = events or tables.FULL[0] // (1 if self.cuda else 10) // (10 if quick else 1)
        self.n_data, self.n_phsp = n, 5 * n
        self.sizes = [size for size in SIZES if size <= n] or [n]
        self.results: dict[str, Any] = {"about": self._about()}

    def _about(self) -> dict[str, Any]:
        about = {"device": self.device, "engine": self.engine, "hardware": hardware(self.device), "quick": self.quick}
        about |= {"torch": torch.__version__, "ctpwa": ctpwa.__version__, "date": time.strftime("%Y-%m-%d")}
        about |= {"n_data": self.n_data, "n_phsp": self.n_phsp}
        return about | {"bandwidth": bandwidth(self.device, BUDGET_S), "fp64": fp64_throughput(self.device, BUDGET_S), "seconds": {}}

    def say(self, text: str) -> None:
        """Print a line with the time since the start."""
        print(f"{time.perf_counter() - self.begin:6.1f} s  {text}", flush=True)

    def run(self, parts: Sequence[str]) -> None:
        """Measure, and write everything after each part."""
        self.say(tables.hardware_line(self.results))
        for part in parts:
            begin = time.perf_counter()
            {"a": self.iterations, "b": self.synthetic, "c": self.demo}[part]()
            self.results["about"]["seconds"][part] = time.perf_counter() - begin
            self.save()
            name, draw = FIGURE_OF[part]
            save_figure(draw(self.results), self.out / name)
        print(f"\n{tables.summary(self.results)}\nwritten to {self.out}: results.json, tables.md, figures as PDF and PNG")

    def save(self) -> None:
        """Write results and tables."""
        texts = {"results.json": json.dumps(self.results, indent=1) + "\n", "tables.md": tables.summary(self.results)}
        write_texts(self.out, texts)

    def iterations(self) -> None:
        """Part (a)."""
        rows = self.results["iterations"] = []
        for n in self.sizes:
            rows.append(recompute(n, self.device, self.engine, most=100_000 if self.cuda else 10_000, budget_s=BUDGET_S))
            self.say(
                f"(a) N_data = {n}: {rows[-1]['gradient_ms']:.3g} ms, computed again {rows[-1].get('recompute_ms', float('nan')):.4g} ms"
            )

    def synthetic(self) -> None:
        """Part (b)."""
        most = {"autograd_hessian": 1_000_000 if self.cuda else 10_000}
        if self.cuda:
            most |= {"cpu_autograd_gradient": 1_000_000, "cpu_autograd_hessian": 10_000}
        rows = self.results["synthetic"] = []
        for n in self.sizes:
            rows.append(synthetic(n, self.device, self.engine, most=most, budget_s=BUDGET_S))
            self.say(f"(b) N_data = {n}: gradient {rows[-1]['gradient_ms']:.3g} ms, Hessian {rows[-1]['hessian_ms']:.3g} ms")

    def demo(self) -> None:
        """Part (c)."""
        compiled = "auto" if self.engine == self.device else self.engine
        seconds, data, phsp = make_samples(self.n_data, self.n_phsp, self.device, compiled)
        self.say(f"(c) toy data {seconds['toy_s']:.1f} s, phase space {seconds['phase_space_s']:.1f} s")
        problems: list[dict[str, Any]] = []
        demo = self.results["demo"] = {"samples": seconds, "problems": problems}
        for tied, floating in ((False, False), (False, True), (True, False), (True, True)):
            name = f"(c) {'tied' if tied else 'untied'}, {'floating' if floating else 'fixed'}:"
            limits = self._limits(tied)
            row, likelihood, result = measure_problem(
                data,
                phsp,
                tied=tied,
                floating=floating,
                device=self.device,
                engine=self.engine,
                limits=limits,
                say=lambda text, name=name: self.say(f"{name} {text}"),
            )
            if tied and not floating:
                row["starts"] = measure_starts(likelihood, limits["starts"], self.device)
                self.say(f"{name} {limits['starts']} random starts {row['starts']['seconds']:.3g} s")
            problems.append(row)
            self.save()
        demo["projections"] = draw_demo(likelihood, result, data, phsp, self.device, compiled, self.out)
        self.say("(c) projections drawn")
        demo["truth"] = compare_with_truth(likelihood, result, self.n_phsp, min(self.n_phsp, 100_000), compiled)

    def _limits(self, tied: bool) -> dict[str, Any]:
        """How much is measured: on a CPU autograd is compared with less, which the tables say."""
        if self.cuda:
            return {"budget_s": BUDGET_S, "hessian_events": self.n_data // 4, "lbfgs": True, "starts": 64}
        hessian_events = 0 if tied else max(self.n_data // 100, min(self.n_data, 200))
        return {"budget_s": BUDGET_S, "hessian_events": hessian_events, "lbfgs": tied and not self.quick, "starts": 4 if self.quick else 8}


def write_page(files: Sequence[Path], page: Path) -> None:
    """Put tables and figures of some runs into the page, between its markers; the figures are those of the first run.

    Args:
        files:  results.json of the runs
        page:   the Markdown file; figures go to ``images`` beside it
    """
    runs = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    for file, run in zip(files, runs, strict=True):
        missing = [part for part, key in PARTS.items() if key not in run or (key == "demo" and "truth" not in run[key])]
        if missing:
            raise SystemExit(f"{file}: part {', '.join(missing)} is missing\n fix: python benchmarks/paper.py --out {file.parent}")
    blocks = {
        "demonstration": [[tables.demo_table, tables.demo_notes], runs],
        "iterations": [[tables.iteration_table], runs],
        "synthetic": [[tables.synthetic_table], runs],
        "roofline": [[tables.roofline_table], runs],
        "scaling": [[tables.scaling_table], runs[:1]],
        "pulls": [[tables.truth_notes, tables.pull_tables], runs[:1]],
    }
    text = page.read_text(encoding="utf-8")
    for name, (makers, chosen) in blocks.items():
        parts = [part for run in chosen for part in (tables.hardware_line(run), *(make(run) for make in makers))]
        text = replaced(text, name, "\n\n".join(parts), page)
    for name in FIGURES:
        target = page.parent / "images" / f"performance-{name}.png"
        with written_whole(target) as temporary, Image.open(files[0].parent / f"{name}.png") as image:
            image.convert("RGB").quantize(128).save(temporary, format="PNG", optimize=True)  # few colours: a third of the size
    with written_whole(page) as temporary:
        temporary.write_text(text, encoding="utf-8")


def replaced(text: str, name: str, content: str, page: Path) -> str:
    """A text with other content between two markers."""
    begin, end = BEGIN.format(name=name), END.format(name=name)
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if len(pattern.findall(text)) != 1:
        raise SystemExit(f"{page}: no place for the part {name!r}\n fix: write {begin} and {end} where it belongs, once")
    return pattern.sub(lambda _: f"{begin}\n\n{content}\n\n{end}", text)


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=["cpu", "cuda"])
    parser.add_argument("--quick", action="store_true", help="a tenth of the events")
    parser.add_argument("--parts", default="a,b,c", help="which parts to run; default: a,b,c")
    parser.add_argument("--out", type=Path, default=Path("paper-output"), help="folder for all that is written; default: paper-output")
    parser.add_argument("--docs", type=Path, nargs="+", metavar="RESULTS", help="write docs/performance.md from results.json of some runs")
    parser.add_argument("--page", type=Path, default=PAGE, help=argparse.SUPPRESS)
    parser.add_argument("--events", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.docs:
        write_page(options.docs, options.page)
        return
    parts = options.parts.split(",")
    if not set(parts) <= set(PARTS):
        parser.error(f"--parts {options.parts}: there are a, b and c")
    run = Run(options.device, options.engine or options.device, options.out, quick=options.quick, events=options.events)
    run.run(parts)


if __name__ == "__main__":
    main()
