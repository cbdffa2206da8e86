"""Poles of lineshapes against closed forms, high-precision roots of independent formulas, and published numbers."""

import mpmath as mp
import numpy as np
import pytest

import ctpwa
from ctpwa.model.lineshapes.continuation import continuation
from ctpwa.model.lineshapes.formula import Vertex
from ctpwa.model.lineshapes.registry import KINDS, build_lineshape
from ctpwa.observables.pole_search import find_roots, near_edges, starts_around
from ctpwa.observables.poles import poles
from poles import reference

PI, K, ETA = 0.13957039, 0.493677, 0.547862


def model(**resonances):
    """φ π+ π- or φ K+ K-, where the resonances are in the pair."""
    entry = {"JP": "0+"}
    return ctpwa.load_model(
        {"decay": "J/psi(1S) -> omega(782) pi+ pi-", "resonances": {name: entry | {"in": "pi+ pi-"} | r for name, r in resonances.items()}}
    )


def one(sheets="nearest", **resonance):
    found = poles(None, model(X=resonance), sheets)
    return found[0] if sheets == "nearest" else found


def test_constant_width_is_the_root_of_a_quadratic():
    pole = one(lineshape="breit_wigner_constant_width", mass=0.78, width=0.1)
    w = np.sqrt(0.78**2 - 0.78j * 0.1)
    assert pole.position == pytest.approx(w, rel=1e-14)
    assert pole.residue == pytest.approx(-1 / (2 * w), rel=1e-12)  # F = −1/((w − w_p)(w + w_p))
    assert (pole.channels, pole.sheet, pole.couplings) == ((), (), ())


@pytest.mark.parametrize(
    ("m1", "m2", "L", "mass", "width"),
    [(PI, PI, 1, 0.7753, 0.1491), (K, PI, 1, 0.8955, 0.0473), (K, ETA, 3, 1.711, 0.333), (K, K, 0, 1.5, 0.3), (K, ETA, 4, 2.186, 0.241)],
)
def test_breit_wigner(m1, m2, L, mass, width):
    vertex = Vertex(m1, m2, L, 3.0)
    F = continuation(build_lineshape("breit_wigner", vertex), vertex, {"mass": mass, "width": width})
    (edge,) = near_edges(F, m1 + m2)
    assert edge.sheet == (-1,)
    (found,) = find_roots(F, edge, [mass - 0.5j * width])
    expected, residue = reference.root(
        lambda w: reference.breit_wigner(w, mp.mpf(mass), mp.mpf(width), mp.mpf(m1), mp.mpf(m2), L, mp.mpf(3)), found.w
    )
    assert found.w == pytest.approx(expected, rel=1e-12)
    assert found.residues[0] == pytest.approx(residue, rel=1e-10)


def test_delta_of_the_pdg():
    """The Δ(1232) with mass 1.232 and width 0.117 GeV: PDG pole (1.210 ± 0.001) − i (0.050 ± 0.001) GeV."""
    vertex = Vertex(0.938272, PI, 1, 1.0 / 0.1973)  # 1 fm
    F = continuation(build_lineshape("breit_wigner", vertex), vertex, {"mass": 1.232, "width": 0.117})
    (found,) = find_roots(F, near_edges(F, vertex.m1 + vertex.m2)[0], [1.232 - 0.0585j])
    assert found.w.real == pytest.approx(1.210, abs=0.003)
    assert -2 * found.w.imag == pytest.approx(0.100, abs=0.005)


def test_gounaris_sakurai():
    vertex = Vertex(PI, PI, 1, 3.0)
    F = continuation(build_lineshape("gounaris_sakurai", vertex), vertex, {"mass": 0.7753, "width": 0.1491})
    (found,) = find_roots(F, near_edges(F, 2 * PI)[0], [0.7753 - 0.0745j])
    expected, residue = reference.root(lambda w: reference.gounaris_sakurai(w, mp.mpf(0.7753), mp.mpf(0.1491), mp.mpf(PI)), found.w)
    assert found.w == pytest.approx(expected, rel=1e-12)
    assert found.residues[0] == pytest.approx(residue, rel=1e-10)
    # dispersive analyses of ππ: (763.7 ± 1.7) − i (73.2 ± 1.1) MeV, PRL 107, 072001 (2011)
    assert found.w == pytest.approx(0.7637 - 0.0732j, abs=0.004)


FLATTE = {"lineshape": "flatte", "mass": 0.965, "options": {"channels": {"pipi": "own", "KK": [K, K]}, "convention": "linear"}}
NUMBERS = {"g_pipi": 0.165, "g_KK": 0.695}


def test_flatte_on_every_sheet_against_the_closed_polynomial():
    """BES, PLB 607, 243 (2005): the pole of the f0(980) is at 0.998 − 0.017i GeV on the second sheet."""
    found = one("all", **FLATTE, parameters=NUMBERS)
    roots = reference.flatte_by_hand(*map(mp.mpf, (0.965, 0.165, 0.695, PI, K)))
    couplings = [(mp.mpf(0.165), mp.mpf(PI), mp.mpf(PI)), (mp.mpf(0.695), mp.mpf(K), mp.mpf(K))]
    for pole in found:
        assert min(abs(pole.position - root) for root in roots) < 1e-11
        expected, residue = reference.root(lambda w, pole=pole: reference.flatte(w, mp.mpf(0.965), couplings, pole.sheet), pole.position)
        assert pole.position == pytest.approx(expected, rel=1e-12)
        assert pole.residue == pytest.approx(residue, rel=1e-9)
    assert {pole.sheet for pole in found} >= {(-1, 1), (-1, -1)}
    near = one(**FLATTE, parameters=NUMBERS)
    assert near.sheet == (-1, 1)
    assert near.channels == ("pi+ pi-", "KK")
    assert near.position == pytest.approx(0.998 - 0.017j, abs=6e-4)
    assert near.reached_from == pytest.approx(2 * K, abs=1e-6)
    assert "around the threshold at 0.987 GeV" in near.note


def test_nearest_pole_of_random_flattes():
    """Of all zeros of the polynomial the one on a near sheet whose term is largest at the nearest physical point."""
    rng = np.random.default_rng(0)
    vertex = Vertex(PI, PI, 0, 3.0)
    shape = build_lineshape("flatte", vertex, channels=FLATTE["options"]["channels"], convention="linear")
    for _ in range(20):
        mass, g1, g2 = rng.uniform(0.75, 1.3), rng.uniform(0.02, 0.4), rng.uniform(0.02, 1.0)
        couplings = [(mp.mpf(g1), mp.mpf(PI), mp.mpf(PI)), (mp.mpf(g2), mp.mpf(K), mp.mpf(K))]
        candidates = {}
        for root in reference.flatte_by_hand(*map(mp.mpf, (mass, g1, g2, PI, K))):
            w = complex(abs(root.real), -abs(root.imag))
            for sheet, low, high in (((-1, 1), 2 * PI, 2 * K), ((-1, -1), 2 * K, np.inf)):

                def inverse(z, sheet=sheet, mass=mass, couplings=couplings):
                    return reference.flatte(z, mp.mpf(mass), couplings, sheet)

                if abs(inverse(mp.mpc(w))) < 1e-8:
                    residue = complex(1 / mp.diff(inverse, mp.mpc(w)))
                    candidates[abs(residue) / abs(w - min(max(w.real, low), high))] = (w, sheet)
        w, sheet = candidates[max(candidates)]
        F = continuation(shape, vertex, {"mass": mass, "g_pipi": g1, "g_KK": g2})
        roots = [root for edge in near_edges(F, 2 * PI) for root in find_roots(F, edge, starts_around(mass, None))]
        best = max(roots, key=lambda root: abs(root.residues[0]) / root.distance)
        assert best.w == pytest.approx(w, abs=1e-10)
        assert best.edge.sheet == sheet


def test_couplings_of_the_flatte_pole():
    """−Res_s of T_jj = g_j² F."""
    pole = one(**FLATTE, parameters=NUMBERS)
    for coupling, g in zip(pole.couplings, NUMBERS.values(), strict=True):
        assert coupling.value == pytest.approx(-2 * pole.position * pole.residue * g, rel=1e-10)
    # with barrier factors g² is the width over the phase space: m0 Γ(s) = g² ρ(s), at a pole as narrow as this
    narrow = one(lineshape="breit_wigner", mass=0.9, width=1e-7)
    assert narrow.couplings[0].value == pytest.approx(0.9e-7 / np.sqrt(1 - 4 * PI**2 / 0.81), rel=1e-5)


def test_gounaris_sakurai_coupling_does_not_depend_on_the_numerator():
    """G² = −Res_s(F/N) m0 Γ(s)/ρ, with the numerator N of F."""
    rho = {"in": "pi+ pi-", "lineshape": "gounaris_sakurai"}
    loaded = ctpwa.load_model({"decay": "J/psi(1S) -> pi0 pi+ pi-", "resonances": {"rho(770)": rho}})
    (pole,) = poles(None, loaded)
    m0, width = (mp.mpf(loaded.resonances["rho(770)"].parameters[name]) for name in ("mass", "width"))
    mu, w = mp.mpf(PI), mp.mpc(pole.position)
    q, q0 = reference.momentum(w**2, mu, mu, -1), mp.sqrt(reference.momentum2(m0**2, mu, mu))
    D = 3 * mu**2 / (mp.pi * q0**2) * mp.log((m0 + 2 * q0) / (2 * mu)) + m0 / (2 * mp.pi * q0) - mu**2 * m0 / (mp.pi * q0**3)
    running = m0**2 * width * (q / q0) ** 3 / w
    expected = -2 * w * mp.mpc(pole.residue) / (1 + D * width / m0) * running / (2 * q / w)
    assert pole.couplings[0].value == pytest.approx(complex(expected), rel=1e-9)


def test_three_channels_of_flatte_with_unequal_masses():
    parameters = {"g_etapi": 0.34, "g_KK": 0.35, "g_etappi": 0.2}
    options = {"channels": {"etapi": "own", "KK": [K, K], "etappi": [0.95778, PI]}}
    decay = {
        "decay": "J/psi(1S) -> rho(770)0 pi0 eta",
        "resonances": {"a(0)(980)": {"in": "pi0 eta", "lineshape": "flatte", "mass": 0.999, "parameters": parameters, "options": options}},
    }
    (pole,) = poles(None, ctpwa.load_model(decay))
    final = ctpwa.load_model(decay).decay.final
    m1, m2 = mp.mpf(final[1].mass), mp.mpf(final[2].mass)
    couplings = [(mp.mpf(0.34) ** 2, m1, m2), (mp.mpf(0.35) ** 2, mp.mpf(K), mp.mpf(K)), (mp.mpf(0.2) ** 2, mp.mpf(0.95778), mp.mpf(PI))]
    expected, residue = reference.root(lambda w: reference.flatte(w, mp.mpf(0.999), couplings, pole.sheet), pole.position)
    assert pole.channels == ("pi0 eta", "KK", "etappi")
    assert pole.position == pytest.approx(expected, rel=1e-12)
    assert pole.residue == pytest.approx(residue, rel=1e-10)
    for coupling, (g2, _, _) in zip(pole.couplings, couplings, strict=True):
        assert coupling.value == pytest.approx(-2 * pole.position * residue * float(g2), rel=1e-9)


def test_channels_with_barriers_open_and_closed():
    options = {"channels": {"pipi": "own", "KK": [K, K, 2]}}
    above = one(lineshape="breit_wigner_channels", mass=1.2754, parameters={"width_pipi": 0.157, "width_KK": 0.0086}, options=options)
    widths = [(mp.mpf(0.157), mp.mpf(PI), mp.mpf(PI), 0), (mp.mpf(0.0086), mp.mpf(K), mp.mpf(K), 2)]
    expected, residue = reference.root(lambda w: reference.channels(w, mp.mpf(1.2754), widths, (-1, -1), mp.mpf(3)), above.position)
    assert above.sheet == (-1, -1)
    assert above.position == pytest.approx(expected, rel=1e-12)
    assert above.residue == pytest.approx(residue, rel=1e-10)
    # below its threshold a channel is 0 in this lineshape, and takes no part
    below = one(lineshape="breit_wigner_channels", mass=0.9, parameters={"width_pipi": 0.05, "width_KK": 0.06}, options=options)
    assert below.sheet == (-1, 0)
    (width_only,) = {c.channel for c in below.couplings}
    assert width_only == "pi+ pi-"
    single = one(lineshape="breit_wigner", mass=0.9, width=0.05)
    assert below.position == pytest.approx(single.position, rel=1e-12)


def test_sigma_of_bes():
    """PLB 598, 149 (2004): (541 ± 39) − i (252 ± 42) MeV."""
    pole = one(lineshape="bugg_one_channel")
    expected, residue = reference.root(
        lambda w: reference.bugg_one_channel(w, *map(mp.mpf, (0.9264, 0.5843, 1.6663, 1.082, PI, PI))), pole.position
    )
    assert pole.position == pytest.approx(expected, rel=1e-12)
    assert pole.residue == pytest.approx(residue, rel=1e-10)
    assert pole.position == pytest.approx(0.541 - 0.252j, abs=0.005)


def test_sigma_of_bugg_is_where_the_documentation_says():
    poles_of = [one(lineshape="bugg_sigma", options={"below_threshold": how}) for how in ("continued", "closed")]
    assert [complex(np.round(pole.position, 3)) for pole in poles_of] == [0.478 - 0.317j, 0.477 - 0.228j]
    assert [pole.sheet for pole in poles_of] == [(-1, 1, 1), (-1, 0, 0)]
    assert poles_of[0].channels == ("pi+ pi-", "KK", "etaeta")


def test_lass_has_the_pole_of_its_resonance():
    """Elastic phases add, so the K0* stands where it would alone: S = S_background S_resonance."""
    vertex = Vertex(K, PI, 0, 3.0)
    found = {}
    for name in ("breit_wigner", "lass", "generalised_lass"):
        shape = build_lineshape(name, vertex)
        values = {p.name: p.default for p in shape.parameters} | {"mass": 1.435, "width": 0.279}
        F = continuation(shape, vertex, values)
        found[name] = find_roots(F, near_edges(F, K + PI)[0], [1.435 - 0.14j])[0].w
    assert found["lass"] == pytest.approx(found["breit_wigner"], rel=1e-12)
    assert found["generalised_lass"] == pytest.approx(found["breit_wigner"], rel=1e-12)


def test_pipi_s_wave_has_its_published_poles():
    """f0(980) at 1.019 − 0.038i on the sheet of closed KK, f0(1500) at 1.489 − 0.058i GeV; V. V. Anisovich and A. V. Sarantsev."""
    found = poles(None, model(S={"lineshape": "pipi_s_wave"}))
    assert found[0].channels == ("pipi", "KK", "4pi", "etaeta", "etaetap")
    for position, sheet in ((1.019 - 0.038j, (-1, 1, 0, 1, 1)), (1.489 - 0.058j, (-1, -1, -1, -1, 1))):
        nearest = min((pole for pole in found if pole.sheet == sheet), key=lambda pole: abs(pole.position - position))
        assert nearest.position == pytest.approx(position, abs=0.003)


def test_k_matrix_against_its_determinant_and_its_functions():
    options = {
        "channels": {"pipi": "own", "KK": [K, K]},
        "poles": [{"mass": 0.98, "couplings": [0.3, 0.6]}, {"mass": 1.45, "couplings": [0.5, 0.2]}],
    }
    found = poles(None, model(S={"lineshape": "k_matrix", "options": options}))
    assert len(found) >= 2
    for pole in found:

        def determinant(w, pole=pole):
            r = [reference.rho(w**2, m, m, sign) for m, sign in zip((mp.mpf(PI), mp.mpf(K)), pole.sheet, strict=True)]
            k = [
                [
                    sum(mp.mpf(g[i]) * mp.mpf(g[j]) / (mp.mpf(m) ** 2 - w**2) for m, g in ((0.98, (0.3, 0.6)), (1.45, (0.5, 0.2))))
                    for j in (0, 1)
                ]
                for i in (0, 1)
            ]
            return (1 - 1j * k[0][0] * r[0]) * (1 - 1j * k[1][1] * r[1]) + k[0][1] * k[1][0] * r[0] * r[1]

        expected, _ = reference.root(determinant, pole.position)
        assert pole.position == pytest.approx(expected, rel=1e-11)
        assert set(pole.residues) == {"beta_1", "beta_2", "f_pipi", "f_KK"}
        assert pole.residue is None
    best = min(found, key=lambda pole: abs(pole.position - 1.45))

    def F(w):  # per unit of β_1, from K and P as they are written
        r = [reference.rho(w**2, m, m, sign) for m, sign in zip((mp.mpf(PI), mp.mpf(K)), best.sheet, strict=True)]
        g = mp.matrix([[mp.mpf(0.3), mp.mpf(0.6)], [mp.mpf(0.5), mp.mpf(0.2)]])
        bare = [mp.mpf(0.98) ** 2 - w**2, mp.mpf(1.45) ** 2 - w**2]
        k = mp.matrix(2, 2)
        for i in (0, 1):
            for j in (0, 1):
                k[i, j] = sum(g[a, i] * g[a, j] / bare[a] for a in (0, 1))
        system = mp.eye(2) - 1j * k * mp.diag(r)
        return mp.lu_solve(system, mp.matrix([g[0, 0] / bare[0], g[0, 1] / bare[0]]))[0]

    h = mp.mpf("1e-9")
    residue = complex((F(mp.mpc(best.position) + h) - F(mp.mpc(best.position) - h)) * h / 2)
    assert best.residues["beta_1"] == pytest.approx(residue, rel=1e-5)


def test_bound_state_below_the_own_threshold():
    """A Breit-Wigner below its only threshold has no width: a pole on the physical sheet, at a real mass."""
    decay = {"decay": "Lambda(c)+ -> p K- pi+", "resonances": {"Lambda(1405)": {"in": "p K-", "mass": 1.4051, "width": 0.0505}}}
    (pole,) = poles(None, ctpwa.load_model(decay))
    assert pole.sheet == (1,)
    assert pole.width == 0
    assert pole.mass < pole.thresholds[0]


@pytest.mark.parametrize(
    ("resonance", "reason"),
    [
        ({"lineshape": "constant"}, "constant is finite at all masses"),
        ({"lineshape": "exponential", "parameters": {"alpha": 0.5}}, "exponential is finite at all masses"),
        ({"lineshape": "phase_space"}, "phase_space is finite at all masses"),
        ({"lineshape": "polynomial"}, "polynomial is finite at all masses"),
        ({"lineshape": "phase_space", "options": {"power": 0.5}}, "more than two sheets"),
        ({"lineshape": "spline", "options": {"knots": [0.3, 0.6, 0.9, 1.2]}}, "set of values at masses"),
        ({"lineshape": "step", "options": {"edges": [0.3, 0.6, 0.9]}}, "set of values at masses"),
        ({"lineshape": "1/(mass**2 + 40 + s)", "mass": 0.5}, "no pole was found near 0.5 GeV"),
    ],
)
def test_no_pole_has_a_reason(resonance, reason):
    (pole,) = poles(None, model(X=resonance))
    assert (pole.mass, pole.width, pole.position, pole.residue) == (None, None, None, None)
    assert reason in pole.reason


def test_python_function_has_no_continuation():
    from dataclasses import replace

    from ctpwa.model.lineshapes.custom import callback_from_function

    given = model(X={"lineshape": "constant"})
    shape = callback_from_function(lambda s, q2, p: s * 0 + 1)
    other = replace(given.resonances["X"], lineshape=shape)
    changed = replace(given, resonances={"X": other}, waves=tuple(replace(wave, resonances=(other,)) for wave in given.waves))
    assert "Python function" in poles(None, changed)[0].reason


def test_user_expressions():
    same = one(lineshape="1/(mass**2 - s - i*mass*width*rho/0.9)", mass=0.9, width=0.1)
    expected, _ = reference.root(
        lambda w: mp.mpf(0.9) ** 2 - w**2 - 1j * mp.mpf(0.9) * mp.mpf(0.1) * reference.rho(w**2, mp.mpf(PI), mp.mpf(PI), -1) / mp.mpf(0.9),
        same.position,
    )
    assert same.position == pytest.approx(expected, rel=1e-12)
    assert same.couplings == ()  # nothing says that it is unitary
    channel = one(lineshape="1/(mass**2 - s - i*0.2*rho - i*0.1*sqrt(1 - 4*0.493677**2/s))", mass=1.2)
    assert channel.sheet == (-1, -1)
    assert channel.thresholds[1] == pytest.approx(2 * K, rel=1e-12)
    assert channel.channels == ("pi+ pi-", "0.987 GeV")
    # |x| is x where x > 0, and that piece continues
    size, plain = (
        one(lineshape=f"1/(mass**2 - s - i*mass*width*sqrt({x}))", mass=1.5, width=0.1) for x in ("abs(1 - 0.08/s)", "1 - 0.08/s")
    )
    assert size.position == pytest.approx(plain.position, rel=1e-12)
    assert "piece of the formula" in size.note
    # a logarithm, whose cut is crossed by no way from the axis
    log = one(lineshape="1/(mass**2 - s - i*mass*width*(1 + 0.3*log(s/mass**2)))", mass=1.5, width=0.3)
    expected, _ = reference.root(
        lambda w: mp.mpf(1.5) ** 2 - w**2 - 1j * mp.mpf(1.5) * mp.mpf(0.3) * (1 + mp.mpf(0.3) * mp.log(w**2 / mp.mpf(1.5) ** 2)),
        log.position,
    )
    assert log.position == pytest.approx(expected, rel=1e-12)


def test_a_logarithm_that_leaves_its_branch_gives_no_wrong_number():
    """Ln s⁸ is 8 ln s on the real axis, but its principal value jumps where the phase of s passes −π/8."""
    for width in (0.1, 0.3, 0.8, 1.2):
        pole = one(lineshape="1/(mass**2 - s - i*mass*width*(1 + 0.05*log((s/mass**2)**8)))", mass=1.0, width=width)

        def inverse(w, width=width):
            return 1 - w**2 - 1j * mp.mpf(width) * (1 + mp.mpf(0.05) * 8 * mp.log(w**2))

        exact, _ = reference.root(inverse, 1 - 0.5j * width)
        if abs(np.angle(exact**2)) < np.pi / 8:
            assert pole.position == pytest.approx(exact, rel=1e-10)
        else:
            assert pole.mass is None
            assert "no pole was found" in pole.reason


def test_a_pole_without_mass_parameter_is_found():
    pole = one(lineshape="1/(c**2 - s - i*c*0.1*rho)", parameters={"c": 1.2})
    assert pole.position == pytest.approx(1.2009 - 0.0486j, abs=1e-3)


def test_poles_very_near_to_each_other():
    text = "1/((mass**2 - s - i*mass*width)*(1.501**2 - s - i*1.501*width))"
    pole = one(lineshape=text, mass=1.5, width=0.1)
    exact = [np.sqrt(m**2 - 0.1j * m) for m in (1.5, 1.501)]
    assert min(abs(pole.position - w) for w in exact) < 1e-12
    i = int(np.argmin([abs(pole.position - w) for w in exact]))
    w, other = exact[i], exact[1 - i]
    assert pole.residue == pytest.approx(-1 / (2 * w * (other**2 - w**2)), rel=1e-6)


def test_massless_daughters():
    """Two photons: no threshold but 0, and a width that does not grow."""
    vertex = Vertex(0.0, 0.0, 0, 3.0)
    F = continuation(build_lineshape("breit_wigner", vertex), vertex, {"mass": 0.55, "width": 0.02})
    (edge,) = near_edges(F, 0.0)
    (found,) = find_roots(F, edge, [0.55 - 0.01j])
    assert found.w == pytest.approx(np.sqrt(0.55**2 - 0.55j * 0.02), rel=1e-12)


def test_double_pole_is_not_reported():
    assert one(lineshape="1/(mass**2 - s - i*mass*width)**2", mass=1.5, width=0.1).mass is None


def test_a_width_from_a_table():
    """The polynomial between two points of the table, at complex masses."""
    from scipy.interpolate import CubicSpline

    masses, widths, m0, width = [0.4, 0.7, 0.9, 1.2], [0.0, 0.1, 0.2, 0.3], 0.8, 0.1
    pole = one(lineshape="breit_wigner_table", mass=m0, width=width, options={"masses": masses, "widths": widths})
    g = np.polynomial.Polynomial(CubicSpline(masses, widths, bc_type="natural").c[::-1, 1], domain=[0, 1], window=[0, 1])
    w = np.polynomial.Polynomial([0, 1])
    inverse = m0**2 - w**2 - 1j * m0 * width / g(m0 - 0.7) * g(w - 0.7)
    assert min(abs(inverse.roots() - pole.position)) < 1e-10
    assert abs(pole.position - m0) < width


def test_the_kpi_s_wave_has_a_pole_and_what_has_none_says_so():
    """T⁻¹ of the published K-matrix at the pole, on its sheet, is singular."""
    decay = {"decay": "D+ -> K- pi+ pi+", "resonances": {"S": {"in": "K- pi+", "JP": "0+", "lineshape": "kpi_s_wave"}}}
    pole = poles(None, ctpwa.load_model(decay))[0]
    s, m_pi, m_K = pole.position**2, PI, K
    x = s / (m_K**2 + m_pi**2) - 1
    smooth = np.polynomial.polynomial.polyval(
        x, np.array([[0.79299, 0.1504, 0.17054], [-0.15099, -0.038266, -0.0219], [0.00811, 0.0022596, 0.00085655]])
    )
    g = np.array([0.31072, -0.02323])
    k = (s - 0.23) / (m_K**2 + m_pi**2) * (np.outer(g, g) / (1.7919 - s) + np.array([[smooth[0], smooth[1]], [smooth[1], smooth[2]]]))
    rho = []
    for sign, other in zip(pole.sheet, (m_pi, 0.95778), strict=True):
        rho.append(sign * 1j * np.sqrt(-(1 - (m_K + other) ** 2 / s)) * np.sqrt(1 - (m_K - other) ** 2 / s))
    assert abs(np.linalg.det(np.eye(2) - 1j * k * np.array(rho))) < 1e-9
    assert pole.position == pytest.approx(1.40 - 0.12j, abs=0.01)
    table = {"masses": [0.3, 0.5, 0.9, 1.4], "real": [0.1, 0.5, 0.8, 0.2]}
    assert one(lineshape="table", options=table).mass is None


def test_every_lineshape_is_handled():
    """No kind of lineshape is forgotten: each gives a pole or a reason."""
    assert set(KINDS) == {
        *("breit_wigner", "breit_wigner_constant_width", "breit_wigner_channels", "breit_wigner_table", "flatte", "gounaris_sakurai"),
        *("bugg_sigma", "bugg_one_channel", "lass", "generalised_lass", "constant", "exponential", "polynomial", "phase_space"),
        *("k_matrix", "pipi_s_wave", "spline", "step"),
        *("coupled_channels", "kpi_s_wave", "table"),
    }
