"""How ``ctpwa check`` shows a model: tables for a terminal, plain lines for everything else."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from ctpwa.base.memory import format_bytes
from ctpwa.base.words import between, counted
from ctpwa.cli.check_report import CheckReport, SampleReport
from ctpwa.cli.console import echo, out
from ctpwa.engine.likelihood.simulation import NormalisationSize
from ctpwa.model.model import Wave
from ctpwa.model.open_signs import open_signs
from ctpwa.model.parameter import Parameter, asymmetry_owner

A_MILLION = 1_000_000
WORST = 3  # waves whose effective size is shown


def print_plain(report: CheckReport) -> None:
    """Lines that do not change with the terminal."""
    echo(str(report.model))
    echo("\nlineshape parameters")
    for parameter in report.lineshapes:
        echo(_line(parameter))
    _print_asymmetries(report)
    _print_backgrounds(report)
    echo(f"\n{_free(report)}")
    _print_sets(report)
    _print_signs(report)


def print_tables(report: CheckReport) -> None:
    """Tables with colours."""
    console = out()
    model = report.model
    console.print(Text.assemble((str(model.decay), "bold"), f"   {model.production}"))
    console.print(_wave_table(report))
    if report.lineshapes:
        console.print(_parameter_table(report))
    for note in model.notes:
        console.print(Text.assemble(("note: ", "yellow"), note))
    _print_asymmetries(report)
    _print_backgrounds(report)
    console.print(_free(report))
    _print_sets(report)
    _print_signs(report)


def _line(parameter: Parameter) -> str:
    state = _state(parameter) if parameter.fixed else f"floating {_limits(parameter)}".strip()
    return f"  {parameter.name:<32} {parameter.value:<12g} {state}"


def _print_asymmetries(report: CheckReport) -> None:
    """A line for each part of a CP asymmetry."""
    if report.asymmetries:
        echo("\nCP asymmetries: couplings are c(1 + delta), and c(1 - delta) in conjugate data sets")
    for parameter in report.asymmetries:
        echo(_line(parameter))


def _print_backgrounds(report: CheckReport) -> None:
    """A line for each background: its part of the data, and what it looks like."""
    if report.amounts:
        echo("\nbackgrounds")
    for parameter, look in report.amounts:
        state = _state(parameter) if parameter.fixed else f"floating {_limits(parameter)}".strip()
        echo(f"  {parameter.name:<32} {f'{100 * parameter.value:g} %':<12} {state}" + (f", {look}" if look else ""))


def _print_sets(report: CheckReport) -> None:
    """Waves that do not interfere, and which phases are fixed because of that."""
    sets = report.coherent_sets
    if len(sets) == 1:
        return
    echo(f"{len(sets)} sets of waves that do not interfere with each other")
    for number in report.phases.references:
        echo(f"  the phase of {number} is fixed at 0 as reference of its set: no data determine it")
    for name in [name for name in report.phases.fixed if asymmetry_owner(name)]:
        echo(f"  {name} is fixed as reference of its set in conjugate data sets: no data determine it")


def _print_signs(report: CheckReport) -> None:
    """Phases whose common sign is open."""
    for sentence in open_signs(report.model):
        echo(f"  {sentence}")


def print_samples(report: CheckReport, read: SampleReport | None) -> None:
    """A line for each sample, and the memory that they need together; without samples that of a million events."""
    if report.model.columns:
        echo(f"event columns: {', '.join(map(str, report.model.columns))}")
    if read is None:
        per_event = report.plan.bytes_per_event
        echo(f"memory: {per_event} bytes per event, {format_bytes(per_event * A_MILLION)} per million")
        return
    for summary in read.summaries:
        echo(str(summary))
    echo(f"memory: {read.memory}")
    for name, size in read.sizes.items():
        echo(_size(size, name))
    if not report.channels.floating:
        echo("no lineshape parameter floats: the phase-space sample becomes one matrix while it is read")


def _size(size: NormalisationSize, data_set: str) -> str:
    """Effective sizes in one line: of the whole intensity, and of the waves that have the fewest."""
    of = f" of {data_set}" if data_set else ""
    least = sorted(size.waves.items(), key=lambda pair: pair[1])[:WORST]
    waves = ", ".join(f"{number:.3g} for {name}" for name, number in least)
    return f"normalisation{of}: at the start values {size.total:.3g} of {size.n_events} phase-space events count; {waves}"


def _wave_table(report: CheckReport) -> Table:
    model = report.model
    title = f"{counted(len(model.waves), 'wave')}, {counted(len(model.couplings), 'complex coupling')}"
    table = Table(box=SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
    given = bool(model.coupling_values)
    for name in ["wave", "(L,S)", "coupling"] + (["start"] if given else []):
        table.add_column(name, overflow="fold")
    numbers = {name: number for number, name in enumerate(model.couplings, 1)}
    for wave in model.waves:
        cells = [_states(wave), _ls(wave), _coupling(wave, numbers)]
        start = [_complex(report.couplings.get(wave.coupling, 1.0) * wave.factor)] if given else []
        table.add_row(*map(Text, cells + start), style="dim" if wave.coupling != wave.name else "")
    return table


def _states(wave: Wave) -> str:
    return wave.name.removesuffix(wave.chain.ls_text(wave.ls)).strip() or wave.name


def _ls(wave: Wave) -> str:
    return wave.chain.ls_text(wave.ls).replace(")(", ") (")


def _coupling(wave: Wave, numbers: dict[str, int]) -> str:
    return f"{' ' if wave.factor > 0 else '−'}c{numbers[wave.coupling]}"


def _complex(value: complex) -> str:
    return f"{value.real:.4g} {'−' if value.imag < 0 else '+'} {abs(value.imag):.4g}i"


def _parameter_table(report: CheckReport) -> Table:
    table = Table(box=SIMPLE_HEAD, title="lineshape parameters", title_justify="left", title_style="bold", pad_edge=False)
    for name, justify in (("parameter", "left"), ("value", "right"), ("limits", "left"), ("", "left")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for parameter in report.lineshapes:
        state = Text(_state(parameter), style="dim") if parameter.fixed else Text("floating", style="green")
        table.add_row(Text(parameter.name), f"{parameter.value:g}", Text("" if parameter.fixed else _limits(parameter)), state)
    return table


def _state(parameter: Parameter) -> str:
    return f"= {parameter.formula}" if parameter.formula else "fixed"


def _limits(parameter: Parameter) -> str:
    return between(CheckReport.limit(parameter.lower), CheckReport.limit(parameter.upper))


def _free(report: CheckReport) -> str:
    parts = [f"{report.n_of_couplings} of couplings", f"{report.n_floating} of lineshapes"]
    parts += [f"{report.n_of_elements} of the density matrix"] if report.elements else []
    parts += [f"{report.n_of_asymmetries} of asymmetries"] if report.asymmetries else []
    parts += [f"{report.n_of_backgrounds} of backgrounds"] if report.amounts else []
    return f"{counted(report.n_free, 'free parameter')}: {', '.join(parts)}"
