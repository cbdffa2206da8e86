"""From a checked model description to a ``Model``."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import prod

from ctpwa.base.errors import PhysicsError, Problem
from ctpwa.config.asymmetries import read_asymmetries
from ctpwa.config.chains import FoundChain
from ctpwa.config.columns import event_columns
from ctpwa.config.couplings import read_couplings
from ctpwa.config.draft import Draft
from ctpwa.config.fit_settings import check_fit, with_tied
from ctpwa.config.fractions import read_shares, share_note
from ctpwa.config.generated import generated_chains
from ctpwa.config.given_latex import with_usable_latex
from ctpwa.config.helicity_values import SECTION as HELICITIES
from ctpwa.config.helicity_values import read_helicities
from ctpwa.config.limits import USUAL, ModelLimits
from ctpwa.config.names import FullNames
from ctpwa.config.particles import check_name, name_collisions, own_particle, read_decay
from ctpwa.config.places import check_places
from ctpwa.config.polarisation import read_polarisation
from ctpwa.config.problems import Problems, SpecError
from ctpwa.config.production import PRODUCTION, ProducedStates, check_produced, read_production, with_production_columns
from ctpwa.config.projections import check_projections
from ctpwa.config.relations import Written, own_numbers, relate, written_formulas
from ctpwa.config.samples import check_samples
from ctpwa.config.schema import ModelSpec
from ctpwa.config.ties import WaveList
from ctpwa.config.written import direct_chain, written_chains
from ctpwa.decay.chain import Decay
from ctpwa.decay.particle import Particle
from ctpwa.decay.pdg import ParticleTable, normalise
from ctpwa.decay.spin import LS
from ctpwa.generate.shares import GivenFraction, SharedCouplings
from ctpwa.model.couplings import WAVE
from ctpwa.model.model import Model, Wave
from ctpwa.spin.formalism import CANONICAL, ZOU_BUGG, ZOU_BUGG_TRACELESS
from ctpwa.spin.production import Production
from ctpwa.spin.traces import has_traces


def build_model(spec: ModelSpec, engines: Collection[str] | None = None, limits: ModelLimits = USUAL) -> tuple[Model, ModelSpec]:
    """The model of a description, and the description with full names of couplings, resonances and parameters.

    Args:
        spec:     the description
        engines:  what ``engine`` of the fit may be; None: anything
        limits:   how large the model may be

    Raises:
        ConfigError: with every problem found
    """
    problems = Problems()
    for section, names in (("particles", spec.particles), ("resonances", spec.resonances)):
        _check_names(section, names, limits.names, problems)
    spec, notes = with_usable_latex(spec)
    spec = FullNames(spec, problems).of_resonances()
    table = ParticleTable(_own_particles(spec, problems))
    problems.stop()
    decay = _decay(spec, table, problems)
    columns = event_columns(spec, problems)
    states: ProducedStates | None = None
    if spec.production is not None:
        check_produced(spec, problems)
        problems.stop()
        states = ProducedStates(spec.production, decay, problems)
        problems.stop()
        produced, own_columns = read_production(spec.production, states, table, problems)
        columns = with_production_columns(columns, own_columns, problems)
    made = {column.name for column in own_columns} if spec.production is not None else set()
    check_samples(spec, decay, columns, problems, made)
    check_projections(spec.projections, decay, problems)
    production: Production | None
    production, elements = (produced, ()) if states is not None else read_polarisation(spec, decay.parent, problems)
    draft = Draft(spec, decay, table, problems, columns, limits, states)
    draft.notes += [*notes, *name_collisions(spec)]
    draft.parameters = (*own_numbers(spec, problems), *elements)
    formulas = written_formulas(spec, problems)
    waves = _waves(draft, formulas)
    values: dict[str, complex] = {}
    shares: tuple[GivenFraction, ...] = ()
    if not problems.found:  # names of couplings are only known once all waves are there
        spec = FullNames(spec, problems).of_couplings(waves)
        formulas = written_formulas(spec, problems)
        values, shares = read_couplings(spec.couplings, waves, problems), read_shares(spec, waves, problems)
        values = _with_helicities(spec, values, waves, problems)
    if states is not None and production is not None and not problems.found:
        for chain in dict.fromkeys(wave.chain for wave in waves):
            with problems.collect((PRODUCTION,)):
                production.check(chain)
    problems.stop()
    assert production is not None
    draft.notes += _traces(waves, spec.formalism) if spec.formalism != CANONICAL else []
    draft.notes += _one_ratio(waves) if spec.fit.couplings == WAVE else []
    model = Model(decay, tuple(waves), draft.resonances, production, spec.formalism, tuple(draft.notes), values, columns)
    cp = read_asymmetries(spec, waves, formulas, problems)
    problems.stop()
    model = replace(
        model,
        parameters=(*draft.parameters, *cp.parameters),
        relations={name: own.text for name, own in formulas.items()},
        asymmetries=cp.of,
        notes=(*model.notes, *cp.notes),
    )
    check_fit(spec, model, problems, engines, formulas)
    problems.stop()
    if not shares:
        return replace(model, coupling_values=with_tied(values, spec.fit.ties)), spec
    return replace(model, coupling_values=SharedCouplings(model, shares), notes=(*model.notes, share_note(shares, waves))), spec


def _one_ratio(waves: Sequence[Wave]) -> list[str]:
    """States held at their mass that decay weakly with several (L, S): these have the same ratio in all waves."""
    found: dict[str, dict[LS, None]] = {}
    for wave in waves:
        for node, ls in zip(wave.chain.nodes[1:], wave.ls[1:], strict=True):
            if node.weak and wave.chain.decay.held_at(node.leaves) is not None:
                found.setdefault(node.particle.name, {})[ls] = None
    several = [name for name, pairs in found.items() if len(pairs) > 1]
    if not several:
        return []
    decay = f"{' and '.join(several)} {'decay' if len(several) > 1 else 'decays'} weakly with several (L,S)"
    return [f"{decay}, in the same ratio in all waves, which only  fit: {{couplings: vertex}}  knows"]


def _traces(waves: Sequence[Wave], formalism: str) -> list[str]:
    """Waves in which both formalisms of Zou-Bugg type differ: traces of projected tensors matter."""
    found = []
    for wave in waves:
        for node, ls in zip(wave.chain.nodes, wave.ls, strict=True):
            two_s1, two_s2 = (wave.chain.particle(daughter).two_J for daughter in node.daughters)
            if not node.current and has_traces(two_s1, two_s2, ls.two_S):
                found.append(wave.name)
                break
    if not found:
        return []
    listed = ", ".join(found[:3]) + (", …" if len(found) > 3 else "")
    does, other = ("keeps", ZOU_BUGG_TRACELESS) if formalism == ZOU_BUGG else ("removes", ZOU_BUGG)
    return [f"formalism {formalism} {does} traces of projected tensors; {other} has other amplitudes of {listed}"]


def _with_helicities(spec: ModelSpec, values: dict[str, complex], waves: Sequence[Wave], problems: Problems) -> dict[str, complex]:
    """Couplings, and those that follow from helicity couplings."""
    found = read_helicities(spec.helicity_couplings, waves, problems)
    twice = sorted(set(found) & set(values))
    if twice:
        problems.add(SpecError(f"{twice[0]!r} has a value under 'couplings' too", "leave one of them out", key=()), (HELICITIES,))
    if spec.helicity_couplings and spec.fractions:
        problems.add(SpecError("'fractions' and helicity couplings are both given", "leave one of them out", key=()), (HELICITIES,))
    return {**values, **found}


def _check_names(section: str, names: Collection[str], most: int, problems: Problems) -> None:
    """Names can be written; ``f(0)(980)`` and ``f0(980)`` are one of them."""
    if len(names) > most:
        problems.add(SpecError(f"there are {len(names)} {section}", f"keep their number below {most}"), (section,))
        problems.stop()
    seen: dict[str, str] = {}
    for name in names:
        with problems.collect((section, name)):
            check_name(name, f"one of the {section}")
        other = seen.setdefault(normalise(name), name)
        if other != name:
            error = SpecError(f"{name!r} and {other!r} are two spellings of one name", "rename or remove one of them", key=())
            problems.add(error, (section, name))


def _own_particles(spec: ModelSpec, problems: Problems) -> dict[str, Particle]:
    own: dict[str, Particle] = {}
    for name, particle in spec.particles.items():
        with problems.collect(("particles", name)):
            own[name] = own_particle(name, particle)
    return own


def _decay(spec: ModelSpec, table: ParticleTable, problems: Problems) -> Decay:
    decay: Decay | None = None
    with problems.collect(("decay",)):
        decay = read_decay(spec.decay, table, spec.production is not None)
    problems.stop()
    assert decay is not None
    return decay


def _waves(draft: Draft, formulas: Mapping[str, Written]) -> list[Wave]:
    draft.add_held()
    found = generated_chains(draft) + written_chains(draft)
    if len(draft.decay.final) == 2 and not found and not (draft.states is not None and draft.states.resonances):
        found += direct_chain(draft)
    if draft.states is not None and not draft.problems.at("resonances"):
        draft.states.check_found([each.chain for each in found])
    _check_unused(draft)
    relate(draft, formulas)
    check_places(draft, found)
    _check_number(draft, found)
    waves = WaveList(draft)
    for chain in found:
        waves.add(chain)
    waves.note_missing_partners()
    if draft.states is not None and not draft.problems.found:
        waves.waves = draft.states.rank_conditions(waves.waves)
    if not waves.waves and not draft.problems.found:
        draft.problems.found.append(Problem("the model has no waves", (), "add resonances with 'in', or chains"))
    return waves.waves


def _check_number(draft: Draft, found: Sequence[FoundChain]) -> None:
    """A model with far too many couplings is refused before they are made."""
    n_couplings, most = 0, draft.limits.couplings
    for each in found:
        labels = [len(draft.resonances[node.resonance].labels) or 1 for node in each.chain.carriers]
        n_couplings += len(each.choices) * prod(labels)
    if n_couplings > most:
        error = PhysicsError(
            f"the model has {n_couplings} waves, with one for every function of a spline or K-matrix",
            f"keep it below {most}: limit L with max_L, remove resonances, or use fewer knots",
        )
        draft.problems.add(error, ("resonances",) if draft.spec.resonances else ("chains",))
        draft.problems.stop()


def _check_unused(draft: Draft) -> None:
    """Every resonance is in some chain, unless the chains could not be read."""
    if draft.problems.at("chains"):
        return
    for name, spec in draft.spec.resonances.items():
        if name not in draft.resonances and not spec.in_ and not draft.problems.at("resonances", name):
            error = SpecError(
                f"resonance {name!r} is in no chain", "say which particles it decays to (in: …), or use it under 'chains'", key=()
            )
            draft.problems.add(error, ("resonances", name))
