"""Arrows between the layers point one way, and libraries have a home."""

import ast
from pathlib import Path

import pytest

import ctpwa

PACKAGE = Path(ctpwa.__file__).parent
# each layer may import those in its line, the base and the version
MAY_IMPORT = {
    "version": "",
    "platforms": "",
    "base": "",
    "kinematics": "",
    "decay": "",
    "data": "decay kinematics",
    "observe": "decay kinematics data",
    "spin": "decay kinematics data",
    "model": "decay kinematics data spin",
    "engine": "decay kinematics data spin model",
    "minimise": "",
    "generate": "decay kinematics data spin model engine",
    "fitting": "decay kinematics data spin model engine minimise",
    "observables": "decay kinematics data spin model engine minimise generate observe fitting",
    "config": "decay data spin model observe generate",
    "interchange": "decay kinematics data spin model engine generate observe fitting config",
    "report": "decay kinematics data model engine observe fitting observables",
    "studies": "decay kinematics data spin model engine minimise generate observe fitting observables config report analysis",
}
INSIDE_ENGINE = {
    "plan": "",
    "codegen": "plan",
    "samples": "plan codegen",
    "backends": "plan codegen samples",
    "likelihood": "plan codegen samples backends",
}
TOP = {"__init__", "__main__", "analysis", "cli"}  # may import everything
HOME = {
    "triton": {"engine"},
    "llvmlite": {"engine"},
    "iminuit": {"minimise"},
    "yaml": {"config"},
    "pydantic": {"config"},
    "pydantic_core": {"config"},
    "matplotlib": {"report"},
    "latex2mathml": {"report"},
    "sympy": {"model", "engine"},
    "particle": {"decay"},
    "rich": {"base", "cli", "report"},
    "typer": {"cli"},
    "uproot": {"data"},
    "awkward": {"data"},
    "pyarrow": {"data"},
    "mici": {"studies"},
}
FILES = sorted(PACKAGE.rglob("*.py"))
TWICE = {
    "Candidate",  # a resonance that a model may get: for propose a hadron of the PDG, for studies a change of a model file
    "Sample",  # events ready for the kernels; in studies, named after its function, points of the posterior
}


def layer_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def room_of(path):
    """The folder inside the engine."""
    return path.relative_to(PACKAGE / "engine").parts[0]


def imports(source):
    """(absolute name, line) of everything that is imported, at the top or inside a function."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or ""), node.lineno


def broken_rules(layer, source):
    for name, line in imports(source):
        first, _, rest = name.partition(".")
        target = rest.partition(".")[0]
        if not first:
            yield f"{line}: relative import; write ctpwa.…"
        elif first == "ctpwa" and layer not in TOP and target not in {"base", "version", layer, *MAY_IMPORT[layer].split()}:
            yield f"{line}: {layer!r} may not import {name!r}; move the shared piece down or pass it in"
        elif first in HOME and layer not in HOME[first]:
            yield f"{line}: only {' and '.join(sorted(HOME[first]))} may import {first!r}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_follow_the_layers(path):
    assert layer_of(path) in MAY_IMPORT.keys() | TOP, f"{layer_of(path)!r} is a new layer: say in this test what it may import"
    assert not list(broken_rules(layer_of(path), path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("layer", "source", "expected"),
    [
        ("decay", "from ctpwa.model.model import Model", "'decay' may not import 'ctpwa.model.model'"),
        ("spin", "def f():\n    import yaml", "2: only config may import 'yaml'"),
        ("data", "from . import events", "relative import"),
        ("engine", "import ctpwa.config.read", "'engine' may not import 'ctpwa.config.read'"),
    ],
)
def test_a_broken_rule_is_noticed(layer, source, expected):
    (problem,) = broken_rules(layer, source)
    assert expected in problem


@pytest.mark.parametrize("path", sorted((PACKAGE / "engine").glob("*/**/*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_rooms_of_the_engine(path):
    allowed = {room_of(path), *INSIDE_ENGINE[room_of(path)].split()}
    for name, line in imports(path.read_text(encoding="utf-8")):
        inside = name.removeprefix("ctpwa.engine.").partition(".")[0]
        assert not name.startswith("ctpwa.engine.") or inside in allowed, f"{line}: {room_of(path)!r} may not import {name!r}"


def test_one_word_one_class():
    """Two classes of one name must be opened to be told apart."""
    names = [
        node.name
        for path in FILES
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    assert {name for name in names if names.count(name) > 1} == TWICE


def test_what_crosses_borders_is_named():
    """ARCHITECTURE.md says what every class is that three or more other folders import."""
    classes = {
        (".".join(("ctpwa", *path.relative_to(PACKAGE).with_suffix("").parts)), node.name)
        for path in FILES
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    }
    used = {}
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and path.name != "__init__.py":
                for alias in node.names:
                    used.setdefault((node.module, alias.name), set()).add(layer_of(path))
    text = (PACKAGE.parents[1] / "ARCHITECTURE.md").read_text(encoding="utf-8")
    many = [name for module, name in classes if len(used.get((module, name), set()) - {module.split(".")[1]}) >= 3]
    assert [name for name in sorted(many) if f"`{name}`" not in text] == []


def test_no_import_cycles():
    """Modules that import each other cannot be understood one at a time."""
    modules = {".".join(("ctpwa", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): path for path in FILES}
    graph = {}
    for name, path in modules.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        guarded = {
            id(n) for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test) for n in node.body
        }
        names = [n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module and id(n) not in guarded]
        graph[name] = {target for target in names if target in modules and target != "ctpwa"}
    done = set()

    def visit(name, above):
        assert name not in above, " -> ".join([*above[above.index(name) :], name])
        if name not in done:
            for target in graph[name]:
                visit(target, [*above, name])
            done.add(name)

    for name in graph:
        visit(name, [])


def test_importing_ctpwa_does_not_import_what_only_pictures_need():
    import subprocess
    import sys

    code = "import sys, ctpwa; print(*sorted({'matplotlib', 'rich', 'particle', 'uproot', 'pyarrow', 'awkward'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == ""


def test_the_import_graph_in_the_architecture_is_that_of_the_code():
    import subprocess
    import sys

    script = Path(__file__).parents[1] / "tools" / "import_graph.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
