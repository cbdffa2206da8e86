"""A first model of a decay: which resonances of the PDG may be in it, and which of them to start with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from ctpwa.base.errors import PhysicsError
from ctpwa.config.chains import Carrier, generate_chains
from ctpwa.config.particles import OWN_PARTICLES, read_decay
from ctpwa.config.problems import SpecError, SpecErrors
from ctpwa.config.propose.candidates import Candidate, Region, candidates, final_words, regions
from ctpwa.config.propose.nonresonant import RULES, NonresonantLine, simplest_structures, structures_in, structures_inside
from ctpwa.config.propose.shapes import BROAD, FLATTE
from ctpwa.config.propose.strong import LASS, TWINS, group_of, known_couplings
from ctpwa.config.propose.weak_current import current_line, lepton_pair, without_pair
from ctpwa.config.systems import System
from ctpwa.decay.catalogue import hadron
from ctpwa.decay.chain import Chain, Decay, Node, changes_flavour
from ctpwa.decay.isospin import isospin_conserving
from ctpwa.decay.particle import Particle
from ctpwa.decay.pdg import ParticleTable
from ctpwa.decay.rules import allowed_ls
from ctpwa.decay.spin import LS, format_spin
from ctpwa.decay.waves import chain_waves, vertex_ls

THRESHOLD_REACH = 1.0  # widths outside the kinematic range up to which a resonance with a lineshape made for a threshold is active
# how far a step of a cascade may be short of energy, in units of all widths that take part: of the parent, of a narrow state, of others
ROOT_REACH, NARROW_REACH, CASCADE_REACH = 0.5, 1.0, 0.15
MOST = {2: 12, 3: 12, 4: 12, 5: 6, 6: 6}  # resonances in use, by number of final particles
S_WAVE = (0.84, 0.46)  # GeV: mass and width of K(0)*(700), where the S wave of K pi begins
UNKNOWN_RANK = 2  # of a state in a group whose couplings are not known: after the two strongest of other groups
NARROWEST = 0.01  # GeV; a narrower state may decay to resonances that are heavier than it, as omega -> rho pi
NARROW = 0.1  # GeV; a narrower state may show where isospin forbids it or where it decays to a photon
AGAINST_ISOSPIN, ELECTROMAGNETIC = "isospin-violating decay", "electromagnetic decay"
HIGHEST_L = 2  # an active resonance is produced with at most this L
HIGHEST_L_STRONG = 3  # the same of one that is known to couple strongly
HIGHEST_L_CASCADE = 1  # the same in decays to four or more particles, where every combination of resonances makes waves
MANY = 5  # final particles from which on the parent decays with the smallest L only
HIGHEST_J_CASCADE = {4: 2, 5: 2, 6: 1}  # highest spin of an active resonance there, by number of particles


@dataclass(frozen=True)
class Proposed:
    """A resonance of a first model: one line of the model file.

    Attributes:
        name:        key in the model file
        regions:     the final particles it decays to
        states:      its charge state in each of them
        multiplet:   its isospin multiplet
        two_I:       doubled isospin
        production:  (L, S) where it is produced, by what is produced with it; of conjugate regions only the first
        decays:      (L, S) where it decays, by what it decays to; the same
        reasons:     why it is not active; empty for one that is
        elsewhere:   why it is not active in further regions
    """

    name: str
    regions: tuple[Region, ...]
    states: tuple[Particle, ...]
    multiplet: str
    two_I: int | None
    production: dict[str, tuple[LS, ...]]
    decays: dict[str, tuple[LS, ...]]
    reasons: tuple[str, ...]
    elsewhere: tuple[str, ...] = ()

    @property
    def active(self) -> bool:
        """Whether the first model uses it."""
        return not self.reasons

    @property
    def state(self) -> Particle:
        """The charge state whose mass and width are in the model file."""
        return self.states[0]


@dataclass(frozen=True)
class ProposedChain:
    """A chain of a first model of a decay to four or more particles.

    Attributes:
        text:     its vertices, as a model file writes them
        names:    keys of its resonances
        of:       the resonance that is listed with it, if it is not active
        reasons:  why it is not active; empty for one that is
        ls:       (L, S) of the parent's vertex, where not all are used
    """

    text: str
    names: tuple[str, ...]
    of: str = ""
    reasons: tuple[str, ...] = ()
    ls: tuple[LS, ...] = ()


@dataclass(frozen=True)
class ModelProposal:
    """A first model.

    Attributes:
        decay_text:          the decay as the user wrote it
        decay:               the decay
        transverse:          whether the parent is a vector that e⁺e⁻ annihilation makes with m = ±1
        isospin_conserved:   whether isospin is used where the parent decays
        resonances:          active and other ones, grouped by region and ordered by mass
        chains:              of decays to four or more particles: active ones, and some of the resonances that are not
        structures:          non-resonant structures; they are active if and only if no resonance is
        left_out:            region and names of those that only decay electromagnetically or against isospin, and are too wide to show
        incomplete:          region and names of those whose mass, width or parity is missing from the PDG tables
        current:             what makes a lepton and its neutrino
        inside:              non-resonant structures inside states that are held at their mass and decay to three particles or more
    """

    decay_text: str
    decay: Decay
    transverse: bool
    isospin_conserved: bool
    resonances: tuple[Proposed, ...]
    chains: tuple[ProposedChain, ...]
    structures: tuple[NonresonantLine, ...]
    left_out: dict[str, tuple[str, ...]]
    incomplete: dict[str, tuple[str, ...]]
    inside: tuple[NonresonantLine, ...] = ()
    current: NonresonantLine | None = None


def propose_resonances(decay_text: str) -> ModelProposal:
    """The resonances of the PDG that quantum numbers and masses allow in every system of final particles of a decay.

    Args:
        decay_text:  such as ``J/psi(1S) -> K+ K- eta``; states that are held at their mass by a sub-decay count as final particles

    Raises:
        PhysicsError: for a decay that cannot be read or cannot happen, with near names for unknown particles
    """
    decay = read_decay_text(decay_text)
    outer, current = decay.outer, None
    if (pair := lepton_pair(outer)) is not None:
        current, outer = current_line(outer, pair), without_pair(outer, pair)
    found = _Search(outer).run(decay_text)
    if current is not None:
        ends = f"; {current.name} -> {current.systems[0]}"
        found = replace(found, chains=tuple(replace(chain, text=chain.text + ends) for chain in found.chains))
    return replace(found, decay=decay, inside=structures_inside(decay, len(found.structures)), current=current)


def read_decay_text(text: str) -> Decay:
    """A decay of PDG particles; everything that is wrong in one error."""
    try:
        return read_decay(text, ParticleTable())
    except SpecErrors as errors:
        lines = [f"{error.what}\n fix: {error.fix.removesuffix(OWN_PARTICLES).strip()}" for error in errors.errors]
        raise PhysicsError("\n".join(lines)) from None
    except SpecError as error:
        raise PhysicsError(error.what, error.fix) from None


@dataclass
class _Findings:
    """What the chains of a candidate show."""

    production: dict[str, dict[LS, None]] = field(default_factory=dict)
    decays: dict[str, dict[LS, None]] = field(default_factory=dict)
    waves: int = 0
    decay_allowed: bool = False  # by isospin
    allowed: bool = False  # by isospin, decay and production
    lowest_L: int = 99  # where the parent decays
    chains: dict[Chain, None] = field(default_factory=dict)


class _Search:
    def __init__(self, decay: Decay) -> None:
        self.decay = decay
        self.words = final_words(decay)
        self.cascade = len(decay.final) > 3
        self.most = MOST[len(decay.final)]
        self.highest_L = HIGHEST_L_CASCADE if self.cascade else HIGHEST_L
        self.isospin_conserved = _isospin_conserved(decay)
        self.radiative = False  # whether resonances that decay electromagnetically may be active
        self.weaker = False  # whether those with smaller couplings may be
        self.active: list[Candidate] = []
        self._chains_of: dict[tuple[Candidate, ...], list[Chain]] = {}  # of the active resonances
        self._waves_of: dict[Chain, list[tuple[LS, ...]]] = {}

    def run(self, text: str) -> ModelProposal:
        everything = [candidate for region in regions(self.decay) for candidate in candidates(region)]
        complete = [candidate for candidate in everything if not candidate.missing]
        self._choose_active(complete)
        if not self.active:  # K+ pi- mu+ mu- needs something that decays to a lepton pair
            self.radiative = True
            self._choose_active(complete)
        if (
            not self.cascade and len({c.multiplet.name for c in self.active}) == 1
        ):  # tau- -> pi- pi0 nu(tau): rho(770) alone does not interfere
            self.weaker = True
            self._choose_active(complete)
        judged = [(c, *self._judge(c)) for c in complete]
        possible = [(c, findings, reasons) for c, findings, reasons in judged if findings.waves]
        listed = [entry for entry in possible if not _hopeless(entry[0], entry[2])]
        hopeless = [c for c, _, reasons in possible if _hopeless(c, reasons)]
        merged = _merge(listed)
        parent = self.decay.parent
        return ModelProposal(
            text,
            self.decay,
            transverse=(parent.two_J, parent.P, parent.C) == (2, -1, -1) and not parent.massless,
            isospin_conserved=self.isospin_conserved,
            resonances=tuple(merged),
            chains=tuple(self._chains(listed)) if self.cascade else (),
            structures=tuple(self._structures(merged)),
            left_out=_names_by_region(hopeless),
            incomplete=_names_by_region([c for c in everything if c.missing and (c.state.P is None or self._findings(c).waves)]),
        )

    def _structures(self, merged: Sequence[Proposed]) -> list[NonresonantLine]:
        if len(self.decay.final) == 2:
            return []
        if not self.active:
            return simplest_structures(self.decay)
        groups = dict.fromkeys(p.regions for p in merged if all(region.hadronic for region in p.regions))
        return [] if self.cascade else structures_in(self.decay, list(groups))

    def _choose_active(self, complete: Sequence[Candidate]) -> None:
        """Take what nothing speaks against; repeat until this holds together with the others taken, and they are not too many."""
        eligible = [c for c in complete if not self._reasons_before_chains(c) and not _hopeless(c, ())]
        while True:
            self.active = [c for c in eligible if not self.cascade or _first_of_its_kind(c, eligible)]
            refused = [c for c in self.active if self._judge(c)[1]]
            if not refused:
                ranked = sorted(self.active, key=_rank)
                weakest = list(dict.fromkeys(c.name for c in ranked))[self.most :]
                refused = [c for c in self.active if c.name in weakest or self._twin(c) or self._overlapped(c)]
                if not refused:
                    return
            eligible = [c for c in eligible if c not in refused]

    def _twin(self, candidate: Candidate) -> str:
        """Another active state that looks the same in its region; empty if there is none."""
        twin = TWINS.get((candidate.multiplet.name, group_of(candidate.region.particles)), "")
        return twin if any((c.multiplet.name, c.region) == (twin, candidate.region) for c in self.active) else ""

    def _overlapped(self, candidate: Candidate) -> str:
        """A stronger active state with the same quantum numbers so near that a mass spectrum does not tell their shares; empty if none is.

        Only of those with smaller couplings: two amplitudes of one partial wave that overlap have several solutions.
        """
        known = known_couplings(candidate.region.particles)
        if known is None or candidate.multiplet.name not in known.later:
            return ""
        for other in self.active:
            near = abs(other.mass - candidate.mass) < (other.width + candidate.width) / 2
            if other.region == candidate.region and near and _numbers(other) == _numbers(candidate) and _rank(other) < _rank(candidate):
                return other.name
        return ""

    def _chains(self, listed: Sequence[tuple[Candidate, _Findings, list[str]]]) -> list[ProposedChain]:
        """Chains of active resonances alone, then one of each of the others with active ones."""
        used: dict[Chain, ProposedChain] = {}
        others: dict[str, ProposedChain] = {}
        for candidate, findings, reasons in listed:
            for chain in sorted(findings.chains, key=lambda chain: not _is_daughter(candidate.name, chain.root)):
                names = tuple(node.resonance for node in chain.nodes[1:])
                if not reasons and self._root_L(chain) <= self.highest_L:
                    used.setdefault(chain, ProposedChain(self._text(chain), names, ls=self._lowest(chain)))
                elif reasons and findings.allowed:
                    others.setdefault(candidate.name, ProposedChain(self._text(chain), names, candidate.name, tuple(reasons)))
        known = {name for chain in used.values() for name in chain.names}
        tops = list(dict.fromkeys(chain.text.partition(";")[0] for chain in used.values()))
        in_use = sorted(used.values(), key=lambda chain: tops.index(chain.text.partition(";")[0]))
        return [*in_use, *(chain for name, chain in others.items() if name not in known)]

    def _lowest(self, chain: Chain) -> tuple[LS, ...]:
        """The (L, S) of the parent's vertex with the smallest L, in decays to many particles; empty where they are all."""
        found = {wave[0] for wave in self._waves(chain)}
        lowest = {ls for ls in found if self._root_L(chain) == ls.L}
        return tuple(sorted(lowest)) if len(self.decay.final) >= MANY and lowest < found else ()

    def _text(self, chain: Chain) -> str:
        def name(daughter: Node | int) -> str:
            return daughter.particle.name if isinstance(daughter, Node) else self.words[daughter]

        return "; ".join(f"{node.particle.name} -> {' '.join(map(name, node.daughters))}" for node in chain.nodes)

    def _root_L(self, chain: Chain) -> int:
        """The smallest L with which the parent decays, of what isospin allows."""
        return min((wave[0].L for wave in self._waves(chain) if not self._broken(chain, wave)), default=99)

    def _judge(self, candidate: Candidate) -> tuple[_Findings, list[str]]:
        """What its chains show, and why it is not active."""
        findings = self._findings(candidate)
        reasons = self._reasons_before_chains(candidate)
        if not findings.waves:
            return findings, [*reasons, "no wave"]
        if not findings.allowed:  # which says more than how strongly it couples
            reasons = [reason for reason in reasons if reason != self._known_reason(candidate)]
            reasons.append("isospin-violating production" if findings.decay_allowed else AGAINST_ISOSPIN)
        if self.cascade and not reasons and not _first_of_its_kind(candidate, [*self.active, candidate]):
            reasons.append(f"not the {'lightest' if candidate.region.hadronic else 'narrowest'} {jpc_text(candidate.state)}")
        highest = HIGHEST_L_STRONG if not self.cascade and known_couplings(candidate.region.particles) is not None else self.highest_L
        if findings.lowest_L > highest and not (self.cascade and reasons):
            reasons.append(f"starts at L = {findings.lowest_L}")
        if not reasons and candidate not in self.active:
            twin, overlapped = self._twin(candidate), self._overlapped(candidate)
            reasons.append(
                f"looks like {twin}" if twin else f"overlaps {overlapped}" if overlapped else f"not among the {self.most} strongest"
            )
        return findings, list(dict.fromkeys(reasons))

    def _reasons_before_chains(self, candidate: Candidate) -> list[str]:
        reasons = []
        if candidate.multiplet.doubt:
            reasons.append(candidate.multiplet.doubt)
        if self.cascade and candidate.state.two_J > 2 * HIGHEST_J_CASCADE[len(self.decay.final)]:
            reasons.append(f"J = {format_spin(candidate.state.two_J)}")
        if not candidate.isospin_allows_decay:
            reasons.append(AGAINST_ISOSPIN)
        if not candidate.region.hadronic:
            reasons += [] if self.radiative else [ELECTROMAGNETIC]
        elif candidate.annihilates:
            reasons.append(f"{'charmonium' if candidate.multiplet.heavy == 'c' else 'bottomonium'} to light hadrons")
        outside = candidate.widths_outside
        if abs(outside) > (THRESHOLD_REACH if candidate.multiplet.name in (*FLATTE, BROAD) else 0.0):
            reasons.append("below threshold" if outside < 0 else "above the upper end")
        return reasons or [why for why in (self._known_reason(candidate),) if why]

    def _known_reason(self, candidate: Candidate) -> str:
        """Why a state that couples weakly to its region is not active; empty if it is strong, or nothing is known."""
        known = known_couplings(candidate.region.particles)
        if known is None or (self.weaker and candidate.multiplet.name in known.later):
            return ""
        return known.reason(candidate.multiplet.name, " ".join(group_of(candidate.region.particles)))

    def _findings(self, candidate: Candidate) -> _Findings:
        """Look at all chains with the candidate, and with active resonances."""
        carrier = self._carrier(candidate)
        findings = _Findings()
        for chain in self._open_chains(candidate):
            node = next((n for n in chain.nodes if n.resonance == candidate.name and _is_in(n, carrier)), None)
            if node is not None:
                self._add(findings, chain, node)
        return findings

    def _open_chains(self, candidate: Candidate) -> list[Chain]:
        """Chains of the candidate, and of active resonances where more than one is needed, that have enough energy."""
        if not self.cascade:
            return generate_chains(self.decay, [self._carrier(candidate)], RULES)
        members = tuple(self.active) if candidate in self.active else (*self.active, candidate)
        if members not in self._chains_of:
            if len(members) > len(self.active):  # only those of the active resonances are needed again
                return self._make_chains(members)
            self._chains_of = {members: self._make_chains(members)}
        return self._chains_of[members]

    def _make_chains(self, members: tuple[Candidate, ...]) -> list[Chain]:
        widths = {c.name: S_WAVE if c.multiplet.name == LASS else (c.mass, c.width) for c in members}
        return [chain for chain in generate_chains(self.decay, list(map(self._carrier, members)), RULES) if _is_open(chain, widths)]

    def _carrier(self, candidate: Candidate) -> Carrier:
        return Carrier(candidate.name, candidate.state, System.read(candidate.region.text, self.decay), ())

    def _add(self, findings: _Findings, chain: Chain, node: Node) -> None:
        waves = self._waves(chain)
        above = next(vertex for vertex in chain.nodes if node in vertex.daughters)
        partner = next(chain.particle(d) for d in above.daughters if d is not node)
        daughters = " ".join(d.resonance if isinstance(d, Node) else self.words[d] for d in node.daughters)
        for wave in waves:
            broken = self._broken(chain, wave)
            findings.decay_allowed |= node not in broken
            if broken and findings.allowed:
                continue
            if not broken and not findings.allowed:  # from here on only what isospin allows is shown
                findings.allowed, findings.production, findings.decays, findings.chains = True, {}, {}, {}
                findings.lowest_L = wave[0].L
            findings.waves += 1
            findings.chains[chain] = None
            findings.lowest_L = min(findings.lowest_L, wave[0].L)
            by_node = dict(zip(map(id, chain.nodes), wave, strict=True))
            findings.production.setdefault(partner.name, {})[by_node[id(above)]] = None
            findings.decays.setdefault(daughters, {})[by_node[id(node)]] = None

    def _waves(self, chain: Chain) -> list[tuple[LS, ...]]:
        if chain not in self._waves_of:
            try:
                self._waves_of[chain] = chain_waves(chain, [vertex_ls(chain, vertex) for vertex in chain.nodes])
            except PhysicsError:
                self._waves_of[chain] = []
        return self._waves_of[chain]

    def _broken(self, chain: Chain, wave: tuple[LS, ...]) -> list[Node]:
        """The vertices at which a wave violates isospin."""
        return [vertex for vertex, ls in zip(chain.nodes, wave, strict=True) if not self._isospin_allows(chain, vertex, ls)]

    def _isospin_allows(self, chain: Chain, node: Node, ls: LS) -> bool:
        if node is chain.root and not self.isospin_conserved:
            return True
        first, second = (chain.particle(d) for d in node.daughters)
        return node.weak or ls in _isospin_ls(node.particle, first, second)


@cache
def _isospin_ls(parent: Particle, first: Particle, second: Particle) -> frozenset[LS]:
    """The (L, S) of a strong vertex that isospin leaves; all of them where a photon or lepton takes part."""
    pairs = allowed_ls(parent, first, second)
    members = [hadron(particle) for particle in (parent, first, second)]
    if members[0] is None or members[1] is None or members[2] is None:
        return frozenset(pairs)
    return frozenset(isospin_conserving(members[0], members[1], members[2], pairs))


def _isospin_conserved(decay: Decay) -> bool:
    """Not if the parent decays weakly, nor if G parity of the final state shows that it decays electromagnetically."""
    if changes_flavour(decay.parent, decay.final):
        return False
    members = [hadron(particle) for particle in (decay.parent, *decay.final)]
    G = [None if member is None else member.isospin.G for member in members]
    product = 1
    for value in G:
        product *= value or 0
    return product != -1


def _hopeless(candidate: Candidate, reasons: Sequence[str]) -> bool:
    """Whether a decay without the strong interaction, or against isospin, is too small a part of the width to be seen."""
    return candidate.width > NARROW and (AGAINST_ISOSPIN in reasons or not candidate.region.hadronic)


def _is_daughter(name: str, node: Node) -> bool:
    return any(isinstance(d, Node) and d.resonance == name for d in node.daughters)


def _is_in(node: Node, carrier: Carrier) -> bool:
    return tuple(sorted(node.leaves)) in carrier.system.sets


def _is_open(chain: Chain, widths: dict[str, tuple[float, float]]) -> bool:
    """Whether every vertex can happen within the widths of what takes part."""

    def mass_and_width(daughter: Node | int) -> tuple[float, float]:
        if isinstance(daughter, Node) and daughter.resonance:
            return widths[daughter.resonance]
        return chain.particle(daughter).mass or 0.0, 0.0

    for node in chain.nodes:
        mass, width = mass_and_width(node)
        daughters = [mass_and_width(daughter) for daughter in node.daughters]
        reach = ROOT_REACH if node is chain.root else NARROW_REACH if width < NARROWEST else CASCADE_REACH
        if len(node.leaves) > 2 and sum(m for m, _ in daughters) - mass > reach * (width + sum(w for _, w in daughters)):
            return False
    return True


def _first_of_its_kind(candidate: Candidate, among: Sequence[Candidate]) -> bool:
    """Whether of all with the same quantum numbers in its region it is the lightest, or the narrowest in electromagnetic decays.

    Larger groups whose couplings are known may have several.
    """
    if len(candidate.region.place) > 2 and known_couplings(candidate.region.particles) is not None:
        return True
    rivals = [c for c in among if c.region == candidate.region and _numbers(c) == _numbers(candidate)]
    return candidate == min(rivals, key=lambda c: c.mass if c.region.hadronic else c.width)


def _numbers(candidate: Candidate) -> tuple[object, ...]:
    own = hadron(candidate.state)
    return candidate.state.two_J, candidate.state.P, candidate.state.C, None if own is None else own.isospin[:2]


def _rank(candidate: Candidate) -> tuple[int, float]:
    """How strongly a state couples to its region; the smaller, the more."""
    known = known_couplings(candidate.region.particles)
    return (UNKNOWN_RANK if known is None else (*known.strong, *known.later).index(candidate.multiplet.name)), candidate.mass


def _names_by_region(found: Sequence[Candidate]) -> dict[str, tuple[str, ...]]:
    names: dict[str, tuple[str, ...]] = {}
    for candidate in found:
        names[candidate.region.text] = (*names.get(candidate.region.text, ()), candidate.name)
    return names


def _merge(judged: Sequence[tuple[Candidate, _Findings, list[str]]]) -> list[Proposed]:
    """One entry per resonance; those of the same regions together, in the order of the regions, then by mass."""
    by_name: dict[str, list[tuple[Candidate, _Findings, list[str]]]] = {}
    order: dict[Region, int] = {}
    for entry in judged:
        by_name.setdefault(entry[0].name, []).append(entry)
        order.setdefault(entry[0].region, len(order))
    merged = [_merge_one(entries) for entries in by_name.values()]
    return sorted(merged, key=lambda p: ([order[region] for region in p.regions], p.state.mass or 0.0))


def _merge_one(entries: Sequence[tuple[Candidate, _Findings, list[str]]]) -> Proposed:
    active = [entry for entry in entries if not entry[2]]
    others = [entry for entry in entries if entry[2]]
    first = (active or others)[0][0]
    used = active or others
    own = hadron(first.state)
    shown = [entry for entry in used if not any(_conjugate(entry[0].region, other[0].region) for other in used[: used.index(entry)])]
    production: dict[str, tuple[LS, ...]] = {}
    decays: dict[str, tuple[LS, ...]] = {}
    for _, findings, _ in shown:
        production |= {name: tuple(sorted(pairs)) for name, pairs in findings.production.items()}
        decays |= {name: tuple(sorted(pairs)) for name, pairs in findings.decays.items()}
    return Proposed(
        first.name,
        tuple(candidate.region for candidate, _, _ in used),
        tuple(candidate.state for candidate, _, _ in used),
        first.multiplet.name,
        None if own is None else own.isospin.two_I,
        production,
        decays,
        reasons=() if active else _joined_reasons(others),
        elsewhere=tuple(_by_reason(others)) if active else (),
    )


def _conjugate(first: Region, second: Region) -> bool:
    return sorted(particle.name for particle in first.particles) == sorted(particle.antiparticle for particle in second.particles)


def _joined_reasons(entries: Sequence[tuple[Candidate, _Findings, list[str]]]) -> tuple[str, ...]:
    """The reasons, with the regions they hold in where they are not the same everywhere."""
    everywhere = [reason for reason in entries[0][2] if all(reason in reasons for _, _, reasons in entries)]
    special = [(c, findings, [reason for reason in reasons if reason not in everywhere]) for c, findings, reasons in entries]
    return (*everywhere, *_by_reason(special))


def _by_reason(entries: Sequence[tuple[Candidate, _Findings, list[str]]]) -> list[str]:
    """``starts at L = 2 in K+ pi+ pi- and K- pi- pi+``."""
    places: dict[str, list[str]] = {}
    for candidate, _, reasons in entries:
        if reasons:
            places.setdefault(", ".join(reasons), []).append(candidate.region.text)
    return [f"{reasons} in {' and '.join(texts)}" for reasons, texts in places.items()]


def jpc_text(particle: Particle) -> str:
    """``1--``, ``2+`` or ``3/2-`` as model files write it; of an antibaryon that of its particle."""
    plain = particle.conjugate() if particle.baryon < 0 else particle
    spin = str(plain.two_J // 2) if plain.two_J % 2 == 0 else f"{plain.two_J}/2"
    return spin + "".join({1: "+", -1: "-", None: ""}[sign] for sign in (plain.P, plain.C))
