"""``make demo`` and ``ctpwa demo``: toy data of J/psi → K⁺K⁻η, fitted back from random couplings, as one fits measured events.

A model file and toy data are written, the samples it names are read, the likelihood is fitted, and what comes out is compared with what
went in, in numbers and in figures.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ctpwa.analysis.analysis import Analysis, load_analysis
from ctpwa.analysis.reopen import OpenedFit
from ctpwa.base.errors import CtpwaError
from ctpwa.base.output import written_whole
from ctpwa.base.words import counted
from ctpwa.cli.console import echo
from ctpwa.config.read import load_model
from ctpwa.data.write import write_events
from ctpwa.engine.likelihood.intensity import ModelIntensity
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.engine.likelihood.values import model_values
from ctpwa.fitting.fractions import FractionCalculator, Fractions, wave_groups
from ctpwa.fitting.result import FitResult
from ctpwa.fitting.text import with_error
from ctpwa.generate.toys import USUAL, ToyGenerator, ToySettings
from ctpwa.observables.histograms import Projected
from ctpwa.observables.projections import project

N_EVENTS, N_PHASE_SPACE, N_STARTS = 15_000, 200_000, 10
SEED = 1
OUTPUT = Path("demo-output")

MODEL = """\
# J/psi -> K+ K- eta with eight resonances, the masses and widths of five of them floating. What stands here is the truth of the toy
# data; a fit starts from random couplings, and from the masses and widths under "start", which are those of the PDG.
#
#   ctpwa fit {folder}/model.yml      # the fit of the demonstration once more
decay: J/psi(1S) -> K+ K- eta
polarisation: transverse

resonances:
  phi(1680):     {in: K+ K-, mass: 1.659, width: 0.164, float: [mass, width]}
  X(1750):       {in: K+ K-, JP: 1-, mass: 1.753, width: 0.120, float: [mass, width], latex: 'X(1750)'}
  phi(3)(1850):  {in: K+ K-, mass: 1.854, width: 0.160, float: [mass, width]}
  rho(2150):     {in: K+ K-, JP: 1-, mass: 2.044, width: 0.163, latex: '\\rho(2150)'}
  K*(1410):      {in: [K+ eta, K- eta], mass: 1.368, width: 0.232, float: [mass, width], latex: 'K^{*}(1410)'}
  K(2)*(1430):   {in: [K+ eta, K- eta], mass: 1.427, width: 0.100, float: [mass, width], latex: 'K_{2}^{*}(1430)'}
  K(3)*(1780):   {in: [K+ eta, K- eta], mass: 1.711, width: 0.333, latex: 'K_{3}^{*}(1780)'}
  K(4)*(2045):   {in: [K+ eta, K- eta], mass: 2.186, width: 0.241, latex: 'K_{4}^{*}(2045)'}

couplings:
  phi(1680)[K+ K-] (1,1)(1,0):      {abs: 0.1077, phase: 3.1}
  X(1750)[K+ K-] (1,1)(1,0):        {abs: 0.05313, phase: -0.28}
  phi(3)(1850)[K+ K-] (3,3)(3,0):   {abs: 24.83, phase: 0.4}
  rho(2150)[K+ K-] (1,1)(1,0):      {abs: 0.06484, phase: -2.5}
  K*(1410)+[K+ eta] (1,1)(1,0):     {abs: 0.06169, phase: 2.1}
  K(2)*(1430)+[K+ eta] (2,2)(2,0):  1
  K(3)*(1780)+[K+ eta] (3,3)(3,0):  {abs: 20.96, phase: -2.9}
  K(4)*(2045)+[K+ eta] (4,4)(4,0):  {abs: 1257, phase: -0.78}

samples:
  data: toy.root
  phase_space: {generate: {phase_space}, seed: 2}

fit:
  reference_wave: K(2)*(1430)+[K+ eta] (2,2)(2,0)
  starts: 10
  start:
    phi(1680).mass: 1.680
    phi(1680).width: 0.150
    X(1750).mass: 1.740
    X(1750).width: 0.140
    phi(3)(1850).mass: 1.860
    phi(3)(1850).width: 0.140
    K*(1410).mass: 1.414
    K*(1410).width: 0.260
    K(2)*(1430).mass: 1.432
    K(2)*(1430).width: 0.109
"""


@contextmanager
def step(what: str) -> Iterator[None]:
    """Print what is done and how long it took."""
    echo(f"{what:<66}", nl=False)
    start = time.perf_counter()
    yield
    echo(f"{time.perf_counter() - start:6.1f} s")


def main(
    n_events: int = N_EVENTS,
    n_phase_space: int = N_PHASE_SPACE,
    n_starts: int = N_STARTS,
    output: Path = OUTPUT,
    *,
    text: str = MODEL,
    engine: str = "auto",
    toys: ToySettings = USUAL,
) -> FitResult:
    """Run the demonstration.

    Args:
        n_events:       toy data
        n_phase_space:  phase-space events for the normalisation
        n_starts:       points with random couplings to fit from
        output:         folder for everything that is written
        text:           the model file
        engine:         which engine computes
        toys:           how toy data are generated
    """
    from ctpwa.analysis.write_report import report_content
    from ctpwa.report.figures.all_figures import write_figures
    from ctpwa.report.html.page import write_page

    begin = time.perf_counter()
    model_file, toy_file, result_file = output / "model.yml", output / "toy.root", output / "result.json"
    report_file = output / "report.html"
    _check_folder(output, model_file)
    output.mkdir(parents=True, exist_ok=True)
    with written_whole(model_file) as file:
        file.write_text(text.replace("{folder}", str(output)).replace("{phase_space}", str(n_phase_space)), encoding="utf-8")
    model = load_model(model_file)
    echo(f"{model}\n")
    with step(f"generate {n_events:,} toy events"):
        toy = ToyGenerator(model, engine=engine, settings=toys).generate(n_events, SEED)
        write_events(toy_file, toy.events, model=model, made_by="ctpwa demo")
    with step(f"read them, generate {n_phase_space:,} phase-space events"):
        analysis = load_analysis(model_file)
        analysis.read()
    with step("spin amplitudes of all events, likelihood"):
        likelihood = analysis.likelihood(engine, device="cpu")
        assert isinstance(likelihood, Likelihood)
    with step(f"fit {len(likelihood.names)} parameters from {counted(n_starts, 'random start')}"):
        result = _fit(analysis, likelihood, n_starts)
    echo(f"\n{comparison(likelihood, result)}\n")
    result.save(result_file)
    opened = OpenedFit(result, analysis, str(result_file))
    with step("projections of data, fit and all contributions"):
        projected = opened.project(engine, device="cpu")
        weakest, others = _without_weakest(opened, engine)
    for p, q in zip(projected[""].projections, others.projections, strict=True):
        echo(f"  {p.variable.name:<22} chi2/ndf = {p.chi2!s:<10} without {weakest}: {q.chi2}")
    with step("figures"):
        files = write_figures(output, model, projected)
    with step("report"):
        write_page(report_content(opened, projected), report_file)
    echo("\n".join(["\nwritten:", *(f"  {file}" for file in (model_file, toy_file, result_file, *files))]))
    echo(f"\n{time.perf_counter() - begin:.0f} s in all. On the command line:\n  ctpwa show {result_file}\n  ctpwa fit {model_file}")
    echo(f"\nOpen the report in a browser: {report_file}")
    return result


def _check_folder(output: Path, model_file: Path) -> None:
    """Refuse to write between other files; those of an earlier demonstration are replaced."""
    if not output.exists() or (output.is_dir() and not any(output.iterdir())):
        return
    first = MODEL.partition("\n")[0]
    if not model_file.is_file() or not model_file.read_text(encoding="utf-8", errors="replace").startswith(first):
        raise CtpwaError(
            f"{str(output)!r} already exists, and is not the folder of an earlier demonstration\n fix: name another folder with --out"
        )


def _fit(analysis: Analysis, likelihood: Likelihood, n_starts: int) -> FitResult:
    """Random couplings from the first start on: the model file knows the true ones."""
    first = likelihood.random_couplings(analysis.start(likelihood), 1, SEED)[0]
    return analysis.fit(likelihood=likelihood, start=first, starts=n_starts, seed=SEED + 1)


def _without_weakest(opened: OpenedFit, engine: str) -> tuple[str, Projected]:
    """The resonance with the smallest fraction, and projections of the fit with all others."""
    fractions: Fractions = opened.result.fractions[0].groups["resonances"]
    name = fractions.names[int(np.argmin(fractions.values))]
    waves = [opened.model.waves[i] for i in wave_groups(opened.model)["resonances"][name]]
    couplings = dict(opened.values.couplings) | dict.fromkeys((wave.coupling for wave in waves), 0.0)
    values = opened.values
    intensity = ModelIntensity(opened.model, couplings=couplings, parameters=values.parameters, engine=engine, device="cpu")
    (samples,) = opened.read()
    return name, project(intensity, samples.data, samples.phase_space, axes=opened.analysis.projections)


def comparison(likelihood: Likelihood, result: FitResult) -> str:
    """Generated and fitted values with their pulls."""
    best = result.minima[0]
    rows = [*_parameters(likelihood, result), *_couplings(likelihood, result), *_fractions(likelihood, result)]
    names, values = max(len(row[0]) for row in rows), max(len(row[2]) for row in rows)
    lines = [
        f"verdict: {result.verdict}",
        f"-ln L = {result.nll:.3f}; {best.starts} of {counted(result.n_starts, 'start')} reached it;"
        f" {counted(len(result.minima), 'minimum was', 'minima were')} found",
        "",
        f"  {'':<{names}}  generated  {'fitted':<{values}}   pull",
    ]
    for name, generated, fitted, pull in rows:
        number = "      " if pull is None else f"{pull:+6.2f}"
        lines.append(f"  {name:<{names}}  {generated:>9}  {fitted:<{values}}  {number}".rstrip() if generated else f"{name}")
    pulls = np.array([pull for _, _, _, pull in rows if pull is not None])
    lines.append(f"{len(pulls)} pulls: mean {pulls.mean():+.2f}, width {pulls.std():.2f}, largest {np.abs(pulls).max():.1f}")
    return "\n".join(lines)


Row = tuple[str, str, str, float | None]


def _row(name: str, generated: float, fitted: float, error: float | None, difference: float | None = None) -> Row:
    if not error:
        return name, f"{generated:.4g}", with_error(fitted, error), None
    off = fitted - generated if difference is None else difference
    digits, _, _ = with_error(generated, error).partition(" ")  # as many as the fitted value has
    return name, digits, with_error(fitted, error), off / error


def _parameters(likelihood: Likelihood, result: FitResult) -> Iterator[Row]:
    yield "masses and widths in GeV", "", "", None
    couplings = set(likelihood.coupling_index.tolist())
    for i, parameter in enumerate(result.parameters):
        if i not in couplings:
            yield _row(parameter.name, float(likelihood.start[i]), parameter.value, parameter.error)


def _couplings(likelihood: Likelihood, result: FitResult) -> Iterator[Row]:
    true = model_values(likelihood, likelihood.start).couplings
    yield "couplings: magnitude and phase in degrees", "", "", None
    for coupling in result.couplings:
        c = true[coupling.name]
        yield _row(coupling.name, abs(c), coupling.magnitude, coupling.magnitude_error)
        off = math.remainder(coupling.phase - np.angle(c), 2 * math.pi)  # phases are the same after a full turn
        phase = np.angle(c) + off
        error = None if coupling.phase_error is None else math.degrees(coupling.phase_error)
        yield _row("", math.degrees(np.angle(c)), math.degrees(phase), error, math.degrees(off))


def _fractions(likelihood: Likelihood, result: FitResult) -> Iterator[Row]:
    fitted: Fractions = result.fractions[0].groups["resonances"]
    groups = wave_groups(likelihood.model)["resonances"]
    true = FractionCalculator(likelihood, likelihood.start).fractions(groups, np.zeros_like(result.covariance))
    yield "fit fractions in %", "", "", None
    for name, generated, value, error in zip(fitted.names, true.values, fitted.values, fitted.errors, strict=True):
        yield _row(name, 100 * float(generated), 100 * float(value), 100 * float(error))


if __name__ == "__main__":
    main()
