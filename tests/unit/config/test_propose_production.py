"""First models of reactions: they load, with every line that is commented out, and can be generated and fitted."""

import re
from functools import cache

import numpy as np
import pytest

import ctpwa
from ctpwa.base.errors import PhysicsError
from ctpwa.config.propose.production import propose_production
from ctpwa.config.propose.production_text import production_text

REACTIONS = {
    "gamma p -> eta pi0 p": "photoproduction",
    "gamma p -> eta pi- Delta(1232)++": "photoproduction",
    "gamma p -> omega(782) pi0 p; omega(782) -> pi+ pi- pi0": "photoproduction",
    "gamma p -> p pi+ pi-": "photoproduction",
    "pi- p -> pi- pi+ pi- p": "diffraction",
    "K- p -> K- pi+ pi- p": "diffraction",
}
COMMENTED_OUT = re.compile(r"^  # \S+: +\{in: .*$", re.MULTILINE)


@cache
def proposal(reaction):
    return propose_production(REACTIONS[reaction], reaction)


@pytest.mark.parametrize("reaction", REACTIONS)
def test_it_loads(reaction):
    model = ctpwa.load_model(production_text(proposal(reaction)))
    assert len(model.waves) >= 10
    assert {str(wave.chain.root.particle.two_J // 2) + "+-"[wave.chain.root.particle.P < 0] for wave in model.waves} == set(
        proposal(reaction).waves
    )


@pytest.mark.parametrize("reaction", ["gamma p -> eta pi0 p", "pi- p -> pi- pi+ pi- p"])
def test_it_loads_with_lines_that_are_commented_out(reaction):
    text = production_text(proposal(reaction))
    lines = COMMENTED_OUT.findall(text)
    assert len(lines) >= 5
    for line in lines[:: max(len(lines) // 6, 1)]:
        with_it = text.replace(line, line.replace("  # ", "  ", 1)).replace("\n# resonances:", "\nresonances:")
        name = line.split(":")[0].removeprefix("  # ")
        assert name in ctpwa.load_model(with_it).resonances


def test_what_is_proposed():
    own = proposal("pi- p -> pi- pi+ pi- p")
    assert [isobar.name for isobar in own.isobars if not isobar.reason] == ["f(0)(500)", "rho(770)", "f(2)(1270)"]
    assert own.waves == {"0-": (0,), "1+": (0, 1), "1-": (1,), "2+": (1,), "2-": (0, 1)}
    names = [resonance.name for resonance in own.resonances]
    assert {"a(1)(1260)", "a(2)(1320)", "pi(2)(1670)", "pi(1)(1600)"} <= set(names)
    assert not {"rho(770)", "b(1)(1235)", "rho(1450)"} & set(names)  # of the wrong G parity
    eta = proposal("gamma p -> eta pi0 p")
    assert eta.waves == {"0+": (0,), "1-": (0, 1), "2+": (0, 1, 2)}
    assert {"a(0)(980)", "a(2)(1320)", "pi(1)(1600)"} <= {resonance.name for resonance in eta.resonances}
    assert proposal("gamma p -> p pi+ pi-").decay.labels == ("pi+", "pi-")
    assert proposal("gamma p -> eta pi- Delta(1232)++").recoil.name == "Delta(1232)++"


@pytest.mark.parametrize(
    ("kind", "reaction", "message"),
    [
        ("photoproduction", "gamma p -> eta pi0", "cannot read"),
        ("photoproduction", "gamma -> eta pi0 p", "cannot read"),
        ("photoproduction", "gamma p -> eta pi0 pi0", "no baryon recoils"),
        ("photoproduction", "gamma p -> eta pi+ p", "charge is not conserved"),
        ("photoproduction", "pi- p -> eta pi0 n", "the beam of photoproduction is a photon"),
        ("diffraction", "gamma p -> eta pi0 p", "the beam of diffraction is a particle without spin"),
        ("photoproduction", "gamma p -> eta nonsense p", "unknown particle 'nonsense'"),
        ("photoproduction", "gamma p -> eta pi0 pi0 pi0 p", "decays to 4 particles"),
        ("electroproduction", "gamma p -> eta pi0 p", "unknown production"),
    ],
)
def test_refused(kind, reaction, message):
    with pytest.raises(PhysicsError, match=re.escape(message)):
        propose_production(kind, reaction)


@pytest.mark.parametrize("reaction", ["gamma p -> eta pi0 p", "pi- p -> pi- pi+ pi- p"])
def test_it_can_be_generated_and_fitted(reaction):
    model = ctpwa.load_model(production_text(proposal(reaction)))
    data, simulated = ctpwa.generate_phase_space(model, 300, seed=1), ctpwa.generate_phase_space(model, 600, seed=2)
    likelihood = ctpwa.build_likelihood(model, data, simulated, engine="reference", progress=False)
    result = ctpwa.fit(likelihood, starts=1, progress=False)
    assert np.isfinite(result.nll)
    assert result.verdict.good
