"""Generated events of productions obey conservation laws, and follow the distributions that the model file asks for."""

import re

import numpy as np
import pytest
import torch
from scipy.stats import kstest

import ctpwa
from ctpwa.base.errors import ConfigError, DataError, GenerationError
from ctpwa.generate import sample_phase_space
from ctpwa.kinematics.lorentz import mass_squared
from ctpwa.spin.energy_table import EnergyTable
from ctpwa.spin.reaction import numbers_of

M_P, ETA, PI0, PI = 0.93827208943, 0.547862, 0.1349768, 0.13957039
ANGLES = [0.0, 0.8, 1.6]
GENERATE = {"energy": [8.2, 8.8], "mass": [0.8, 1.8], "slope": 4.0, "degree": 0.4, "angle": ANGLES}
WAVES = {"0+": {"reflectivity": 1}, "2+": {"m": [0, 1], "reflectivity": 1}}
A2 = {"a(2)(1320)": {"in": "eta pi0", "mass": 1.32, "width": 0.11}}


def etapi(generate=GENERATE, resonances=A2, polarisation=None, **keys):
    production = {"kind": "photoproduction", "polarisation": polarisation or {"degree": "P", "angle": "alpha"}, "waves": WAVES}
    particles = {"eta": {"mass": ETA}, "pi0": {"mass": PI0}, "p": {"JP": "1/2+", "mass": M_P, "charge": 1}}
    own = production | keys | ({} if generate is None else {"generate": generate})
    return ctpwa.load_model({"decay": "X -> eta pi0", "particles": particles, "production": own, "resonances": resonances})


def omegapi(**generate):
    own = {"energy": 190.0, "beam": "pi-", "mass": [1.0, 2.0], "slope": 8.0, **generate}
    production = {"kind": "diffraction", "waves": ["1+"], "generate": own}
    return ctpwa.load_model(
        {
            "decay": "X -> omega(782) pi-; omega(782) -> pi+ pi- pi0",
            "production": production,
            "resonances": {"rho(770)": {"in": ["pi+ pi-_1", "pi+ pi0", "pi-_1 pi0"], "lineshape": "constant"}},
        }
    )


class Kinematics:
    """What can be measured of generated events."""

    def __init__(self, model, events):
        p4 = torch.stack([events[label] for label in model.decay.labels]).sum(dim=0).T
        like = p4[0]
        self.beam, target = (
            numbers_of(own, {"beam": events.columns["beam"].T}, like) for own in ("beam", model.production.reaction.target)
        )
        self.M = mass_squared(p4).sqrt()
        self.t = mass_squared(self.beam - p4)
        self.recoil = mass_squared(self.beam + target - p4)
        self.azimuth = torch.atan2(p4[2], p4[1])
        s, m_b2 = mass_squared(self.beam + target), mass_squared(self.beam)
        m_t2, m_r2 = mass_squared(target), model.production.exposure.recoil_mass**2
        E_b, E_X = (s + m_b2 - m_t2) / (2 * s.sqrt()), (s + self.M**2 - m_r2) / (2 * s.sqrt())
        p_b, p_X = (E_b**2 - m_b2).clamp(min=0).sqrt(), (E_X**2 - self.M**2).sqrt()
        self.t_min, self.t_max = (m_b2 + self.M**2 - 2 * (E_b * E_X - sign * p_b * p_X) for sign in (1, -1))

    def t_number(self, b):
        """Where t is in its distribution exp(bt), 0 to 1."""
        low, high = (b * (self.t_max - self.t_min)).exp(), torch.ones_like(self.t)
        return (((b * (self.t - self.t_min)).exp() - low) / (high - low)).numpy()


@pytest.mark.parametrize("model", [etapi(), omegapi()], ids=["photons", "pions"])
@pytest.mark.parametrize("how", ["flat", "weighted", "along resonances"])
def test_conservation(model, how):
    if how == "along resonances":
        events = sample_phase_space(model, 500, seed=3)
    else:
        events = ctpwa.generate_phase_space(model, 500, seed=3, weighted=how == "weighted")
    own, exposure = Kinematics(model, events), model.production.exposure
    scale = float(own.beam[0].max())
    np.testing.assert_allclose(own.recoil, exposure.recoil_mass**2, atol=1e-12 * scale**2)
    for label, particle in zip(model.decay.labels, model.decay.final, strict=True):
        np.testing.assert_allclose(mass_squared(events[label].T), particle.mass**2, atol=1e-13 * scale**2)
    assert exposure.mass[0] - 1e-9 < float(own.M.min())
    assert float(own.M.max()) < exposure.mass[1] + 1e-9
    rounding = 1e-12 * scale**2
    assert bool(((own.t_max - rounding < own.t) & (own.t < own.t_min + rounding)).all())
    np.testing.assert_allclose(mass_squared(own.beam), exposure.beam_mass**2, atol=1e-12 * scale**2)


def test_held_state_has_its_mass():
    model = omegapi()
    events = ctpwa.generate_phase_space(model, 300, seed=1)
    omega = sum(events[label] for label in ("pi+", "pi-_1", "pi0")).T
    np.testing.assert_allclose(mass_squared(omega).sqrt(), model.decay.held[0].mass, atol=1e-9)


def test_distributions():
    """Of flat phase space: e^{bt}, uniform azimuths and directions, m as q(m) ∫ e^{bt} dt."""
    model = etapi({**GENERATE, "energy": 8.5})
    events = ctpwa.generate_phase_space(model, 4000, seed=5)
    own = Kinematics(model, events)
    assert kstest(own.t_number(4.0), "uniform").pvalue > 0.01
    assert kstest(own.azimuth.numpy(), "uniform", (-np.pi, 2 * np.pi)).pvalue > 0.01
    rows = model.production.rows(model.decay)
    turned, _ = rows.prepare([events["eta"].T, events["pi0"].T], {"beam": events.columns["beam"].T, "P": own.t, "alpha": own.t})
    direction = (turned[0][1:] / turned[0][1:].norm(dim=0)).numpy()
    assert kstest(direction[2], "uniform", (-1, 2)).pvalue > 0.01
    assert kstest(np.arctan2(direction[1], direction[0]), "uniform", (-np.pi, 2 * np.pi)).pvalue > 0.01
    m = np.linspace(0.8, 1.8, 4001)
    s = M_P**2 + 2 * M_P * 8.5
    k, p = (s - M_P**2) / (2 * np.sqrt(s)), np.sqrt((s - (m + M_P) ** 2) * (s - (m - M_P) ** 2) / (4 * s))
    q = np.sqrt((m**2 - (ETA + PI0) ** 2) * (m**2 - (ETA - PI0) ** 2)) / (2 * m)
    t_0, t_1 = (m**2 - 2 * (k * np.sqrt(m**2 + p**2) - sign * k * p) for sign in (1, -1))
    density = q * (np.exp(4 * t_0) - np.exp(4 * t_1))
    cumulated = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2)])
    assert kstest(np.interp(own.M.numpy(), m, cumulated / cumulated[-1]), "uniform").pvalue > 0.01


def test_columns():
    events = ctpwa.generate_phase_space(etapi(), 2000, seed=2)
    assert set(events.columns) == {"beam", "P", "alpha"}
    assert bool((events.columns["P"] == 0.4).all())
    assert set(events.columns["alpha"].tolist()) == set(ANGLES)
    counts = [int((events.columns["alpha"] == angle).sum()) for angle in ANGLES]
    assert max(abs(count - 2000 / 3) for count in counts) < 4 * np.sqrt(2000 * 2 / 9)
    fixed = ctpwa.generate_phase_space(etapi(), 5, seed=2, columns={"P": 0.1})
    assert fixed.columns["P"].tolist() == [0.1] * 5


def test_energies_and_degrees_of_tables():
    spectrum, degree = [[8.0, 1.0], [8.5, 3.0], [9.0, 0.0]], [[8.0, 0.1], [8.4, 0.5], [9.0, 0.0]]
    model = etapi({**GENERATE, "energy": spectrum, "degree": degree, "mass": [0.8, 0.8001], "slope": 0})
    events = ctpwa.generate_phase_space(model, 3000, seed=4)
    E = events.columns["beam"][:, 0].numpy()
    # ∫ dt of X with one mass is 4 k p_f, which changes little with the energy
    x = np.linspace(8, 9, 2001)
    s = M_P**2 + 2 * M_P * x
    k, p = (s - M_P**2) / (2 * np.sqrt(s)), np.sqrt((s - (0.8 + M_P) ** 2) * (s - (0.8 - M_P) ** 2) / (4 * s))
    density = np.interp(x, [8, 8.5, 9], [1, 3, 0]) * k * p
    cumulated = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2)])
    assert kstest(np.interp(E, x, cumulated / cumulated[-1]), "uniform").pvalue > 0.01
    np.testing.assert_allclose(events.columns["P"], np.interp(E, [8, 8.4, 9], [0.1, 0.5, 0]), atol=1e-13)


def test_draws_of_a_table_are_those_of_its_lines():
    table = EnergyTable((1.0, 2.0, 4.0), (0.0, 2.0, 2.0))
    u = torch.linspace(0, 1, 101, dtype=torch.float64)
    cumulated = np.where((x := table.draw(u).numpy()) < 2, (x - 1) ** 2, 1 + 2 * (x - 2)) / 5
    np.testing.assert_allclose(cumulated, u, atol=1e-12)


def test_integrals_along_resonances():
    """Weights undo what follows the resonances: averages are those of flat phase space."""
    model = etapi()
    flat, along = ctpwa.generate_phase_space(model, 6000, seed=7), sample_phase_space(model, 6000, seed=8)
    v = along.weights.numpy()
    assert abs(v.mean() - 1) < 0.05
    for f in (lambda own: own.M, lambda own: own.M**3, lambda own: own.t, lambda own: own.beam[0], lambda own: own.azimuth.cos()):
        a, b = (f(Kinematics(model, events)).numpy() for events in (flat, along))
        mean = (v * b).sum() / v.sum()
        error = np.hypot(a.std() / np.sqrt(len(a)), np.sqrt((v**2 * (b - mean) ** 2).sum()) / v.sum())
        assert abs(a.mean() - mean) < 4 * error


def test_toys_follow_the_intensity():
    """Averages over toys are those over flat phase space, weighted with the intensity."""
    model = etapi(resonances=A2 | {"S": {"in": "eta pi0", "JP": "0+", "lineshape": "constant"}})
    c = {"S (0,0) m=0 e=+": 1.0, "a(2)(1320)0 (2,0) m=0 e=+": 0.5, "a(2)(1320)0 (2,0) m=+1 e=+": 0.7j}
    assert set(c) == {wave.name for wave in model.waves}
    flat = ctpwa.generate_phase_space(model, 8000, seed=1)
    w = np.asarray(ctpwa.ModelIntensity(model, couplings=c, engine="reference")(flat))
    toy = ctpwa.generate_toy(model, 3000, seed=1, couplings=c, engine="reference")

    def numbers(events):
        own = Kinematics(model, events)
        rows = model.production.rows(model.decay)
        columns = {name: values.T if values.ndim > 1 else values for name, values in events.columns.items()}
        p4, light = rows.prepare([events["eta"].T, events["pi0"].T], columns)
        n = p4[0][1:] / p4[0][1:].norm(dim=0)
        turn = light["turn"].square()
        return [
            x.numpy()
            for x in (own.M, own.t, n[2], n[2] ** 2, n[0] * n[2], turn.real, turn.imag, turn.real * n[2] ** 2, n[0] ** 2 * turn.real)
        ]

    for a, b in zip(numbers(flat), numbers(toy), strict=True):
        mean = (w * a).sum() / w.sum()
        error = np.hypot(b.std() / np.sqrt(len(b)), np.sqrt((w**2 * (a - mean) ** 2).sum()) / w.sum())
        assert abs(b.mean() - mean) < 4 * error


def test_same_seed_same_events():
    model = etapi()
    one, two, other = (ctpwa.generate_phase_space(model, 50, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(one["eta"], two["eta"])
    assert torch.equal(one.columns["beam"], two.columns["beam"])
    assert not torch.equal(one["eta"], other["eta"])


def test_polarisation_in_the_beam():
    """As in files of AmpTools: the same intensity as with columns of degree and angle."""
    columns, inside = etapi(), etapi(polarisation="amptools")
    events = ctpwa.generate_phase_space(columns, 40, seed=1)
    packed = ctpwa.generate_phase_space(inside, 40, seed=1)
    P, alpha = events.columns["P"], events.columns["alpha"]
    E = events.columns["beam"][:, 0]
    torch.testing.assert_close(packed.columns["beam"], torch.stack([E, P * alpha.cos(), P * alpha.sin(), E], dim=1))
    a, b = (np.asarray(ctpwa.ModelIntensity(model, engine="reference")(own)) for model, own in ((columns, events), (inside, packed)))
    np.testing.assert_allclose(a, b, rtol=1e-12)
    wrong = ctpwa.Events(events.momenta, None, {"beam": torch.stack([E, 3 * E, E, E], dim=1)})
    with pytest.raises(DataError, match=r"\|\(px, py\)\| of its beam, is above 1"):
        inside.spin_amplitudes(wrong)


def test_degree_from_a_table():
    table = [[8.0, 0.1], [9.0, 0.5]]
    by_table, by_column = etapi({**GENERATE, "degree": None}, polarisation={"degree": table, "angle": "alpha"}), etapi()
    events = ctpwa.generate_phase_space(by_table, 40, seed=1)
    assert set(events.columns) == {"beam", "alpha"}
    P = 0.1 + 0.4 * (events.columns["beam"][:, 0] - 8)
    with_P = ctpwa.Events(events.momenta, None, {**events.columns, "P": P})
    a, b = (np.asarray(ctpwa.ModelIntensity(model, engine="reference")(own)) for model, own in ((by_table, events), (by_column, with_P)))
    np.testing.assert_allclose(a, b, rtol=1e-12)
    beyond = ctpwa.Events(events.momenta, None, {**events.columns, "beam": events.columns["beam"] * 1.2})
    with pytest.raises(DataError, match="outside 8 to 9 GeV, where its polarisation is known"):
        by_table.spin_amplitudes(beyond)


@pytest.mark.parametrize(
    ("generate", "message"),
    [
        ({"energy": None}, "the energies of the beam are not given"),
        ({"energy": [8.8, 8.2]}, "do not rise"),
        ({"energy": 1.0}, "not enough for X"),
        ({"energy": [[8.0, -1.0], [9.0, 1.0]]}, "numbers below 0"),
        ({"energy": {"file": "table.txt"}}, "only model files read tables"),
        ({"mass": [0.3, 0.5]}, "cannot decay"),
        ({"mass": [1.5, 1.0]}, "give the smaller one first"),
        ({"degree": None}, "the degree of the polarisation of generated events is not given"),
        ({"degree": 1.5}, "a degree of polarisation is 1.5"),
        ({"degree": [[8.5, 0.1], [9.0, 0.2]]}, "the degree of polarisation is given from 8.5 to 9 GeV"),
        ({"circular": 0.2}, "'circular' of generated events is no event column"),
        ({"beam": "pi-"}, "'pi-' is no photon"),
        ({"recoil": "nonsense"}, "unknown recoil 'nonsense'"),
    ],
)
def test_wrong_settings(generate, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        etapi({**GENERATE, **generate})


def test_nothing_is_said_about_events():
    with pytest.raises(GenerationError, match="nothing says how s, t and the mass of X"):
        ctpwa.generate_phase_space(etapi(None), 10)


def test_recoil_that_is_no_proton():
    with pytest.raises(ConfigError, match="the recoil has charge"):
        ctpwa.load_model(
            {
                "decay": "X -> pi- pi0",
                "production": {
                    "kind": "photoproduction",
                    "polarisation": None,
                    "waves": ["1-"],
                    "generate": {"energy": 8, "mass": [0.5, 1.5]},
                },
            }
        )


def test_tables_of_files(tmp_path):
    (tmp_path / "degree.txt").write_text("# E  P\n8.0, 0.1\n9.0 0.5\n")
    light = "{degree: {file: degree.txt}, angle: 0.1}"
    text = f"decay: X -> eta pi0\nproduction:\n  kind: photoproduction\n  polarisation: {light}\n  waves: [0+]\n"
    (tmp_path / "model.yml").write_text(text)
    assert ctpwa.load_model(tmp_path / "model.yml").production.polarisation.degree == EnergyTable((8.0, 9.0), (0.1, 0.5))
    (tmp_path / "degree.txt").write_text("8.0 high\n")
    with pytest.raises(ConfigError, match=r"model.yml:4:\d+: .*degree.txt', line 1: '8.0 high' is not two numbers"):
        ctpwa.load_model(tmp_path / "model.yml")
    (tmp_path / "degree.txt").unlink()
    with pytest.raises(ConfigError, match="there is no file"):
        ctpwa.load_model(tmp_path / "model.yml")
