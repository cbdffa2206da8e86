"""Decay chains as drawings: lines between names."""

from __future__ import annotations

from dataclasses import dataclass

from ctpwa.base.markup import Html, element
from ctpwa.decay.chain import Node
from ctpwa.fitting.labels import group_latex
from ctpwa.model.model import Model
from ctpwa.report.html.mathml import math

STEP_X, STEP_Y, LEFT = 120, 34, 46
WIDEST = 400  # from the parent to the final particles, so that long cascades fit beside each other


@dataclass(frozen=True)
class Topology:
    """Waves that decay in the same order.

    Attributes:
        root:        the parent
        resonances:  LaTeX name → names of the waves with it, in the order of the model
    """

    root: Node
    resonances: dict[str, list[str]]


def topologies(model: Model) -> list[Topology]:
    """Waves by the particles that come from each other."""
    found: dict[object, Topology] = {}
    for wave in model.waves:
        root = wave.chain.nodes[0]
        topology = found.setdefault(_shape(root), Topology(root, {}))
        latex = r"\ \ ".join(group_latex(model, node.particle.name) for node in wave.chain.shown) or r"\text{direct}"
        topology.resonances.setdefault(latex, []).append(wave.name)
    return list(found.values())


def tree(model: Model, topology: Topology) -> Html:
    """One topology as a drawing; intermediate states have letters if several share it."""
    labels, lines = [], []
    final = [particle.latex for particle in model.decay.final]
    depth = _depth(topology.root)
    step = min(STEP_X, WIDEST // depth)
    several = len(topology.resonances) > 1
    state = iter("RSTUVW")
    leaf = iter(range(100))

    def place(node: Node | int, level: int) -> float:
        if isinstance(node, int):
            y = STEP_Y * (next(leaf) + 0.6)
            labels.append((LEFT + step * depth, y, final[node], "final"))
            return y
        name = "" if level == 0 else next(state)
        ends = [(place(daughter, level + 1), daughter) for daughter in node.daughters]
        y = sum(end for end, _ in ends) / len(ends)
        x = LEFT + step * level
        for end, daughter in ends:
            to = LEFT + step * (depth if isinstance(daughter, int) else level + 1)
            lines.append(
                f"M{x} {y:.0f} C{x + step / 2.4:.0f} {y:.0f} {x + step / 2.4:.0f} {end:.0f} {min(x + step, to)} {end:.0f} L{to} {end:.0f}"
            )
        own = model.decay.parent.latex if level == 0 else group_latex(model, node.particle.name)
        labels.append((x, y, own if level == 0 or not several else name, ""))
        return y

    place(topology.root, 0)
    height, width = f"{STEP_Y * (len(final) + 0.2):.0f}", f"{LEFT + step * depth + 60:.0f}"
    # the script puts them there: the page's policy forbids styles in attributes
    spans = [element("span", math(latex), class_=kind, data_left=f"{x:.0f}", data_top=f"{y:.0f}") for x, y, latex, kind in labels]
    paths = element("svg", (element("path", d=line) for line in lines), width=width, height=height)
    drawing = element("div", paths, spans, class_="tree", data_width=width, data_height=height)
    chips = [element("span", math(latex), title=", ".join(waves)) for latex, waves in topology.resonances.items()]
    return element("figure", element("div", drawing, class_="scroll bare"), element("div", chips, class_="chips"))


def _shape(node: Node | int) -> object:
    return node if isinstance(node, int) else tuple(_shape(daughter) for daughter in node.daughters)


def _depth(node: Node | int) -> int:
    return 0 if isinstance(node, int) else 1 + max(_depth(daughter) for daughter in node.daughters)
