"""What the file says its functions and intensities are at some points, and what ctpwa computes there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from ctpwa.engine.codegen.tensors import evaluate
from ctpwa.engine.likelihood.intensity import ModelIntensity
from ctpwa.interchange.model_file import ImportedModel
from ctpwa.interchange.serialization.description import Checksum, Description, Distribution, Function, Node, leaves_of, vertices_of
from ctpwa.interchange.serialization.functions import ELSEWHERE, lineshape_of
from ctpwa.kinematics.decay_angles import momenta_at
from ctpwa.model.lineshapes.formula import Formula, Vertex, q2, s
from ctpwa.model.lineshapes.registry import build_lineshape


@dataclass(frozen=True)
class CheckedSum:
    """A checksum of a file beside the number that was computed.

    Attributes:
        of:        name of the distribution or function
        point:     name of the point
        expected:  what the file says
        computed:  what ctpwa finds
    """

    of: str
    point: str
    expected: complex
    computed: complex

    @property
    def deviation(self) -> float:
        """|computed − expected|, relative to what is expected."""
        return float(abs(self.computed - self.expected) / abs(self.expected)) if self.expected else float(abs(self.computed))


def check_sums(description: Description, models: Mapping[str, ImportedModel]) -> list[CheckedSum]:
    """All checksums of a file; models are those of its distributions by name."""
    distributions = {d.name: d for d in description.distributions}
    intensities: dict[str, ModelIntensity] = {}
    found = []
    for checksum in description.checksums:
        if checksum.point not in description.points:
            raise checksum.entry["point"].error(f"there is no point {checksum.point!r}", "add it to 'parameter_points'")
        point = description.points[checksum.point]
        if checksum.of in models:
            distribution, imported = distributions[checksum.of], models[checksum.of]
            if checksum.of not in intensities:
                intensities[checksum.of] = ModelIntensity(imported.model, engine="reference", device="cpu")
            labels = dict(zip(distribution.final, intensities[checksum.of].model.decay.labels, strict=True))
            momenta = {labels[i]: p for i, p in _momenta(distribution, point, checksum).items()}
            computed = complex(intensities[checksum.of](momenta)[0])
        elif checksum.of in description.functions:
            computed = _function_value(description.functions[checksum.of], point, checksum)
        else:
            raise checksum.entry["distribution"].error(f"{checksum.of!r} is neither a distribution nor a function", "correct it")
        found.append(CheckedSum(checksum.of, checksum.point, checksum.value, computed))
    return found


def _momenta(distribution: Distribution, point: Mapping[str, float], checksum: Checksum) -> dict[int, torch.Tensor]:
    """The momenta of one event, [1, 4]."""
    masses: dict[Node, torch.Tensor] = {i: _tensor(state.mass) for i, state in distribution.final.items()}
    angles: dict[Node, tuple[torch.Tensor, torch.Tensor]] = {}
    for node in vertices_of(distribution.reference):
        names = distribution.variables.get(node) or _usual_names(node)
        for name in names:
            if name not in point:
                raise checksum.entry["point"].error(
                    f"the point {checksum.point!r} has no {name!r}", "give mass, phi and cos(theta) of all nodes"
                )
        mass, phi, cos_theta = (point[name] for name in names)
        if abs(cos_theta) > 1:
            raise checksum.entry["point"].error(f"{names[2]} is {cos_theta:g}", "a cosine is at most 1")
        masses[node], angles[node] = _tensor(mass), (_tensor(cos_theta), _tensor(phi))
    for node in vertices_of(distribution.reference):
        if float(masses[node]) < sum(float(masses[part]) for part in node):
            raise checksum.entry["point"].error("a mass is below the masses of the daughters", "correct the point")
    return momenta_at(distribution.reference, masses, angles)  # type: ignore[return-value]


def _usual_names(node: Node) -> tuple[str, str, str]:
    """m_31, phi_31, cos_theta_31; a file that does not name its variables has these."""
    assert not isinstance(node, int)
    first, second = ("".join(map(str, leaves_of(part))) for part in node)
    text = f"{first}{second}" if len(first) == len(second) == 1 else f"{first}_{second}"
    return f"m_{text}", f"phi_{text}", f"cos_theta_{text}"


def _tensor(value: float) -> torch.Tensor:
    return torch.tensor([value], dtype=torch.float64)


def _function_value(function: Function, point: Mapping[str, float], checksum: Checksum) -> complex:
    """A lineshape at a squared mass."""
    if len(point) != 1:
        raise checksum.entry["point"].error(f"{function.name!r} is a function of one number, and the point has {len(point)}", "give one")
    if "momentum" in function.entry:
        raise checksum.entry["distribution"].error(f"{function.name!r} also depends on a momentum", "give checksums of distributions")
    (squared_mass,) = point.values()
    if squared_mass <= 0:
        raise checksum.entry["point"].error(f"a squared mass of {squared_mass:g} GeV²", "give a number above 0")
    pair = (function.entry["ma"].number, function.entry["mb"].number) if function.kind == "BreitWigner" else (-1.0, -1.0)
    spec = lineshape_of(function, {pair})
    vertex = Vertex(*pair, spec["width_l"], spec.get("radius", 1.0)) if "width_l" in spec else ELSEWHERE
    options = dict(spec.get("options", {}))
    shape = spec.get("lineshape", "breit_wigner")
    if "(" in shape:
        options["parameters"] = list(spec.get("parameters", ()))
    lineshape = build_lineshape(shape, vertex, **options)
    assert isinstance(lineshape, Formula)
    values = {"mass": spec.get("mass"), "width": spec.get("width"), **spec.get("parameters", {})}
    numbers = {p.symbol: _tensor(values[p.name]) for p in lineshape.parameters}
    m1, m2 = pair
    own = (squared_mass - (m1 + m2) ** 2) * (squared_mass - (m1 - m2) ** 2) / (4 * squared_mass)
    return complex(evaluate(lineshape.expression, {**numbers, s: _tensor(squared_mass), q2: _tensor(max(own, 0.0))}).reshape(-1)[0])
