"""What a file in the format says, checked: decays, chains, functions, points and checksums."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from ctpwa.decay.spin import LS
from ctpwa.interchange.checked import Entry

Node = int | tuple["Node", "Node"]  # an index of a final particle, or two nodes
LARGEST_MASS = 1e6  # GeV
MOST_PARTICLES = 6
UNPOLARISED, POLARISED = "HadronicUnpolarizedIntensity", "HadronicPolarizedIntensity"


@dataclass(frozen=True)
class State:
    """The decaying particle or a final one: index, name, doubled spin and mass in GeV."""

    index: int
    name: str
    two_J: int
    mass: float


@dataclass(frozen=True)
class VertexEntry:
    """How a state decays.

    Attributes:
        kind:        ``ls``, ``helicity`` or ``parity``
        ls:          (L, S) of an ``ls`` vertex
        helicities:  doubled helicities of the others
        parity:      factor of the opposite helicities: 0 of ``helicity``
        form_factor: name of a function; empty if there is none
        entry:       where it stands
    """

    kind: str
    ls: LS | None
    helicities: tuple[int, int]
    parity: int
    form_factor: str
    entry: Entry


@dataclass(frozen=True)
class PropagatorEntry:
    """An inner state: its doubled spin and the name of its lineshape."""

    two_J: int
    function: str
    entry: Entry


@dataclass(frozen=True)
class ChainDescription:
    """A decay chain with a complex weight; vertices and propagators by node."""

    name: str
    topology: Node
    weight: complex
    vertices: Mapping[Node, VertexEntry]
    propagators: Mapping[Node, PropagatorEntry]
    entry: Entry


@dataclass(frozen=True)
class Distribution:
    """One model of a file.

    Attributes:
        name:       its name
        polarised:  whether the parent has a spin density matrix
        parent:     the decaying particle
        final:      the final particles by index
        reference:  the topology in which points are given
        chains:     its chains
        variables:  (mass, φ, cos θ) of the nodes of the reference topology by name
        appendix:   what else it says
        entry:      where it stands
    """

    name: str
    polarised: bool
    parent: State
    final: Mapping[int, State]
    reference: Node
    chains: tuple[ChainDescription, ...]
    variables: Mapping[Node, tuple[str, str, str]]
    appendix: Mapping[str, object]
    entry: Entry


@dataclass(frozen=True)
class Function:
    """A lineshape or a form factor."""

    name: str
    kind: str
    entry: Entry


@dataclass(frozen=True)
class Checksum:
    """What a distribution or function is at a point."""

    of: str
    point: str
    value: complex
    entry: Entry


@dataclass(frozen=True)
class Description:
    """A whole file."""

    distributions: tuple[Distribution, ...]
    functions: Mapping[str, Function]
    points: Mapping[str, Mapping[str, float]]
    checksums: tuple[Checksum, ...]
    ignored: tuple[str, ...] = field(default=())


def read_description(content: object) -> Description:
    """The content of a file, checked."""
    top = Entry(content)
    functions = {}
    for entry in top["functions"]:
        name = entry["name"].text
        if name in functions:
            raise entry.error(f"two functions are called {name!r}", "rename one of them")
        functions[name] = Function(name, entry["type"].text, entry)
    points = {}
    for entry in top.get("parameter_points") or ():
        points[entry["name"].text] = {p["name"].text: p["value"].number for p in entry["parameters"]}
    misc = top.get("misc")
    sums = misc.get("amplitude_model_checksums") if misc is not None else None
    checksums = tuple(Checksum(e["distribution"].text, e["point"].text, e["value"].complex, e) for e in sums or ())
    distributions = tuple(_distribution(entry) for entry in top["distributions"])
    if not distributions:
        raise top["distributions"].error("there is no distribution", "give a file with a model")
    names = [d.name for d in distributions]
    for distribution in distributions:
        if names.count(distribution.name) > 1:
            raise distribution.entry.error(f"two distributions are called {distribution.name!r}", "rename one of them")
    known = {"distributions", "functions", "domains", "misc", "parameter_points"}
    ignored = [f"{key}: not part of the format" for key, _ in top.items() if key not in known]
    ignored += ["domains: ranges of variables follow from masses"] if "domains" in top else []
    return Description(distributions, functions, points, checksums, tuple(ignored))


def _distribution(entry: Entry) -> Distribution:
    kind = entry["type"].text
    if kind not in (UNPOLARISED, POLARISED):
        raise entry["type"].error(f"{kind!r} is not known", f"{UNPOLARISED} and {POLARISED} are")
    decay = entry["decay_description"]
    kinematics = decay["kinematics"]
    parent = _state(kinematics["initial_state"])
    if parent.index != 0:
        raise kinematics["initial_state"]["index"].error(f"the index of the initial state is {parent.index}", "it must be 0")
    final = {}
    for member in kinematics["final_state"]:
        state = _state(member)
        if state.index in final or state.index == 0:
            raise member["index"].error(f"the index {state.index} is given twice", "number final particles from 1")
        final[state.index] = state
    if not 2 <= len(final) <= MOST_PARTICLES:
        raise kinematics["final_state"].error(f"there are {len(final)} final particles", f"ctpwa handles 2 to {MOST_PARTICLES}")
    reference = _whole_topology(decay["reference_topology"], final)
    chains = tuple(_chain(chain, final) for chain in decay["chains"])
    if not chains:
        raise decay["chains"].error("there is no chain", "give a model with chains")
    variables = {}
    for variable in entry.get("variables") or ():
        names = [name.text for name in variable["mass_phi_costheta"]]
        if len(names) != 3:
            raise variable["mass_phi_costheta"].error(f"there are {len(names)} names", "name mass, phi and cos(theta)")
        variables[_node(variable["node"], final)] = (names[0], names[1], names[2])
    appendix = decay.get("appendix")
    extra = appendix.value if appendix is not None and isinstance(appendix.value, dict) else {}
    return Distribution(entry["name"].text, kind == POLARISED, parent, final, reference, chains, variables, extra, entry)


def _state(entry: Entry) -> State:
    mass = entry["mass"]
    if isinstance(mass.value, str):
        raise mass.error("a mass that is a function cannot be imported", "write the number in GeV")
    if not 0 <= mass.number < LARGEST_MASS:
        raise mass.error(f"a mass of {mass.number:g} GeV", "correct it")
    two_J = entry["spin"].two_spin
    if not 0 <= two_J <= 20:
        raise entry["spin"].error(f"a spin of {entry['spin'].shown}", "spins go from 0 to 10")
    return State(entry["index"].whole, entry["name"].text, two_J, mass.number)


def _node(entry: Entry, final: Mapping[int, State]) -> Node:
    found = _nested(entry, 0)
    leaves = list(leaves_of(found))
    for index in leaves:
        if index not in final:
            raise entry.error(f"{index} is not the index of a final particle", f"they are {', '.join(map(str, sorted(final)))}")
    if len(set(leaves)) != len(leaves):
        raise entry.error("a particle occurs twice", "correct it")
    return found


def _nested(entry: Entry, depth: int) -> Node:
    if isinstance(entry.value, int) and not isinstance(entry.value, bool):
        return entry.whole
    if depth > MOST_PARTICLES:
        raise entry.error("the topology is nested too deeply", "correct it")
    members = [_nested(member, depth + 1) for member in entry]
    if len(members) != 2:
        raise entry.error(f"a vertex with {len(members)} daughters cannot be imported", "give every vertex two daughters")
    return (members[0], members[1])


def _whole_topology(entry: Entry, final: Mapping[int, State]) -> Node:
    node = _node(entry, final)
    if sorted(leaves_of(node)) != sorted(final):
        raise entry.error("the topology does not hold all final particles", "correct it")
    return node


def _chain(entry: Entry, final: Mapping[int, State]) -> ChainDescription:
    topology = _whole_topology(entry["topology"], final)
    inner = list(vertices_of(topology))
    vertices = {}
    for vertex in entry["vertices"]:
        vertices[_among(vertex["node"], final, inner)] = _vertex(vertex)
    propagators = {}
    for propagator in entry["propagators"]:
        node = _among(propagator["node"], final, inner[1:])
        propagators[node] = PropagatorEntry(propagator["spin"].two_spin, propagator["parametrization"].text, propagator)
    for node in inner:
        if node not in vertices:
            raise entry["vertices"].error(f"there is no vertex for {list_of(node)}", "give one for every node of the topology")
        if node != topology and node not in propagators:
            raise entry["propagators"].error(f"there is no propagator for {list_of(node)}", "give one for every inner node")
    return ChainDescription(entry["name"].text, topology, entry["weight"].complex, vertices, propagators, entry)


def _among(entry: Entry, final: Mapping[int, State], nodes: Sequence[Node]) -> Node:
    node = _node(entry, final)
    if node not in nodes:
        raise entry.error(f"{list_of(node)} is not a node of the topology", f"they are {', '.join(str(list_of(n)) for n in nodes)}")
    return node


def _vertex(entry: Entry) -> VertexEntry:
    kind = entry["type"].text
    factor = entry.get("formfactor")
    form_factor = "" if factor is None else factor.text
    if kind == "ls":
        return VertexEntry(kind, LS(entry["l"].whole, Fraction(entry["s"].two_spin, 2)), (0, 0), 0, form_factor, entry)
    if kind not in ("helicity", "parity"):
        raise entry["type"].error(f"a vertex of type {kind!r} is not known", "ls, helicity and parity are")
    helicities = [helicity.two_spin for helicity in entry["helicities"]]
    if len(helicities) != 2:
        raise entry["helicities"].error(f"there are {len(helicities)} helicities", "give two")
    sign = 0
    if kind == "parity":
        text = entry["parity_factor"].text
        if text not in ("+", "-"):
            raise entry["parity_factor"].error(f"{text!r} is not a sign", "write + or -")
        sign = 1 if text == "+" else -1
    return VertexEntry(kind, None, (helicities[0], helicities[1]), sign, form_factor, entry)


def leaves_of(node: Node) -> Iterator[int]:
    """Indices of the final particles of a node, in order."""
    if isinstance(node, int):
        yield node
    else:
        for part in node:
            yield from leaves_of(part)


def vertices_of(node: Node) -> Iterator[tuple[Node, Node]]:
    """All vertices of a topology, parents before daughters, first daughters first."""
    if not isinstance(node, int):
        yield node
        for part in node:
            yield from vertices_of(part)


def list_of(node: Node) -> object:
    """A node as the file writes it."""
    return node if isinstance(node, int) else [list_of(part) for part in node]
