"""The ``fractions`` section: names, numbers, and what it cannot stand beside."""

from unit.config.refusals import refusals

KK = """decay: J/psi(1S) -> K+ K- eta
resonances:
  phi(1680): {in: K+ K-}
  K(2)*(1430): {in: [K+ eta, K- eta]}
fractions:
"""
FOUR = """decay: J/psi(1S) -> pi+ pi- pi+ pi-
resonances:
  a(1)(1260): {in: [pi+ pi- pi+, pi- pi+ pi-], mass: 1.23, width: 0.42}
  rho(770): {in: pi+ pi-}
fractions:
"""
PHI, K2 = "phi(1680)[K+ K-] (1,1)(1,0)", "K(2)*(1430)+[K+ eta] (2,2)(2,0)"


def shares(model):
    return [(share.name, share.couplings, share.fraction, share.phase) for share in model.coupling_values.shares]


def test_numbers_percent_and_phases(load):
    text = KK + f"  phi(1680): {{fraction: 70 %, phase: -1.5}}\n  {K2}: 0.3\n"
    assert shares(load(text)) == [("phi(1680)", (PHI,), 0.7, -1.5), (K2, (K2,), 0.3, None)]
    assert shares(load(KK + "  K(2)*(1430): 12.5%\n")) == [("K(2)*(1430)", (K2,), 0.125, None)]


def test_all_waves_of_a_resonance_and_all_functions_of_a_wave(load):
    several = load("decay: J/psi(1S) -> gamma pi0 pi0\nresonances: {f(2)(1270): {in: pi0 pi0}}\nfractions: {f(2)(1270): 1}\n")
    assert shares(several)[0][1] == several.couplings
    assert len(several.couplings) == 3
    spline = load(
        "decay: J/psi(1S) -> K+ K- eta\nresonances:\n  S: {in: K+ K-, JP: 1-, lineshape: spline, options: {knots: [1.0, 1.5, 2.0, 2.5]}}\n"
        "fractions: {'S[K+ K-] (1,1)(1,0)': 100 %}\n"
    )
    assert [name.rpartition(":")[0] for name in shares(spline)[0][1]] == ["S[K+ K-] (1,1)(1,0)"] * 4


def test_all_waves_with_a_spin_and_parity(load):
    """As tables of results call them, with signs of any kind; a resonance is that of its name, whatever it looks like."""
    text = KK.replace("  K(2)", "  phi(1020): {in: K+ K-}\n  K(2)")
    both = ("phi(1680)[K+ K-] (1,1)(1,0)", "phi(1020)[K+ K-] (1,1)(1,0)")
    assert shares(load(text + "  1-: 30 %\n  2⁺: 0.7\n")) == [("1-", both, 0.3, None), ("2⁺", (K2,), 0.7, None)]
    four = load("decay: D0 -> K- pi+ pi+ pi-\nresonances:\n  K*(892): {in: K- pi+}\n  rho(770): {in: pi+ pi-}\nfractions: {1-  1-: 1}\n")
    assert shares(four)[0][1] == four.couplings
    named = text.replace("phi(1020): {in", "2+: {JP: 1-, mass: 1.02, width: 0.004, in")
    assert shares(load(named + "  2+: 30 %\n"))[0][1] == ("2[K+ K-] (1,1)(1,0)",)


def test_the_note(load):
    (note,) = load(KK + "  phi(1680): 70 %\n").notes
    assert note.startswith("couplings follow from fractions over phase space, computed when they are needed: phi(1680) 70 %; other waves")


test_mistakes = refusals(
    lambda text: text,
    [
        (KK + "  phi(1860): 1\n", "6:3", "neither a resonance nor a coupling is called 'phi(1860)'", "did you mean 'phi(1680)'"),
        (KK + "  3-: 1\n", "6:3", "no wave has J^P = 3-", "name one of 1-, 2+"),
        (KK + "  1-: 0.5\n  phi(1680): 0.2\n", "7:3", f"'{PHI}' belongs to '1-' and to 'phi(1680)'", "name waves"),
        (KK + "  foo: 1\n", "6:3", "is called 'foo'", "ctpwa check lists"),
        (KK + "  K(2)*(1430)-[K- eta] (2,2)(2,0): 1\n", "6:3", "has no coupling of its own", "give"),
        (KK + "  phi(1680): 70\n", "6:14", "70 is not a fraction", "write 70 %"),
        (KK + "  phi(1680): -0.1\n", "6:14", "-0.1 is not a fraction", "from 0 to 200 %"),
        (KK + "  phi(1680): 300 %\n", "6:14", "300 % is not a fraction", "from 0 to 200 %"),
        (KK + "  phi(1680): most\n", "6:14", "'most' is not a fraction", "30 %"),
        (KK + "  phi(1680): {fraction: 0.7, phase: x}\n", "6:37", "'phase' must be a number", "write a number"),
        (KK + "  phi(1680): {fraction: 0.7, fase: 1}\n", "6:30", "unknown key 'fase'", "did you mean 'phase'?"),
        (KK + "  phi(1680): [1, 2]\n", "6:14", "", "write"),
        (KK + f"  phi(1680): 0.5\n  {PHI}: 0.2\n", "7:3", f"'{PHI}' belongs to 'phi(1680)' and to '{PHI}'", "name waves"),
        (FOUR + "  a(1)(1260): 0.5\n  rho(770): 0.5\n", "7:3", "belongs to 'a(1)(1260)' and to 'rho(770)'", "or one of the two"),
        (KK + "  phi(1680): 0\n  K(2)*(1430): 0\n", "6:3", "all fractions are 0", "write a fraction"),
        (KK + f"  phi(1680): 0.5\ncouplings: {{'{PHI}': 1}}\n", "5:1", "'fractions' and 'couplings' both", "leave one of them out"),
        (KK + "  phi(1680): 0.5\ncolumns: [t]\n", "5:1", "event columns have no values", "'couplings' instead"),
        (KK + f"  phi(1680): 0.5\nfit: {{ties: {{'{K2}': ['{PHI}', 2]}}}}\n", "5:1", "'fit' has 'ties'", "'couplings' instead"),
        (KK + "  phi(1680): 0.5\nfit: {couplings: vertex}\n", "5:1", "'fit' has 'couplings: vertex'", "'couplings' instead"),
    ],
)
