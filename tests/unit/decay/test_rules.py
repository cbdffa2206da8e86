"""Selection rules, law by law."""

from dataclasses import replace
from fractions import Fraction
from math import pi

import pytest

from ctpwa.base.errors import PhysicsError
from ctpwa.decay.pdg import ParticleTable
from ctpwa.decay.rules import (
    allowed_ls,
    angular_momentum_couplings,
    helicity_coupling,
    identical_pair_allowed,
    independent_subset,
    pair_c_parity,
    parity_conserved,
)
from ctpwa.decay.spin import LS, parse_jpc

table = ParticleTable()


def allowed(text, **options):
    parent, _, daughters = text.partition(" -> ")
    pairs = allowed_ls(table.get(parent), *(table.get(name) for name in daughters.split()), **options)
    return " ".join(map(str, pairs))


@pytest.mark.parametrize(
    ("two_J", "two_s1", "two_s2", "expected"),
    [
        (2, 0, 0, "(1,0)"),
        (2, 2, 0, "(0,1) (1,1) (2,1)"),
        (1, 1, 0, "(0,1/2) (1,1/2)"),
        (3, 1, 0, "(1,1/2) (2,1/2)"),
        (2, 1, 1, "(0,1) (1,0) (1,1) (2,1)"),
        (1, 2, 1, "(0,1/2) (1,1/2) (1,3/2) (2,3/2)"),
        (0, 2, 2, "(0,0) (1,1) (2,2)"),
    ],
)
def test_angular_momentum(two_J, two_s1, two_s2, expected):
    assert " ".join(map(str, angular_momentum_couplings(two_J, two_s1, two_s2))) == expected


@pytest.mark.parametrize("two_J", range(9))
@pytest.mark.parametrize("two_s1", range(5))
def test_there_are_as_many_couplings_as_helicity_pairs(two_J, two_s1):
    for two_s2 in range(5):
        if (two_J + two_s1 + two_s2) % 2 == 0:
            pairs = [(a, b) for a in range(-two_s1, two_s1 + 1, 2) for b in range(-two_s2, two_s2 + 1, 2) if abs(a - b) <= two_J]
            assert len(angular_momentum_couplings(two_J, two_s1, two_s2)) == len(pairs)


def test_parity():
    assert parity_conserved(-1, -1, -1, 1)
    assert not parity_conserved(-1, -1, -1, 0)
    assert allowed("J/psi(1S) -> phi(1020) eta") == "(1,1)"
    assert allowed("J/psi(1S) -> phi(1020) f(0)(980)") == "(0,1) (2,1)"
    assert allowed("J/psi(1S) -> K(2)*(1430)+ K-") == "(2,2)"
    assert allowed("N(1535)+ -> p eta") == "(0,1/2)"
    assert allowed("N(1680)+ -> p eta") == "(3,1/2)"
    with pytest.raises(PhysicsError, match=r"parity needs P·P1·P2 = -1 = \(-1\)\^L, so odd L"):
        allowed("eta -> pi+ pi-")


def test_weak_vertices_keep_both_parities():
    assert allowed("Lambda -> p pi-", weak=True) == "(0,1/2) (1,1/2)"
    assert allowed("Lambda -> p pi-") == "(1,1/2)"
    assert allowed("eta -> pi+ pi-", weak=True) == "(0,0)"


def test_c_parity_of_boson_and_fermion_pairs():
    """C = (−1)^(L+S) for both."""
    assert pair_c_parity(LS(1, Fraction(0))) == -1
    assert pair_c_parity(LS(1, Fraction(1))) == 1
    assert allowed("J/psi(1S) -> p p~") == "(0,1) (2,1)"
    assert allowed("h(1)(1170) -> p p~") == "(1,0)"  # 1⁺⁻
    assert allowed("f(1)(1285) -> p p~") == "(1,1)"  # 1⁺⁺
    assert allowed("eta -> p p~") == "(0,0)"
    assert allowed("J/psi(1S) -> K*(892)+ K*(892)-") == "(1,0) (1,2) (3,2)"
    exotic = replace(table.get("rho(770)0"), name="pi(1)", C=1)  # 1⁻⁺
    with pytest.raises(PhysicsError, match=r"C = \+1 of pi\(1\) needs \(-1\)\^\(L\+S\) = \+1"):
        allowed_ls(exotic, table.get("pi+"), table.get("pi-"))
    assert allowed_ls(exotic, table.get("pi+"), table.get("pi-"), weak=True) == [LS(1, Fraction(0))]


def test_c_parity_of_two_neutral_daughters():
    with pytest.raises(PhysicsError, match=r"C parity is not conserved: C = -1 of J/psi\(1S\), but C1·C2 = \+1"):
        allowed("J/psi(1S) -> phi(1020) omega(782)")
    assert allowed("J/psi(1S) -> phi(1020) omega(782)", weak=True)
    assert allowed("J/psi(1S) -> gamma eta") == "(1,1)"


def test_identical_particles_need_even_L_plus_S():
    """Bosons and fermions alike."""
    assert identical_pair_allowed(LS(1, Fraction(1)))
    assert not identical_pair_allowed(LS(1, Fraction(0)))
    assert allowed("f(2)(1270) -> pi0 pi0") == "(2,0)"
    assert allowed("chi(c0)(1P) -> phi(1020) phi(1020)") == "(0,0) (2,2)"
    assert allowed("chi(c1)(1P) -> phi(1020) phi(1020)") == "(2,2)"
    with pytest.raises(PhysicsError, match="two identical particles need even L\\+S"):
        allowed("rho(770)0 -> pi0 pi0", weak=True)


def test_identical_fermions_need_even_L_plus_S():
    """p p: ¹S₀ and ³P₀,₁,₂ exist, ³S₁ and ¹P₁ do not."""
    p = table.get("p")

    def pp(J, P):
        return " ".join(map(str, allowed_ls(replace(p, name="X", two_J=2 * J, P=P, C=None, charge=2), p, p)))

    assert pp(0, 1) == "(0,0)"
    assert pp(0, -1) == "(1,1)"
    assert pp(1, -1) == "(1,1)"
    assert pp(2, -1) == "(1,1) (3,1)"
    assert pp(2, 1) == "(2,0)"
    with pytest.raises(PhysicsError, match="two identical particles need even L\\+S"):
        pp(1, 1)


def test_half_integer_balance():
    with pytest.raises(PhysicsError, match="spin 1 cannot come from spins 1/2 and 0"):
        allowed("J/psi(1S) -> p eta")


def test_largest_L():
    assert allowed("J/psi(1S) -> phi(1020) f(0)(980)", max_L=1) == "(0,1)"
    with pytest.raises(PhysicsError, match="L is limited to 0"):
        allowed("J/psi(1S) -> phi(1020) eta", max_L=0)


def test_unknown_parity_needs_a_weak_vertex():
    unknown = replace(table.get("eta"), name="X", P=None)
    with pytest.raises(PhysicsError, match=r"the parity of X in .* is not known") as caught:
        allowed_ls(table.get("J/psi(1S)"), table.get("phi(1020)"), unknown)
    assert "mark the vertex as weak" in caught.value.fix
    assert len(allowed_ls(table.get("J/psi(1S)"), table.get("phi(1020)"), unknown, weak=True)) == 3


@pytest.mark.parametrize(
    ("vertex", "expected"),
    [
        ("J/psi(1S) -> gamma f(0)(980)", "(0,1)"),
        ("J/psi(1S) -> gamma f(2)(1270)", "(0,1) (2,1) (2,2)"),
        ("J/psi(1S) -> gamma f(4)(2050)", "(2,3) (4,3) (4,4)"),
        ("J/psi(1S) -> f(2)(1270) gamma", "(0,1) (2,1) (2,2)"),
        ("J/psi(1S) -> phi(1020) f(0)(980)", "(0,1) (2,1)"),
    ],
)
def test_massless_daughters_leave_fewer_independent_couplings(vertex, expected):
    parent, _, daughters = vertex.partition(" -> ")
    first, second = (table.get(name) for name in daughters.split())
    pairs = independent_subset(2, first, second, allowed_ls(table.get(parent), first, second))
    assert " ".join(map(str, pairs)) == expected


@pytest.mark.parametrize(("two_J", "two_s1", "two_s2"), [(2, 2, 0), (3, 1, 2), (4, 2, 2), (2, 1, 1)])
def test_helicity_couplings_are_orthogonal(two_J, two_s1, two_s2):
    """Σ_λ H^LS H^L'S' = δ (2J+1)/4π, once for every parent helicity."""
    pairs = angular_momentum_couplings(two_J, two_s1, two_s2)
    helicities = [(a, b) for a in range(-two_s1, two_s1 + 1, 2) for b in range(-two_s2, two_s2 + 1, 2) if abs(a - b) <= two_J]
    for one in pairs:
        for other in pairs:
            total = sum(
                helicity_coupling(two_J, (two_s1, a), (two_s2, b), one) * helicity_coupling(two_J, (two_s1, a), (two_s2, b), other)
                for a, b in helicities
            )
            assert total == pytest.approx((two_J + 1) / (4 * pi) if one == other else 0, abs=1e-14)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1--", (2, -1, -1)),
        ("3/2+", (3, 1, None)),
        ("0-", (0, -1, None)),
        (" 2 + + ", (4, 1, 1)),
        ("1/2", (1, None, None)),
        ("0", (0, None, None)),
    ],
)
def test_quantum_numbers_are_read(text, expected):
    assert parse_jpc(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("one", "cannot read 'one'"),
        ("1/3+", "cannot read '1/3\\+'"),
        ("4/2+", "J = 4/2 in '4/2\\+' is not a half-integer"),
        ("1/2+-", "a state of half-integer spin has no C parity"),
        ("-1+", "cannot read '-1\\+'"),
        ("", "cannot read ''"),
    ],
)
def test_unreadable_quantum_numbers_are_refused(text, message):
    with pytest.raises(PhysicsError, match=message):
        parse_jpc(text)
