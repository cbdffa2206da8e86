"""Models in the format of amplitude-serialization: published checksums, round trips, and files that are wrong."""

import copy
import json

import pytest
import torch
from tests.interchange.published import compass, lhcb

import ctpwa
from ctpwa.base.errors import CtpwaError
from ctpwa.interchange import InterchangeError, NotExpressible, describe, read_serialization
from ctpwa.kinematics.decay_angles import angles_at, momenta_at

EXAMPLES = ["jpsi_4pi", "jpsi_gamma_pi0_pi0", "jpsi_kk_eta", "jpsi_p_pbar_eta", "jpsi_phi_pi_pi", "lambdac_p_k_pi"]


@pytest.fixture
def write(tmp_path):
    def write(content):
        path = tmp_path / "model.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize(("published", "number"), [(lhcb, 11), (compass, 21)])
def test_published_checksums(write, published, number):
    found = read_serialization(write(published()))
    assert len(found.checksums) == number
    for checksum in found.checksums:
        assert checksum.deviation < 1e-12, checksum


def round_trip(model, write, n=100):
    """Largest relative difference of intensities after export and import."""
    before = ctpwa.ModelIntensity(model, engine="reference")
    found = read_serialization(write(describe(before)))
    assert all(checksum.deviation < 1e-12 for checksum in found.checksums)
    assert len(found.checksums) == 3
    after = ctpwa.ModelIntensity(found.models[0].model, engine="reference")
    events = ctpwa.generate_phase_space(model, n, seed=2)
    renamed = {new: events[old] for old, new in zip(model.decay.labels, after.model.decay.labels, strict=True)}
    I = before(events)
    return float(((after(renamed) - I) / I).abs().max())


@pytest.mark.parametrize("name", EXAMPLES)
def test_round_trip_of_examples(example_model, write, name):
    assert round_trip(example_model(name), write) < 1e-12


def test_a_width_that_depends_on_a_mass_below_names_its_momentum(example_model, write):
    """a1 -> rho pi: q depends on the mass of the rho in the event, which the format does not have and others must not overlook."""
    content = describe(ctpwa.ModelIntensity(example_model("jpsi_4pi"), engine="reference"))
    (shape,) = (function for function in content["functions"] if function["name"] == "a(1)(1260)")
    assert shape["momentum"] == "q_sq"
    assert "q_sq" in shape["expression"]
    del shape["momentum"]
    with pytest.raises(InterchangeError, match="'q_sq' in column"):
        read_serialization(write(content))
    shape["momentum"] = "q_sq"
    content["misc"]["amplitude_model_checksums"].append({"distribution": "a(1)(1260)", "point": "x", "value": 1.0})
    content["parameter_points"].append({"name": "x", "parameters": [{"name": "m_sq", "value": 1.5}]})
    with pytest.raises(InterchangeError, match="also depends on a momentum"):
        read_serialization(write(content))


def test_round_trip_with_identical_particles(write):
    """Four pions: eight chains of every wave, two of the form R -> (R' -> ..) pi."""
    model = ctpwa.load_model(
        {
            "decay": "J/psi(1S) -> pi+ pi- pi+ pi-",
            "polarisation": [[0.5, 0, 0.1 + 0.05j], [0, 0.2, 0], [0.1 - 0.05j, 0, 0.3]],
            "resonances": {
                "a(1)(1260)": {
                    "in": ["pi+ pi- pi+", "pi- pi+ pi-"],
                    "mass": 1.23,
                    "width": 0.42,
                    "lineshape": "breit_wigner_constant_width",
                    "max_L": 2,
                },
                "rho(770)": {"in": "pi+ pi-"},
            },
        }
    )
    assert round_trip(model, write, 40) < 1e-12


def test_barriers_survive(write):
    model = ctpwa.load_model(
        {
            "decay": "J/psi(1S) -> K+ K- eta",
            "polarisation": "transverse",
            "resonances": {
                "phi(1680)": {"in": "K+ K-", "float": "radius", "radius": 4.0, "production_barrier": "none", "width_l": 2},
                "K(2)*(1430)": {"in": ["K+ eta", "K- eta"], "barrier": {"form": "momentum", "l": 1}},
            },
        }
    )
    assert round_trip(model, write) < 1e-12


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"formalism": "zou-bugg"}, "zou-bugg"),
        ({"polarisation": "float"}, "polarisation with parameters"),
        ({"cp": "all"}, "CP asymmetries"),
        (
            {"resonances": {"S": {"in": "K+ K-", "JP": "1-", "lineshape": "step", "options": {"edges": [1.0, 1.5, 2.5]}}}},
            "table or a K-matrix",
        ),
        ({"barrier": {"normalised": "all"}}, "normalised at nominal masses"),
        ({"barrier": "exponential"}, "is exponential"),
    ],
)
def test_models_that_cannot_be_exported(change, what):
    model = {"decay": "J/psi(1S) -> K+ K- eta", "resonances": {"phi(1680)": {"in": "K+ K-"}}}
    with pytest.raises(NotExpressible, match=what):
        describe(ctpwa.ModelIntensity(ctpwa.load_model({**model, **change}), engine="reference"))


def test_photon_helicities_are_converted(write):
    """J/psi -> gamma f2 by single helicities is the same model as by (L, S)."""
    model = ctpwa.load_model(
        {
            "decay": "J/psi(1S) -> gamma pi0 pi0",
            "polarisation": "transverse",
            "resonances": {"f(2)(1270)": {"in": "pi0 pi0"}},
            "couplings": {"f(2)(1270) (2,1)(2,0)": [0.3, 0.4], "f(2)(1270) (2,2)(2,0)": [0.1, -0.7]},
        }
    )
    chains = describe(ctpwa.ModelIntensity(model, engine="reference"))["distributions"][0]["decay_description"]["chains"]
    assert {vertex["type"] for chain in chains for vertex in chain["vertices"]} == {"helicity", "ls"}
    assert round_trip(model, write) < 1e-12


def at(content, *path):
    for key in path[:-1]:
        content = content[key]
    return content, path[-1]


CHAIN = ("distributions", 0, "decay_description", "chains", 0)
WRONG = [
    ((*CHAIN, "weight"), "__import__('os')", "a complex number is expected"),
    ((*CHAIN, "weight"), True, "a number is expected"),
    ((*CHAIN, "vertices", 0, "type"), "covariant", "'covariant' is not known"),
    ((*CHAIN, "vertices", 0, "formfactor"), "nowhere", "there is no function 'nowhere'"),
    ((*CHAIN, "vertices", 1, "helicities"), ["5/2", "0"], "is not a helicity"),
    ((*CHAIN, "vertices", 0, "helicities"), ["1/2"], "1 helicities"),
    ((*CHAIN, "vertices", 0, "parity_factor"), "x", "'x' is not a sign"),
    ((*CHAIN, "vertices"), [], "there is no vertex for"),
    ((*CHAIN, "propagators"), [], "there is no propagator for"),
    ((*CHAIN, "propagators", 0, "parametrization"), "missing", "there is no function 'missing'"),
    ((*CHAIN, "propagators", 0, "spin"), "1.5", "a spin such as"),
    ((*CHAIN, "topology"), [[3, 1], [2, 3]], "occurs twice"),
    ((*CHAIN, "topology"), [1, 2, 3], "3 daughters"),
    ((*CHAIN, "topology"), [[3, 1], 9], "9 is not the index"),
    (("distributions", 0, "type"), "Something", "'Something' is not known"),
    (("distributions", 0, "decay_description", "kinematics", "initial_state", "index"), 4, "the index of the initial state is 4"),
    (("distributions", 0, "decay_description", "kinematics", "initial_state", "spin"), 2, "allow no (L, S)"),
    (("distributions", 0, "decay_description", "kinematics", "final_state", 0, "mass"), 1e300, "a mass of 1e+300 GeV"),
    (("parameter_points", 1, "parameters", 0, "value"), 0.0, "a squared mass of 0"),
    (("distributions", 0, "type"), "HadronicPolarizedIntensity", "no place for the spin density matrix"),
    (("distributions",), [], "there is no distribution"),
    (("distributions", 0, "decay_description", "kinematics", "final_state", 1, "mass"), "m_pi", "a mass that is a function"),
    (("distributions", 0, "decay_description", "kinematics", "final_state", 1, "index"), 1, "given twice"),
    (("functions", 0, "type"), "SuperBreitWigner", "'SuperBreitWigner' is not known"),
    (("functions", 0, "mass"), 0.3, "below the threshold"),
    (("functions", 0, "secret"), 1.0, "'secret' is not known here"),
    (("functions", 0, "l"), 1000, "l = 1000"),
    (("misc", "amplitude_model_checksums", 0, "point"), "nowhere", "there is no point"),
    (("misc", "amplitude_model_checksums", 0, "distribution"), "nobody", "neither a distribution nor a function"),
    (("parameter_points", 0, "parameters", 0, "value"), 1.0, "below the masses"),
]


@pytest.mark.parametrize(("path", "value", "what"), WRONG, ids=[str(i) for i in range(len(WRONG))])
def test_wrong_files_say_where(write, path, value, what):
    content = copy.deepcopy(lhcb())
    holder, key = at(content, *path)
    holder[key] = value
    with pytest.raises(InterchangeError) as caught:
        read_serialization(write(content))
    assert what in caught.value.what
    assert caught.value.fix
    assert "model.json: " in str(caught.value)


@pytest.mark.parametrize(
    ("expression", "what"),
    [
        ("__import__('os').system('true')", "is not"),
        ("open(σ)", "'open'"),
        ("σ.real", "is not part of a formula"),
        ("[σ]", "is not part of a formula"),
        ("lambda: σ", "is not"),
        ("σ + m_other", "'m_other'"),
        ("1/(σ", "is not a formula"),
        ("9^9^9^9^9", "too large"),
        ("1/0", "division by zero"),
        ("(" * 400 + "σ" + ")" * 400, "nested"),
        ("σ" + "+σ" * 2000, "characters"),
        ("exp(exp(exp(exp(99))))", "out of range"),
    ],
)
def test_expressions_are_parsed_and_never_run(write, expression, what):
    content = copy.deepcopy(lhcb())
    for function in content["functions"]:
        if function["name"] == "K700_BuggBW":
            function["expression"] = expression
    with pytest.raises(InterchangeError, match=r"K700|functions") as caught:
        read_serialization(write(content))
    assert what in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"distributions": 1, "functions": []}', '{"a": NaN}', "[" * 100 + "]" * 100, '{"a": 1, "a": 2}']
)
def test_what_is_not_a_model(write, text):
    with pytest.raises(CtpwaError, match="fix:"):
        read_serialization(write(text))


def test_momenta_from_masses_and_angles():
    topology = ((1, 2), (3, (4, 5)))
    masses = {1: 0.1, 2: 0.2, 3: 0.0, 4: 0.3, 5: 0.1, (1, 2): 0.9, (4, 5): 0.6, (3, (4, 5)): 1.1, topology: 3.0}
    tensors = {key: torch.full((2,), value, dtype=torch.float64) for key, value in masses.items()}
    random = torch.Generator().manual_seed(3)
    angles = {
        node: (2 * torch.rand(2, generator=random, dtype=torch.float64) - 1, 6 * torch.rand(2, generator=random, dtype=torch.float64) - 3)
        for node in masses
        if isinstance(node, tuple)
    }
    p4 = momenta_at(topology, tensors, angles)
    total = sum(p4.values())
    torch.testing.assert_close(total, torch.tensor([[3.0, 0, 0, 0]] * 2, dtype=torch.float64), atol=1e-12, rtol=0)
    found_masses, found_angles = angles_at(topology, p4)
    for node, mass in tensors.items():
        torch.testing.assert_close(found_masses[node], mass, atol=1e-7 if node == 3 else 1e-12, rtol=0)
    for node, (cos_theta, phi) in angles.items():
        torch.testing.assert_close(found_angles[node][0], cos_theta, atol=1e-12, rtol=0)
        torch.testing.assert_close(found_angles[node][1], phi, atol=1e-12, rtol=0)
