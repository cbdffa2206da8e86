"""Sets of waves that do not interfere, and the phases that are fixed because nothing determines them."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.engine import free_parameters, model_values
from ctpwa.engine.likelihood.interference import PROBE_EVENTS, ROUNDING, ProbedAmplitudes
from ctpwa.engine.plan.channels import model_channels
from ctpwa.model.make_parameters import make_parameters
from ctpwa.model.parameter import Parameter
from ctpwa.model.parameters import Product
from ctpwa.model.reference_phases import NONE, Observed, find_reference_phases
from engine.cases import EXAMPLES, columns, example

WEAK = {
    "decay": "Lambda(c)+ -> p K- pi+",
    "resonances": {"K*(892)": {"in": "K- pi+"}, "Lambda(1520)": {"in": "p K-"}, "Delta(1232)": {"in": "p pi+"}},
}
POLARISED = WEAK | {"polarisation": [[0.7, 0], [0, 0.3]]}
L_STAR, L_STAR2 = (f"Lambda(1520)[p K-] {ls}(2,1/2)" for ls in ("(1,3/2)", "(2,3/2)"))
D1, D2 = (f"Delta(1232)++[p pi+] {ls}(1,1/2)" for ls in ("(1,3/2)", "(2,3/2)"))
K0, K1, K13, K2 = (f"K*(892)~0[K- pi+] {ls}(1,0)" for ls in ("(0,1/2)", "(1,1/2)", "(1,3/2)", "(2,3/2)"))
OPTIONS = [{}, {"representation": "polar"}, {"couplings": "vertex"}, {"couplings": "vertex", "representation": "polar"}]


@cache
def model(polarised=False):
    return ctpwa.load_model(POLARISED if polarised else WEAK)


def build(own=None, n=300, **options):
    own = model() if own is None else own
    data, phase_space = (ctpwa.generate_phase_space(own, k, seed=k) for k in (n, 2 * n))
    return ctpwa.build_likelihood(own, data, phase_space, engine="reference", **options)


def sets_of(own):
    """Couplings in sets, by name."""
    channels = model_channels(own)
    numbers = ProbedAmplitudes.of(own, channels).coherent_sets(channels.couplings)
    return dict(zip(channels.couplings, numbers, strict=True))


def rank(likelihood, seed=1):
    """Directions at a random point along which the probability of some event changes, and how many parameters there are."""
    x = likelihood.random_couplings(likelihood.start, 1, seed)[0]
    S = likelihood.score_products(x)
    size = np.sqrt(np.diag(S))
    sizes = np.linalg.svd(S / np.outer(size, size), compute_uv=False)
    return int((sizes > 1e-11 * sizes[0]).sum()), len(x)


def release(likelihood):
    """The same with every phase free."""
    return replace(likelihood, parameters=likelihood.phases.released(likelihood.parameters), phases=NONE)


# which waves interfere


def test_without_polarisation_parity_even_and_odd_amplitudes_do_not_interfere():
    """No pseudoscalar can be made of the momenta of three particles."""
    own = sets_of(model())
    parity = {"K*(892)": -1, "Lambda(1520)": +1, "Delta(1232)": -1}  # of the resonance times that of the third particle
    expected = {wave.coupling: parity[wave.resonances[0].name] * (-1) ** wave.ls[0].L for wave in model().waves}
    assert len(set(own.values())) == 2
    assert {(own[name], sign) for name, sign in expected.items()} == {(0, expected[K0]), (1, -expected[K0])}


def test_polarisation_makes_them_interfere():
    assert set(sets_of(model(True)).values()) == {0}


def test_a_polarisation_that_floats_makes_them_interfere():
    """Whatever it is at the start: phases are determined wherever it is not 0."""
    own = ctpwa.load_model(WEAK | {"polarisation": ["P_y", "P_z"]})
    assert set(sets_of(own).values()) == {0}
    like = build(own)
    assert not like.phases.fixed
    at = like.random_couplings(like.start, 1, 1)[0]
    at[[like.names.index(name) for name in ("P_y", "P_z")]] = 0.3, 0.4
    S = like.score_products(at)
    size = np.sqrt(np.diag(S))
    sizes = np.linalg.svd(S / np.outer(size, size), compute_uv=False)
    assert (sizes > 1e-11 * sizes[0]).all()


@pytest.mark.parametrize(("rho", "n"), [(None, 2), ([[0.9, 0], [0, 0.1]], 1)])
def test_two_body_decay_of_a_hyperon(rho, n):
    """I = 1 + α P·p̂ with α ∝ Re S̄P: without polarisation nothing is left of the interference."""
    description = {"decay": "Lambda -> p pi-", "chains": ["Lambda -> p pi-"]}
    own = sets_of(ctpwa.load_model(description | ({} if rho is None else {"polarisation": rho})))
    assert len(own) == 2
    assert len(set(own.values())) == n


def test_ways_of_production_that_reach_different_rows():
    own = sets_of(columns())
    assert len(set(own.values())) == 2
    assert {(name.rpartition(":")[2], number) for name, number in own.items()} == {("first", 0), ("second", 1)}


@pytest.mark.parametrize("name", sorted(path.parent.name for path in EXAMPLES.glob("*/model.yml")))
def test_examples_have_one_set_and_nothing_changes(name):
    own = ctpwa.load_model(example(name))
    assert set(sets_of(own).values()) == {0}


def test_what_vanishes_is_far_from_what_does_not():
    own = ProbedAmplitudes.of(model(), model_channels(model()))
    A = own.A
    size = np.sqrt((np.abs(A) ** 2).sum(axis=2).mean(axis=0))
    largest = np.abs(np.einsum("ear,ebr->abe", A, A.conj())).max(axis=2) / np.outer(size, size)
    assert len(A) == PROBE_EVENTS
    assert not ((largest > 1e-3 * ROUNDING) & (largest < 1e6 * ROUNDING)).any()


def test_a_constant_lineshape_is_the_same_function_everywhere():
    """|A| of NR and of K* in the same system differ by |F|: F of NR is one number in both systems, that of K* is not."""
    resonances = {name: {"in": ["K+ eta", "K- eta"], "JP": "1-", "lineshape": "constant"} for name in ("NR1", "NR2")}
    for other, same in (("constant", True), ("breit_wigner", False)):
        resonances["NR2"] |= {"lineshape": other} | ({} if same else {"mass": 1.4, "width": 0.2})
        own = ctpwa.load_model({"decay": "J/psi(1S) -> K+ K- eta", "polarisation": "transverse", "resonances": resonances})
        assert [wave.name.split("[")[0] for wave in own.waves] == ["NR1", "NR1", *(["NR2", "NR2"] if same else ["NR2+", "NR2-"])]
        sizes = np.linalg.norm(ProbedAmplitudes.of(own, model_channels(own)).A, axis=2)
        assert np.allclose(sizes[:, 0] / sizes[:, 2], sizes[:, 1] / sizes[:, 3], rtol=1e-12) == same


def test_what_counts_is_the_sum_of_all_channels_of_a_coupling():
    """Of two tied waves with products with a third that cancel."""
    one, other = (np.array(v, dtype=complex).reshape(1, 1, -1) for v in ([1, 0], [0, 1]))
    A = np.concatenate([one, other, one - other], axis=1)
    probed = ProbedAmplitudes(A, ("a", "a", "b"), (0, 1, 2))
    assert probed.interfering(["a", "b"]).tolist() == [[True, False], [False, True]]
    assert probed.of_waves([1, 2]).interfering(["a", "b"]).all()


# which phases are fixed


def parameters(products, fixed=("z0",), n=5, **options):
    return make_parameters([f"z{i}" for i in range(n)], [Product(p) for p in products], [], fixed_numbers=fixed, **options)


@pytest.mark.parametrize(
    ("products", "sets", "references"),
    [
        ([(0,), (1,), (2,), (3,), (4,)], (0, 0, 1, 1, 2), ["z2", "z4"]),
        ([(0,), (1,), (2,), (3,), (4,)], (0, 0, 0, 0, 0), []),
        ([(0, 1), (0, 2), (3, 1), (3, 2), (4,)], (0, 0, 1, 1, 1), ["z1", "z3"]),  # nothing else says what z1 is
        ([(0,), (1,), (1, 2), (3, 2), (3, 4)], (0, 0, 1, 0, 1), ["z2"]),  # α1 = 0, α3 = −α2, α4 = 2 α2
        ([(0,), (1, 1), (2,), (2, 2), (3,), (4,)], (0, 0, 1, 0, 0, 0), []),  # 2 α1 = 0 = 2 α2
    ],
)
def test_solutions_of_the_equations(products, sets, references):
    found = find_reference_phases([Observed(parameters(products), sets)])
    assert list(found.references) == references
    assert list(found.fixed) == [f"{name}.im" for name in references]
    for angles in np.random.default_rng(1).normal(size=(3, len(found.references))):
        turned = found.together(dict(zip(found.references, angles, strict=True)))
        alpha = [sum(turned.get(f"z{k}", 0.0) for k in product) for product in products]
        for number in set(sets):
            own = [a for a, s in zip(alpha, sets, strict=True) if s == number]
            np.testing.assert_allclose(own, own[0], atol=1e-12)


def test_what_is_known_is_no_reference():
    """Fixed by the user, constrained, or used by a formula: in a set that has one of these, no phase is free."""
    products, sets = [(0,), (1,), (2,), (3,), (4,)], (0, 0, 1, 1, 1)
    assert find_reference_phases([Observed(parameters(products), sets)]).fixed == ("z2.im",)
    assert not find_reference_phases([Observed(parameters(products, fixed=("z0", "z3")), sets)]).fixed
    assert not find_reference_phases([Observed(parameters(products), sets, frozenset({"z3.re"}))]).fixed
    assert not find_reference_phases([Observed(parameters(products, formulas={"z3.re": "2*z4.re"}), sets)]).fixed
    assert not find_reference_phases([Observed(parameters(products, fixed=[f"z{i}" for i in range(5)]), sets)]).fixed
    polar = {"representation": "polar"}
    assert find_reference_phases([Observed(parameters(products, formulas={"z3.abs": "2*z4.abs"}, **polar), sets)]).fixed == ("z2.phase",)
    for limits in ((1, 2), (-1, 1)):
        assert find_reference_phases([Observed(parameters(products, limits={"z2.phase": limits}, **polar), sets)]).fixed == ("z3.phase",)


def test_numbers_that_are_formulas_of_other_parameters():
    """Couplings c·V with V a function of what is fitted besides: the phase of V is known, and c turns alone."""
    theta = [Parameter("rho", 0.3)]
    own = make_parameters(
        ["c0", "c1", "c2", "V"],
        [Product((0, 3)), Product((1, 3)), Product((2, 3)), Product((2,))],
        theta,
        fixed_numbers=["c0"],
        formulas={"V.re": "rho", "V.im": "rho**2"},
    )
    assert find_reference_phases([Observed(own, (0, 0, 1, 1))]).fixed == ("c2.im",)
    assert not find_reference_phases([Observed(own, (0, 0, 1, 0))]).fixed


@pytest.mark.parametrize("start", [{"z2.abs": -2.0, "z2.phase": 0.3}, {"z2.abs": 2.0, "z2.phase": 7.0}])
def test_polar_numbers_in_any_form_are_turned(start):
    own = parameters([(0,), (1,), (2,), (3,)], n=4, representation="polar", values=start | {"z3.phase": -2.0})
    found = find_reference_phases([Observed(own, (0, 0, 1, 1))]).applied(own)
    before, after = own.native(own.start)[0], found.native(found.start)[0]
    assert after[2] == pytest.approx(2.0)
    assert after[3] / after[2] == pytest.approx(before[3] / before[2])
    np.testing.assert_array_equal(after[:2], before[:2])


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_as_many_parameters_as_data_determine(options):
    own = build(**options)
    assert len(own.phases.fixed) == 1
    found, n = rank(own)
    assert found == n
    free = release(own)
    assert rank(free) == (n, n + 1)


@pytest.mark.parametrize("options", OPTIONS[:2], ids=str)
def test_the_start_is_turned_and_nothing_changes(options):
    rng = np.random.default_rng(4)
    given = {name: complex(*rng.normal(size=2)) for name in model().couplings}
    own = build(replace(model(), coupling_values=given), **options)
    free = release(own)
    assert len(free.names) == len(own.names) + 1
    assert own.value(own.start) == pytest.approx(free.value(free.start), rel=1e-12)
    back = model_values(free, free.start).couplings
    for name, value in given.items():
        assert back[name] == pytest.approx(value / given[K0], rel=1e-12)
    turned = model_values(own, own.start).couplings
    assert turned[K1].imag == 0
    assert turned[K1].real > 0
    here = (turned[K13] / turned[K1], turned[K2] / turned[K0])
    assert here == pytest.approx((given[K13] / given[K1], given[K2] / given[K0]), rel=1e-12)
    torch.testing.assert_close(own.intensity(own.start), free.intensity(free.start), rtol=1e-12, atol=0)


@pytest.mark.parametrize("options", OPTIONS[:2], ids=str)
def test_couplings_with_other_phases_are_the_same_point(options):
    own = build(**options)
    x = own.random_couplings(own.start, 1, seed=3)[0]
    couplings = dict(model_values(own, x).couplings)
    odd = [name for name, number in sets_of(model()).items() if number]
    turned = {
        name: value * (np.exp(2.1j) if name in odd else 3 * np.exp(-0.4j)) * (3 if name in odd else 1) for name, value in couplings.items()
    }
    np.testing.assert_allclose(free_parameters(own, turned), x, rtol=1e-12, atol=1e-13)


def test_random_starts_keep_references():
    for options in OPTIONS[:2]:
        own = build(**options)
        points = own.random_couplings(own.start, 200, seed=5)
        sizes = points[:, own.names.index(f"{K1}.{'abs' if options else 're'}")]
        assert (sizes > 0).all()
        others = points[:, own.names.index(f"{K13}.{'phase' if options else 'im'}")]
        assert 60 < (others > 0).sum() < 140  # and others have any phase


# several data sets


def test_a_phase_is_fixed_only_if_no_data_set_determines_it():
    given = {name: complex(1, 0.1 * k) for k, name in enumerate(model().couplings)}
    free, polarised = (replace(own, coupling_values=given) for own in (model(), model(True)))
    both = build(free) + build(polarised, n=200)
    assert not any(term.phases.fixed for term in both.terms)
    assert both.names == build(polarised).names
    np.testing.assert_allclose(both.start, build(polarised).start, rtol=1e-13)  # turned back to what was given
    alike = build(free) + build(free, n=200)
    assert alike.names == build(free).names
    assert alike.terms[0].phases is alike.terms[1].phases


def test_sets_of_data_sets_are_joined():
    """a ~ b and c ~ d in one, a ~ c in the other: all of them are one set."""
    products = [(0,), (1,), (2,), (3,)]
    one, other = (Observed(parameters(products, n=4), sets) for sets in ((0, 0, 1, 1), (0, 1, 0, 2)))
    assert find_reference_phases([one]).references == ("z2",)
    assert find_reference_phases([other]).references == ("z1", "z3")
    assert not find_reference_phases([one, other]).fixed


@pytest.mark.parametrize(
    ("cp", "n_fixed"),
    [
        ("all", 2),
        (["K*(892)", "Delta(1232)"], 1),  # Lambda(1520), in both sets, has none
        ([K0, K2, L_STAR, D2], 2),  # all of the set of the reference wave
        ([K0, K2, L_STAR, D2, K1], 2),
        ([K1, K13, L_STAR2, D1], 2),  # all of the other one
        ({"all": 0, K13: [0.1, 0.2]}, 2),
    ],
    ids=str,
)
def test_asymmetries_of_a_set(cp, n_fixed):
    """c(1 + Δ) and c(1 − Δ) of a set turn independently: one phase of c and one of Δ are fixed."""
    own = ctpwa.load_model(WEAK | {"cp": cp})
    both = build(own) + build(own, n=250, conjugate=True)
    found, n = rank(both)
    assert found == n
    fixed = both.terms[0].phases.fixed
    assert fixed[0] == f"{K1}.im"
    assert len(fixed) == n_fixed
    assert all(name.endswith("delta.im") for name in fixed[1:])


# relatives


def test_fewer_waves_may_need_other_references():
    own = build()
    assert own.phases.fixed == (f"{K1}.im",)
    less = own.without(["K*(892)"])  # and with it the reference wave, now Lambda(1520) (1,3/2)
    assert less.phases.fixed == (f"{L_STAR2}.im",)
    assert len(less.names) == rank(less)[0]
    assert own.without(["Delta(1232)"]).phases.fixed == own.phases.fixed
    alone = own.without([K1, K13, D1, D2, L_STAR])
    assert alone.coupling_names == (K0, K2, L_STAR2)
    assert alone.phases.fixed == (f"{L_STAR2}.im",)
    assert not own.without([K1, K13, D1, D2, L_STAR2]).phases.fixed  # one set is left
    given = {name: complex(2, 0.3 * k - 1) for k, name in enumerate(model().couplings)}
    before = build(replace(model(), coupling_values=given))
    after = before.without(["K*(892)"])
    plain = build(ctpwa.load_model(WEAK | {"resonances": {name: r for name, r in WEAK["resonances"].items() if name != "K*(892)"}}))
    expected = plain.value(free_parameters(plain, {name: c for name, c in given.items() if not name.startswith("K*")}))
    assert after.value(after.start) == pytest.approx(expected, rel=1e-12)


def test_a_scan_stays_a_scan():
    """A phase of a set that is held is a restriction, not its reference."""
    own = build()
    held = own.fixed({f"{K13}.im": 0.4})
    assert len(held.names) == len(own.names) - 1
    less = held.without(["Lambda(1520)"])
    assert f"{K1}.im" not in less.names
    assert f"{K13}.im" not in less.names
    assert held.random_couplings(held.start, 2).shape == (2, len(held.names))
