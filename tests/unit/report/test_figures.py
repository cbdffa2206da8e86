"""All figures of a fit are written, as PDF and PNG."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.text import Text

from ctpwa.fitting.fractions import Fractions
from ctpwa.fitting.labels import decay_label
from ctpwa.report.figures.all_figures import draw_figures, write_figures
from ctpwa.report.figures.interference import draw_interference
from ctpwa.report.figures.projections import draw_projections
from ctpwa.report.figures.style import Figure
from ctpwa.report.html.charts import _data_set
from ctpwa.report.palette import strongest
from unit.report.made_up import model, projected, projection


def names(files):
    assert all(file.stat().st_size > 5_000 for file in files)
    return [file.name for file in files]


def test_one_data_set(tmp_path):
    files = write_figures(tmp_path / "new" / "figures", model(), {"": projected()})
    assert names(files) == ["projections.png", "projections.pdf", "dalitz.png", "dalitz.pdf"]
    assert sorted(file.name for file in (tmp_path / "new" / "figures").iterdir()) == sorted(file.name for file in files)
    assert files[0].read_bytes().startswith(b"\x89PNG")
    assert files[1].read_bytes().startswith(b"%PDF")


def test_several_data_sets_pages_and_others(tmp_path):
    many = projected(projections=(projection(bins=3, fine=1),) * 5, grids=())
    figure = Figure()
    figure.add_subplot().plot([0, 1])
    files = write_figures(tmp_path, model(), {"3.1 GeV": projected(projections=()), "b": many}, more={"argand": figure}, rows=1)
    stems = ["dalitz-3.1_GeV", "projections-b-1", "projections-b-2", "argand"]
    assert names(files) == [f"{stem}{suffix}" for stem in stems for suffix in (".png", ".pdf")]


def test_a_resonance_has_one_line_in_all_data_sets():
    """Also where another one is stronger: on the page and in figures."""
    p = projection()
    weak = replace(p, matrix=p.matrix * np.diag([0.01, 1.0, 0.1]), total=p.total)
    strong = replace(p, matrix=p.matrix * np.diag([100.0, 1.0, 10.0]), total=p.total)
    data_sets = {name: projected(projections=(own,), grids=()) for name, own in (("a", weak), ("b", strong))}
    figures = draw_figures(model(), data_sets, {})
    lines = [{line.get_label(): line.get_edgecolor() for line in figure.axes[0].patches} for figure in figures.values()]
    assert len(lines[0]) == 4
    assert lines[0] == lines[1]
    views = [SimpleNamespace(projected=own) for own in data_sets.values()]
    order = strongest([weak, strong])
    shown = [{group["name"]: group["line"] for group in _data_set(view, model(), order)["groups"]} for view in views]
    assert shown == [{name: k for k, name in enumerate(order)}] * 2


def test_data_sets_whose_names_differ_in_signs_only():
    found = projected(projections=())
    figures = draw_figures(model(), {"a/b": found, "a b": found, "x" * 300: found, "../$\\frac{": found}, {})
    assert list(figures) == ["dalitz-a_b", "dalitz-a_b-2", "dalitz-" + "x" * 200, "dalitz-.._frac"]


HOSTILE = ("$", "$$", r"$\frac{$", r"\input{a}", "a&b", 'a"b`c', '"', "<img src=x>", "a_b^c", "a\nb", "{}%#~", "é")


@pytest.mark.parametrize("names", [HOSTILE[:3], HOSTILE[3:6], HOSTILE[6:9], HOSTILE[9:]])
def test_no_name_keeps_a_figure_from_being_drawn(names):
    """In the legend, at the axes, as ticks and in the title."""
    variable = replace(projection().variable, label=names[0], unit=names[1])
    (page,) = draw_projections([projection(groups=names, variable=variable)], model(), title=names[2])
    fractions = Fractions(names, np.full(3, 0.3), np.eye(3) / 1e4, np.eye(3), np.eye(3))
    for figure in (page, draw_interference(fractions, model(), names[0])):
        figure.draw_without_rendering()
        raw = " ".join(text.get_text() for text in figure.findobj(Text) if not text.get_parse_math())
        assert "mathrm" not in raw  # names are always typeset, but a title, label or unit may be no LaTeX


def test_labels_that_cannot_be_read_are_written_out():
    figure = Figure()
    axes = figure.add_subplot()
    axes.set_xticks([0, 1], [r"$\frac{$", "$a$"])
    axes.set_title(r"$\unknown$")
    axes.set_xlabel("$b$")
    figure.draw_without_rendering()
    assert [label.get_parse_math() for label in (*axes.get_xticklabels(), axes.title, axes.xaxis.label)] == [False, True, False, True]


def test_other_errors_are_not_hidden():
    figure = Figure()
    axes = figure.add_subplot()
    axes.xaxis.set_major_formatter(lambda value, place: int("no number"))
    with pytest.raises(ValueError, match="no number"):
        figure.draw_without_rendering()


def test_decay():
    assert decay_label(model().decay) == r"$J/\psi(1S) \to K^{+} K^{-} \eta$"
