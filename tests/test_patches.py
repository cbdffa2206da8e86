"""Tests replace what the operating system and libraries do, and let things fail; numbers of ctpwa are arguments, which tests give."""

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
MAYBE = re.compile(r"setattr\(|\.[A-Z][A-Z0-9_]+\b[^=\n]*=[^=]")  # reading whole files takes longer
PROGRAMS = {"benchmarks/test_paper.py"}  # runs a program of ours as it is, with smaller numbers of the program itself


def is_constant(word):
    return isinstance(word, str) and len(word) > 1 and word.isidentifier() and word.isupper()


def strings(node):
    return [inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant) and isinstance(inner.value, str)]


def replaced_constants(source):
    """``line: code`` where a constant of another module gets another value, also in programs that stand in a text."""
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".setattr"):
            words = [word.rpartition(".")[2] for argument in node.args[:2] for word in strings(argument)]
            if not words:  # the name is in a variable: look at all texts of the function
                words = [word for function in functions if node in ast.walk(function) for word in strings(function)]
            if any(map(is_constant, words)):
                yield f"{node.lineno}: {ast.unparse(node)}"
        elif isinstance(node, ast.Assign):
            for target in (inner for outer in node.targets for inner in ast.walk(outer) if isinstance(inner, ast.Attribute)):
                if is_constant(target.attr):
                    yield f"{node.lineno}: {ast.unparse(node)}"
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and "import ctpwa" in node.value.replace("from ctpwa", "import ctpwa")
        ):
            try:
                yield from (f"{node.lineno}: in a text, line {where}" for where in replaced_constants(node.value))
            except SyntaxError:
                continue


@pytest.mark.parametrize(
    "source",
    [
        'monkeypatch.setattr(toys, "BLOCK", 7)',
        'patch.setattr("ctpwa.data.files.CHUNK", 7)',
        'def test(monkeypatch):\n    for name in ("MOST", "LEAST"):\n        monkeypatch.setattr(limits, name, 7)',
        "limits.MOST_EVENTS = 7",
        "limits.MOST, other = 7, 8",
        'CODE = "import ctpwa\\nctpwa.limits.MOST = 7"',
    ],
)
def test_replaced_constants_are_found(source):
    assert list(replaced_constants(source))


@pytest.mark.parametrize(
    "source",
    [
        'monkeypatch.setattr(os, "replace", full)',
        'monkeypatch.setattr("ctpwa.base.output.os.replace", full)',
        'def test(monkeypatch):\n    for name in ("fsync", "replace"):\n        monkeypatch.setattr(os, name, full)',
        "self.K = tensor",
        "MOST = 7",
    ],
)
def test_other_replacements_are_allowed(source):
    assert not list(replaced_constants(source))


def test_no_test_replaces_a_constant():
    """Give the number as an argument, or as a field of the settings that travel to where it is used."""
    wrong = []
    for path in sorted(TESTS.rglob("*.py")):
        name, source = path.relative_to(TESTS).as_posix(), path.read_text(encoding="utf-8")
        if name not in PROGRAMS and path != Path(__file__) and MAYBE.search(source):
            wrong += [f"{name}:{where}" for where in replaced_constants(source)]
    assert not wrong, "\n".join(wrong)
