"""The gallery notebook: its cells run in order, and what a notebook would show of each is there and safe."""

import ast
import json
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[2] / "examples" / "gallery.ipynb"


def shown(value):
    """What a notebook takes of an object, the best first."""
    for kind in ("_repr_html_", "_repr_png_"):
        if (method := getattr(value, kind, None)) is not None and (found := method()) is not None:
            return kind, found
    return "text", repr(value)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    content = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert content["nbformat"] == 4
    patch, names, found = pytest.MonkeyPatch(), {}, []
    patch.chdir(tmp_path_factory.mktemp("gallery"))
    for cell in content["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []  # it is small, and what it shows is never out of date
            *before, last = ast.parse("".join(cell["source"])).body
            is_value = isinstance(last, ast.Expr)
            exec(compile(ast.Module(before if is_value else [*before, last], []), str(NOTEBOOK), "exec"), names)
            found.append(shown(eval(compile(ast.Expression(last.value), str(NOTEBOOK), "eval"), names)) if is_value else None)
    yield found
    patch.undo()


def test_objects_are_tables_and_figures_are_pictures(outputs):
    kinds = [None if found is None else found[0] for found in outputs]
    assert kinds == ["_repr_html_"] * 4 + [None] + ["_repr_png_"] * 5 + ["text"]
    model, events, likelihood, result = (found[1] for found in outputs[:4])
    assert "<td>phi(1680)[K+ K-] (1,1)(1,0)</td>" in model
    assert "600 events of K+ K- eta" in events
    assert "<td>phi(1680).mass</td>" in likelihood
    assert "good: a minimum, all parameters determined" in result
    assert len(result) < 8000
    assert all(found[1].startswith(b"\x89PNG") for found in outputs if found and found[0] == "_repr_png_")
    assert Path("gallery-output/report.html").stat().st_size > 100_000
