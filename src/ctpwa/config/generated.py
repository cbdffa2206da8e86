"""Chains of all resonances that say which final particles they decay to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ctpwa.base.errors import Path, PhysicsError
from ctpwa.config.chains import Carrier, FoundChain, generate_chains
from ctpwa.config.draft import Draft
from ctpwa.config.hints import possible_jp
from ctpwa.config.left_out import LeftOut
from ctpwa.config.problems import SpecError
from ctpwa.config.resonances import resonance_state
from ctpwa.config.schema import ResonanceSpec
from ctpwa.config.systems import System
from ctpwa.decay.chain import Chain
from ctpwa.decay.waves import chain_waves

Refused = Mapping[str, Sequence[tuple[Chain, PhysicsError]]]


def generated_chains(draft: Draft) -> list[FoundChain]:
    """Every chain that the ``in`` entries make; an entry without any wave is a problem."""
    everything = _carriers(draft)
    carriers = [carrier for carrier in everything if not _is_whole(carrier, draft)]
    of_pair = len(draft.decay.final) == 2 and len(everything) > 0
    if not carriers and not of_pair and (not draft.decay.held or draft.spec.chains):
        return []
    carriers += _held_carriers(draft)
    found: list[FoundChain] = []
    try:
        chains = generate_chains(draft.decay, carriers, draft.rules, draft.limits.chains)
    except PhysicsError as error:  # too many to go on
        draft.problems.add(error, ("resonances",))
        draft.problems.stop()
        raise
    refused: dict[str, list[tuple[Chain, PhysicsError]]] = {}
    left_out = LeftOut(draft)
    for chain in (start for own in chains for start in draft.starts(own)):
        names = [node.resonance for node in chain.shown]
        try:
            waves = chain_waves(chain, [draft.vertex_choice(chain, node) for node in chain.nodes], draft.limits.waves)
        except PhysicsError as error:
            for node in chain.carriers:
                refused.setdefault(node.resonance, []).append((chain, error))
            if len(names) > 1 and draft.states is None:
                draft.notes.append(f"no wave for {chain}: {error.what}")
        else:
            path: Path = ("resonances", names[0]) if names else ("decay",)
            for each in draft.produced(FoundChain(chain, waves, all(map(draft.tied, names or [""])), path)):
                kept = left_out.kept(each.chain, waves)
                found += [each._replace(choices=kept)] if kept else []
    left_out.report_unused()
    mine = [own for own in everything if not (_is_whole(own, draft) and draft.spec.chains)]  # of X itself, written chains may have more
    _report_refused(draft, [*mine, *_held_carriers(draft)], found, refused, left_out.chains)
    return found


def _is_whole(carrier: Carrier, draft: Draft) -> bool:
    """Whether a resonance is X itself."""
    return len(carrier.system.places[0]) == len(draft.decay.final)


def _carriers(draft: Draft) -> list[Carrier]:
    carriers: list[Carrier] = []
    for name, spec in draft.spec.resonances.items():
        for index, text in enumerate(spec.in_):
            entry: Path = ("resonances", name)
            value: Path = ("in", index) if len(spec.in_) > 1 else ("in",)
            with draft.problems.collect(entry, *value):
                carriers.append(_carrier(draft, name, spec, text, (*entry, *value)))
                _check_repeated(carriers)
    return carriers


def _carrier(draft: Draft, name: str, spec: ResonanceSpec, text: str, path: Path) -> Carrier:
    system = System.read(text, draft.decay, whole=draft.states is not None)
    place = system.places[0]
    if (held := draft.decay.held_at(place)) is not None:
        raise SpecError(
            f"{name!r} is in {text}, which is always {held.label}: a state on its mass shell is in every chain, or in none",
            f"remove {name!r}, or the sub-decay of {held.label} from the decay line",
        )
    state = resonance_state(name, spec, draft.decay.particles(place), draft.table)
    draft.add_resonance(name, spec, state, place)
    if draft.states is not None and len(place) == len(draft.decay.final):
        _check_of_X(name, spec)
        draft.states.carry(name, state)
    return Carrier(name, state, system, path)


def _check_of_X(name: str, spec: ResonanceSpec) -> None:
    """X has no vertex where it is produced."""
    for key in ("production_ls", "production_barrier"):
        if len(spec.in_) == 1 and getattr(spec, key) is not None:
            raise SpecError(f"{key!r} of {name!r}, which is X itself and comes from no vertex", "remove it", key=(key,))


def _held_carriers(draft: Draft) -> list[Carrier]:
    """States on their mass shell, which are in every chain."""
    carriers = []
    for state in draft.decay.held:
        members = tuple(draft.decay.labels[i] for i in state.place)
        system = System(" ".join(draft.decay.words(state.place)), members, (state.place,))
        carriers.append(Carrier(draft.held_name(state), state.particle, system, ("decay",)))
    return carriers


def _check_repeated(carriers: list[Carrier]) -> None:
    """The last entry must not repeat an earlier one of its resonance."""
    *earlier, last = carriers
    for carrier in earlier:
        if carrier.name == last.name and carrier.system.sets == last.system.sets:
            carriers.pop()
            raise SpecError(f"{last.name!r} is declared twice in the same system: {carrier.system.text} and {last.system.text}", "keep one")


def _report_refused(
    draft: Draft, carriers: Sequence[Carrier], found: Sequence[FoundChain], refused: Refused, left_out: Sequence[Chain]
) -> None:
    """A resonance in a system that got no wave at all is an error."""
    complete = not draft.problems.at("resonances")
    for carrier in carriers:
        nodes = (node for each in found for node in each.chain.nodes)
        if any(node.resonance == carrier.name and tuple(sorted(node.leaves)) in carrier.system.sets for node in nodes):
            continue
        here = [pair for pair in refused.get(carrier.name, ()) if _has(pair[0], carrier)]
        if not here and not complete:  # what is missing may be an entry that has a problem of its own
            continue
        if any(_has(chain, carrier) for chain in left_out):
            _check_something_left(draft, carrier, found)
            continue
        error = _why_refused(draft, carrier, here) if here else _no_way(draft, carrier, carriers)
        if not any(problem.what == error.what for problem in draft.problems.found):  # others in the chain fail for the same reason
            draft.problems.add(error, carrier.path[:2], *carrier.path[2:])


def _has(chain: Chain, carrier: Carrier) -> bool:
    return any(node.resonance == carrier.name and tuple(sorted(node.leaves)) in carrier.system.sets for node in chain.nodes)


def _check_something_left(draft: Draft, carrier: Carrier, found: Sequence[FoundChain]) -> None:
    """A system may be left out, a whole resonance not."""
    if not any(node.resonance == carrier.name for each in found for node in each.chain.nodes):
        error = SpecError(f"'without' leaves no wave of {carrier.name!r}", "leave out less, or remove the resonance", key=())
        draft.problems.add(error, ("resonances", carrier.name))


def _why_refused(draft: Draft, carrier: Carrier, refused: Sequence[tuple[Chain, PhysicsError]]) -> SpecError:
    chain, first = refused[0]
    reasons = list(dict.fromkeys(error.what for _, error in refused))
    what = reasons[0] if len(reasons) == 1 else f"{carrier.name!r} in {carrier.system.text} has no wave: " + "; ".join(reasons)
    if carrier.path == ("decay",):
        return SpecError(what, first.fix or "correct the decay, or say weak: true if parity and C may be violated")
    spec = draft.spec.resonances[carrier.name]
    key = first.key if isinstance(first, SpecError) else None
    if key is None and not first.fix and spec.JP is not None:
        key = ("JP",)
    return SpecError(what, first.fix or _jp_advice(chain, carrier), key=key)


def _jp_advice(chain: Chain, carrier: Carrier) -> str:
    possible = possible_jp(chain, carrier.name)
    return f"remove it, or correct its JP: {', '.join(possible)} could be here" if possible else "remove it, or correct its JP"


def _no_way(draft: Draft, carrier: Carrier, carriers: Sequence[Carrier]) -> SpecError:
    """The error for a resonance that no chain can contain: a step inside its system, or outside, has no state."""
    decay, place = draft.decay, carrier.system.places[0]
    inside = any(set(small) < set(place) and decay.held_at(small) is None for other in carriers for small in other.system.sets)
    if len(decay.parts(place)) > 2 and not inside:
        missing, where = f"steps inside {carrier.system.text}", f"in: {' '.join(decay.words(sorted(place))[:2])}"
    else:
        rest = " ".join(decay.words([i for i in range(len(decay.final)) if i not in place]))
        missing, where = f"the rest, {rest}", f"in: {rest}, or a larger system"
    return SpecError(
        f"no chain leads to {carrier.name!r} in {carrier.system.text}: nothing is declared for {missing}",
        f"add a resonance, or a structure of lineshape constant, that completes the chain ({where}), or spell the chain out under 'chains'",
    )
