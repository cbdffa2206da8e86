"""Writes the graph of imports between the folders of ``src/ctpwa`` into ARCHITECTURE.md.

    python tools/import_graph.py          writes it
    python tools/import_graph.py --check  says whether it is up to date

An arrow from A to B means that modules of A import modules of B. Arrows that follow from others are left out.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "ctpwa"
PAGE = ROOT / "ARCHITECTURE.md"
BEGIN, END = "<!-- import graph: tools/import_graph.py writes it -->", "<!-- end of the import graph -->"
INSIDE = ("engine",)  # folders whose own folders are shown

Graph = dict[str, set[str]]


def node_of(module: str) -> str | None:
    """The folder that a module belongs to; None for what is not in a folder, or only names what is in several."""
    parts = module.removesuffix(".__init__").split(".")[1:]
    if not parts or not (PACKAGE / parts[0]).is_dir() or ".".join(parts) in INSIDE:
        return None
    return ".".join(parts[:2]) if parts[0] in INSIDE else parts[0]


def imported(path: Path) -> list[str]:
    """Modules of ctpwa that a file imports."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return [n.module for n in nodes if isinstance(n, ast.ImportFrom) and n.module and n.module.split(".")[0] == "ctpwa"]


def graph() -> Graph:
    """Folders, and which others each of them imports."""
    found: Graph = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        own = node_of("ctpwa." + ".".join(path.relative_to(PACKAGE).with_suffix("").parts))
        if own is not None:
            targets = {node_of(module) for module in imported(path)} - {None, own}
            found.setdefault(own, set()).update(target for target in targets if target is not None)
    return found


def reduced(full: Graph) -> Graph:
    """The same without arrows that follow from others."""

    def reach(start: str) -> set[str]:
        seen: set[str] = set()
        todo = list(full.get(start, ()))
        while todo:
            node = todo.pop()
            if node not in seen:
                seen.add(node)
                todo += full.get(node, ())
        return seen

    return {node: {t for t in targets if not any(t in reach(other) for other in targets - {t})} for node, targets in full.items()}


def text() -> str:
    """The graph as a Mermaid diagram."""
    edges = [
        f"    {a.replace('.', '_')}[{a}] --> {b.replace('.', '_')}[{b}]" for a, bs in sorted(reduced(graph()).items()) for b in sorted(bs)
    ]
    return "\n".join([BEGIN, "```mermaid", "flowchart TD", *edges, "```", END])


def updated(page: str) -> str:
    """ARCHITECTURE.md with the present graph."""
    before, rest = page.split(BEGIN)
    return before + text() + rest.split(END)[1]


def main(arguments: list[str]) -> int:
    """Write the graph, or check it."""
    page = PAGE.read_text(encoding="utf-8")
    if "--check" in arguments:
        if updated(page) != page:
            sys.stderr.write("the import graph in ARCHITECTURE.md is not that of the code\n fix: python tools/import_graph.py\n")
            return 1
        return 0
    PAGE.write_text(updated(page), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
