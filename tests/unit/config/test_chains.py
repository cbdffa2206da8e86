"""Chains that are spelled out, and lists of (L, S)."""

import pytest

from unit.config.refusals import refusals

DECAY = "decay: J/psi(1S) -> K+ K- eta\n"
PHI = "J/psi(1S) -> phi(1020) eta ; phi(1020) -> K+ K-"


test_bad_chain = refusals(
    lambda chain: DECAY + f"chains:\n  - {chain}\n",
    """
    J/psi(1S) -> K+ K- eta | 5 | 'J/psi(1S) -> K+ K- eta' has 3 daughters | every vertex has two
    J/psi(1S) -> phi(1020) eta ; phi(1020) -> K+ | 5 | 'phi(1020) -> K+' has 1 daughter | every vertex has two
    J/psi(1S) -> phi(1020) eta | 18 | 'phi(1020)' is not a final particle and has no vertex | add  ; phi(1020) -> …
    J/psi(1S) -> phi(1020) K- ; phi(1020) -> K+ K- | 28 | 'K-' occurs too often | the final particles are K+ K- eta
    J/psi(1S) -> K+ K- | 5 | does not contain eta | end in K+ K- eta
    psi(2S) -> phi(1020) eta ; phi(1020) -> K+ K- | 5 | does not start with J/psi(1S) | begin with J/psi(1S) ->
    J/psi(1S) -> phi(1020) eta ; phi(1020) -> phi(1020) K- | 18 | 'phi(1020)' decays into itself | different names
    J/psi(1S) -> phi(1020) eta ; phi(1020) -> K+ K- ; f(0)(980) -> K+ K- | 55 | the vertex of 'f(0)(980)' is never reached | or remove it
    J/psi(1S) -> phi(1020) eta ; phi(1020) -> K+ K- ; phi(1020) -> K+ K- | 18 | the vertex of 'phi(1020)' is never reached | or remove it
    J/psi(1S) phi eta | 5 | cannot read 'J/psi(1S) phi eta' as a vertex | mother -> daughter daughter
    J/psi(1S) -> X eta ; X -> K+ K- | 18 | unknown particle 'X' | needs JP, mass and width
    J/psi(1S) -> K*(1410)- K- ; K*(1410)- -> K+ eta | 18 | K*(1410)- cannot decay to K+ eta | K*(1410)+ could
    J/psi(1S) -> K*(1410)+ K- ; K*(1410) -> K+ eta | 18 | has no vertex of its own | write K*(1410)+ at both of its vertices
    J/psi(1S) -> f(0)(980) eta ; f(0)(980) -> K+ K- | 5 | parity needs | correct JP of its resonances
    J/psi(1S) -> omega(782) eta ; omega(782) -> K+ K- | 18 | below threshold everywhere | off_shell: true
    ';' | 5 | the chain is empty | J/psi(1S) -> … ; … -> …
    """,
    line=3,
)


test_bad_ls_of_a_chain = refusals(
    lambda ls: DECAY + f"chains:\n  - {{decay: {PHI}, ls: {ls}}}\n",
    """
    [[[0, 1]], null] | 67 | (L,S) = (0,1) is not allowed in J/psi(1S) -> phi(1020) eta | allowed: (1,1)
    [null, [[2, 0]]] | 73 | (L,S) = (2,0) is not allowed in phi(1020) -> K+ K- | allowed: (1,0)
    [[[1, 1]]] | 66 | 'ls' has 1 entry for 2 vertices | one entry per vertex
    [null, null, null] | 66 | 'ls' has 3 entries for 2 vertices | null allows all
    [[1, 1], [1, 0]] | 66 | 'ls' is not a list of (L, S) pairs | [[[1, 1]], [[1, 0]]]
    [1, 1] | 66 | 'ls' is not a list of (L, S) pairs | [[[1, 1]], [[1, 0]]]
    P | 66 | 'ls' is not a list of (L, S) pairs | [[[1, 1]], [[1, 0]]]
    [[[1, 1, 0]], null] | 68 | [1, 1, 0] is not an (L, S) pair | such as [1, 1] or [0, 1/2]
    [[], null] | 67 | the list of (L, S) pairs in 'ls' is empty | leave it out to allow all
    [[[1.5, 1]], null] | 67 | [1.5, 1] is not an (L, S) pair | such as
    [[[-1, 1]], null] | 67 | [-1, 1] is not an (L, S) pair | such as
    [[[1, 1/3]], null] | 67 | [1, 1/3] is not an (L, S) pair | such as
    [[[1, 1/0]], null] | 67 | [1, 1/0] is not an (L, S) pair | such as
    [[[P, 1]], null] | 67 | [P, 1] is not an (L, S) pair | such as
    """,
    line=3,
)


@pytest.mark.parametrize(("top", "resonance", "chain", "highest"), [(4, 4, 4, 2), (1, 4, 4, 0), (4, 1, 4, 0), (4, 4, 1, 0)])
def test_the_smallest_max_L_holds(load, top, resonance, chain, highest):
    """J/psi -> phi f0 has L = 0 and L = 2."""
    text = f"decay: J/psi(1S) -> K+ K- pi+ pi-\nmax_L: {top}\nresonances: {{f(0)(980): {{max_L: {resonance}, width: 0.06}}}}\n"
    text += f"chains:\n  - {{decay: J/psi(1S) -> phi(1020) f(0)(980) ; phi(1020) -> K+ K- ; f(0)(980) -> pi+ pi-, max_L: {chain}}}\n"
    assert max(wave.ls[0].L for wave in load(text).waves) == highest


def test_photon_pairs_must_be_independent(refused):
    text = "decay: J/psi -> gamma pi0 pi0\nresonances:\n  f(2)(1270): {in: pi0 pi0, production_ls: [[0,1],[2,1],[2,2],[2,3]]}\n"
    refused(text, "3:44", "not independent", "keep (0,1) (2,1) (2,2)")


def test_other_independent_photon_pairs_are_accepted(load):
    text = "decay: J/psi -> gamma pi0 pi0\nresonances:\n  f(2)(1270): {in: pi0 pi0, production_ls: [[2,1],[2,2],[2,3]]}\n"
    assert [tuple(wave.ls[0]) for wave in load(text).waves] == [(2, 1), (2, 2), (2, 3)]


def test_a_flat_list_of_a_resonance(refused):
    text = DECAY + "resonances:\n  phi(1020): {in: K+ K-, production_ls: [1, 1]}\n"
    refused(text, "3:41", "'production_ls' is not a list of (L, S) pairs", "[[1, 1], [3, 1]]")


def test_lists_with_nothing_in_common(problems):
    text = "decay: J/psi -> p p~ eta\nresonances:\n  X: {in: p p~, JP: 1--, mass: 2.1, width: 0.2, decay_ls: [[0, 1]]}\nchains:\n"
    chain = "  - {decay: J/psi -> X eta ; X -> p p~, ls: [null, [[2, 1]]]}\n"
    assert any("have nothing in common" in problem.what for problem in problems(text + chain))


def test_half_integer_spins(load):
    chain = "{decay: J/psi -> N(1535)+ p~ ; N(1535)+ -> p eta, ls: [[[1, 0]], [[0, 1/2]]]}"
    (wave,) = load(f"decay: J/psi -> p p~ eta\nchains:\n  - {chain}\n").waves
    assert wave.name == "N(1535)+[p eta] (1,0)(0,1/2)"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (f"chains:\n  - {PHI}\n  - J/psi(1S) -> eta phi(1020) ; phi(1020) -> K- K+\n", ("chains", 1)),
        (f"resonances: {{phi(1020): {{in: K+ K-}}}}\nchains:\n  - {PHI}\n", ("chains", 0)),
    ],
)
def test_the_same_wave_twice(problems, text, path):
    (problem,) = problems(DECAY + text)
    assert "duplicated wave" in problem.what
    assert "it is the same as 'phi(1020)[K+ K-] (1,1)(1,0)'" in problem.what
    assert problem.fix == "declare every chain once, under 'resonances' or under 'chains'"
    assert problem.path == path


def test_a_chain_takes_what_resonances_say(load):
    text = DECAY + f"resonances: {{phi(1020): {{mass: 1.02, width: 0.006}}}}\nchains: [{PHI}]\n"
    assert load(text).resonances["phi(1020)"].mass == 1.02


def test_charge_states_in_a_chain_share_one_resonance(load):
    text = DECAY + "chains:\n  - J/psi(1S) -> K*(1410)+ K- ; K*(1410)+ -> K+ eta\n  - J/psi(1S) -> K*(1410)- K+ ; K*(1410)- -> K- eta\n"
    model = load(text)
    assert list(model.resonances) == ["K*(1410)+"]
    assert [wave.factor for wave in model.waves] == [1, -1]
    assert len(model.couplings) == 1


def test_ties_can_be_cut_for_a_chain(load):
    text = DECAY + "chains:\n  - J/psi(1S) -> K*(1410)+ K- ; K*(1410)+ -> K+ eta\n"
    text += "  - {decay: J/psi(1S) -> K*(1410)- K+ ; K*(1410)- -> K- eta, tie: false}\n"
    assert len(load(text).couplings) == 2
