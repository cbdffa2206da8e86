"""``max_L`` of one vertex, and ``without``: waves and chains that are left out."""

from unit.config.refusals import refusals

KK = "decay: J/psi(1S) -> K+ K- eta\nresonances:\n"
GAMMA = "decay: J/psi(1S) -> gamma pi0 pi0\nresonances:\n"
LAMBDA = "decay: Lambda(c)+ -> p K- pi+\nresonances:\n"
K2 = "  K(2)*(1430): {in: [K+ eta, K- eta]%s}\n  phi(1020): {in: K+ K-}\n"
FOUR = """decay: J/psi(1S) -> pi+ pi- pi+ pi-
resonances:
  a(1)(1260): {in: [pi+ pi- pi+, pi- pi+ pi-], mass: 1.23, width: 0.42%s}
  rho(770):   {in: pi+ pi-%s}
  f(2)(1270): {in: pi+ pi-%s}
"""


def names(model):
    return [wave.name for wave in model.waves]


def ls_of(model):
    """(L at the production vertex, L at the decay vertex) of all waves."""
    return {(wave.ls[0].L, wave.ls[1].L) for wave in model.waves}


class TestMaxL:
    def test_one_number_is_both_vertices(self, load):
        text = GAMMA + "  f(2)(1270): {in: pi0 pi0%s}\n"
        assert ls_of(load(text % ", max_L: 2")) == ls_of(load(text % ", max_L: {production: 2, decay: 2}")) == {(0, 2), (2, 2)}
        assert ls_of(load(text % ", max_L: {production: 0}")) == {(0, 2)}

    def test_only_one_vertex(self, load):
        """A weak decay to Delta pi-like vertices has several L on both sides."""
        text = LAMBDA + "  Lambda(1520): {in: p K-%s}\n"
        everything = ls_of(load(text % ""))
        assert {L for L, _ in everything} == {1, 2}
        assert ls_of(load(text % ", max_L: {production: 1}")) == {pair for pair in everything if pair[0] <= 1}
        assert ls_of(load(text % ", max_L: {decay: 2}")) == everything
        assert ls_of(load("max_L: 1\n" + LAMBDA + "  K*(892): {in: K- pi+}\n")) == {(0, 1), (1, 1)}

    def test_nothing_is_left(self, refused):
        text = GAMMA + "  f(2)(1270): {in: pi0 pi0, max_L: {decay: 1}}\n"
        refused(text, "3:20", "L is limited to 1", "raise max_L (it is 1 here)")

    def test_the_vertices_of_a_chain(self, load, refused):
        text = "decay: J/psi(1S) -> gamma pi0 pi0\nchains:\n  - {decay: J/psi(1S) -> f(2)(1270) gamma ; f(2)(1270) -> pi0 pi0%s}\n"
        assert ls_of(load(text % "")) == {(0, 2), (2, 2)}
        assert ls_of(load(text % ", max_L: [0, null]")) == {(0, 2)}
        assert ls_of(load(text % ", max_L: 2")) == {(0, 2), (2, 2)}
        refused(text % ", max_L: [0]", "3:75", "'max_L' has 1 entry for 2 vertices", "one entry per vertex")
        refused(text % ", max_L: [0, 1]", "3:5", "L is limited to 1", "raise max_L (it is 1 here)")


test_mistakes_in_max_L = refusals(
    lambda value: GAMMA + f"  f(2)(1270): {{in: pi0 pi0, max_L: {value}}}\n",
    """
    two | 3:36 | 'max_L' must be a whole number, not 'two' | {production: 1, decay: 2}
    -1 | 3:36 | 'max_L' is -1 | >= 0
    {decay: x} | 3:44 | 'decay' must be a whole number | write a whole number
    {decoy: 1} | 3:37 | unknown key 'decoy' | did you mean 'decay'?
    """,
)


class TestWithout:
    def test_a_charge_state(self, load):
        every = names(load(KK + K2 % ""))
        assert names(load(KK + K2 % ", without: 'K(2)*(1430)-[K- eta]'")) == [name for name in every if "K- eta" not in name]
        alone = load(KK + K2 % ", without: ['K(2)*(1430)+[K+ eta] (2,2)(2,0)']")
        assert names(alone) == [name for name in every if "K+ eta" not in name]
        assert [wave.coupling for wave in alone.waves] == names(alone)  # nothing left to be tied to

    def test_a_wave_of_several(self, load):
        text = GAMMA + "  f(2)(1270): {in: pi0 pi0%s}\n"
        every = names(load(text % ""))
        assert len(every) == 3
        assert names(load(text % f", without: '{every[1]}'")) == [every[0], every[2]]

    def test_chains_with_another_resonance(self, load):
        every = names(load(FOUR % ("", "", "")))
        left = [name for name in every if not ("a(1)" in name and "f(2)" in name)]
        assert 0 < len(left) < len(every)
        assert names(load(FOUR % (", without: f2(1270)", "", ""))) == left  # in any spelling
        assert names(load(FOUR % ("", "", ", without: [a(1)(1260)]"))) == left  # from either side

    def test_nothing_is_left(self, refused):
        text = KK + K2 % ", without: ['K(2)*(1430)+[K+ eta]', 'K(2)*(1430)-[K- eta]']"
        refused(text, "3:3", "'without' leaves no wave of 'K(2)*(1430)'", "leave out less, or remove the resonance")

    def test_nothing_is_left_of_another_resonance(self, refused):
        text = FOUR.replace("pi+ pi-%s}\n  f(2)", "pi+ pi-}\n  f(2)").replace(
            "  f(2)(1270): {in: pi+ pi-%s}\n", "  f(2)(1270): {in: pi+ pi-}\n"
        )
        refused(text % ", without: [rho(770), f(2)(1270)]", "3:3", "'without' leaves no wave of 'a(1)(1260)'", "leave out less")


NO_PART = "is neither a resonance in one of its chains nor one of its waves"

test_mistakes_in_without = refusals(
    lambda entry: KK + K2 % f", without: {entry}",
    """
    'K(2)*(1430)-[K- etA]'
        | 3:48 | is neither a resonance in one of its chains nor one of its waves | did you mean 'K(2)*(1430)-[K- eta] (2,2)(2,0)'
    [K(2)*(1430)-, 'K(2)*(1430)+[K+ eta]'] | 3:49 | is neither a resonance in one of its chains nor one of its waves | did you mean
    phi(1020) | 3:48 | is neither a resonance in one of its chains nor one of its waves | write names as ctpwa check prints them
    'phi(1020)[K+ K-]' | 3:48 | is neither a resonance in one of its chains nor one of its waves | write names as ctpwa check prints them
    3 | 3:48 | 'without' must be a list, not 3 | the name of another resonance
    """,
)
