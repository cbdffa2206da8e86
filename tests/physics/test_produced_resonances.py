"""X that is a resonance: its lineshape is that of the mass of X in every event, with derivatives, poles, Argand curves and fractions."""

import re

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.base.errors import ConfigError
from ctpwa.fitting.fractions import FractionCalculator, wave_groups
from ctpwa.kinematics.lorentz import from_rest_frame, mass_squared
from ctpwa.kinematics.sequential_decays import SequentialDecays
from ctpwa.model.open_signs import open_signs
from ctpwa.observables.argand import argand
from ctpwa.observables.poles import poles

M_P, MASSES = 0.93827208816, {"eta": 0.547862, "pi0": 0.1349768, "pi-": 0.13957039, "pi+": 0.13957039}
WAVES = {"0+": {"reflectivity": [1, -1]}, "2+": {"m": [0, 1], "reflectivity": 1}}
RESONANCES = {
    "a(0)(980)": {"in": "eta pi0", "mass": 0.98, "width": 0.1, "float": ["mass", "width"]},
    "a(2)(1320)": {"in": "eta pi0", "mass": 1.32, "width": 0.11, "float": "mass"},
    "a(2)(1700)": {"in": "eta pi0", "mass": 1.7, "width": 0.25},
}


def events_of(final, n=60, low=0.9, high=2.0, seed=1):
    """Photons or pions of 8 GeV, X of any mass in a range."""
    rng = torch.Generator().manual_seed(seed)
    pieces = []
    E, root_s = 8.0, (M_P**2 + 2 * M_P * 8.0) ** 0.5
    total = torch.tensor([[E + M_P, 0.0, 0.0, E]], dtype=torch.float64).T
    for M in low + (high - low) * torch.rand(n, generator=rng, dtype=torch.float64).numpy():
        own = SequentialDecays(M, [MASSES[name] for name in final], torch.device("cpu"), seed=int(1e6 * M)).momenta(1)
        p = ((root_s**2 - (M + M_P) ** 2) * (root_s**2 - (M - M_P) ** 2)) ** 0.5 / (2 * root_s)
        v = torch.randn(3, 1, generator=rng, dtype=torch.float64)
        X = torch.cat([torch.tensor([[np.hypot(M, p)]]), p * v / v.norm()])
        X = from_rest_frame(X, total, torch.tensor([root_s], dtype=torch.float64))
        pieces.append([from_rest_frame(p4, X, torch.tensor([M], dtype=torch.float64)) for p4 in own])
    labels = [name if list(final).count(name) == 1 else f"{name}_{list(final)[: i + 1].count(name)}" for i, name in enumerate(final)]
    momenta = {label: torch.cat([own[i] for own in pieces], dim=1).T.contiguous() for i, label in enumerate(labels)}
    columns = {
        "beam": total.T.expand(n, 4) - torch.tensor([M_P, 0, 0, 0], dtype=torch.float64),
        "P": torch.linspace(0.1, 0.5, n, dtype=torch.float64),
        "alpha": torch.linspace(0, 3, n, dtype=torch.float64),
    }
    return ctpwa.Events(momenta, None, columns)


def etapi(resonances=RESONANCES, waves=WAVES, **keys):
    particles = {name: {"mass": MASSES[name]} for name in ("eta", "pi0")}
    production = {"kind": "photoproduction", "polarisation": {"degree": "P", "angle": "alpha"}, "waves": waves, **keys}
    return ctpwa.load_model({"decay": "X -> eta pi0", "particles": particles, "production": production, "resonances": resonances})


def threepi(waves, **resonances):
    own = {"rho(770)": {"in": "pi+ pi-", "lineshape": "breit_wigner_constant_width", "mass": 0.77, "width": 0.15}, **resonances}
    production = {"kind": "diffraction", "beam": "beam", "waves": waves}
    particles = {name: {"mass": MASSES[name]} for name in ("pi+", "pi-")}
    return ctpwa.load_model({"decay": "X -> pi- pi+ pi-", "particles": particles, "production": production, "resonances": own})


def breit_wigner(m, m0, width, daughters, L, d=3.0, own=None):
    """With a width that runs as q^(2L+1)/m with barriers, written out; ``own`` are the masses of the daughters in the event."""
    pairs = ((m, own or daughters), (m0, daughters))
    q, q0 = (np.sqrt((M**2 - (a + b) ** 2) * (M**2 - (a - b) ** 2)) / (2 * M) for M, (a, b) in pairs)
    N = {0: lambda z: 1, 1: lambda z: 1 + z, 2: lambda z: 9 + 3 * z + z**2}[L]
    running = width * (q / q0) ** (2 * L + 1) * (m0 / m) * N((q0 * d) ** 2) / N((q * d) ** 2)
    return 1 / (m0**2 - m**2 - 1j * m0 * running)


def couplings_of(model):
    rng = np.random.default_rng(5)
    return {wave.name: complex(*rng.normal(size=2)) for wave in model.waves}


def by_hand(model, events, c, F):
    """Σ over rows |Σ c F K|², F by the name of a wave."""
    spin, psi = model.spin_amplitudes(events, barrier=True), 0
    for wave, terms in zip(model.waves, spin.terms, strict=True):
        for term in terms:
            psi = psi + c[wave.name] * wave.factor * term.factor * F(wave, term.systems) * spin.K[term.structure].numpy()
    return (np.abs(psi) ** 2).sum(axis=0)


def test_names():
    assert [wave.name for wave in etapi().waves] == [
        "a(0)(980)0 (0,0) m=0 e=+",
        "a(0)(980)0 (0,0) m=0 e=-",
        "a(2)(1320)0 (2,0) m=0 e=+",
        "a(2)(1320)0 (2,0) m=+1 e=+",
        "a(2)(1700)0 (2,0) m=0 e=+",
        "a(2)(1700)0 (2,0) m=+1 e=+",
    ]


def test_waves_without_resonances_have_no_lineshape():
    model = etapi({"a(2)(1320)": {"in": "eta pi0"}})
    assert [len(wave.resonances) for wave in model.waves] == [0, 0, 1, 1]
    spin = model.spin_amplitudes(events_of(("eta", "pi0"), 3))
    same = etapi({}).spin_amplitudes(events_of(("eta", "pi0"), 3))
    torch.testing.assert_close(spin.K, same.K)


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_intensity(engine):
    model, events = etapi(), events_of(("eta", "pi0"))
    m = np.sqrt(mass_squared((events["eta"] + events["pi0"]).T).numpy())
    pair, c = (MASSES["eta"], MASSES["pi0"]), couplings_of(model)
    shapes = {"a(0)": (0.98, 0.1, pair, 0), "a(2)(1320)": (1.32, 0.11, pair, 2), "a(2)(1700)": (1.7, 0.25, pair, 2)}

    def F(wave, systems):
        assert systems == ((0, 1),)
        return next(breit_wigner(m, *own) for name, own in shapes.items() if wave.name.startswith(name))

    found = np.asarray(ctpwa.ModelIntensity(model, couplings=c, engine=engine)(events))
    np.testing.assert_allclose(found, by_hand(model, events, c, F), rtol=1e-12)


def test_isobars_below_a_resonance():
    """X → ρπ with identical pions: the lineshape of X is common to both exchanges, that of ρ is not."""
    model = threepi(
        {"1+": {"m": [0, 1], "reflectivity": 1}}, **{"a(1)(1260)": {"in": "pi- pi+ pi-", "mass": 1.26, "width": 0.4, "max_L": 0}}
    )
    assert model.waves[0].name == "a(1)(1260)- rho(770)0[pi+ pi-_1] (0,1)(1,0) M=0 e=+"
    events = events_of(("pi-", "pi+", "pi-"))
    momenta, c = [events[label].numpy().T for label in model.decay.labels], couplings_of(model)

    def mass(system):
        p = sum(momenta[i] for i in system)
        return np.sqrt(p[0] ** 2 - (p[1:] ** 2).sum(axis=0))

    def F(wave, systems):
        whole, pair = systems
        assert whole == (0, 1, 2)
        rho = 1 / (0.77**2 - mass(pair) ** 2 - 1j * 0.77 * 0.15)
        return breit_wigner(mass(whole), 1.26, 0.4, (0.77, MASSES["pi-"]), 0, own=(mass(pair), MASSES["pi-"])) * rho

    found = np.asarray(ctpwa.ModelIntensity(model, couplings=c, engine="reference")(events))
    np.testing.assert_allclose(found, by_hand(model, events, c, F), rtol=1e-11)


LINESHAPES = {
    "flatte": {
        "lineshape": "flatte",
        "mass": 0.98,
        "parameters": {"g_eta": 0.5, "g_K": 0.5},
        "options": {"channels": {"eta": "own", "K": [0.494, 0.494]}},
    },
    "formula": {"lineshape": "exp(-b*s)/(mass**2 - s - I*mass*width)", "mass": 1.0, "width": 0.1, "parameters": {"b": 0.2}},
    "spline": {"lineshape": "spline", "options": {"knots": [0.7, 1.0, 1.3, 1.6, 2.0]}},
}


@pytest.mark.parametrize("name", LINESHAPES)
def test_other_lineshapes(name):
    own = {"in": "eta pi0", "JP": "0+", **LINESHAPES[name]}
    model = etapi({"S": own, "a(2)(1320)": RESONANCES["a(2)(1320)"]})
    values = [np.asarray(ctpwa.ModelIntensity(model, engine=engine)(events_of(("eta", "pi0")))) for engine in ("reference", "cpu")]
    np.testing.assert_allclose(*values, rtol=1e-12)


@pytest.fixture(scope="module")
def likelihood():
    data, simulated = events_of(("eta", "pi0"), 30), events_of(("eta", "pi0"), 40, seed=2)
    return ctpwa.build_likelihood(etapi(), data, simulated, engine="reference", progress=False)


def test_derivatives(likelihood):
    """Of masses and widths of X, against differences."""
    assert {"a(0)(980).mass", "a(0)(980).width", "a(2)(1320).mass"} < set(likelihood.names)
    x = likelihood.start + 0.03 * np.random.default_rng(1).normal(size=len(likelihood.names))
    _, gradient = likelihood.value_and_grad(x)
    hessian = likelihood.hessian(x)
    step = 1e-5
    for i, direction in enumerate(np.eye(len(x))):
        up, down = (likelihood.value_and_grad(x + sign * step * direction) for sign in (1, -1))
        assert abs((up[0] - down[0]) / (2 * step) - gradient[i]) < 1e-6 * np.abs(gradient).max()
        assert np.abs((up[1] - down[1]) / (2 * step) - hessian[i]).max() < 1e-6 * np.abs(hessian).max()


def test_poles_and_curves():
    """Poles of what X is; Argand curves add resonances of one state of X, and never states that differ in m."""
    model = etapi()
    found = {pole.resonance: pole for pole in poles(None, model)}
    assert found.keys() == RESONANCES.keys()
    # the equation that the pole solves, with q on the second sheet
    for name, L in (("a(2)(1320)", 2), ("a(0)(980)", 0)):
        pole, own = found[name], RESONANCES[name]
        w = pole.mass - 0.5j * pole.width
        pair = (MASSES["eta"], MASSES["pi0"])
        q, q0 = (np.sqrt((M**2 - sum(pair) ** 2) * (M**2 - (pair[0] - pair[1]) ** 2) + 0j) / (2 * M) for M in (w, own["mass"]))
        q = q if q.imag < 0 else -q
        N = (lambda z: 9 + 3 * z + z**2) if L else (lambda z: 1)
        running = own["width"] * (q / q0) ** (2 * L + 1) * own["mass"] / w * N(9 * q0**2) / N(9 * q**2)
        assert abs(own["mass"] ** 2 - w**2 - 1j * own["mass"] * running) < 1e-9
    sums = [curve for curve in argand(None, model) if curve.total]
    assert [curve.name for curve in sums] == ["eta pi0 2⁺ (2,0) m=0 e=+", "eta pi0 2⁺ (2,0) m=+1 e=+"]
    assert [curve.resonances for curve in sums] == [("a(2)(1320)", "a(2)(1700)")] * 2


def test_curves_of_isobars_keep_states_apart():
    model = threepi({"1+": {"m": [0, 1], "reflectivity": 1}})
    assert not [curve.name for curve in argand(None, model) if curve.total]


def test_common_sign_of_phases():
    """A lineshape fixes it; a sector of waves without one leaves it open."""
    assert not open_signs(etapi())
    assert len(open_signs(etapi({}))) == 1


def test_fractions(likelihood):
    """Of resonances, over the simulation: intensities of their waves alone, and of all."""
    model, simulated = likelihood.model, events_of(("eta", "pi0"), 40, seed=2)
    groups = wave_groups(model)["resonances"]
    assert groups == {"a(0)(980)": [0, 1], "a(2)(1320)": [2, 3], "a(2)(1700)": [4, 5]}
    values, _ = FractionCalculator(likelihood, likelihood.start).values_and_slopes(groups)
    c = dict(zip(model.couplings, likelihood.parameters.native(likelihood.start)[0], strict=True))

    def total(own):
        couplings = {wave.name: c[wave.name] if i in own else 0j for i, wave in enumerate(model.waves)}
        return float(np.sum(np.asarray(ctpwa.ModelIntensity(model, couplings=couplings, engine="reference")(simulated))))

    np.testing.assert_allclose(values, [total(own) / total(range(6)) for own in groups.values()], rtol=1e-12)


@pytest.mark.parametrize(
    ("resonances", "message"),
    [
        ({"rho(770)": {"in": "eta pi0"}}, "no wave of X has its J^P"),
        ({"b": {"in": "eta pi0", "JP": "2-", "mass": 1.3, "width": 0.1}}, "no wave of X has its J^P"),
        ({"h": {"in": "eta pi0", "JP": "2+-", "mass": 1.3, "width": 0.1}}, "C parity is not conserved"),
        ({"a(2)(1320)": {"in": "eta pi0 pi0"}}, "is not a part of"),
    ],
)
def test_refused(resonances, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        etapi(resonances)


def test_not_of_a_decay():
    with pytest.raises(ConfigError, match="not a part of"):
        ctpwa.load_model({"decay": "J/psi(1S) -> K+ K- eta", "resonances": {"phi(1680)": {"in": "K+ K- eta"}}})


def test_left_out():
    """One state of one resonance."""
    own = RESONANCES | {"a(2)(1700)": RESONANCES["a(2)(1700)"] | {"without": "a(2)(1700)0 (2,0) m=0"}}
    assert [wave.name for wave in etapi(own).waves][-2:] == ["a(2)(1320)0 (2,0) m=+1 e=+", "a(2)(1700)0 (2,0) m=+1 e=+"]
