"""Waves and the model they make: what is fitted, before any event is seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ctpwa.base.errors import PhysicsError, suggest
from ctpwa.base.markup import element, simple_table, together
from ctpwa.base.words import counted
from ctpwa.data.event_column import EventColumn
from ctpwa.decay.chain import Chain, Decay
from ctpwa.decay.spin import LS, format_parity, format_spin
from ctpwa.decay.symmetry import Term, symmetrised_terms
from ctpwa.model.parameter import Parameter
from ctpwa.model.resonance import Resonance
from ctpwa.model.short_names import short_names
from ctpwa.spin.amplitudes import SpinAmplitudes
from ctpwa.spin.build import build_spin_amplitudes
from ctpwa.spin.formalism import CANONICAL
from ctpwa.spin.polarisation import Polarisation
from ctpwa.spin.production import Production

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Wave:
    """One chain with one (L, S) at every vertex.

    Attributes:
        name:        unique and readable, e.g. ``phi(1680)[K+ K-] (1,1)(1,0)``
        chain:       the decay chain
        ls:          (L, S) of every vertex, in the order of ``chain.nodes``
        resonances:  the propagators, one for each of ``chain.carriers``
        coupling:    name of the complex coupling; tied waves have the same
        factor:      ±1 in front of that coupling
    """

    name: str
    chain: Chain
    ls: tuple[LS, ...]
    resonances: tuple[Resonance, ...]
    coupling: str
    factor: int

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """The parts of the wave after symmetrisation over identical particles."""
        return symmetrised_terms(self.chain, self.ls)

    @property
    def shown(self) -> tuple[Resonance, ...]:
        """The propagators of states that are not on their mass shell."""
        return tuple(r for node, r in zip(self.chain.carriers, self.resonances, strict=True) if not self.chain.is_held(node))

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Model:
    """Everything that is known before the events: the decay, its waves and their resonances.

    Attributes:
        decay:            parent and final particles
        waves:            all waves, in the order of the model file
        resonances:       the propagators by name
        production:       how the parent was made; ``Polarisation``: with one spin density matrix
        formalism:        how wave functions of daughters enter a vertex: canonical, zou-bugg or zou-bugg-traceless
        notes:            decisions made while building that may interest the user
        coupling_values:  couplings that were given values, by name; all others are 1. Those that follow from fractions are computed
                          when they are first asked for
        columns:          event columns that lineshapes and the production may use
        parameters:       parameters of no resonance, which formulas may use
        relations:        parameters that are formulas of others, by name; those of couplings are known once they have a representation
        asymmetries:      coupling → name of its Δ: it is c(1 + Δ) in this decay and c(1 − Δ) in its charge conjugate. The parts of Δ
                          are among ``parameters``
    """

    decay: Decay
    waves: tuple[Wave, ...]
    resonances: Mapping[str, Resonance]
    production: Production
    formalism: str = CANONICAL
    notes: tuple[str, ...] = ()
    coupling_values: Mapping[str, complex] = field(default_factory=dict)
    columns: tuple[EventColumn, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    relations: Mapping[str, str] = field(default_factory=dict)
    asymmetries: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        declared = [column.name for column in self.columns]
        for name in self.production.rows(self.decay).columns:
            if name not in declared:
                fix = suggest(name, declared) or f"declare it: columns: [{name}]"
                raise PhysicsError(f"the production uses the event column {name!r}, which the model does not declare", fix)
        for chain in dict.fromkeys(wave.chain for wave in self.waves):
            self.production.check(chain)

    @property
    def final_names(self) -> tuple[str, ...]:
        """Names of the final particles, the keys of ``momenta``."""
        return self.decay.labels

    @cached_property
    def couplings(self) -> tuple[str, ...]:
        """Names of the independent complex couplings."""
        return tuple(dict.fromkeys(wave.coupling for wave in self.waves))

    @cached_property
    def constraints(self) -> dict[str, tuple[float, float]]:
        """Gaussian constraints of floating parameters to what was measured, (mean, standard deviation) by name."""
        return {f"{r.name}.{key}": pair for r in self.resonances.values() for key, pair in r.measured.items()}

    def spin_amplitudes(
        self,
        momenta: Mapping[str, Any],
        barrier: bool = False,
        polarisation: Any = None,
        *,
        device: str | torch.device | None = None,
        chunk_size: int | None = None,
        progress: bool | None = None,
    ) -> SpinAmplitudes:
        """Spin amplitudes K of all waves for all events                                          (F5.1)

        Args:
            momenta:       final-particle name → [event, 4], (E, px, py, pz) in GeV, in any one frame; ``Events`` if columns are needed
            barrier:       multiply every vertex by 1/√N_L(|q|d), the event part of the barrier factor
            polarisation:  overrides the model's: ``"unpolarised"``, ``"transverse"`` or a density matrix
            device:        where to compute; default: where the momenta are
            chunk_size:    events at a time; default: from a memory budget
            progress:      show a progress bar; default: on a terminal when it takes more than two seconds
        """
        if polarisation is not None and any(wave.chain.root.made is not None for wave in self.waves):
            raise PhysicsError(f"{self.production} cannot be replaced by a polarisation of the parent", "leave 'polarisation' out")
        production = self.production if polarisation is None else Polarisation.of(polarisation, self.decay.parent)
        return build_spin_amplitudes(
            self.decay,
            self.waves,
            momenta,
            production,
            self.columns,
            barrier=barrier,
            formalism=self.formalism,
            device=device,
            chunk_size=chunk_size,
            progress=progress,
        )

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """For notebooks: all waves in a table."""
        head = element("p", element("strong", str(self.decay)), f": {counted(len(self.waves), 'wave')}, {self.production}")
        rows = [
            (
                wave.name,
                " ".join(f"{format_spin(node.particle.two_J)}{format_parity(node.particle.P)}" for node in wave.chain.carriers),
                "" if wave.factor == 1 and wave.coupling == wave.name else f"{'+−'[wave.factor < 0]} {wave.coupling}",
            )
            for wave in self.waves
        ]
        columns = ("wave", element("i", "J", element("sup", "P")), "its coupling, if tied")
        return together(head, simple_table(columns, rows), (element("p", note) for note in self.notes)).source

    def __str__(self) -> str:
        lines = [f"{self.decay}: {counted(len(self.waves), 'wave')}, {counted(len(self.couplings), 'complex coupling')}, {self.production}"]
        shown = short_names([*(wave.name for wave in self.waves), *self.couplings])
        for wave in self.waves:
            own = wave.factor == 1 and wave.coupling == wave.name
            lines.append(f"  {wave.name}" + ("" if own else f"   = {'+-'[wave.factor < 0]} {shown[wave.coupling]}"))
        return "\n".join(lines + [f"  note: {note}" for note in self.notes])
