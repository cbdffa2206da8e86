"""Decays, chains and topologies."""

import pytest

import ctpwa
from ctpwa.base.errors import PhysicsError
from ctpwa.decay.chain import MAX_FINAL, Decay, check_charge
from ctpwa.decay.pdg import ParticleTable
from ctpwa.decay.topology import binary_trees, tree_leaves

table = ParticleTable()


def decay(text):
    parent, _, final = text.partition(" -> ")
    particles = tuple(table.get(name) for name in final.split())
    return Decay(table.get(parent), particles, tuple(f"p{i}" for i in range(len(particles))))


@pytest.mark.parametrize(("n", "count"), [(2, 1), (3, 3), (4, 15), (5, 105), (6, 945)])
def test_number_of_trees_is_the_double_factorial(n, count):
    """(2n − 3)!!, each of them once, over all leaves."""

    def shape(tree):
        return tree if isinstance(tree, int) else frozenset(map(shape, tree))

    trees = list(binary_trees(tuple(range(n)), lambda leaves: True))
    assert len(trees) == len({shape(tree) for tree in trees}) == count
    assert all(sorted(tree_leaves(tree)) == list(range(n)) for tree in trees)


def test_trees_use_allowed_systems_only():
    trees = list(binary_trees((0, 1, 2, 3), lambda leaves: leaves in {(0, 1), (2, 3)}))
    assert trees == [((0, 1), (2, 3))]
    assert list(binary_trees((0, 1, 2), lambda leaves: False)) == []


def test_larger_system_stands_first():
    for tree in binary_trees((0, 1, 2, 3, 4), lambda leaves: True):
        first, second = (tree_leaves(part) for part in tree)
        assert len(first) >= len(second)


def test_charge_is_conserved():
    check_charge(table.get("J/psi(1S)"), (table.get("K+"), table.get("K-")))
    with pytest.raises(PhysicsError, match=r"charge is not conserved in J/psi\(1S\)\(\+0\) -> K\+\(\+1\) pi0\(\+0\): it becomes \+1"):
        decay("J/psi(1S) -> K+ pi0")


def test_decay_needs_two_to_six_particles_above_threshold():
    with pytest.raises(PhysicsError, match="has 1 final particle"):
        decay("J/psi(1S) -> eta")
    with pytest.raises(PhysicsError, match=f"has {MAX_FINAL + 1} final particles"):
        decay("J/psi(1S) -> pi+ pi- pi+ pi- pi+ pi- pi0")
    with pytest.raises(PhysicsError, match=r"is below threshold: the final particles weigh .* GeV"):
        decay("phi(1020) -> eta eta")


def test_identical_particles_form_groups():
    assert decay("J/psi(1S) -> pi+ pi- pi+ pi-").identical_groups == ((0, 2), (1, 3))
    assert decay("psi(2S) -> pi0 pi0 pi0 eta").identical_groups == ((0, 1, 2),)
    assert decay("J/psi(1S) -> K+ K- eta").identical_groups == ()


def test_chain_lists_its_vertices_parents_first():
    model = ctpwa.load_model(
        {
            "decay": "J/psi(1S) -> K+ K- pi+ pi-",
            "chains": ["J/psi(1S) -> phi(1020) f(0)(980) ; phi(1020) -> K+ K- ; f(0)(980) -> pi+ pi-"],
        }
    )
    chain = model.waves[0].chain
    assert [node.particle.name for node in chain.nodes] == ["J/psi(1S)", "phi(1020)", "f(0)(980)"]
    assert [node.leaves for node in chain.nodes] == [(0, 1, 2, 3), (0, 1), (2, 3)]
    assert str(chain) == "J/psi(1S) -> phi(1020) f(0)(980) ; phi(1020) -> K+ K- ; f(0)(980) -> pi+ pi-"
