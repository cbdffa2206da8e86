"""Variables against momenta made by hand, textbook formulas and the laws they obey."""

import math
import pickle

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

import ctpwa
from ctpwa.base.errors import DataError
from ctpwa.kinematics.lorentz import from_rest_frame
from ctpwa.observe.errors import VariableError
from ctpwa.observe.variable import default_projections, default_variables, parse_variable

KKETA, FOURPI, LAMBDAC, GAMMA, PHIPIPI = (
    ctpwa.load_model(ctpwa.__file__.replace("src/ctpwa/__init__.py", f"examples/{name}/model.yml"))
    for name in ("jpsi_kk_eta", "jpsi_4pi", "lambdac_p_k_pi", "jpsi_gamma_pi0_pi0", "jpsi_phi_pi_pi")
)
MK, META, MJPSI = 0.493677, 0.547862, 3.0969


def value(text, events, model=KKETA, **options):
    return parse_variable(text, model.decay)(events, **options)


@pytest.fixture(scope="module")
def events():
    return ctpwa.generate_phase_space(KKETA, 500, seed=3).momenta


def boosted(events, beta):
    """All momenta seen from a frame in which what was at rest moves."""
    total = sum(events.values())
    mass = float((total[0, 0] ** 2 - (total[0, 1:] ** 2).sum()).sqrt())
    gamma = 1 / math.sqrt(1 - sum(b * b for b in beta))
    P4 = mass * gamma * torch.tensor([1.0, *beta], dtype=torch.float64)[:, None]
    return {name: from_rest_frame(p.T, P4, torch.tensor([mass], dtype=torch.float64)).T for name, p in events.items()}


def rotated(events, rng):
    R = torch.tensor(Rotation.random(random_state=int(rng.integers(1000))).as_matrix())
    return {name: torch.cat([p[:, :1], p[:, 1:] @ R.T], dim=1) for name, p in events.items()}


def hand_made():
    """One event: K+ and K- back to back along x and turned by 60 degrees in the xz plane, then boosted along +z; the eta recoils."""
    q, s12, angle = 0.7, None, math.radians(60)
    s12 = 4 * (MK**2 + q**2)
    m12 = math.sqrt(s12)
    P = math.sqrt((MJPSI**2 - (m12 + META) ** 2) * (MJPSI**2 - (m12 - META) ** 2)) / (2 * MJPSI)
    E12 = math.hypot(m12, P)
    gamma, gamma_beta, e = E12 / m12, P / m12, math.hypot(MK, q)
    pz, px = q * math.cos(angle), q * math.sin(angle)
    kp = [gamma * e + gamma_beta * pz, px, 0.0, gamma * pz + gamma_beta * e]
    km = [gamma * e - gamma_beta * pz, -px, 0.0, -gamma * pz + gamma_beta * e]
    return {"K+": np.array([kp]), "K-": np.array([km]), "eta": np.array([[math.hypot(META, P), 0.0, 0.0, -P]])}, m12, q, P


def test_hand_made_event():
    events, m12, q, P = hand_made()
    expected = {
        "mass(K+, K-)": m12,
        "mass2(K+ K-)": m12**2,
        "mass(K+)": MK,
        "mass(K+ K- eta)": MJPSI,
        "cos_theta(K+; K+ K-)": 0.5,
        "cos_theta(K-; K+ K-)": -0.5,
        "cos_theta(K+; K- K+; eta)": -0.5,
        "cos_theta(K+ K-)": 1.0,
        "cos_theta(eta)": -1.0,
        "cos_theta(eta; parent; x)": 0.0,
        "E(eta)": math.hypot(META, P),
        "p(eta)": P,
        "pz(eta)": -P,
        "pt(eta)": 0.0,
        "p(K+; K+ K-)": q,
        "px(K+; K+ K-)": q * math.sin(math.radians(60)),
        "py(K+; lab)": 0.0,
        "E(K+ K-; K+ K-)": m12,
        "phi(K+)": 0.0,
        "phi(K-)": math.pi,
        "2 * mass(K+ K-) - 1": 2 * m12 - 1,
        "-mass(K+ K-)**2 / 4": -(m12**2) / 4,
        "sqrt(mass2(K+ K-)) + exp(log(p(eta)))": m12 + P,
        "acos(cos_theta(K+; K+ K-)) * 180 / pi": 60.0,
        "sin(phi(K-) / 2) + cos(phi(K+))": 2.0,
        "max(mass(K+ K-), 2, E(eta))": max(m12, 2, math.hypot(META, P)),
        "min(mass(K+ K-), 2)": min(m12, 2),
        "abs(pz(eta))": P,
        "2 ** 3 ** 2 + 0 * mass(K+)": 512.0,
    }
    for text, wanted in expected.items():
        (found,) = value(text, events)
        assert found == pytest.approx(wanted, rel=1e-13, abs=1e-13), text


def test_helicity_cosine_is_the_textbook_one(events):
    """cos θ = (m²_23 − m²_13 …) in terms of Dalitz variables: s_13 is linear in the cosine."""
    s12, s13 = value("mass2(K+ K-)", events), value("mass2(K+ eta)", events)
    m12 = np.sqrt(s12)
    E1, E3 = m12 / 2, (MJPSI**2 - s12 - META**2) / (2 * m12)
    p1, p3 = np.sqrt(E1**2 - MK**2), np.sqrt(E3**2 - META**2)
    along_eta = (MK**2 + META**2 + 2 * E1 * E3 - s13) / (2 * p1 * p3)
    np.testing.assert_allclose(value("cos_theta(K+; K+ K-)", events), -along_eta, atol=1e-10)


@pytest.mark.parametrize("model", [KKETA, LAMBDAC, GAMMA, PHIPIPI], ids=lambda model: str(model.decay))
def test_masses_and_helicity_cosines_do_not_depend_on_the_frame(model, rng):
    momenta = ctpwa.generate_phase_space(model, 200, seed=5).momenta
    moved = boosted(rotated(momenta, rng), (0.2, -0.3, 0.4))
    polar = {f"cos_theta({particle.name})" for particle in model.decay.final}  # to the beam
    for variable in default_variables(model.decay):
        if variable.name not in polar:
            np.testing.assert_allclose(variable(moved), variable(momenta), rtol=1e-12, atol=1e-12, err_msg=variable.name)


def test_angle_between_planes():
    """Both pairs in planes that contain z; the second is turned by an angle around z."""
    labels = PHIPIPI.decay.labels
    turn = 0.7
    P, q = 0.6, 0.4
    a, b = np.array([q, 0, 0.1]), q * np.array([math.cos(turn), math.sin(turn), 0])
    up = np.array([0, 0, P])
    flights = [up + a, up - a, b - up, -b - up]
    masses = [MK, MK, 0.13957039, 0.13957039]
    events = {n: np.array([[math.hypot(m, *p), *p]]) for n, m, p in zip(labels, masses, flights, strict=True)}
    assert value("chi(K+ K-; pi+ pi-)", events, PHIPIPI) == pytest.approx(turn, abs=1e-13)
    assert value("chi(K+ K-; pi- pi+)", events, PHIPIPI) == pytest.approx(turn - math.pi, abs=1e-13)
    assert value("chi(pi+ pi-; K+ K-)", events, PHIPIPI) == pytest.approx(turn, abs=1e-13)
    mirrored = {n: p * [1, -1, -1, -1] for n, p in events.items()}
    assert value("chi(K+ K-; pi+ pi-)", mirrored, PHIPIPI) == pytest.approx(-turn, abs=1e-13)


def test_chi_is_invariant_and_flat_in_phase_space(rng):
    momenta = ctpwa.generate_phase_space(PHIPIPI, 4000, seed=2).momenta
    chi = parse_variable("chi(K+ K-; pi+ pi-)", PHIPIPI.decay)
    moved = boosted(rotated(momenta, rng), (0.1, 0.5, -0.2))
    difference = np.angle(np.exp(1j * (chi(moved) - chi(momenta))))
    np.testing.assert_allclose(difference, 0, atol=1e-11)
    assert np.abs(np.exp(1j * chi(momenta)).mean()) < 4 / math.sqrt(4000)


def test_helicity_azimuth_is_the_rotation_of_jacob_and_wick(events):
    """p in the parent's frame is R_z(φ_F) R_y(θ_F) times what the helicity frame sees, boosted along z."""
    theta, azimuth = np.arccos(value("cos_theta(K+ K-)", events)), value("phi(K+ K-)", events)
    inside, phi, p = value("cos_theta(K+; K+ K-)", events), value("phi(K+; K+ K-)", events), value("p(K+; K+ K-)", events)
    sine = np.sqrt(1 - inside**2)
    local = np.stack([p * sine * np.cos(phi), p * sine * np.sin(phi), p * inside], axis=1)
    back = Rotation.from_euler("ZY", np.stack([azimuth, theta], axis=1)).apply(local)
    for k, component in enumerate("xyz"):
        np.testing.assert_allclose(value(f"p{component}(K+; K+ K-)", events), back[:, k], atol=1e-12)


def test_azimuth_around_any_axis(events):
    around = value("phi(K+; parent; z; y)", events)
    turned = np.angle(np.exp(1j * (value("phi(K+)", events) - math.pi / 2)))
    np.testing.assert_allclose(around, turned, atol=1e-12)
    np.testing.assert_allclose(value("phi(K+; parent; z)", events), value("phi(K+)", events), atol=1e-15)
    helicity, spelled = value("phi(K+; K+ K-)", events), value("phi(K+; K+ K-; eta; z)", events)
    np.testing.assert_allclose(np.angle(np.exp(1j * (helicity + spelled - math.pi))), 0, atol=1e-11)  # z and side turned over


def test_lab_and_parent_frames(events):
    moved = boosted(events, (0.0, 0.0, 0.3))
    np.testing.assert_allclose(value("E(eta)", moved), events["eta"][:, 0], rtol=1e-13)
    np.testing.assert_array_equal(value("E(eta; lab)", moved), moved["eta"][:, 0].numpy())
    np.testing.assert_allclose(value("cos_theta(K+; parent)", moved), value("cos_theta(K+)", events), atol=1e-13)
    p = moved["K+"].numpy()
    np.testing.assert_allclose(value("cos_theta(K+; lab)", moved), p[:, 3] / np.linalg.norm(p[:, 1:], axis=1), rtol=1e-14)


def test_dalitz_sum(events):
    total = value("mass2(K+ K-) + mass2(K+ eta) + mass2(K- eta)", events)
    np.testing.assert_allclose(total, MJPSI**2 + 2 * MK**2 + META**2, rtol=1e-13)


def test_massless_and_collinear_are_safe():
    k, m = 1.0, 0.1349768
    rest = -k / 2
    p4 = [math.hypot(m, rest), 0, 0, rest]
    events = {"gamma": np.array([[k, 0, 0, k]]), "pi0_1": np.array([p4]), "pi0_2": np.array([p4])}
    assert value("mass(gamma)", events, GAMMA) == 0
    assert value("cos_theta(gamma; gamma pi0_1)", events, GAMMA) in (1.0, -1.0)
    with pytest.raises(DataError, match="pi0_1 is at rest and has no direction in event 0"):
        value("cos_theta(pi0_1; pi0_1 pi0_2)", events | {n: np.array([[m, 0, 0, 0]]) for n in ("pi0_1", "pi0_2")}, GAMMA)
    with pytest.raises(DataError, match="negative mass squared in event 0"):
        value("mass(gamma)", events | {"gamma": np.array([[0.9, 0, 0, 1.0]])}, GAMMA)


# identical particles


def test_identical_particles_are_shuffled():
    momenta = ctpwa.generate_phase_space(GAMMA, 400, seed=1).momenta
    first, second = (value(f"mass(gamma pi0_{i})", momenta, GAMMA) for i in (1, 2))
    mixed = value("mass(gamma pi0)", momenta, GAMMA)
    np.testing.assert_array_equal(mixed, np.where(np.arange(400) % 2 == 0, first, second))
    ordered = np.argsort(np.stack([momenta["pi0_1"][:, 0], momenta["pi0_2"][:, 0]]), axis=0)
    stacked = torch.stack([momenta["pi0_1"], momenta["pi0_2"]])
    by_energy = {"gamma": momenta["gamma"]} | {f"pi0_{i + 1}": stacked[ordered[i], torch.arange(400)] for i in (0, 1)}
    text = "min(mass(gamma pi0_1), mass(gamma pi0_2))"
    np.testing.assert_array_equal(value(text, by_energy, GAMMA), value(text, momenta, GAMMA))
    np.testing.assert_allclose(
        value("abs(cos_theta(pi0; pi0 pi0))", by_energy, GAMMA), np.abs(value("cos_theta(pi0_1; pi0_1 pi0_2)", momenta, GAMMA)), atol=1e-12
    )


def test_shuffling_is_the_same_in_all_variables_and_chunks():
    momenta = ctpwa.generate_phase_space(FOURPI, 100, seed=1).momenta
    texts = ["mass(pi+ pi-)", "cos_theta(pi+; pi+ pi-)", "chi(pi+ pi-; pi+ pi-)", "E(pi+) + 0 * E(pi-)"]
    whole = [value(text, momenta, FOURPI) for text in texts]
    pluses, minuses = [("pi+_1", "pi+_2"), ("pi+_2", "pi+_1")], [("pi-_1", "pi-_2"), ("pi-_2", "pi-_1")]
    for event in range(8):
        (a, c), (b, d) = pluses[event % 2], minuses[event // 2 % 2]
        labelled = [f"mass({a} {b})", f"cos_theta({a}; {a} {b})", f"chi({a} {b}; {c} {d})", f"E({a})"]
        for text, found in zip(labelled, whole, strict=True):
            assert value(text, momenta, FOURPI)[event] == pytest.approx(found[event], abs=1e-12), text
    for text, found in zip(texts, whole, strict=True):
        np.testing.assert_allclose(value(text, momenta, FOURPI, chunk=7), found, rtol=0, atol=1e-13)


def test_default_variables():
    assert [v.name for v in default_variables(KKETA.decay)] == [
        "mass(K+, K-)",
        "mass(K+, eta)",
        "mass(K-, eta)",
        "cos_theta(K+; K+ K-)",
        "cos_theta(K+; K+ eta)",
        "cos_theta(K-; K- eta)",
        "cos_theta(K+)",
        "cos_theta(K-)",
        "cos_theta(eta)",
    ]
    names = ["mass(gamma, pi0)", "mass(pi0, pi0)", "cos_theta(gamma; gamma pi0)", "abs(cos_theta(pi0; pi0 pi0))"]
    assert [v.name for v in default_variables(GAMMA.decay)] == [*names, "cos_theta(gamma)", "cos_theta(pi0)"]
    without_spin = ctpwa.load_model({"decay": "D0 -> K- pi+ pi0", "resonances": {"rho(770)": {"in": "pi+ pi0"}}})
    assert [v.name for v in default_variables(without_spin.decay)][-1] == "cos_theta(pi+; pi+ pi0)"
    four = [v.name for v in default_variables(FOURPI.decay)]
    assert four[:5] == ["mass(pi+, pi-)", "mass(pi+, pi+)", "mass(pi-, pi-)", "mass(pi+, pi-, pi+)", "mass(pi+, pi-, pi-)"]
    assert len(four) == 10
    two = ctpwa.load_model({"decay": "J/psi(1S) -> K+ K-"})
    assert [v.name for v in default_variables(two.decay)] == ["cos_theta(K+)"]
    assert [p.bins for p in default_projections(KKETA.decay)] == [60, 60, 60] + 6 * [40]


@pytest.mark.parametrize("model", [KKETA, FOURPI, LAMBDAC, GAMMA, PHIPIPI], ids=lambda model: str(model.decay))
def test_values_are_within_limits(model):
    momenta = ctpwa.generate_phase_space(model, 300, seed=5)
    for variable in default_variables(model.decay):
        values = variable(momenta)
        assert values.dtype == np.float64
        assert variable.limits[0] <= values.min() < values.max() <= variable.limits[1]


# labels, units, limits


@pytest.mark.parametrize(
    ("text", "label", "unit", "limits"),
    [
        ("mass(K+, K-)", "$M(K^{+}K^{-})$", "GeV", (2 * MK, MJPSI - META)),
        ("mass2(K+ eta)", r"$M^{2}(K^{+}\eta)$", "GeV$^{2}$", ((MK + META) ** 2, (MJPSI - MK) ** 2)),
        ("cos_theta(K+; K+ K-)", r"$\cos\theta_{K^{+}}(K^{+}K^{-})$", "", (-1, 1)),
        ("abs( cos_theta(K+) )", r"$|\cos\theta(K^{+})|$", "", (0, 1)),
        ("-phi(K+; K+ K-)", r"$-\phi_{K^{+}}(K^{+}K^{-})$", "rad", (-math.pi, math.pi)),
        ("mass2(K+ eta) - mass2(K- eta)", r"$M^{2}(K^{+}\eta) - M^{2}(K^{-}\eta)$", "GeV$^{2}$", None),
        ("2 * (mass(K+ eta) + 1)", r"$2\,(M(K^{+}\eta) + 1)$", "GeV", None),
        ("mass(K+ eta) + mass2(K+ eta)", r"$M(K^{+}\eta) + M^{2}(K^{+}\eta)$", "", None),
        ("mass(K+ eta) - (E(K+) - p(eta))", r"$M(K^{+}\eta) - (E(K^{+}) - p(\eta))$", "GeV", None),
        ("mass(K+ eta)**2 / (E(K+) * pt(eta; lab))", r"$M(K^{+}\eta)^{2} / (E(K^{+}) \cdot p_{T}(\eta; \mathrm{lab}))$", "", None),
        ("(-E(K+))**2", r"$(-E(K^{+}))^{2}$", "GeV$^{2}$", None),
        ("max(mass(K+ eta), mass(K- K+))", r"$\max(M(K^{+}\eta), M(K^{-}K^{+}))$", "GeV", (MK + META, MJPSI - MK)),
        ("sqrt(mass2(K+ eta))", r"$\sqrt{M^{2}(K^{+}\eta)}$", "GeV", None),
        ("E(K+)", "$E(K^{+})$", "GeV", None),
    ],
)
def test_labels_units_and_limits(text, label, unit, limits):
    variable = parse_variable(text, KKETA.decay)
    assert (variable.name, variable.label, variable.unit) == (text, label, unit)
    assert variable.limits == (None if limits is None else pytest.approx(limits, abs=2e-5))


def test_all_labels_can_be_drawn():
    from matplotlib.mathtext import MathTextParser

    parser = MathTextParser("agg")
    own = ctpwa.load_model({"decay": "J/psi(1S) -> gamma a_b:K(S)0 second:K(S)0", "resonances": {"f(2)(1270)": {"in": "a_b second"}}})
    texts = ["mass(gamma a_b)", "phi(a_b; a_b second; gamma; z)", "cos_theta(gamma; gamma second)"]
    variables = [parse_variable(text, own.decay) for text in texts]
    for model in (KKETA, FOURPI, LAMBDAC, GAMMA, PHIPIPI):
        variables += default_variables(model.decay)
    variables += [parse_variable(t, FOURPI.decay) for t in ("chi(pi+_1 pi-_1; pi+_2 pi-_2)", "sqrt(abs(pt(pi+_1)))**2 * 3 / 2")]
    for variable in variables:
        parser.parse(variable.label, dpi=72)
    assert variables[0].label == rf"$M(\gamma{{{own.decay.final[1].latex}}}_{{\mathrm{{a\_b}}}})$"


def test_names_with_brackets_and_other_spellings():
    model = ctpwa.load_model({"decay": "D(s)+ -> eta'(958) pi+ pi0", "resonances": {"rho(770)": {"in": "pi+ pi0"}}})
    momenta = ctpwa.generate_phase_space(model, 10, seed=1).momenta
    spellings = ["mass(eta'(958), pi+) + 1", "mass(eta'(958) pi+)+1", "1 + (mass(  pi+ ,eta'(958) ))"]
    first, *others = (value(text, momenta, model) for text in spellings)
    for other in others:
        np.testing.assert_allclose(other, first, rtol=1e-14)


def test_a_variable_can_be_sent_to_another_process():
    variable = parse_variable("mass(pi+ pi-)", FOURPI.decay)
    again = pickle.loads(pickle.dumps(variable))
    momenta = ctpwa.generate_phase_space(FOURPI, 10, seed=1)
    assert again == variable
    np.testing.assert_array_equal(again(momenta), variable(momenta))


# mistakes


def mistakes(decay, rows):
    """A test for each mistake: (variable, column, words of the problem, words of the fix)."""

    @pytest.mark.parametrize(("text", "column", "what", "fix"), rows)
    def test(text, column, what, fix):
        with pytest.raises(VariableError) as caught:
            parse_variable(text, decay)
        assert what in caught.value.what
        assert fix in caught.value.fix
        assert caught.value.column == column
        if caught.value.word:
            assert text[column - 1 :].startswith(caught.value.word)

    return test


test_mistakes_say_where_and_what_to_do = mistakes(
    KKETA.decay,
    [
        ("", 1, "the variable is empty", "write mass(K+, K-)"),
        ("mass(K+, K)", 10, "'K' is not a final particle of J/psi(1S) -> K+ K- eta", "did you mean 'K-' or 'K+'?"),
        ("1 + mas(K+ K-)", 5, "unknown quantity or function 'mas'", "did you mean 'mass'"),
        ("mass(K+, K-", 5, "a bracket is not closed", "add )"),
        ("E(K+; lab", 7, "a bracket is not closed", "add )"),
        ("mass(K+ K-))", 12, "not a formula: unmatched ')'", "write mass"),
        ("mass(K+ K-) mass(K+ eta)", 13, "not a formula", "write mass"),
        ("mass(K+ K-) * ", 13, "nothing follows the last operator", "complete"),
        ("mass(K+ K-)^2", 1, "'^' is not an operator", "**"),
        ("mass()", 5, "no particle is named", "K+ K- eta"),
        ("mass(K+ K+)", 9, "'K+' is given twice", "once"),
        ("mass(K+; K-)", 1, "'mass' has 2 groups of particles", "write mass(A)"),
        ("chi(K+ K-; eta)", 12, "'eta' is not a pair", "chi(A; B)"),
        ("cos_theta(K+ K-; K- K+)", 11, "at rest in the frame 'K- K+'", "name a part of it"),
        ("cos_theta(K+ K- eta)", 11, "at rest in the frame 'parent'", "name a part of it"),
        ("phi(K+; parent; K+ K- eta)", 17, "at rest in the frame 'parent'", "name a part of it"),
        ("cos_theta(eta; K+ K-)", 16, "an angle between a direction and itself", "choose another axis"),
        ("phi(K+; parent; K-; K-)", 21, "an angle between a direction and itself", "choose another axis"),
        ("phi(K+; parent; z; z)", 20, "an angle between a direction and itself", "choose another axis"),
        ("cos_theta(K+; labb)", 15, "'labb' is not a final particle", "did you mean 'lab'?"),
        ("E(K+; lab K-)", 11, "'lab' stands alone", ";"),
        ("K+", 1, "'K+' is a particle, not a variable", "E(K+)"),
        ("2 * K+ + 1", 5, "unknown name 'K'", "E(K+)"),
        ("mass + 1", 1, "unknown name 'mass'", "mass(A)"),
        ("2 * 3", 1, "is the same for all events", "write mass"),
        ("sqrt(1, mass(K+))", 1, "'sqrt' takes one argument, not 2", "sqrt(x)"),
        ("max(mass(K+))", 1, "'max' takes two or more arguments, not 1", "max(x, y)"),
        ("mass(K+) * 1e31", 12, "is too large", "keep numbers"),
        ("mass(K+) * 2j", 12, "is not a real number", "write"),
        ("mass(K+) * é", 12, "character 'é' is not allowed", "ASCII"),
        ("mass(K+) # comment", 10, "'#' is not allowed", "one line"),
        ("_0 + mass(K+)", 1, "unknown name '_0'", "write mass"),
        ("mass(K+).real", 1, "'mass(K+).real' is not allowed", "write mass"),
        ("__import__('os')", 1, "unknown quantity or function '__import__'", "known: "),
        ("[mass(K+)][0]", 1, "is not allowed", "write"),
        ("mass(K+) if 1 else 2", 1, "is not allowed", "write"),
        ("mass(K+) < 1", 1, "is not allowed", "write"),
        ("sqrt(x=mass(K+))", 1, "plain arguments", "sqrt(x)"),
        ("sqrt(*mass(K+))", 1, "plain arguments", "sqrt(x)"),
        ("+" * 1999 + "1", 1, "nested too deeply", "keep nesting"),
        ("1" * 2001, 1, "2001 characters", "keep variables"),
    ],
)  # fmt: skip


test_mistakes_with_identical_particles = mistakes(
    FOURPI.decay,
    [
        ("mass(pi+_1, pi+)", 13, "'pi+' and labels such as 'pi+_1' in one variable", "labels everywhere"),
        ("mass(pi+ pi+ pi+)", 14, "'pi+' is given 3 times", "has 2 of them"),
        ("mass(pi+_3)", 6, "'pi+_3' is not a final particle", "did you mean"),
        ("chi(pi+_1 pi-_1; pi+_1 pi-_2)", 18, "the two pairs share a particle", "four different"),
    ],
)


def test_a_photon_has_no_rest_frame():
    with pytest.raises(VariableError, match="'gamma' is massless and has no rest frame"):
        parse_variable("E(pi0_1; gamma)", GAMMA.decay)


@pytest.mark.parametrize(
    "text", ["log(mass2(K+ K-) - 4)", "1 / (0 * E(K+))", "exp(1000 * E(K+))", "acos(1.001 + 0*E(K+))", "(-E(K+))**0.5"]
)
def test_values_that_are_not_finite_are_refused(text, events):
    with pytest.raises(DataError, match=r"has no finite value in event \d+") as caught:
        value(text, events)
    assert "fix:" in str(caught.value)


def test_rounding_beyond_one_is_one(events):
    assert (value("acos(1 + 1e-13 + 0 * E(K+))", events) == 0).all()
    assert (value("acos(-1 - 1e-13 + 0 * E(K+))", events) == math.pi).all()


def test_wrong_momenta_are_refused(events):
    variable = parse_variable("mass(K+ K-)", KKETA.decay)
    with pytest.raises(DataError, match="momenta of eta are missing"):
        variable({name: p for name, p in events.items() if name != "eta"})
    bad = dict(events) | {"K+": events["K+"].clone()}
    bad["K+"][17, 2] = float("nan")
    with pytest.raises(DataError, match="no finite value in event 17"):
        variable(bad)
    assert variable({name: p[:0] for name, p in events.items()}).shape == (0,)


def test_any_text_is_a_variable_or_a_clear_error(rng):
    parts = [
        "mass",
        "(",
        ")",
        "K+",
        "K-",
        "eta",
        ";",
        ",",
        " ",
        "+",
        "-",
        "**",
        "/",
        "2",
        "1e3",
        "cos_theta",
        "E",
        "lab",
        "z",
        "sqrt",
        "_0",
        ".",
        "'",
    ]
    parts += ["\\", "[", "]", "@", "lambda", "0x1F", "1j", "\t", "if", "==", "mass(K+ K-)", "E(eta; lab)"]
    events = ctpwa.generate_phase_space(KKETA, 3, seed=1)
    read, messages = 0, []
    for _ in range(3000):
        text = "".join(rng.choice(parts, size=rng.integers(1, 8)))
        try:
            variable = parse_variable(text, KKETA.decay)
            read += 1
            assert np.isfinite(variable(events)).all()
        except (VariableError, DataError) as error:
            messages.append(str(error))
    assert read > 5
    assert all("fix: " in message for message in messages)
