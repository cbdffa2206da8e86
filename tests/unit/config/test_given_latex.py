"""LaTeX of the user: used, or written out with a note."""

import ctpwa

MODEL = {"decay": "J/psi(1S) -> K+ K- eta", "resonances": {"phi(1680)": {"in": "K+ K-"}}}
INPUT = r"\input{a}"


def test_latex_that_is_used():
    model = ctpwa.load_model(
        MODEL | {"particles": {"eta": {"latex": "h"}}, "resonances": {"phi(1680)": {"in": "K+ K-", "latex": r"\phi'"}}}
    )
    assert model.notes == ()
    assert model.resonances["phi(1680)"].latex == r"\phi'"
    assert model.decay.final[2].latex == "h"


def test_latex_that_is_written_out():
    changes = {
        "particles": {"eta": {"latex": INPUT}},
        "resonances": {"phi(1680)": {"in": "K+ K-", "latex": "{"}, "X": {"JP": "1--", "mass": 2, "width": 0.1, "in": "K+ K-", "latex": ""}},
    }
    model = ctpwa.load_model(MODEL | changes)
    assert model.decay.final[2].latex == r"\mathrm{\backslash input\{a\}}"
    assert {name: resonance.latex for name, resonance in model.resonances.items()} == {"phi(1680)": r"\mathrm{\{}", "X": r"\mathrm{X}"}
    assert model.notes == (
        r"latex of eta: \input is not among the commands for names; figures and tables show plain text",
        "latex of phi(1680): a brace { is never closed; figures and tables show plain text",
        "latex of X: it is empty; figures and tables show plain text",
    )


def test_labels_of_projections():
    entries = [
        {"variable": "mass(K+, K-)", "label": f"${INPUT}$", "unit": "GeV"},
        {"variable": "mass(K+, eta)", "label": r"the $K^{+}\eta$ mass", "unit": r"$\write$"},
    ]
    analysis = ctpwa.load_analysis(MODEL | {"projections": entries})
    assert [(spec.variable.label, spec.variable.unit) for spec in analysis.projections] == [
        (INPUT, "GeV"),
        (entries[1]["label"], r"\write"),
    ]
    assert [note.partition(":")[0] for note in analysis.model.notes] == ["label of mass(K+, K-)", "unit of mass(K+, eta)"]
