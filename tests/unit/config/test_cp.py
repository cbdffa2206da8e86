"""The keys ``cp`` and ``conjugate``."""

import pytest

from unit.config.refusals import refusals

HEAD = "decay: D0 -> K_S0 pi+ pi-\n"
RESONANCES = "resonances:\n  K*(892): {in: [K_S0 pi+, K_S0 pi-]}\n  rho(770): {in: pi+ pi-}\n"
PLUS, MINUS, RHO = "K*(892)+[K_S0 pi+] (1,1)(1,0)", "K*(892)-[K_S0 pi-] (1,1)(1,0)", "rho(770)0[pi+ pi-] (1,1)(1,0)"
SETS = "data_sets:\n  a: {data: a.root, phase_space: {generate: 9}}\n  b: {data: b.root, phase_space: {generate: 9}"


def values(model):
    return {p.name: (p.value, p.fixed) for p in model.parameters}


@pytest.mark.parametrize(
    ("cp", "expected"),
    [
        ("rho(770)", {RHO: "rho(770).delta"}),
        ("rho(770)0", {RHO: "rho(770)0.delta"}),
        ("[K*(892)+, rho(770)]", {PLUS: "K*(892)+.delta", RHO: "rho(770).delta"}),
        ("K*(892)", {PLUS: "K*(892).delta", MINUS: "K*(892).delta"}),
        (f'"{MINUS}"', {MINUS: f"{MINUS}.delta"}),
        ("all", {name: f"{name}.delta" for name in (PLUS, MINUS, RHO)}),
        ("{all: 0.1, K*(892): 0.2j}", {PLUS: "K*(892).delta", MINUS: "K*(892).delta", RHO: f"{RHO}.delta"}),
    ],
)
def test_names(load, cp, expected):
    assert dict(load(f"{HEAD}{RESONANCES}cp: {cp}\n").asymmetries) == expected


def test_values_float_unless_they_are_fixed(load):
    model = load(f"{HEAD}{RESONANCES}cp: {{K*(892)+: 0.1+0.2j, K*(892)-: [0.3, -0.4]}}\nfit: {{fix: {{K*(892)-.delta.im: 0.5}}}}\n")
    assert values(model) == {
        "K*(892)+.delta.re": (0.1, False),
        "K*(892)+.delta.im": (0.2, False),
        "K*(892)-.delta.re": (0.3, False),
        "K*(892)-.delta.im": (0.5, True),
    }
    assert not model.notes


@pytest.mark.parametrize(
    ("fit", "fixed"),
    [
        ("", [f"{PLUS}.delta.re", f"{PLUS}.delta.im"]),
        (f'reference_wave: "{RHO}"', [f"{RHO}.delta.re", f"{RHO}.delta.im"]),
        (f'fix: ["{MINUS}.delta.re"]', [f"{PLUS}.delta.im", f"{MINUS}.delta.re"]),
        (f'constraints: {{"{MINUS}.delta.re": [0, 0.1], "{RHO}.delta.im": [0, 0.1]}}', []),
        (f'relations: {{"{MINUS}.delta.re": "-{RHO}.delta.re"}}', [f"{PLUS}.delta.im", f"{MINUS}.delta.re"]),
    ],
)
def test_one_asymmetry_of_all_is_fixed_and_a_note_says_so(load, fit, fixed):
    """Shapes determine differences of asymmetries only."""
    model = load(f"{HEAD}{RESONANCES}cp: all\nfit: {{{fit}}}\n")
    assert [name for name, (_, is_fixed) in values(model).items() if is_fixed] == sorted(fixed, key=list(values(model)).index)
    named = [name for name in fixed if any(note.startswith(f"{name} is fixed at 0") for note in model.notes)]
    assert len(named) == len(model.notes)
    assert bool(named) == ("constraints" not in fit)


def test_a_tied_coupling_has_the_asymmetry_of_the_other(load):
    model = load(f'{HEAD}{RESONANCES}cp: K*(892)+\nfit: {{ties: {{"{MINUS}": ["{PLUS}", 0.5]}}}}\n')
    assert dict(model.asymmetries) == dict.fromkeys((PLUS, MINUS), "K*(892)+.delta")
    own = load(f'{HEAD}{RESONANCES}cp: [K*(892)+, K*(892)-]\nfit: {{ties: {{"{MINUS}": ["{PLUS}", 0.5]}}}}\n')
    assert own.asymmetries[MINUS] == "K*(892)-.delta"


test_wrong_names_and_values = refusals(
    lambda cp: f"{HEAD}{RESONANCES}cp: {cp}\n",
    """
    K*(893) | 5:5 | no resonance and no coupling is called 'K*(893)' | did you mean
    X | 5:5 | no resonance and no coupling is called 'X' | ctpwa check lists them
    [K*(892), K*(892)+] | 5:15 | would have two asymmetries, of 'K*(892)' and 'K*(892)+' | leave one of them out
    {K*(892): much} | 5:15 | 'much' is not a complex number | write a number such as
    """,
)


def test_a_wave_that_is_tied_has_no_asymmetry_of_its_own(problems):
    text = 'decay: J/psi(1S) -> K+ K- eta\nresonances:\n  K(2)*(1430): {in: [K+ eta, K- eta]}\ncp: "K(2)*(1430)-[K- eta] (2,2)(2,0)"\n'
    (problem,) = problems(text)
    assert "has no coupling of its own" in problem.what


@pytest.mark.parametrize(
    ("end", "which"),
    [("}\n", "all samples are of the decay"), (", conjugate: true}\n", "")],
)
def test_both_kinds_of_samples_are_needed(problems, load, end, which):
    text = f"{HEAD}{RESONANCES}cp: rho(770)\n{SETS}{end}"
    if not which:
        assert load(text).asymmetries
        return
    (problem,) = problems(text)
    assert which in problem.what
    assert "conjugate: true" in problem.fix
    assert load(text + "fit: {fix: [rho(770).delta.re, rho(770).delta.im]}\n").asymmetries


def test_a_decay_that_is_its_own_conjugate(refused):
    text = "decay: J/psi(1S) -> K+ K- eta\nresonances:\n  phi(1020): {in: K+ K-}\n"
    text += "samples: {data: a.root, conjugate: true, phase_space: {generate: 9}}\n"
    refused(text, "4:36", "J/psi(1S) -> K+ K- eta is its own charge conjugate", "leave 'conjugate' out")


def test_particles_of_conjugate_files_are_antiparticles(problems, load):
    decay = "decay: B+ -> K+ pi- pi+\nresonances:\n  rho(770): {in: pi+ pi-}\n"
    text = decay + "samples: {data: {file: a.root, momenta: {K-: kaon}}, conjugate: true, phase_space: {generate: 9}}\n"
    assert load(text)
    (problem,) = problems(text.replace("K-: kaon", "K+: kaon"))
    assert problem.what == "'K+' is not a final particle of B- -> K- pi+ pi-"


def test_a_fixed_asymmetry_cannot_be_constrained(problems):
    (problem,) = problems(f'{HEAD}{RESONANCES}cp: all\nfit: {{start: {{"{PLUS}.delta.re": 0.1}}}}\n')
    assert "is not a free parameter" in problem.what
    assert "only differences of asymmetries are determined" in problem.fix
