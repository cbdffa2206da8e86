"""``generate`` of the ``production`` section: what events of a production are generated with."""

from __future__ import annotations

from math import sqrt

from ctpwa.base.errors import Path, PhysicsError
from ctpwa.config.energy_tables import energy_table
from ctpwa.config.problems import SpecError
from ctpwa.config.production_spec import GeneratedReactionSpec, ProductionSpec, TableFileSpec
from ctpwa.decay.chain import Decay
from ctpwa.decay.particle import Particle
from ctpwa.decay.pdg import ParticleTable, near_names
from ctpwa.spin.energy_table import EnergyTable
from ctpwa.spin.exposure import Exposure
from ctpwa.spin.photoproduction import PhotonPolarisation
from ctpwa.spin.reaction import Reaction

KEY: Path = ("generate",)


def read_exposure(
    spec: ProductionSpec, reaction: Reaction, polarisation: PhotonPolarisation | None, decay: Decay, table: ParticleTable
) -> Exposure | None:
    """What events are generated with; None if the model file does not say.

    Args:
        spec:          the section
        reaction:      beam and target
        polarisation:  of photons
        decay:         X and what it decays to
        table:         all particles
    """
    own = spec.generate
    if own is None:
        return None
    if not isinstance(reaction.target, tuple):
        raise SpecError(f"the target of generated events is the column {reaction.target!r}", "give its four numbers", key=("target",))
    beam = _beam(spec, own, reaction, table)
    energy = _energy(own, reaction)
    mass = sqrt(max(_mass2(reaction.beam), 0.0)) if isinstance(reaction.beam, tuple) else beam.mass or 0.0 if beam is not None else 0.0
    recoil = _recoil(own, decay, beam, table)
    degree, angles, circular = _polarisation(own, polarisation)
    try:
        found = Exposure(energy, mass, recoil, (own.mass[0], own.mass[1]), own.slope, degree, angles, circular)
    except PhysicsError as error:
        raise SpecError(error.what, error.fix, key=KEY) from None
    _check_energy(found, reaction, decay)
    return found


def _beam(spec: ProductionSpec, own: GeneratedReactionSpec, reaction: Reaction, table: ParticleTable) -> Particle | None:
    """The particle of the beam; None if only its momentum is known."""
    name = own.beam or ("gamma" if spec.kind == "photoproduction" else None)
    if name is None:
        if isinstance(reaction.beam, tuple):
            return None
        raise SpecError("the particle of the beam is not given", "write  beam: pi-  under 'generate'", key=KEY)
    found = table.find(name)
    if found is None or (found.mass is None and not found.massless):
        raise SpecError(f"unknown particle {name!r} of the beam", near_names(name, []), key=(*KEY, "beam"))
    if spec.kind == "photoproduction" and not (found.massless and found.two_J == 2):
        raise SpecError(f"{name!r} is no photon", "write  kind: diffraction  for other beams", key=(*KEY, "beam"))
    if spec.kind == "diffraction" and found.two_J != 0:
        raise SpecError(f"{name!r} has spin, and diffraction needs a beam without", "write a pion or kaon", key=(*KEY, "beam"))
    return found


def _energy(own: GeneratedReactionSpec, reaction: Reaction) -> EnergyTable:
    given = own.energy
    if isinstance(reaction.beam, tuple):
        if given is not None:
            raise SpecError(
                "the energy of the beam is given twice", "the production gives its momentum: remove it here", key=(*KEY, "energy")
            )
        return EnergyTable((reaction.beam[0],), (1.0,))
    if given is None or isinstance(given, str):
        raise SpecError("the energies of the beam are not given", "write  energy: [8.2, 8.8]  (GeV)", key=KEY)
    if isinstance(given, int | float):
        return energy_table([[float(given), 1.0]], (*KEY, "energy"))
    if isinstance(given, list) and given and not isinstance(given[0], list):
        if len(given) != 2:
            raise SpecError(f"{given} are no energies", "write  [lowest, highest]", key=(*KEY, "energy"))
        return energy_table([[float(value), 1.0] for value in given], (*KEY, "energy"))
    return energy_table(given, (*KEY, "energy"))  # type: ignore[arg-type]


def _recoil(own: GeneratedReactionSpec, decay: Decay, beam: Particle | None, table: ParticleTable) -> float:
    if isinstance(own.recoil, int | float):
        if not own.recoil >= 0:
            raise SpecError(f"the mass of the recoil is {own.recoil:g} GeV", "give 0 or more", key=(*KEY, "recoil"))
        return float(own.recoil)
    found = table.find(own.recoil or "p")
    if found is None or found.mass is None:
        raise SpecError(
            f"unknown recoil {own.recoil!r}", f"{near_names(str(own.recoil), [])} or give its mass in GeV", key=(*KEY, "recoil")
        )
    charge = None if beam is None else beam.charge + 1 - decay.parent.charge  # of a target that is a proton
    if own.recoil is None and charge is not None and charge != found.charge:
        raise SpecError(f"the recoil has charge {charge:+d}, and is no proton", "say what it is:  recoil: n", key=KEY)
    return found.mass


def _polarisation(
    own: GeneratedReactionSpec, polarisation: PhotonPolarisation | None
) -> tuple[float | EnergyTable, tuple[float, ...], float]:
    """Degree, angles and circular degree: what is an event column must be given here, what is a number may not."""
    in_beam = polarisation is not None and polarisation.in_beam
    wanted = {
        "degree": polarisation is not None and (in_beam or isinstance(polarisation.degree, str)),
        "angle": polarisation is not None and (in_beam or isinstance(polarisation.angle, str) or isinstance(polarisation.direction, str)),
        "circular": polarisation is not None and isinstance(polarisation.circular, str),
    }
    for key, is_wanted in wanted.items():
        if is_wanted and getattr(own, key) is None:
            raise SpecError(
                f"the {key} of the polarisation of generated events is not given", f"write  {key}: …  under 'generate'", key=KEY
            )
        if not is_wanted and getattr(own, key) is not None:
            raise SpecError(f"{key!r} of generated events is no event column of the production", "remove it", key=(*KEY, key))
    degree: float | EnergyTable = 0.0
    if isinstance(own.degree, int | float):
        degree = float(own.degree)
    elif isinstance(own.degree, TableFileSpec) or (isinstance(own.degree, list) and own.degree and isinstance(own.degree[0], list)):
        degree = energy_table(own.degree, (*KEY, "degree"))
    elif own.degree is not None:
        raise SpecError(f"{own.degree!r} is no degree of polarisation", "write a number, or [[energy, degree], …]", key=(*KEY, "degree"))
    angles = () if own.angle is None else (own.angle,) if isinstance(own.angle, int | float) else tuple(own.angle)
    if own.angle is not None and not angles:
        raise SpecError("no angle of polarisation is given", "write one, or several", key=(*KEY, "angle"))
    if own.circular is not None and not -1 <= own.circular <= 1:
        raise SpecError(f"the degree of circular polarisation is {own.circular:g}", "give -1 to 1", key=(*KEY, "circular"))
    return degree, tuple(float(angle) for angle in angles), own.circular or 0.0


def _check_energy(exposure: Exposure, reaction: Reaction, decay: Decay) -> None:
    """Every beam can make X of its smallest mass, and X can decay."""
    lowest = decay.lowest_mass(range(len(decay.final)))
    if exposure.mass[1] <= lowest:
        what = f"X of up to {exposure.mass[1]:g} GeV cannot decay: {' '.join(decay.labels)} weigh {lowest:.6g} GeV"
        raise SpecError(what, "give a larger mass", key=(*KEY, "mass"))
    E, target = exposure.energy.low, reaction.target
    assert isinstance(target, tuple)
    beam = reaction.beam if isinstance(reaction.beam, tuple) else (E, 0.0, 0.0, sqrt(E**2 - exposure.beam_mass**2))
    root_s = sqrt(max(_mass2(tuple(a + b for a, b in zip(beam, target, strict=True))), 0.0))
    if root_s - exposure.recoil_mass <= max(exposure.mass[0], lowest):
        raise SpecError(
            f"a beam of {E:g} GeV has √s = {root_s:.4g} GeV, not enough for X of {max(exposure.mass[0], lowest):.4g} GeV and the recoil",
            "give higher energies or a smaller mass of X",
            key=(*KEY, "energy") if not isinstance(reaction.beam, tuple) else KEY,
        )


def _mass2(p4: tuple[float, ...]) -> float:
    return p4[0] ** 2 - sum(p**2 for p in p4[1:])
