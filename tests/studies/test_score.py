"""The score test against brute force: slopes and scores from differences, averages over the model from sums over phase space."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.engine.likelihood.values import model_values
from ctpwa.generate.toys import generate_toy
from ctpwa.observables.projections import event_weights
from ctpwa.studies.baseline import baseline
from ctpwa.studies.candidates import analysis_with, couplings_of, described, read_candidates
from ctpwa.studies.expected import expected_events
from ctpwa.studies.score import APART, SEVERAL, score_test
from studies.small_resonance import ABSENT, SMALL, describe, fitted, toy

STEP = 1e-4


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A fit of the model without the small resonance."""
    return baseline(fitted(describe(tmp_path_factory.mktemp("score"))))


def larger_likelihood(own, description):
    analysis = analysis_with(own.analysis, description)
    analysis.share_samples(own.analysis)
    return analysis.likelihood()


def enlarged(own, names=(SMALL, ABSENT), **fit):
    """A likelihood with candidates, and their couplings."""
    candidates = read_candidates(own.analysis, list(names)).members
    description = described(own.analysis, candidates)
    description["fit"] = description["fit"] | fit
    larger = larger_likelihood(own, description)
    model = (larger.terms[0] if hasattr(larger, "terms") else larger).model
    return larger, {name: couplings_of(model, name, [other for other in names if other != name]) for name in names}


def scores(own, larger, couplings):
    expected = expected_events(own.opened, own.likelihood, own.x, "auto", None)
    return score_test(larger, own.likelihood, own.x, couplings, expected)


def at_zero(own, larger):
    """Where the larger likelihood is the smaller one, and which of its parameters are new."""
    at = dict(zip(own.likelihood.names, own.x, strict=True))
    return np.array([at.get(name, 0.0) for name in larger.names])


def differences(function, x, scale):
    """∂ of a function, from differences."""
    rows = []
    for k in range(len(x)):
        up, down = x.copy(), x.copy()
        up[k] += STEP * scale[k]
        down[k] -= STEP * scale[k]
        rows.append((function(up) - function(down)) / (2 * STEP * scale[k]))
    return np.array(rows)


def log_density(larger, phase_space):
    """Ln (I/σ) of events at free parameters, from intensities alone."""

    def of(events, x):
        values = model_values(larger, x)
        intensity = ctpwa.ModelIntensity(larger.model, couplings=values.couplings, parameters=values.parameters, engine="reference")
        return np.log(intensity(events).numpy()) - np.log(intensity(phase_space).numpy().mean())

    return of


def brute_force(larger, own, name, g, curvature, scatter):
    """S of one candidate."""
    p = [larger.names.index(parameter) for parameter in own.likelihood.names]
    c = [k for k, parameter in enumerate(larger.names) if parameter.startswith(name)]
    A = curvature[np.ix_(c, p)] @ np.linalg.inv(curvature[np.ix_(p, p)])
    whole = np.concatenate([-A, np.eye(len(c))], axis=1)
    V = whole @ scatter[np.ix_(p + c, p + c)] @ whole.T
    u = g[c] - A @ g[p]
    return float(u @ np.linalg.solve(V, u))


def scales(larger):
    return np.where(
        [name.startswith("phi(3)") for name in larger.names], 30.0, np.where([name.startswith("K(3)") for name in larger.names], 30.0, 5.0)
    )


def test_events_of_phase_space_need_no_computing(tmp_path):
    """Rows of the phase-space sample, and spin amplitudes and intensities of the events computed again, say the same."""
    description = describe(tmp_path)
    name, resonance = next(iter(description["resonances"].items()))
    description["resonances"] = description["resonances"] | {name: resonance | {"float": "mass"}}
    own = baseline(fitted(description))
    larger, couplings = enlarged(own)
    (picked,) = expected_events(own.opened, own.likelihood, own.x, "auto", None, most=150)
    values, (samples,) = model_values(own.likelihood, own.x), own.opened.read(150)
    signal = ctpwa.ModelIntensity(own.analysis.model, couplings=values.couplings, parameters=values.parameters)
    weights = signal(samples.phase_space) * torch.from_numpy(event_weights(samples.phase_space))
    assert picked.numbers is not None
    assert torch.allclose(picked.events.weights, own.likelihood.weight * weights / weights.sum(), rtol=1e-12)
    again = replace(picked, numbers=None)
    found, expected = (score_test(larger, own.likelihood, own.x, couplings, [one]) for one in (picked, again))
    for name in couplings:
        assert pytest.approx(expected[name].S, rel=1e-9) == found[name].S


def test_it_is_what_brute_force_gives(own):
    larger, couplings = enlarged(own)
    found = scores(own, larger, couplings)
    x, (samples,) = at_zero(own, larger), own.opened.read()
    g = differences(larger.value, x, scales(larger))
    ln_p = log_density(larger, samples.phase_space)
    s = differences(lambda at: ln_p(samples.phase_space, at), x, scales(larger))
    weights = np.exp(ln_p(samples.phase_space, x))
    information = samples.data.n_events * (s * weights / weights.sum()) @ s.T
    for name in (SMALL, ABSENT):
        assert found[name].ndf == 2
        assert pytest.approx(brute_force(larger, own, name, g, information, information), rel=1e-5) == found[name].S
    assert found[SMALL].S > found[ABSENT].S


def test_weights_scatter_as_the_scores_of_their_events(tmp_path):
    events = toy(400, 1)
    weights = 0.5 + torch.rand(events.n_events, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    own = baseline(fitted(describe(tmp_path, replace(events, weights=weights))))
    larger, couplings = enlarged(own)
    assert expected_events(own.opened, own.likelihood, own.x, "auto", None) is None
    found = scores(own, larger, couplings)
    x, (samples,) = at_zero(own, larger), own.opened.read()
    ln_p = log_density(larger, samples.phase_space)
    s = differences(lambda at: ln_p(samples.data, at), x, scales(larger))
    g = -(s @ weights.numpy())
    H = differences(lambda at: larger.value_and_grad(at)[1], x, scales(larger))
    for name in (SMALL, ABSENT):
        assert pytest.approx(brute_force(larger, own, name, g, H, (s * weights.numpy() ** 2) @ s.T), rel=1e-4) == found[name].S


def test_weights_that_are_all_the_same_change_nothing_but_the_unit(own, tmp_path):
    """With weights 2, S from scores is that of the same events without weights."""
    twos = baseline(fitted(describe(tmp_path, replace(toy(400, 1), weights=torch.full((400,), 2.0, dtype=torch.float64)))))
    plain, doubled = (score_test(larger, one.likelihood, one.x, names) for one in (own, twos) for larger, names in [enlarged(one)])
    for name in (SMALL, ABSENT):
        assert pytest.approx(plain[name].S, rel=1e-6) == doubled[name].S
        for coupling, z in plain[name].step.items():
            assert doubled[name].step[coupling] == pytest.approx(z, rel=1e-6)


def test_polar_couplings_and_groups_do_not_matter(own, tmp_path):
    polar = baseline(fitted(describe(tmp_path, representation="polar")))
    expected = scores(own, *enlarged(own))
    found = scores(polar, *enlarged(polar, representation="polar"))
    (alone,) = scores(own, *enlarged(own, [SMALL])).values()
    for name in (SMALL, ABSENT):
        assert pytest.approx(expected[name].S, rel=1e-6) == found[name].S
    assert pytest.approx(expected[SMALL].S, rel=1e-9) == alone.S
    for coupling, z in alone.step.items():
        assert z == pytest.approx(expected[SMALL].step[coupling], rel=1e-9)
        assert z == pytest.approx(found[SMALL].step[coupling], rel=1e-6)


def test_two_data_sets_are_as_good_as_one(own, tmp_path):
    events = toy(400, 1)
    one = describe(tmp_path, events)
    halves = [describe(tmp_path, events.picked(slice(k, None, 2)))["samples"] for k in range(2)]
    several = {key: value for key, value in one.items() if key != "samples"} | {"data_sets": dict(zip("ab", halves, strict=True))}
    parts = baseline(fitted(several))
    expected, found = scores(own, *enlarged(own)), scores(parts, *enlarged(parts))
    for name in (SMALL, ABSENT):
        assert (found[name].S, found[name].ndf) == (pytest.approx(expected[name].S, rel=1e-5), 2)


def test_couplings_per_vertex(own, tmp_path):
    """A resonance with one (L, S) where it decays has the same couplings in both forms."""
    vertex = baseline(fitted(describe(tmp_path, couplings="vertex")))
    expected, found = scores(own, *enlarged(own)), scores(vertex, *enlarged(vertex))
    for name in (SMALL, ABSENT):
        assert pytest.approx(expected[name].S, rel=1e-6) == found[name].S


LAMBDA_C = {
    "decay": "Lambda(c)+ -> p K- pi+",
    "resonances": {"K*(892)": {"in": "K- pi+"}, "Lambda(1520)": {"in": "p K-", "width": 0.1}},
}


def test_waves_that_interfere_with_none_have_no_score():
    model = ctpwa.load_model(LAMBDA_C)
    data = generate_toy(model, 300, seed=1, engine="reference", progress=False)
    larger = ctpwa.build_likelihood(model, data, ctpwa.generate_phase_space(model, 1000, seed=2), engine="reference")
    own = dict(zip(larger.coupling_names, larger.amplitude.sets, strict=True))
    first = own[larger.coupling_names[0]]
    others = [name for name, number in own.items() if number != first]
    mixed = [name for name, number in own.items() if number == first][-1]
    smaller = larger.without([*others, mixed])
    result = ctpwa.fit(smaller, progress=False, simulation=False)
    found = score_test(larger, smaller, result.x, {"apart": others, "both": [*others, mixed], "one": [mixed]})
    assert found["apart"].remark == APART
    assert not found["one"].remark
    assert found["both"].ndf == found["one"].ndf == 2
    assert pytest.approx(found["one"].S, rel=1e-9) == found["both"].S


def test_products_of_new_numbers_have_no_score():
    """Two (L, S) where a resonance is produced and two where it decays: the couplings are not small along any straight line."""
    description = {
        "decay": "Lambda(b)0 -> J/psi(1S) p K-",
        "resonances": {"Lambda(1520)": {"in": "p K-"}, "P(c)": {"in": "J/psi(1S) p", "JP": "3/2-", "mass": 4.45, "width": 0.05}},
    }
    model = ctpwa.load_model(description)
    data, phase_space = (ctpwa.generate_phase_space(model, n, seed=n) for n in (100, 300))
    larger = ctpwa.build_likelihood(model, data, phase_space, engine="reference", couplings="vertex")
    smaller = larger.without(["P(c)"])
    found = score_test(larger, smaller, smaller.start, {"P(c)": couplings_of(model, "P(c)")})
    assert found["P(c)"].remark == SEVERAL
    assert np.isnan(found["P(c)"].S)


def test_a_larger_model_that_is_another_one_is_refused(own):
    description = described(own.analysis, read_candidates(own.analysis, [SMALL]).members)
    description["resonances"]["phi(1680)"] = {"in": "K+ K-", "mass": 1.7, "width": 0.164}
    larger = larger_likelihood(own, description)
    with pytest.raises(ctpwa.CtpwaError, match=r"couplings are 0 is .*, and that of the model"):
        score_test(larger, own.likelihood, own.x, {SMALL: couplings_of(larger.model, SMALL)})
