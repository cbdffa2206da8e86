"""ComPWA for ``peers.py``: transitions of QRules, amplitudes of AmpForm from four-momenta, likelihood and fit of TensorWaves with JAX."""

from __future__ import annotations

from typing import Any

import ampform
import attrs
import jax
import numpy as np
import qrules
import sympy as sp
from ampform.dynamics.builder import RelativisticBreitWignerBuilder
from ampform.helicity import HelicityModel
from qrules.particle import Parity, Particle, ParticleCollection, Spin
from tensorwaves.data import SympyDataTransformer
from tensorwaves.estimator import UnbinnedNLL, create_cached_function
from tensorwaves.optimizer import Minuit2

from peers_shared import COMPARED, Peer, Samples, parameters

jax.config.update("jax_enable_x64", True)


def particles(problem: dict[str, Any]) -> ParticleCollection:
    """Those of the decay with our masses, and resonances, whose quantum numbers follow from their daughters."""
    known = qrules.load_pdg()
    finals = {name: attrs.evolve(known[name], mass=mass) for name, mass in problem["masses"].items()}
    found = ParticleCollection([attrs.evolve(known[problem["mother"]], mass=problem["mass"]), *finals.values()])
    for k, own in enumerate(problem["resonances"]):
        first, second = (finals[name] for name in problem["pairs"][own["pair"]])
        charge, strangeness = first.charge + second.charge, first.strangeness + second.strangeness
        isospin = Spin(0.5 if strangeness else 2, charge - strangeness / 2)  # two pions in an S wave: even
        numbers = {"spin": 0, "parity": Parity(1), "charge": charge, "strangeness": strangeness, "isospin": isospin}
        found.add(Particle(name=own["name"], pid=9900001 + k, mass=own["true"]["mass"], width=own["true"]["width"], **numbers))
    return found


def formulated(problem: dict[str, Any]) -> HelicityModel:
    """The model, with F = 1/(m² − s − i m Γ(s))."""
    names = [own["name"] for own in problem["resonances"]]
    reaction = qrules.generate_transitions(
        problem["mother"],
        problem["particles"],
        allowed_intermediate_particles=names,
        allowed_interaction_types="weak",
        formalism="helicity",
        mass_conservation_factor=None,
        number_of_threads=1,
        particle_db=particles(problem),
    )
    builder = ampform.get_builder(reaction)
    for name in names:
        builder.dynamics.assign(name, RelativisticBreitWignerBuilder(energy_dependent_width=True, numerator="unity"))
    builder.config.scalar_initial_state_mass = True
    builder.config.stable_final_state_ids = list(range(len(problem["particles"])))
    return builder.formulate()


def prepare(problem: dict[str, Any], samples: Samples) -> Peer:
    """Its likelihood; what no free parameter changes is computed once."""
    model = formulated(problem)
    true = parameters(problem, "true")
    symbols = {name: sp.Symbol(name.replace(".", "_"), real=True) for name in true}
    defaults, in_real_parts = dict(model.parameter_defaults), {}
    for own in problem["resonances"]:
        name = own["name"]
        number = next(symbol for symbol in defaults if symbol.name.startswith("C_") and f" {name} " in symbol.name.replace("_{0}", " "))
        del defaults[number]  # its fits refuse gradients with respect to complex parameters
        parts = (symbols.get(f"{name}.{part}", sp.Float(own["true"][part])) for part in ("re", "im"))
        in_real_parts[number] = sum(unit * part for unit, part in zip((1, sp.I), parts, strict=True))
        for part, short in (("mass", "m"), ("width", r"\Gamma")):
            if f"{name}.{part}" in true:
                symbols[f"{name}.{part}"] = next(symbol for symbol in defaults if symbol.name == f"{short}_{{{name}}}")
    defaults |= {symbols[name]: value for name, value in true.items()}

    def point(values: dict[str, float]) -> dict[str, float]:
        return {str(symbols[name]): value for name, value in values.items()}

    expression = model.expression.doit().xreplace(in_real_parts)
    function, cache = create_cached_function(expression, defaults, "jax", list(symbols.values()))
    from_momenta = SympyDataTransformer.from_sympy(model.kinematic_variables, "jax")

    def cached(which: str, n: int | None = None) -> Any:
        momenta = {f"p{k}": samples[f"p4 {which}"][name][:n] for k, name in enumerate(problem["particles"])}
        return cache(from_momenta(momenta))

    likelihood = UnbinnedNLL(function, cached("data"), cached("flat"), backend="jax")

    def intensities(x: dict[str, float]) -> np.ndarray:
        function.update_parameters(x)
        return np.asarray(function(cached("flat", COMPARED)))

    return Peer(
        point=point,
        value=likelihood,
        gradient=lambda x: jax.block_until_ready(likelihood.gradient(x)),
        fit=lambda x: Minuit2(use_analytic_gradient=True).optimize(likelihood, x).estimator_value,
        intensities=intensities,
    )
