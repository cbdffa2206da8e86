"""The page on lineshapes: complete, and every example in it works."""

import re
from pathlib import Path

import pytest
import yaml

from ctpwa.model.lineshapes.formula import Formula, Vertex
from ctpwa.model.lineshapes.registry import KINDS, build_lineshape
from lineshapes.contract import PI, K

PAGE = (Path(__file__).parents[2] / "docs" / "lineshapes.md").read_text(encoding="utf-8")
EXAMPLES = [(name, spec) for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) for name, spec in yaml.safe_load(block).items()]
VERTICES = {"gounaris_sakurai": Vertex(PI, PI, 1, 3.0), "lass": Vertex(K, PI, 0, 3.0), "generalised_lass": Vertex(K, PI, 0, 3.0)}
VERTICES["kpi_s_wave"] = Vertex(K, PI, 0, 3.0)


@pytest.mark.parametrize(("name", "spec"), EXAMPLES, ids=[f"{name}-{spec['lineshape'][:20]}" for name, spec in EXAMPLES])
def test_examples_can_be_built_with_all_parameters_given(name, spec):
    kind = spec["lineshape"]
    options = dict(spec.get("options", {}))
    if kind not in KINDS:
        options["parameters"] = spec["parameters"]
    lineshape = build_lineshape(kind, VERTICES.get(kind, Vertex(PI, PI, 0, 3.0)), **options)
    if isinstance(lineshape, Formula):
        given = {*spec.get("parameters", {}), *({"mass", "width"} & set(spec))}
        names = {p.name for p in lineshape.parameters}
        assert given <= names
        assert {p.name for p in lineshape.parameters if p.default is None} <= given


def test_every_kind_has_a_section_an_example_and_all_its_options():
    sections = dict(re.findall(r"\n### `(\w+)`\n(.*?)(?=\n##|\Z)", PAGE, re.DOTALL))
    assert set(sections) == set(KINDS)
    for name, kind in KINDS.items():
        assert f"(#{name})" in PAGE
        assert f"lineshape: {name}" in sections[name]
        for option in kind.options:
            assert f"`{option}`" in sections[name], f"{name}: {option}"


def test_documented_defaults_are_those_of_the_code():
    sections = dict(re.findall(r"\n### `(\w+)`\n(.*?)(?=\n##|\Z)", PAGE, re.DOTALL))
    for name in ("bugg_sigma", "bugg_one_channel", "lass", "generalised_lass"):
        formula = build_lineshape(name, VERTICES.get(name, Vertex(PI, PI, 0, 3.0)))
        rows = [row.split("|")[1:-1] for row in sections[name].splitlines() if row.startswith("| `")]
        shown = {}
        for row in rows:
            values = row[2].split(",") if len(row) > 2 else []
            shown |= dict(zip(re.findall(r"`(\w+)`", row[0]), values, strict=False))
        for parameter in formula.parameters:
            if parameter.default is not None:
                assert float(shown[parameter.name]) == parameter.default
