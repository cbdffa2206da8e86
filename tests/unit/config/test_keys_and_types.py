"""Keys that do not exist and values of the wrong type, at every level of a model file."""

import pytest

from unit.config.refusals import refusals

DECAY = "decay: J/psi(1S) -> K+ K- eta\n"


def phi(value):
    return DECAY + f"resonances:\n  phi(1020): {{in: K+ K-, {value}}}\n"


CHAIN = "decay: J/psi(1S) -> phi(1020) eta ; phi(1020) -> K+ K-"


@pytest.mark.parametrize(
    ("text", "where", "name", "near"),
    [
        (DECAY + "resonance: {phi(1020): {in: K+ K-}}\n", "2:1", "resonance", "did you mean 'resonances'?"),
        (DECAY + "polarization: transverse\n", "2:1", "polarization", "did you mean 'polarisation'?"),
        (DECAY + "zebra: red\n", "2:1", "zebra", "known: barrier, chains, columns, couplings, cp, data_sets, decay, fit"),
        (DECAY + "resonances:\n  phi(1020):\n    in: K+ K-\n    masss: 1.02\n", "5:5", "masss", "did you mean 'mass'?"),
        (phi("decay_LS: [[1, 0]]"), "3:26", "decay_LS", "did you mean 'decay_ls'"),
        (DECAY + "particles:\n  eta: {Mass: 0.5}\n", "3:9", "Mass", "did you mean 'mass'?"),
        (DECAY + f"chains:\n  - {{{CHAIN}, LS: []}}\n", "3:62", "LS", "did you mean 'ls'?"),
    ],
)
def test_unknown_key(refused, text, where, name, near):
    problem = refused(text, where, f"unknown key {name!r}", near)
    column = int(where.split(":")[1])
    assert problem.excerpt.splitlines()[1] == "      | " + " " * (column - 1) + "^" * len(name)


test_wrong_type_in_a_resonance = refusals(
    phi,
    """
    mass: one | 3:32 | 'one' is not a parameter | write a number, or a formula with the names of parameters
    mass: '' | 3:32 | 'mass' must be a number, not '' | a number in GeV, without the unit
    width: 5 MeV | 3:33 | 'width' must be a number, not '5 MeV' | a number in GeV, without the unit
    width: 1e-3 | 3:33 | 'width' must be a number, not '1e-3' | YAML reads '1e-3' as text; write 0.001
    mass: true | 3:32 | 'mass' must be a number, not true | a number in GeV
    mass: [1.0] | 3:32 | 'mass' must be a number, not [1.0] | a number in GeV
    mass: -1.5 | 3:32 | 'mass' is -1.5 | a number >= 1e-06
    mass: 0 | 3:32 | 'mass' is 0 | a number >= 1e-06
    mass: .inf | 3:32 | 'mass' is inf | finite
    mass: .nan | 3:32 | 'mass' is nan | finite
    radius: 0.6 fm | 3:34 | 'radius' must be a number, not '0.6 fm' | a number in GeV^-1
    max_L: 1.5 | 3:33 | 'max_L' must be a whole number, not 1.5 | a whole number
    max_L: -1 | 3:33 | 'max_L' is -1 | a number >= 0
    tie: 3 | 3:31 | 'tie' must be true or false, not 3 | true or false
    off_shell: maybe | 3:37 | 'off_shell' must be true or false, not 'maybe' | true or false
    JP: 1 | 3:30 | 'JP' must be text, not 1 | such as 1-, 2++ or 3/2+
    JP: -1 | 3:30 | 'JP' must be text, not -1 | such as 1-
    JP: [1, -1] | 3:30 | 'JP' must be text, not [1, -1] | such as 1-
    float: true | 3:33 | 'float' must be a list, not true | write mass, width, [mass, width] or pdg
    float: masses | 3:33 | 'masses' | did you mean 'mass'?
    float: radii | 3:33 | 'radii' | mass
    """,
)


test_wrong_type_elsewhere = refusals(
    lambda text: DECAY + text,
    r"""
    radius: 0\n | 2:9 | 'radius' is 0 | >= 0.001
    formalism: helicity\n | 2:12 | 'helicity' is not a value of 'formalism' | canonical, zou-bugg, zou-bugg-traceless
    tie_conjugates: 1\n | 2:17 | must be true or false, not 1 | true or false
    resonances: phi(1020)\n | 2:13 | 'resonances' must be a mapping, not 'phi(1020)' | one indented line per resonance
    resonances:\n  - phi(1020)\n | 3:3 | 'resonances' must be a mapping, not ['phi(1020)'] | one indented line per resonance
    resonances:\n | 2:1 | 'resonances' is empty | or remove the key
    resonances:\n  phi(1020):\n | 3:3 | 'phi(1020)' is empty | write  phi(1020): {in: K+ K-}
    resonances:\n  phi(1020): K+ K-\n | 3:14 | 'phi(1020)' must be a mapping of keys, not 'K+ K-' | phi(1020): {in: K+ K-}
    resonances:\n  1020: {in: K+ K-}\n | 3:3 | the name 1020 is not text | quote it: '1020'
    particles:\n  eta: 0.5\n | 3:8 | 'eta' must be a mapping of keys, not 0.5 | eta: {JP: 1-, mass: 1.5, charge: 0}
    particles: {eta: {charge: 0.5}}\n | 2:27 | 'charge' must be a whole number, not 0.5 | a whole number
    chains: J/psi(1S) -> phi(1020) eta\n | 2:9 | 'chains' must be a list, not 'J/psi(1S) -> phi(1020) eta' | one line per chain
    chains:\n  - 3\n | 3:5 | chains[0] must be a mapping of keys, not 3 | write
    chains:\n  - {ls: [null, null]}\n | 3:5 | key 'decay' is missing | add decay: vertices separated by ;
    max_L: two\n | 2:8 | 'max_L' must be a whole number, not 'two' | a whole number
    """,
)


def test_a_key_that_is_not_text(refused):
    refused(phi("0.5: 1"), "3:26", "the key 0.5 is not text", "known: JP, barrier, decay_ls")


def test_the_decay_is_required(refused):
    refused("resonances: {}\n", "1:1", "key 'decay' is missing", "add decay: parent -> final particles")


def test_yaml_reads_no_as_false(refused):
    refused("decay: no\n", "1:8", "'decay' must be text, not false", "parent -> particle")


def test_several_problems_are_reported_together_in_the_order_of_the_file(problems):
    text = DECAY + "foo: 1\nresonances:\n  phi(1020): {in: K+ K-, mass: 1 x, bar: 2}\nradius: -1\n"
    assert [(p.location, p.what) for p in problems(text)] == [
        ("model.yml:2:1", "unknown key 'foo'"),
        ("model.yml:4:32", "'mass' must be a number, not '1 x'"),
        ("model.yml:4:37", "unknown key 'bar'"),
        ("model.yml:5:9", "'radius' is -1"),
    ]


def test_several_physics_problems_are_reported_together(problems):
    text = DECAY + "polarisation: [[1, 0], [0, 1]]\nresonances:\n  phi(1O20): {in: K+ K-}\n  omega(782): {in: K+ K-}\n"
    text += "  X: {in: K+ K-, JP: 1+, mass: 1.5, width: 0.1}\nchains: [J/psi(1S) -> K+ K-]\n"
    assert [p.path for p in problems(text)] == [
        ("polarisation",),
        ("resonances", "phi(1O20)"),
        ("resonances", "omega(782)"),
        ("resonances", "X", "JP"),
        ("chains", 0),
    ]
