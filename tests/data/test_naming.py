"""Columns are found by the names that people give them; doubt is an error that lists the choices."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ctpwa
from ctpwa.config.particles import read_decay
from ctpwa.data.naming import Place, find_momenta, find_weight, stems_of_particles, written_stems
from ctpwa.decay.pdg import ParticleTable

from .conftest import COMPONENTS, Columns

NATURAL = [0, 1, 2, 3]


def decay_of(text):
    return read_decay(text, ParticleTable())


def quadruples(stems, pattern="{}_{}", components=COMPONENTS):
    return [pattern.format(stem, component) for stem in stems for component in components]


def found(decay, file, given=None):
    return {label: place.columns for label, place in find_momenta(file, decay, given or {}, NATURAL).items()}


def refused(decay, file, given=None):
    with pytest.raises(ctpwa.base.DataError) as caught:
        find_momenta(file, decay, given or {}, NATURAL)
    assert "\n fix: " in str(caught.value)
    return str(caught.value)


@pytest.fixture(scope="module")
def kk_eta():
    return decay_of("J/psi(1S) -> K+ K- eta")


@pytest.mark.parametrize(
    "stems",
    [
        ("kp", "km", "eta"), ("Kp", "Km", "Eta"), ("K_plus", "K_minus", "eta"), ("Kplus", "Kminus", "eta"), ("K+", "K-", "eta"),
        ("kaonp", "kaonm", "eta0"), ("kaon_plus", "kaon_minus", "eta"), ("K_p", "K_m", "ETA"),
    ],
    ids=lambda stems: stems[0],
)  # fmt: skip
def test_names_of_particles(kk_eta, stems):
    expected = {label: tuple(quadruples([stem])) for label, stem in zip(kk_eta.labels, stems, strict=True)}
    assert found(kk_eta, Columns(quadruples(stems))) == expected


@pytest.mark.parametrize(
    ("pattern", "components"),
    [
        ("{}_{}", ("E", "px", "py", "pz")), ("{}_{}", ("e", "px", "py", "pz")), ("{}_{}", ("PE", "PX", "PY", "PZ")),
        ("{}{}", ("E", "Px", "Py", "Pz")), ("{}.{}", ("E", "px", "py", "pz")), ("{}/{}", ("energy", "px", "py", "pz")),
        ("{1}_{0}", ("E", "px", "py", "pz")), ("{1}{0}", ("E", "px", "py", "pz")), ("{}_{}", ("P_E", "P_X", "P_Y", "P_Z")),
        ("{}_{}", ("p0", "p1", "p2", "p3")), ("{}_{}", ("En", "px", "py", "pz")),
    ],
)  # fmt: skip
def test_names_of_components(kk_eta, pattern, components):
    stems = ("kp", "km", "eta")
    expected = {label: tuple(quadruples([stem], pattern, components)) for label, stem in zip(kk_eta.labels, stems, strict=True)}
    assert found(kk_eta, Columns(quadruples(stems, pattern, components))) == expected


@pytest.mark.parametrize("pattern", ["{}", "{}_p4", "p4_{}", "{}P4", "{}.p4", "lv_{}", "{}_lv", "p_{}"])
@pytest.mark.parametrize("kind", ["fours", "vectors"])
def test_one_column_per_particle(kk_eta, pattern, kind):
    names = [pattern.format(stem) for stem in ("kp", "km", "eta")]
    assert found(kk_eta, Columns(**{kind: names})) == {label: (name,) for label, name in zip(kk_eta.labels, names, strict=True)}


@pytest.mark.parametrize(
    ("text", "stems"),
    [
        ("J/psi(1S) -> p p~ eta", ("p", "pbar", "eta")),
        ("J/psi(1S) -> p p~ eta", ("pp", "pm", "eta")),
        ("J/psi(1S) -> p p~ eta", ("proton", "antiproton", "eta")),
        ("J/psi(1S) -> p p~ eta", ("prot", "p_bar", "eta")),
        ("Lambda(c)+ -> p K- pi+", ("p", "K", "pi")),  # one of each: no charge needed
        ("Lambda(c)+ -> p K- pi+", ("proton", "km", "pip")),
        ("J/psi(1S) -> gamma pi0 pi0", ("gamma", "pi01", "pi02")),
        ("J/psi(1S) -> gamma pi0 pi0", ("gam", "pi0_1", "pi0_2")),
        ("J/psi(1S) -> gamma pi0 pi0", ("photon", "pi1", "pi2")),
        ("J/psi(1S) -> gamma first:pi0 second:pi0", ("g", "first", "second")),
        ("J/psi(1S) -> pi+ pi- pi+ pi-", ("pip1", "pim1", "pip2", "pim2")),
        ("J/psi(1S) -> pi+ pi- pi+ pi-", ("pi_plus_1", "pi_minus_1", "pi_plus_2", "pi_minus_2")),
        ("J/psi(1S) -> phi(1020) pi+ pi-", ("phi", "pip", "pim")),
        ("J/psi(1S) -> gamma eta'(958) eta", ("gamma", "etap", "eta")),
        ("J/psi(1S) -> gamma eta'(958) eta", ("gamma", "etaprime", "eta")),
        ("D+ -> K(S)0 pi+ pi0", ("Ks", "pip", "pi0")),
        ("D+ -> K_S0 pi+ pi0", ("ks0", "piplus", "piz")),
        ("J/psi(1S) -> Lambda Lambda~ eta", ("Lambda", "Lambdabar", "eta")),
        ("J/psi(1S) -> Lambda Lambda~ eta", ("lam", "antilambda", "eta")),
        ("J/psi(1S) -> mu+ mu- gamma", ("mup", "mum", "gamma")),
    ],
)  # fmt: skip
def test_other_decays(text, stems):
    decay = decay_of(text)
    expected = {label: tuple(quadruples([stem])) for label, stem in zip(decay.labels, stems, strict=True)}
    assert found(decay, Columns([*quadruples(stems), "run", "event", "weight"])) == expected


def test_no_name_belongs_to_two_particles():
    for text in ("J/psi(1S) -> p p~ eta", "J/psi(1S) -> pi+ pi- pi+ pi-", "J/psi(1S) -> gamma eta'(958) eta", "J/psi(1S) -> K+ K- K+ K-"):
        stems = [stem for own in stems_of_particles(decay_of(text)).values() for stem in own[1:]]
        assert len(stems) == len(set(stems))


def test_given_stems_columns_and_lists(kk_eta):
    file = Columns([*quadruples(["first", "kp"]), "a", "b", "c", "d"], fours=["third"])
    given = {"K+": "first", "K-": ["a", "b", "c", "d"], "eta": "third"}
    assert found(kk_eta, file, given) == {"K+": tuple(quadruples(["first"])), "K-": ("a", "b", "c", "d"), "eta": ("third",)}


def test_a_list_is_in_the_order_that_is_given(kk_eta):
    file = Columns(["x", "y", "z", "t", *quadruples(["km", "eta"])])
    places = find_momenta(file, kk_eta, {"K+": ["x", "y", "z", "t"]}, [3, 0, 1, 2])
    assert places["K+"] == Place(("t", "x", "y", "z"))


def test_a_given_stem_is_spelled_exactly(kk_eta):
    file = Columns(quadruples(["A", "a", "km", "eta"]))
    assert found(kk_eta, file, {"K+": "a"})["K+"] == tuple(quadruples(["a"]))


def test_missing_particle_lists_what_is_there_and_the_nearest(kk_eta):
    message = refused(kk_eta, Columns(["run", *quadruples(["kpl", "km", "eta"])]))
    assert message.startswith("data.root: no four-momentum of 'K+'; its branches: run, kpl_E, kpl_px")
    assert message.endswith(" fix: say where it is: momenta: {K+: …}; did you mean 'kpl'?")


def test_missing_particle_without_a_near_name(kk_eta):
    assert "four-momenta in it: p4, one, two." in refused(kk_eta, Columns(quadruples(["one", "two"]), fours=["p4"]))


def test_a_long_list_of_branches_is_cut(kk_eta):
    assert "b39 and 60 more" in refused(kk_eta, Columns([f"b{i}" for i in range(100)]))


def test_given_stem_that_is_not_there(kk_eta):
    message = refused(kk_eta, Columns(quadruples(["kp", "km", "eta"])), {"K+": "kpp"})
    assert "no four-momentum of 'K+' called 'kpp'" in message
    assert "did you mean 'kp'?" in message


def test_given_stem_of_columns_with_other_names(kk_eta):
    others = quadruples(["km", "eta"])
    message = refused(kk_eta, Columns(["k_x", "k_y", "k_z", "k_ener", "k_chi2", *others]), {"K+": "k"})
    assert message.endswith(" fix: say where it is: momenta: {K+: [k_ener, k_x, k_y, k_z]}")
    assert "momenta: {K+: …}" in refused(kk_eta, Columns(["k_x", "k_y", "k_z", "k_e", "k_eta", *others]), {"K+": "k"})


def test_missing_energy(kk_eta):
    message = refused(kk_eta, Columns([name for name in quadruples(["kp", "km", "eta"]) if name != "kp_E"]))
    assert "no energy of 'K+' to go with kp_px, kp_py, kp_pz" in message


@pytest.mark.parametrize(
    ("file", "choices"),
    [
        (Columns(quadruples(["kp", "Kplus", "km", "eta"])), "(kp_E, kp_px, kp_py, kp_pz) or (Kplus_E, Kplus_px, Kplus_py, Kplus_pz)"),
        (Columns(quadruples(["kp", "km", "eta"]), fours=["K+"]), "K+ or (kp_E, kp_px, kp_py, kp_pz)"),
        (Columns([*quadruples(["kp", "km", "eta"]), "kp_e"]), "(kp_E, kp_px, kp_py, kp_pz) or (kp_e, kp_px, kp_py, kp_pz)"),
        (Columns([*quadruples(["kp", "km", "eta"]), "kp_energy"]), "(kp_E, kp_px, kp_py, kp_pz) or (kp_energy, kp_px, kp_py, kp_pz)"),
    ],
)
def test_ambiguous_names(kk_eta, file, choices):
    message = refused(kk_eta, file)
    assert f"the momentum of 'K+' could be {choices}" in message
    assert "say which: momenta: {K+: …}" in message


def test_one_column_for_two_particles(kk_eta):
    message = refused(kk_eta, Columns(quadruples(["kp", "km", "eta"])), {"K-": "kp"})
    assert "branch 'kp_E' would be used for 'K+' and for 'K-'" in message


def test_unknown_particle_in_momenta(kk_eta):
    assert "'K*' is not a final particle" in refused(kk_eta, Columns(), {"K*": "kp"})


def test_wrong_number_of_columns(kk_eta):
    assert "3 branch names instead of four" in refused(kk_eta, Columns(["a", "b", "c"]), {"K+": ["a", "b", "c"]})


def test_listed_column_that_is_missing_or_no_number(kk_eta):
    assert "no branch 'd' for 'K+'" in refused(kk_eta, Columns(["aa", "b", "c"]), {"K+": ["aa", "b", "c", "d"]})
    assert "branch 'd' is some type" in refused(kk_eta, Columns(["a", "b", "c"], others=["d"]), {"K+": ["a", "b", "c", "d"]})


@pytest.mark.parametrize("given", [{}, {"K+": "kp"}])
def test_a_column_that_holds_something_else(kk_eta, given):
    message = refused(kk_eta, Columns(quadruples(["km", "eta"]), others=["kp"]), given)
    assert "branch 'kp' for 'K+' is some type, not a four-momentum" in message


def test_weights_are_found_or_chosen():
    assert find_weight(Columns(["weight", "w"]), None) == "weight"
    assert find_weight(Columns(["Weights"]), None) == "Weights"
    assert find_weight(Columns(["w"]), None) is None
    assert find_weight(Columns(["weight", "w"]), "w") == "w"
    assert find_weight(Columns(["weight"]), False) is None


@pytest.mark.parametrize(
    ("file", "given", "message"),
    [
        (Columns(["weight", "weights"]), None, "the weights could be 'weight' or 'weights'"),
        (Columns(["wgt"]), "wgtt", "no branch 'wgtt' for the weights\n fix: did you mean 'wgt'?"),
        (Columns(fours=["kp"]), "kp", "branch 'kp' is four numbers (some type), no weight"),
    ],
)
def test_weights_in_doubt(file, given, message):
    with pytest.raises(ctpwa.base.DataError) as caught:
        find_weight(file, given)
    assert message in str(caught.value)


FINAL = [
    "K+",
    "K-",
    "pi+",
    "pi-",
    "pi0",
    "p",
    "p~",
    "gamma",
    "eta",
    "eta'(958)",
    "Lambda",
    "Lambda~",
    "K(S)0",
    "mu+",
    "e-",
    "phi(1020)",
    "K~0",
]


@settings(max_examples=150)
@given(st.lists(st.sampled_from(FINAL), min_size=2, max_size=6), st.booleans())
def test_what_is_written_is_found_whatever_the_final_state(names, own_labels):
    """Charges need not add up for names: any particles beside each other."""
    from ctpwa.decay.chain import Decay

    labels = [
        f"x{i}" if own_labels else f"{name}_{names[: i + 1].count(name)}" if names.count(name) > 1 else name for i, name in enumerate(names)
    ]
    decay = object.__new__(Decay)
    object.__setattr__(decay, "final", tuple(ParticleTable().find(name) for name in names))
    object.__setattr__(decay, "labels", tuple(labels))
    stems = written_stems(labels)
    places = find_momenta(Columns(quadruples(stems.values())), decay, {}, NATURAL)
    assert {label: place.columns for label, place in places.items()} == {label: tuple(quadruples([stems[label]])) for label in labels}


def test_labels_that_differ_in_case_only_are_written_as_they_are():
    assert written_stems(["a", "A", "K+"]) == {"a": "a", "A": "A", "K+": "K+"}
    assert written_stems(["weight", "K+"]) == {"weight": "weight", "K+": "K+"}
    decay = decay_of("J/psi(1S) -> gamma a:pi0 A:pi0")
    assert found(decay, Columns(quadruples(["gamma", "a", "A"])))["A"] == tuple(quadruples(["A"]))
