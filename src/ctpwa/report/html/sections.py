"""The parts of the page that are words and tables."""

from __future__ import annotations

import json
import math as numbers
from html import escape

import numpy as np

from ctpwa.data.summary import grouped
from ctpwa.decay.spin import format_parity, format_spin
from ctpwa.model.model import Model, Wave
from ctpwa.report.content import ReportContent
from ctpwa.report.html.marks import Cell, filtered, formula, math, number, section, table, tabs, text
from ctpwa.report.html.trees import topologies, tree
from ctpwa.results.fractions import Fractions
from ctpwa.results.result import FoundMinimum
from ctpwa.results.text import with_error
from ctpwa.words import counted

SHOWN_CORRELATIONS = 12
LARGE_PULL = 3.0
COUPLING_COLUMNS = ("coupling", "magnitude", "error", "input", "pull", "phase / °", "error / °", "input", "pull")
INTERFERENCE_CAPTION = (
    '<p class="caption">In %: fractions on the diagonal, interferences beside it; blue is destructive, red constructive.'
    " Point at a cell for its name.</p>"
)
KIND_NAMES = {"resonances": "resonances", "waves": "waves", "jp": "J^P"}


def head(content: ReportContent) -> str:
    """Title, verdict and the most important numbers."""
    result, decay = content.result, content.model.decay
    title = rf"{decay.parent.latex} \to {' '.join(particle.latex for particle in decay.final)}"
    verdict = result.verdict
    reasons = "".join(f"<li>{escape(reason)}</li>" for reason in verdict.reasons)
    judged = "good" if verdict.good else "bad"
    words = "A minimum; all parameters are determined." if verdict.good else "This fit should not be trusted as it is."
    best = result.minima[0] if result.minima else None
    facts = {
        "−ln L": f"{result.nll:.3f}",
        "measured events": grouped(result.n_events),
        "free parameters": str(len(result.parameters)),
        "waves": str(len(content.model.waves)),
        "AIC": f"{result.aic:.2f}",
        "BIC": f"{result.bic:.2f}",
        "EDM": f"{verdict.edm:.1e}",
        "time of the fit": f"{result.record.seconds:.2f} s",
    }
    if best is not None and result.n_starts > 1:
        facts["starts that end here"] = f"{best.starts} of {result.n_starts}"
    if (bias := result.precision) is not None:
        facts["−ln L in double precision"] = f"{bias.nll:+.1e}"
        facts["largest shift in double precision"] = f"{bias.largest:.1e} σ"
    cards = "".join(
        f'<div class="fact"><div class="what">{what}</div><div class="number">{value}</div></div>' for what, value in facts.items()
    )
    return (
        f'<header id="top"><h1>{math(title)}</h1>'
        f'<p class="subtitle">Partial wave analysis, {escape(result.method)} fit of {escape(result.created[:16].replace("T", " "))}</p>'
        f'<div class="verdict {judged}"><strong>{judged}</strong><div>{words}<ul>{reasons}</ul></div></div>'
        f'<div class="facts">{cards}</div></header>'
    )


def model_section(content: ReportContent) -> str:
    """Decay chains, waves and formulas."""
    model = content.model
    drawings = "".join(tree(model, topology) for topology in topologies(model))
    rows = [_wave_row(wave) for wave in model.waves]
    waves = table("waves", ("wave", "resonances", "J^P", "(L, S) of every vertex", "coupling"), rows, names=[w.name for w in model.waves])
    shown = "".join(
        f"<h3>{escape(shape.name)}</h3><p>{', '.join(math(latex) for latex in shape.resonances)}</p>"
        + (f'<div class="scroll" style="border:none">{math(shape.latex)}</div>' if shape.latex else "")
        + (f'<p class="note">{escape(shape.reference)}</p>' if shape.reference else "")
        for shape in content.lineshapes
    )
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in model.notes)
    amplitude = math(r"I = \sum_{\text{rows}} \left| \sum_{w} c_w F_w(s) K_w \right|^2")
    words = f"Every wave is a coupling c times propagators F times a covariant spin amplitude K: {amplitude}"
    return section(
        "model",
        "Model",
        f'<p class="note">{words}. Parent: {escape(str(model.polarisation))}.</p>',
        f'<div class="panels">{drawings}</div>',
        notes,
        f"<details><summary>all {counted(len(model.waves), 'wave')}</summary>{filtered('waves', 'waves')}{waves}</details>",
        f"<details><summary>formulas of the lineshapes</summary>{shown}</details>" if shown else "",
    )


def _wave_row(wave: Wave) -> tuple[Cell, ...]:
    inner = [node.particle for node in wave.chain.nodes[1:]]
    latex = r"\ \ ".join(p.latex for p in inner) or r"\text{direct}"
    spins = " ".join(f"{format_spin(p.two_J)}{format_parity(p.P)}" for p in inner)
    tied = wave.coupling if wave.coupling != wave.name else ""
    own = f"{'−' if wave.factor < 0 else ''}{tied}" if tied else "its own"
    vertices = " ".join(f"({ls.L}, {ls.S})" for ls in wave.ls)
    return text(wave.name), formula(latex, wave.name), text(spins), text(vertices), text(own)


def parameter_section(content: ReportContent) -> str:
    """Free parameters, and couplings as magnitude and phase."""
    result = content.result
    inputs = _lineshape_inputs(content.model)
    rows = []
    for p in result.parameters:
        limits = f"{_limit(p.lower)} … {_limit(p.upper)}" if p.lower is not None or p.upper is not None else ""
        minos = f"{p.minos.lower:+.3g} / {p.minos.upper:+.3g}" if p.minos is not None else ""
        rows.append(
            (
                text(p.name),
                *_measured(p.value, p.error),
                number(minos, None),
                *_compared(p.value, p.error, inputs.get(p.name)),
                text(limits + (" — at the limit" if p.at_limit else "")),
            )
        )
    couplings = []
    given = _coupling_inputs(content)
    for c in result.couplings:
        true, phase_error = given.get(c.name), _degrees(c.phase_error)
        phase = float(np.degrees(c.phase))
        turned = None if true is None else phase + numbers.remainder(float(np.degrees(np.angle(true))) - phase, 360)
        couplings.append(
            (
                text(c.name),
                *_measured(c.magnitude, c.magnitude_error),
                *_compared(c.magnitude, c.magnitude_error, None if true is None else abs(true)),
                *_measured(phase, phase_error),
                *_compared(phase, phase_error, turned),
            )
        )
    corrected = "Errors are those of weighted events, H⁻¹ S H⁻¹." if result.corrected else "Errors are from the exact Hessian."
    fixed = "".join(f"<tr><td>{escape(name)}</td><td>{value:.6g}</td></tr>" for name, value in result.fixed.items())
    fixed_table = f'<div class="scroll"><table><tbody>{fixed}</tbody></table></div>'
    words = f"{corrected} Masses and widths in GeV. Inputs are the values in the model file. Click on the head of a column to sort by it."
    return section(
        "parameters",
        "Parameters",
        f'<p class="note">{words}</p>',
        filtered("parameter-table", "parameters"),
        table("parameter-table", ("parameter", "value", "error", "MINOS", "input", "pull", "limits"), rows),
        f"<details><summary>{counted(len(result.fixed), 'fixed parameter')}</summary>{fixed_table}</details>" if result.fixed else "",
        "<h3>Couplings</h3>",
        filtered("coupling-table", "couplings"),
        table("coupling-table", COUPLING_COLUMNS, couplings),
    )


def _measured(value: float, error: float | None) -> tuple[Cell, Cell]:
    return number(_value(value, error), float(value)), number(_error(value, error), error)


def _compared(value: float, error: float | None, given: float | None) -> tuple[Cell, Cell]:
    """An input and how far the value is from it, in standard deviations."""
    if given is None:
        return number("", None), number("", None)
    shown = number(_value(given, error), given)
    if not error:
        return shown, number("", None)
    pull = (value - given) / error
    return shown, number(f"{pull:+.2f}", pull, large=abs(pull) > LARGE_PULL)


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


def correlation_section(content: ReportContent) -> str:
    """The correlation matrix and the largest entries of it."""
    result = content.result
    matrix = np.triu(result.correlation, 1)
    order = np.argsort(-np.abs(matrix), axis=None)[:SHOWN_CORRELATIONS]
    rows = []
    for i, j in zip(*np.unravel_index(order, matrix.shape), strict=True):
        if matrix[i, j] != 0:
            rows.append((number(f"{matrix[i, j]:+.3f}", float(matrix[i, j])), text(result.names[i]), text(result.names[j])))
    caption = "All free parameters in the order of the table above: blue −1, red +1. Point at a cell for its name."
    return section(
        "correlations",
        "Correlations",
        f'<div class="pair"><figure><div class="heat" data-matrix="correlation"></div><p class="caption">{caption}</p></figure>'
        f"<div>{table('correlation-table', ('correlation', 'of', 'and'), rows)}</div></div>",
    )


def fraction_section(content: ReportContent) -> str:
    """Fit fractions and interferences."""
    parts = []
    for k, entry in enumerate(content.result.fractions):
        title = f"<h3>{escape(entry.data_set)}</h3>" if entry.data_set else ""
        kinds = [kind for kind in KIND_NAMES if kind in entry.groups]
        parts += [title, tabs(f"fractions{k}", [(kind, KIND_NAMES[kind]) for kind in kinds])]
        for kind in kinds:
            group = entry.groups[kind]
            yields = entry.yields if kind == "resonances" else {}
            words = f"Sum {100 * group.sum:.1f} %; the rest to 100 % is interference. Integrated over {escape(entry.over)}."
            left = f'<div>{_fraction_table(content, f"{kind}{k}", group, yields)}<p class="note">{words}</p></div>'
            right = f'<figure><div class="heat" data-matrix="interference{k}{kind}"></div>{INTERFERENCE_CAPTION}</figure>'
            parts.append(f'<div data-part-of="fractions{k}" data-tab="{kind}"><div class="pair">{left}{right}</div></div>')
    return section("fractions", "Fit fractions", *parts) if parts else ""


def _fraction_table(content: ReportContent, identifier: str, group: Fractions, yields: object) -> str:
    rows = []
    events = dict(yields) if yields else {}  # type: ignore[call-overload]
    for name, value, error in zip(group.names, 100 * group.values, 100 * group.errors, strict=True):
        resonance = content.model.resonances.get(name)
        label = formula(resonance.latex, name) if resonance is not None else text(name)
        row = [label, number(_value(value, error), float(value)), number(_error(value, error), float(error))]
        if events:
            row.append(number(with_error(*events[name]) if name in events else "", events.get(name, (None,))[0]))
        rows.append(tuple(row))
    columns = ("", "fraction / %", "error / %", *(("events",) if events else ()))
    return table(f"fraction-{identifier}", columns, rows, names=group.names)


def goodness_section(content: ReportContent) -> str:
    """χ² of all projections and tests of the whole."""
    rows = []
    for view in content.data_sets:
        start = f"{view.name}: " if view.name else ""
        for projection in view.projected.projections:
            chi2 = projection.chi2
            note = "" if projection.outside == (0.0, 0.0) else f"{projection.outside[0]:.6g} events are outside of the range"
            rows.append(_goodness_row(f"{start}{projection.variable.name}", f"χ²/ndf = {chi2}", chi2.p_value, note))
        rows += [_goodness_row(start + row.name, row.outcome, row.p_value, row.note) for row in view.goodness]
    note = (
        "χ² of a histogram: neighbouring bins are merged until at least ten events are expected in each; the finite phase-space sample"
        " is part of the uncertainty; fitted parameters are not subtracted from the degrees of freedom."
    )
    return section(
        "goodness", "Goodness of fit", f'<p class="note">{note}</p>', table("goodness-table", ("test", "outcome", "p-value", "note"), rows)
    )


def _goodness_row(name: str, outcome: str, p_value: float | None, note: str) -> tuple[Cell, ...]:
    known = p_value is not None and not numbers.isnan(p_value)
    shown = f"{p_value:.3g}" if known else ""
    return text(name), text(outcome), number(shown, p_value if known else None, large=bool(known and p_value < 2.7e-3)), text(note)  # type: ignore[operator]


def course_section(content: ReportContent) -> str:
    """How the fit went, and where other starts led."""
    result = content.result
    record = result.record
    words = f"{record.hessians} Hessians, {record.gradients} gradients and {record.values} values in {record.seconds:.2f} s."
    parts = [f'<p class="note">{words}</p>', '<div class="panels">', '<figure data-chart="history"></figure>']
    if result.n_starts > 1:
        parts.append('<figure data-chart="starts"></figure>')
    parts.append("</div>")
    if result.n_starts > 1:
        rows = [_minimum_row(k, minimum, result.minima[0].nll) for k, minimum in enumerate(result.minima)]
        parts.append(table("minima", ("minimum", "−ln L", "above the best", "starts", ""), rows))
    return section("course", "Course of the fit", *parts)


def _minimum_row(k: int, minimum: FoundMinimum, best: float) -> tuple[Cell, ...]:
    note = "" if minimum.refined else "searched with part of the events only"
    above = minimum.nll - best
    return (
        number(str(k + 1), k + 1),
        number(f"{minimum.nll:.3f}", minimum.nll),
        number(f"{above:.3f}", above),
        number(str(minimum.starts), minimum.starts),
        text(note),
    )


def sample_section(content: ReportContent) -> str:
    """What was read, with hashes."""
    rows = []
    for sample in content.result.samples:
        files = [*sample["files"], *sample["weight_files"]]
        where = "<br>".join(f'{escape(f["path"])} <span class="hash">sha256 {escape(f["sha256"])}</span>' for f in files)
        weights = "" if sample["weights"] is None else f"Σ {sample['weights']['total']:.6g}"
        notes = "; ".join(sample["notes"])
        rows.append(
            (
                text(sample["name"]),
                number(grouped(sample["n_events"]), sample["n_events"]),
                text(weights),
                Cell(where or escape(notes), "", "text"),
            )
        )
    return section("samples", "Samples", table("sample-table", ("sample", "events", "weights", "files"), rows)) if rows else ""


def reproduce_section(content: ReportContent) -> str:
    """Commands, settings and the model file."""
    result = content.result
    file = result.model_file or "model.yml"
    where = content.files.get("result", "result.json")
    commands = f"ctpwa fit {file}\nctpwa fit {file} --from {where}\nctpwa show {where}\nctpwa report {where}"
    settings = json.dumps(dict(result.settings), indent=1, ensure_ascii=False)
    model = json.dumps(result.model, indent=1, ensure_ascii=False)
    return section(
        "reproduce",
        "How to reproduce",
        f'<p class="note">Fitted with ctpwa {escape(result.version)}.</p><pre>{escape(commands)}</pre>',
        f"<details><summary>settings of the fit</summary><pre>{escape(settings)}</pre></details>",
        f"<details><summary>the model, which is also valid YAML</summary><pre>{escape(model)}</pre></details>",
    )


def _value(value: float, error: float | None) -> str:
    return with_error(float(value), error).partition(" ")[0]


def _error(value: float, error: float | None) -> str:
    _, _, rest = with_error(float(value), error).partition(" ")
    return rest.removeprefix("± ").strip("()")


def _degrees(error: float | None) -> float | None:
    return None if error is None else float(np.degrees(error))


def _limit(limit: float | None) -> str:
    return "∞" if limit is None else f"{limit:g}"
