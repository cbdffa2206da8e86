"""A finite phase-space sample in the errors of a fit: pulls of toys, the verdict, what is saved and printed."""

import json
from dataclasses import replace

import numpy as np
import pytest

import ctpwa
from ctpwa.base.errors import DataError
from ctpwa.engine.likelihood.simulation import NormalisationSize
from ctpwa.engine.likelihood.values import free_parameters
from ctpwa.fitting.simulation import advice_on_errors, size_line, too_few_events
from fitting.cases import TINY, likelihood, make, model, part, phase_space, result, toy
from fitting.made_up import edit, make_result

N_TOYS, N_DATA, N_PHASE_SPACE = 36, 200, 500


def test_pulls_have_width_one_with_the_simulation_and_are_too_wide_without():
    """Every toy has data and a phase-space sample of its own, which has only 2.5 times as many events."""
    flat = phase_space("tiny", 60_000, 21)
    true = ctpwa.ModelIntensity(model("tiny"), engine="reference")
    I = true(flat).numpy()
    truth = free_parameters(make("tiny"), true.couplings, true.parameters)
    random = np.random.default_rng(22)
    pulls = {"error": [], "statistical": []}
    for _ in range(N_TOYS):
        data, space = part(flat, random.choice(len(I), N_DATA, p=I / I.sum())), part(flat, random.choice(len(I), N_PHASE_SPACE))
        found = ctpwa.fit(make("tiny", data=data, phase_space=space), start=truth)
        for kind, own in pulls.items():
            own.append([(p.value - t) / getattr(p, kind) for p, t in zip(found.parameters, truth, strict=True)])
    with_it, without = (float(np.mean(np.std(own, axis=0))) for own in pulls.values())
    assert with_it == pytest.approx(1, abs=3 / np.sqrt(4 * N_TOYS))  # three standard deviations of the mean of two widths
    assert without > 1.2 * with_it


@pytest.mark.parametrize("name", ["fixed", "floating"])
def test_both_parts_are_there(name):
    found, like = result(name), likelihood(name)
    C = np.linalg.inv(like.hessian(found.x))
    scatter = like.simulation_scatter(found.x)
    np.testing.assert_allclose(found.simulation.covariance, C @ scatter.products @ C, rtol=1e-8)
    np.testing.assert_allclose(found.covariance, C + C @ scatter.products @ C, rtol=1e-8)
    assert found.simulation.sizes == scatter.sizes
    for i, p in enumerate(found.parameters):
        assert p.error**2 == pytest.approx(p.statistical**2 + p.simulation**2, rel=1e-12)
        assert p.simulation == pytest.approx(np.sqrt(found.simulation.covariance[i, i]), rel=1e-12)
        assert 0 < p.simulation < p.error
    assert found.settings["simulation"] is True


def test_couplings_and_fractions_follow():
    found, without = result("fixed"), ctpwa.fit(likelihood("fixed"), simulation=False)
    for one, other in zip(found.couplings[1:], without.couplings[1:], strict=True):
        assert one.magnitude_error > 1.01 * other.magnitude_error
    assert (found.fractions[0].groups["resonances"].errors > 1.01 * without.fractions[0].groups["resonances"].errors).all()


def test_it_can_be_left_out():
    found = ctpwa.fit(likelihood("fixed"), simulation=False)
    assert found.simulation is None
    assert [p.simulation for p in found.parameters] == [None] * len(found.parameters)
    assert [p.statistical for p in found.parameters] == [p.error for p in found.parameters]
    np.testing.assert_allclose(found.covariance, result("fixed").statistical_covariance, rtol=1e-8)
    assert found.statistical_covariance is found.covariance
    assert "errors do not count that the phase-space sample is finite" in str(found).splitlines()
    assert found.settings["simulation"] is False
    with pytest.raises(DataError, match="simulation is 'no'\n fix: give True or False"):
        ctpwa.fit(likelihood("fixed"), simulation="no")


def test_in_a_model_file(tmp_path):
    ctpwa.write_events(tmp_path / "data.parquet", toy(100, 1, "tiny"), model=model("tiny"))
    content = TINY | {"samples": {"data": str(tmp_path / "data.parquet"), "phase_space": {"generate": 500}}, "fit": {"starts": 1}}
    for errors, counted in (({}, True), ({"simulation": True}, True), ({"simulation": False}, False)):
        analysis = ctpwa.load_analysis(content | {"fit": {"starts": 1, "engine": "reference", "errors": errors}})
        assert analysis.settings.simulation is counted
        assert (analysis.fit().simulation is not None) is counted
        assert (analysis.fit(simulation=not counted).simulation is None) is counted
    with pytest.raises(ctpwa.CtpwaError, match="simulation"):
        ctpwa.load_analysis(content | {"fit": {"errors": {"simulation": "perhaps"}}})
    with pytest.raises(ctpwa.CtpwaError, match="simulaton"):
        ctpwa.load_analysis(content | {"fit": {"errors": {"simulaton": False}}})


# the verdict


def test_a_remark_says_how_many_events_are_missing():
    """With stat 1 and sim 2 errors are √5: (1 + 4/M) = 1.21 takes M = 19.05 times as many events."""
    names, simulation = ("a", "b", "c"), np.array([0.1, 2.0, 7.0])
    errors = np.sqrt(1 + simulation**2)
    errors[2] = np.nan  # not determined
    expected = "the phase-space sample adds up to 124 % to the errors (b); 20 times as many events would make that less than a tenth"
    assert advice_on_errors(names, errors, simulation) == [expected]
    assert advice_on_errors(names, np.sqrt(1 + simulation**2 / 20), simulation / np.sqrt(20)) != []  # now of c
    small = 0.458 * np.ones(3)  # √(1 + 0.458²) = 1.0999
    assert advice_on_errors(names, np.sqrt(1 + small**2), small) == []
    assert advice_on_errors(names, np.full(3, np.nan), small) == []


def test_a_fit_with_few_events_gets_the_remark_and_one_with_many_does_not():
    few, many = (ctpwa.fit(make("tiny", data=toy(100, 1, "tiny"), phase_space=phase_space("tiny", n, 3))) for n in (300, 12_000))
    assert few.verdict.good
    assert any("the phase-space sample adds up to" in reason for reason in few.verdict.reasons)
    assert many.verdict.reasons == ()
    name = few.names[0]
    assert many[name].simulation == pytest.approx(few[name].simulation / np.sqrt(40), rel=0.5)


def test_too_few_events_are_not_good():
    """60 events of which some 10 count in the integral of K2*."""
    found = ctpwa.fit(make("fixed", phase_space=phase_space("fixed", 60, 2)))
    assert not found.verdict.good
    assert found.verdict.reasons[0].startswith("only ")
    assert "use more phase-space events" in found.verdict.reasons[0]


def test_the_verdict_looks_at_the_sample_also_where_errors_do_not_count_it():
    """Studies, which fit the same many times, leave that out too."""
    like = make("fixed", phase_space=phase_space("fixed", 60, 2))
    counted, without, nothing = (
        ctpwa.fit(like, **options) for options in ({}, {"simulation": False}, {"simulation": False, "effective_sizes": False})
    )
    assert without.simulation is None
    assert not without.verdict.good
    assert without.verdict.reasons[0] == counted.verdict.reasons[0]
    assert not any("add" in reason and "to the errors" in reason for reason in without.verdict.reasons)
    assert nothing.verdict.good
    with pytest.raises(DataError, match="effective_sizes is 'no'\n fix: give True or False"):
        ctpwa.fit(like, effective_sizes="no")


def test_many_data_sets_without_the_simulation():
    small, large = (make("fixed", phase_space=phase_space("fixed", n, 2)) for n in (60, 1500))
    found = ctpwa.fit(large + small, simulation=False)
    assert any("of 60 phase-space events of data set 2 count" in reason for reason in found.verdict.reasons)
    assert not any("data set 1" in reason for reason in found.verdict.reasons)


SIZE = NormalisationSize(5000, 100.0, {"a": 24.0, "b": 20.0, "c": 300.0})


def test_which_samples_are_too_small():
    assert too_few_events(SIZE, 20, [0.005, 0.009, 1.0]) == []  # small waves do not matter
    (total,) = too_few_events(SIZE, 21, [0.0, 0.0, 1.0])
    assert total.startswith("only 100 of 5000 phase-space events count in the normalisation, too few for errors of 21 parameters: use")
    assert too_few_events(replace(SIZE, total=24.9), 1, [0.0, 0.0, 1.0])[0].startswith("only 24.9 of 5000")
    (wave,) = too_few_events(SIZE, 2, [0.5, 0.5, 0.5], "data set 2")
    assert wave.startswith("only 20 of 5000 phase-space events of data set 2 count in the integral of b, too few for its errors")


def test_a_narrow_state_is_not_good():
    """A J/psi of 93 keV, and so few flat events that hardly any of them hits it."""
    narrow = {
        "decay": "psi(2S) -> pi+ pi- mu+ mu-",
        "polarisation": "transverse",
        "resonances": {
            "f(0)(500)": {"in": "pi+ pi-", "mass": 0.6, "width": 0.45},
            "J/psi(1S)": {"in": "mu+ mu-", "mass": 3.0969, "width": 0.0000926},
        },
    }
    decay = ctpwa.load_model(narrow)
    data, flat = (ctpwa.generate_phase_space(decay, n, seed=n) for n in (100, 2000))
    found = ctpwa.fit(ctpwa.build_likelihood(decay, data, flat, engine="reference"), max_iterations=100)
    assert not found.verdict.good
    assert "of 2000 phase-space events count in the normalisation" in found.verdict.reasons[0]
    assert found.simulation.sizes[0].total < 20


# what is saved and printed


def test_files_of_schema_2_are_read(tmp_path):
    """They could not hold the part of the simulation, derived parameters and asymmetries."""
    path = tmp_path / "r.json"
    plain = make_result(simulation=None)
    plain = replace(plain, parameters=tuple(replace(p, simulation=None) for p in plain.parameters))
    plain.save(path)

    def older(content):
        content["schema"] = 2
        for key in ("simulation", "derived", "asymmetries"):
            del content[key]
        for p in content["parameters"]:
            del p["simulation"]

    edit(path, older)
    assert json.loads(path.read_text())["schema"] == 2
    assert ctpwa.FitResult.load(path) == plain
    edit(path, lambda content: content.pop("verdict"))
    with pytest.raises(ctpwa.CtpwaError, match="verdict is missing"):
        ctpwa.FitResult.load(path)


def change(path, value):
    def put(content):
        for key in path[:-1]:
            content = content[key]
        content[path[-1]] = value

    return put


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (["simulation"], None, r"parameters\[0\].simulation is .*, and simulation or error says the opposite"),
        (["parameters", 0, "simulation"], None, r"parameters\[0\].simulation is None, and simulation or error says the opposite"),
        (["parameters", 1, "simulation"], 0.1, r"parameters\[1\].simulation is 0.1, and simulation or error says the opposite"),
        (["parameters", 2, "simulation"], 1.0, r"parameters\[2\].simulation and simulation.covariance"),
        (["simulation", "covariance"], [[1.0]], r"simulation.covariance has shape \(1, 1\) instead of \(3, 3\)"),
        (["simulation", "covariance", 0, 2], 1.0, "simulation.covariance is not symmetric"),
        (["simulation", "sizes"], [], "simulation.sizes has 0 entries instead of 1"),
        (["simulation", "sizes", 0, "total"], -1.0, r"simulation.sizes\[0\], total is -1, less than 0"),
        (["simulation", "sizes", 0, "waves", "K*"], 6000.0, r"K\* is 6000, more than the 5000 events of the sample"),
        (["simulation", "sizes", 0, "n_events"], "many", "n_events is 'many', not a whole number"),
    ],
)
def test_parts_that_contradict_each_other(tmp_path, path, value, words):
    make_result().save(tmp_path / "r.json")
    edit(tmp_path / "r.json", change(path, value))
    with pytest.raises(ctpwa.CtpwaError, match=words):
        ctpwa.FitResult.load(tmp_path / "r.json")


def test_more_simulation_than_error(tmp_path):
    found = make_result()
    large = replace(found.simulation, covariance=4 * found.covariance)
    parameters = tuple(replace(p, simulation=None if p.error is None else 2 * p.error) for p in found.parameters)
    replace(found, simulation=large, parameters=parameters).save(tmp_path / "r.json")
    with pytest.raises(ctpwa.CtpwaError, match=r"parameters\[0\].simulation is .*, more than the error"):
        ctpwa.FitResult.load(tmp_path / "r.json")


def test_in_words():
    text = str(result("fixed"))
    size = result("fixed").simulation.sizes[0]
    assert size_line(size) in text.splitlines()
    assert size_line(SIZE, "run 2") == "normalisation of run 2: 100 of 5000 phase-space events count, 20 for b"
    p = result("fixed").parameters[0]
    assert any(p.name in line and f"simulation {p.simulation:.2g}" in line for line in text.splitlines())
