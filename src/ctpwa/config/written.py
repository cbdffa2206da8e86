"""Chains that are spelled out under ``chains``, and the single vertex of a two-body decay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ctpwa.base.errors import Path, PhysicsError
from ctpwa.base.words import counted
from ctpwa.config.chain_text import ChainReader
from ctpwa.config.chains import FoundChain
from ctpwa.config.draft import Draft, read_ls
from ctpwa.config.problems import SpecError
from ctpwa.config.resonances import resonance_state
from ctpwa.config.schema import ChainSpec, ResonanceSpec
from ctpwa.decay.chain import Chain, Node
from ctpwa.decay.particle import Particle
from ctpwa.decay.pdg import normalise, split_charge
from ctpwa.decay.spin import LS
from ctpwa.decay.waves import chain_waves


def written_chains(draft: Draft) -> list[FoundChain]:
    """The chains of the ``chains`` section."""
    found = []
    for index, spec in enumerate(draft.spec.chains):
        with draft.problems.collect(("chains", index), fix="remove the chain, or correct JP of its resonances"):
            found += _written_chain(draft, spec, index)
    return found


def direct_chain(draft: Draft) -> list[FoundChain]:
    """A two-body decay is one vertex."""
    with draft.problems.collect(("decay",), fix="correct the decay, or say weak: true if parity and C may be violated"):
        chain = Chain(draft.decay, draft.rules.node(draft.decay, "", draft.decay.parent, (0, 1)))
        return _started(draft, draft.starts(chain), lambda own: [draft.vertex_choice(own, own.root)], draft.spec.tie_conjugates, ("decay",))
    return []


def _started(draft: Draft, starts: Sequence[Chain], choices: Callable[[Chain], list[list[LS]]], tied: bool, path: Path) -> list[FoundChain]:
    """A chain with its waves, from everything that its parent can be if a beam made it, and in every state in which it was produced;
    what the laws forbid is left out unless all is.
    """
    found, refused = list[FoundChain](), list[PhysicsError]()
    for own in starts:
        try:
            found += draft.produced(FoundChain(own, chain_waves(own, choices(own), draft.limits.waves), tied, path))
        except PhysicsError as error:
            refused.append(error)
    if not found:
        raise refused[0]
    return found


def _written_chain(draft: Draft, spec: ChainSpec, index: int) -> list[FoundChain]:
    chain = ChainReader(spec.decay, draft.decay, draft.table, lambda name, leaves: _find_state(draft, name, leaves), draft.rules).read()
    starts = [_with_barriers(draft, own, spec) for own in draft.starts(chain)]
    tied = spec.tie if spec.tie is not None else all(draft.tied(node.resonance) for node in chain.nodes[1:])
    return _started(draft, starts, lambda own: _vertex_choices(draft, own, spec), tied, ("chains", index))


def _vertex_choices(draft: Draft, chain: Chain, spec: ChainSpec) -> list[list[LS]]:
    limits = spec.max_L if isinstance(spec.max_L, list) else [spec.max_L] * len(chain.nodes)
    _check_length(chain, limits, "max_L")
    if spec.ls is None:
        return [draft.vertex_choice(chain, node, None, limit) for node, limit in zip(chain.nodes, limits, strict=True)]
    _check_length(chain, spec.ls, "ls")
    choices = []
    for position, (node, pairs, limit) in enumerate(zip(chain.nodes, spec.ls, limits, strict=True)):
        only = None if pairs is None else read_ls(pairs, "ls", position)
        try:
            choices.append(draft.vertex_choice(chain, node, only, limit))
        except PhysicsError as error:
            raise SpecError(error.what, error.fix, key=None if only is None else ("ls", position)) from None
    return choices


def _with_barriers(draft: Draft, chain: Chain, spec: ChainSpec) -> Chain:
    """The chain with the barriers that are given for its vertices."""
    if spec.barriers is None:
        return chain
    _check_length(chain, spec.barriers, "barriers")
    by_node = iter(spec.barriers)

    def rebuilt(node: Node) -> Node:
        given = next(by_node)
        first, second = (rebuilt(d) if isinstance(d, Node) else d for d in node.daughters)
        barrier = node.barrier if given is None else draft.barrier_of(given, node.resonance)
        return replace(node, daughters=(first, second), barrier=barrier)

    return Chain(chain.decay, rebuilt(chain.root))


def _check_length(chain: Chain, entries: Sequence[Any], key: str) -> None:
    if len(entries) != len(chain.nodes):
        raise SpecError(
            f"{key!r} has {counted(len(entries), 'entry', 'entries')} for {counted(len(chain.nodes), 'vertex', 'vertices')}: {chain}",
            "give one entry per vertex in this order; null allows all",
            key=(key,),
        )


def _find_state(draft: Draft, name: str, leaves: tuple[int, ...]) -> tuple[str, Particle]:
    """The resonance that a name in a chain means, and its charge state that decays to these final particles."""
    held = draft.decay.held_at(leaves)
    if held is not None:
        named = draft.table.find(name)
        if normalise(name) != normalise(held.label) and (named is None or named.name != held.particle.name):
            raise SpecError(f"{name!r} is {held.label}, which the decay line holds at its mass", f"write {held.label}", word=name)
        return draft.held_name(held), held.particle
    system = draft.decay.particles(leaves)
    key = draft.declared(name)
    spec = draft.spec.resonances[key] if key is not None else ResonanceSpec.model_validate({})
    try:
        state = _charge_state(draft, name, key, spec, system)
        if key is None:
            key = state.name if (state.baryon, state.charge) >= (0, 0) else state.antiparticle
            draft.undeclared[key] = spec
        draft.add_resonance(key, spec, state, leaves)
    except PhysicsError as error:
        raise SpecError(error.what, error.fix, word=name) from None
    return key, state


def _charge_state(draft: Draft, name: str, key: str | None, spec: ResonanceSpec, system: tuple[Particle, ...]) -> Particle:
    exact = draft.table.find(name)
    if exact is None or split_charge(name)[1] is None:
        return resonance_state(key or name, spec, system, draft.table)
    state = resonance_state(exact.name, ResonanceSpec.model_validate({"JP": spec.JP}), system, draft.table)
    if state.name != exact.name:
        members = " ".join(particle.name for particle in system)
        raise PhysicsError(f"charge is not conserved: {exact.name} cannot decay to {members}", f"{state.name} could")
    return state
