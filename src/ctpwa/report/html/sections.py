"""The parts of the page made of words and tables."""

from __future__ import annotations

import json
import math as numbers
import re
from collections.abc import Mapping, Sequence

import numpy as np

from ctpwa.base.markup import NOTHING, Content, Html, element
from ctpwa.base.words import counted
from ctpwa.data.summary import grouped
from ctpwa.decay.spin import format_parity, format_spin
from ctpwa.fitting.asymmetries import CPAsymmetries
from ctpwa.fitting.by_hand import ByHand
from ctpwa.fitting.fractions import Fractions
from ctpwa.fitting.plain import to_plain
from ctpwa.fitting.result import FoundMinimum
from ctpwa.fitting.text import COUNTS_TWICE, with_error
from ctpwa.model.model import Model, Wave
from ctpwa.report.content import LineshapeView, ReportContent
from ctpwa.report.html.labels import Labels
from ctpwa.report.html.marks import Cell, chart, filtered, folded, named, note, number, section, table, tabs, text, titled
from ctpwa.report.html.mathml import labelled, math
from ctpwa.report.html.trees import topologies, tree

SHOWN_CORRELATIONS = 12
LARGE_PULL = 3.0
PARAMETER_COLUMNS = ("parameter", "value", "error", "of which simulation", "MINOS", "input", "pull", "limits")
COUPLING_COLUMNS = ("coupling", "magnitude", "error", "input", "pull", "phase / °", "error / °", "input", "pull")
INTERFERENCE_CAPTION = "In %: fractions on the diagonal, interferences below it; blue is destructive, red constructive."
KIND_NAMES: dict[str, Content] = {"chains": "chains", "resonances": "resonances", "waves": "waves", "jp": math("J^{P}")}
CRITERIA = ("AIC", "BIC")  # of what was fitted to these events
OF_A_FIT = (*CRITERIA, "EDM", "fit time")
SIDE_BY_SIDE = 10  # rows of a matrix that has room beside its table


def head(content: ReportContent) -> Html:
    """Title, verdict and the most important numbers."""
    result, decay = content.result, content.model.decay
    title = rf"{decay.parent.latex} \to {' '.join(particle.latex for particle in decay.outer.final)}"
    verdict = result.verdict
    labels = Labels(content.model, result)
    reasons = [element("li", labels.text(reason)) for reason in verdict.reasons]
    judged = "good" if verdict.good else "bad"
    words = "This is a minimum, and all parameters are determined." if verdict.good else "Do not trust this fit as it stands."
    best = result.minima[0] if result.minima else None
    facts = {
        "−ln L": _signed(f"{result.nll:.3f}"),
        "measured events": grouped(result.n_events),
        "free parameters": str(len(result.parameters)),
        "waves": str(len(content.model.waves)),
        "AIC": _signed(f"{result.aic:.2f}"),
        "BIC": _signed(f"{result.bic:.2f}"),
        "EDM": f"{verdict.edm:.1e}",
        "fit time": f"{result.record.seconds:.2f} s",
    }
    by_hand = ByHand.of(result)
    moved = by_hand is not None and by_hand.values
    if by_hand is not None:
        facts = {what: value for what, value in facts.items() if what not in (OF_A_FIT if moved else CRITERIA)}
    if best is not None and result.n_starts > 1:
        facts["starts ending here"] = f"{best.starts} of {result.n_starts}"
    if (bias := result.precision) is not None:
        facts["−ln L in double precision"] = f"{bias.nll:+.1e}"
        facts["largest shift in double precision"] = f"{bias.largest:.1e} σ"
    cards = [
        element("div", element("div", what, class_="what"), element("div", value, class_="number"), class_="fact")
        for what, value in facts.items()
    ]
    return element(
        "header",
        element("h1", math(title)),
        element("p", f"Partial wave analysis, {result.method} fit of {result.created[:16].replace('T', ' ')}", class_="subtitle"),
        None if by_hand is None else _changed(by_hand, result.nll),
        None if moved else _box(judged, judged, words, reasons),
        element("div", cards, class_="facts"),
        id="top",
    )


def _changed(by_hand: ByHand, nll: float) -> Html:
    """What was changed by hand after the fit."""
    first, *others = by_hand.lines(nll)
    return _box("bad", "not a fit" if by_hand.values else "other data", first, [element("li", f"{_minus(line)}.") for line in others])


def _box(kind: str, title: str, words: str, reasons: Sequence[Html]) -> Html:
    return element("div", element("strong", title), element("div", words, element("ul", reasons)), class_=f"verdict {kind}")


def _minus(line: str) -> str:
    """A line of text with minus signs in front of names and numbers."""
    return re.sub(r"(?<!\w)-(?=\w)", "−", line)


def model_section(content: ReportContent) -> Html:
    """Decay chains, waves and formulas."""
    model = content.model
    drawings = [tree(model, topology) for topology in topologies(model)]
    labels = Labels(model, content.result)
    rows = [_wave_row(wave, labels) for wave in model.waves]
    columns = ("wave", "its name", "J^P", "(L, S) at each vertex", "coupling")
    waves = table("waves", columns, rows, names=[w.name for w in model.waves])
    amplitude = math(r"I = \sum_{\text{rows}} \left| \sum_{w} c_w F_w(s) K_w \right|^2")
    words = "Every wave is a coupling c times propagators F times a covariant spin amplitude K: "
    return section(
        "model",
        "Model",
        note(words, amplitude, f". Parent: {model.production}."),
        element("div", drawings, class_="panels"),
        (note(remark) for remark in model.notes),
        folded(f"all {counted(len(model.waves), 'wave')}", filtered("waves", "waves"), waves),
        folded("lineshape formulas", map(_lineshape, content.lineshapes)) if content.lineshapes else None,
    )


def _lineshape(shape: LineshapeView) -> tuple[Html, ...]:
    users = [(", " if k else "", math(latex)) for k, latex in enumerate(shape.resonances)]
    return (
        element("h3", shape.name),
        element("p", users),
        element("div", math(shape.latex), class_="scroll bare") if shape.latex else NOTHING,
        note(shape.reference) if shape.reference else NOTHING,
    )


def _wave_row(wave: Wave, labels: Labels) -> tuple[Cell, ...]:
    inner = [node.particle for node in wave.chain.shown]
    spins = " ".join(f"{format_spin(p.two_J)}{format_parity(p.P)}" for p in inner)
    tied = wave.coupling if wave.coupling != wave.name else ""
    own = Cell(("−" if wave.factor < 0 else "", labels.group(tied)) if tied else "its own", tied, "text")
    vertices = wave.chain.ls_text(wave.ls).replace(")(", ") (").replace(",", ", ")
    return named(labels.group(wave.name), wave.name), Cell(element("code", wave.name), wave.name, "text"), text(spins), text(vertices), own


def parameter_section(content: ReportContent) -> Html:
    """Free parameters, and couplings as magnitude and phase."""
    result = content.result
    labels, inputs = Labels(content.model, result), _lineshape_inputs(content.model)
    rows: dict[str, tuple[Cell, ...]] = {}
    for p in result.parameters:
        limits = f"{_limit(p.lower)} … {_limit(p.upper)}" if p.lower is not None or p.upper is not None else ""
        minos = _signed(f"{p.minos.lower:+.3g} / {p.minos.upper:+.3g}") if p.minos is not None else ""
        rows[p.name] = (
            named(labels.parameter(p.name), p.name),
            *_measured(p.value, p.error),
            number("" if p.simulation is None else f"{p.simulation:.2g}", p.simulation),
            number(minos, None),
            *_compared(p.value, p.error, inputs.get(p.name)),
            text(limits + (" — at the limit" if p.at_limit else "")),
        )
    for own in result.derived:
        compared = _compared(own.value, own.error, inputs.get(own.name))
        none = number("", None)
        label = named(labels.parameter(own.name), own.name)
        rows[own.name] = (label, *_measured(own.value, own.error), none, none, *compared, text(f"= {own.formula}"))
    couplings = []
    given = _coupling_inputs(content)
    for c in result.couplings:
        true, phase_error = given.get(c.name), _degrees(c.phase_error)
        phase = float(np.degrees(c.phase))
        turned = None if true is None else phase + numbers.remainder(float(np.degrees(np.angle(true))) - phase, 360)
        couplings.append(
            (
                named(labels.group(c.name), c.name),
                *_measured(c.magnitude, c.magnitude_error),
                *_compared(c.magnitude, c.magnitude_error, None if true is None else abs(true)),
                *_measured(phase, phase_error),
                *_compared(phase, phase_error, turned),
            )
        )
    corrected = "Errors are corrected for weights, H⁻¹ S H⁻¹." if result.corrected else "Errors are from the exact Hessian."
    fixed = [(named(labels.parameter(name), name), number(_signed(f"{value:.6g}"), value)) for name, value in result.fixed.items()]
    fixed_table = table("fixed-table", ("parameter", "value"), fixed, names=tuple(result.fixed))
    counted_in = (
        "They account for the finite phase-space sample." if result.simulation else "They do not account for the finite phase-space sample."
    )
    words = (
        f"{corrected} {counted_in} Masses and widths in GeV. Inputs are the values in the model file. Click a column heading to sort by it;"
        " rest on a parameter to see its name."
    )
    of_couplings = {name for name in rows if name.rpartition(".")[0] in {c.name for c in result.couplings}}
    first, second = ([name for name in rows if (name in of_couplings) == part] for part in (False, True))
    return section(
        "parameters",
        "Parameters",
        note(words),
        (filtered("parameter-table", "parameters"), _parameter_table("parameter-table", first, rows)) if first else None,
        folded(counted(len(result.fixed), "fixed parameter"), fixed_table) if result.fixed else None,
        element("h3", "Couplings"),
        filtered("coupling-table", "couplings"),
        table("coupling-table", COUPLING_COLUMNS, couplings, names=[c.name for c in result.couplings]),
        folded(f"{counted(len(second), 'free part', 'free parts')} of couplings, as fitted", _parameter_table("part-table", second, rows))
        if second
        else None,
    )


def _parameter_table(identifier: str, names: Sequence[str], rows: Mapping[str, tuple[Cell, ...]]) -> Html:
    return table(identifier, PARAMETER_COLUMNS, [rows[name] for name in names], names=names)


def _measured(value: float, error: float | None) -> tuple[Cell, Cell]:
    known = bool(error) and numbers.isfinite(error or 0.0)
    return number(_value(value, error), float(value)), Cell(_error(value, error), "" if error is None else error, "error" if known else "")


def _compared(value: float, error: float | None, given: float | None) -> tuple[Cell, Cell]:
    """An input and how far the value is from it, in standard deviations."""
    if given is None:
        return number("", None), number("", None)
    shown = number(_value(given, error), given)
    if not error:
        return shown, number("", None)
    pull = (value - given) / error
    return shown, number(_signed(f"{pull:+.2f}"), pull, large=abs(pull) > LARGE_PULL)


def _lineshape_inputs(model: Model) -> dict[str, float]:
    return {f"{name}.{key}": float(value) for name, r in model.resonances.items() for key, value in r.parameters.items()}


def _coupling_inputs(content: ReportContent) -> dict[str, complex]:
    """Couplings that the model file gives, relative to the reference wave as in the fit."""
    given = content.model.coupling_values
    fitted = {c.name: complex(c.re, c.im) for c in content.result.couplings}
    reference = content.result.settings.get("reference_wave") or next(iter(fitted), "")
    if not given.get(reference) or reference not in fitted:
        return {}
    return {name: value * fitted[reference] / given[reference] for name, value in given.items() if name != reference}


def correlation_section(content: ReportContent) -> Html:
    """The correlation matrix and the largest entries of it."""
    result = content.result
    labels = Labels(content.model, result)
    matrix = np.triu(result.correlation, 1)
    order = np.argsort(-np.abs(matrix), axis=None)[:SHOWN_CORRELATIONS]
    rows = []
    for i, j in zip(*np.unravel_index(order, matrix.shape), strict=True):
        if matrix[i, j] != 0:
            pair = (named(labels.parameter(result.names[k]), result.names[k]) for k in (i, j))
            rows.append((number(_signed(f"{matrix[i, j]:+.3f}"), float(matrix[i, j])), *pair))
    largest = table("correlation-table", ("correlation", "of", "and"), rows)
    kind = "pair" if len(result.names) <= SIDE_BY_SIDE else None
    title = element("h3", f"The largest of {counted(len(result.names) * (len(result.names) - 1) // 2, 'correlation')}")
    both = element("div", _heat_map("correlation", "Blue is −1, red +1."), element("div", title, largest, class_="narrow"), class_=kind)
    return section("correlations", "Correlations", both)


def _heat_map(name: str, caption: str) -> Html:
    return element("figure", element("div", class_="heat", data_matrix=name), element("p", caption, class_="caption"))


def fraction_section(content: ReportContent) -> Html:
    """Fit fractions and interferences."""
    parts: list[Html] = []
    for k, entry in enumerate(content.result.fractions):
        kinds = [kind for kind in KIND_NAMES if kind in entry.groups and entry.groups[kind].names]  # no resonances: X itself
        parts += [titled(entry.data_set), tabs(f"fractions{k}", [(kind, KIND_NAMES[kind]) for kind in kinds])]
        for kind in kinds:
            group = entry.groups[kind]
            yields = entry.yields if kind == "resonances" else {}
            total = f"Sum {100 * group.sum:.1f} %; the difference from 100 % is interference."
            twice = kind == "resonances" and "chains" in kinds
            words = f"{COUNTS_TWICE.capitalize() + '.' if twice else total} Integrated over {entry.over}."
            left = element("div", _fraction_table(content, f"{kind}{k}", group, yields), note(words), class_="narrow")
            beside = "pair" if len(group.names) <= SIDE_BY_SIDE else None
            both = element("div", left, _heat_map(f"interference{k}{kind}", INTERFERENCE_CAPTION), class_=beside)
            parts.append(element("div", both, data_part_of=f"fractions{k}", data_tab=kind))
    if content.result.asymmetries is not None:
        parts.append(_asymmetries(content, content.result.asymmetries))
    return section("fractions", "Fit fractions", parts) if parts else NOTHING


def _asymmetries(content: ReportContent, found: CPAsymmetries) -> Html:
    """CP asymmetries of couplings and of fractions."""
    labels = Labels(content.model, content.result)

    def label(name: str) -> Cell:
        return named(labels.group(name), name)

    rows = [
        (
            label(own.name),
            *_measured(100 * own.value, None if own.error is None else 100 * own.error),
            *_measured(float(np.degrees(own.phase)), _degrees(own.phase_error)),
        )
        for own in found.couplings
    ]
    fractions = [(label(name), *_measured(100 * value, 100 * error)) for name, (value, error) in found.fractions["resonances"].items()]
    words = (
        "CP asymmetries (|c̄|² − |c|²)/(|c̄|² + |c|²) of couplings c(1 + Δ) and c̄ = c(1 − Δ), and (f̄ − f)/(f̄ + f) of fractions"
        f" over {found.over}; a bar is the charge-conjugate decay. Shapes alone do not determine an asymmetry of all rates together."
    )
    both = element(
        "div",
        table("asymmetry-couplings", ("coupling", "asymmetry / %", "error / %", "phase / °", "error / °"), rows),
        table("asymmetry-fractions", ("fraction", "asymmetry / %", "error / %"), fractions),
        class_="pair",
    )
    return element("div", titled("CP asymmetries"), both, note(words))


def _fraction_table(content: ReportContent, identifier: str, group: Fractions, events: Mapping[str, tuple[float, float]]) -> Html:
    rows = []
    labels = Labels(content.model, content.result)
    for name, value, error in zip(group.names, 100 * group.values, 100 * group.errors, strict=True):
        row = [named(labels.group(name), name), *_measured(float(value), float(error))]
        if events:
            row.append(number(with_error(*events[name]), events[name][0]) if name in events else number("", None))
        rows.append(tuple(row))
    columns = ("", "fraction / %", "error / %", *(("events",) if events else ()))
    return table(f"fraction-{identifier}", columns, rows, names=group.names)


def goodness_section(content: ReportContent) -> Html:
    """χ² of all projections and tests of the whole."""
    rows = []
    for view in content.data_sets:
        start = f"{view.name}: " if view.name else ""
        for projection in view.projected.projections:
            chi2, variable = projection.chi2, projection.variable
            outside = "" if projection.outside == (0.0, 0.0) else f"{projection.outside[0]:.6g} events are outside the range"
            name = Cell((start, element("span", labelled(variable.label), title=variable.name)), start + variable.name, "text")
            rows.append(_goodness_row(name, f"χ²/ndf = {chi2}", chi2.p_value, outside))
        rows += [_goodness_row(text(start + row.name), row.outcome, row.p_value, row.note) for row in view.goodness]
    words = (
        "χ² of a histogram: neighbouring bins are merged until at least ten events are expected in each; the finite phase-space sample"
        " is included in the uncertainty; fitted parameters are not subtracted from the degrees of freedom."
    )
    return section("goodness", "Goodness of fit", note(words), table("goodness-table", ("test", "outcome", "p-value", "note"), rows))


def _goodness_row(name: Cell, outcome: str, p_value: float | None, remark: str) -> tuple[Cell, ...]:
    known = p_value is not None and not numbers.isnan(p_value)
    shown = f"{p_value:.3g}" if known else ""
    return name, text(outcome), number(shown, p_value if known else None, large=bool(known and p_value < 2.7e-3)), text(remark)  # type: ignore[operator]


def convergence_section(content: ReportContent) -> Html:
    """How the fit went, and where other starts led."""
    result = content.result
    record = result.record
    words = f"{record.hessians} Hessians, {record.gradients} gradients and {record.values} values in {record.seconds:.2f} s."
    charts = ["history"] + (["starts"] if result.n_starts > 1 else [])
    parts = [note(words), element("div", map(chart, charts), class_="panels")]
    if result.n_starts > 1:
        rows = [_minimum_row(k, minimum, result.minima[0].nll) for k, minimum in enumerate(result.minima)]
        parts.append(table("minima", ("minimum", "−ln L", "above the best", "starts", ""), rows))
    return section("convergence", "Convergence", parts)


def _minimum_row(k: int, minimum: FoundMinimum, best: float) -> tuple[Cell, ...]:
    remark = "" if minimum.refined else "fitted to a subsample only"
    above = minimum.nll - best
    return (
        number(str(k + 1), k + 1),
        number(_signed(f"{minimum.nll:.3f}"), minimum.nll),
        number(f"{above:.3f}", above),
        number(str(minimum.starts), minimum.starts),
        text(remark),
    )


def sample_section(content: ReportContent) -> Html:
    """What was read, with hashes."""
    rows = []
    for sample in content.result.samples:
        files = [*sample["files"], *sample["weight_files"]]
        where = [
            (element("br") if k else None, f"{file['path']} ", element("span", f"sha256 {file['sha256']}", class_="hash"))
            for k, file in enumerate(files)
        ]
        weights = "" if sample["weights"] is None else f"Σ {sample['weights']['total']:.6g}"
        notes = "; ".join(sample["notes"])
        rows.append(
            (
                text(sample["name"]),
                number(grouped(sample["n_events"]), sample["n_events"]),
                text(weights),
                Cell(where or notes, "", "text"),
            )
        )
    return section("samples", "Samples", table("sample-table", ("sample", "events", "weights", "files"), rows)) if rows else NOTHING


def reproduce_section(content: ReportContent) -> Html:
    """Commands, settings and the model file."""
    result = content.result
    file = result.model_file or "model.yml"
    where = content.files.get("result", "result.json")
    commands = f"ctpwa fit {file}\nctpwa fit {file} --from {where}\nctpwa show {where}\nctpwa report {where}"
    settings = json.dumps(to_plain(result.settings), indent=1, ensure_ascii=False)
    model = json.dumps(result.model, indent=1, ensure_ascii=False)
    return section(
        "reproduce",
        "How to reproduce",
        note(f"Fitted with ctpwa {result.version}."),
        element("pre", commands),
        folded("fit settings", element("pre", settings)),
        folded("the model (JSON, and valid YAML)", element("pre", model)),
    )


def _value(value: float, error: float | None) -> str:
    return _signed(with_error(float(value), error).partition(" ")[0])


def _signed(number: str) -> str:
    """With a minus sign instead of a hyphen."""
    return number.replace("-", "−")


def _error(value: float, error: float | None) -> str:
    _, _, rest = with_error(float(value), error).partition(" ")
    return rest.removeprefix("± ").strip("()")


def _degrees(error: float | None) -> float | None:
    return None if error is None else float(np.degrees(error))


def _limit(limit: float | None) -> str:
    return "∞" if limit is None else f"{limit:g}"
