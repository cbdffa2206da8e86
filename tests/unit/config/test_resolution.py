"""The section resolution: what it gives, and that every mistake has a place and advice."""

import pytest

import ctpwa
from ctpwa.base.errors import ConfigError, DataError
from ctpwa.config.read import load_document
from ctpwa.config.samples import data_sets
from ctpwa.data.resolution import GivenPoints
from ctpwa.observe.mass_resolution import MassResolution, SeveralResolutions
from ctpwa.observe.momentum_errors import MomentumErrors

MODEL = """decay: {decay}
resonances:
  {name}: {{in: {pair}}}
{more}samples:
  data: data.root
  phase_space: mc.root
  resolution: {resolution}
"""
KK = {"decay": "J/psi(1S) -> K+ K- eta", "name": "phi(1020)", "pair": "K+ K-", "more": ""}
FOUR = {
    "decay": "J/psi(1S) -> K+ K- pi+ pi-",
    "name": "phi(1020)",
    "pair": "K+ K-",
    "more": "  f(0)(980): {in: pi+ pi-, mass: 0.98, width: 0.05}\n",
}
PIONS = {"decay": "chi(c0)(1P) -> pi+ pi- pi+ pi-", "name": "rho(770)", "pair": "pi+ pi-", "more": ""}
SIGMA = "{magnitude: 0.01, angle: 0.001}"


def resolution(load, tmp_path, text, model=KK):
    load(MODEL.format(resolution=text, **model))
    document = load_document(tmp_path / "model.yml")
    return data_sets(document.spec, document.model.decay, document.folder)[0].resolution


@pytest.mark.parametrize(
    ("text", "model", "expected"),
    [
        ("{masses: {K+ K-: 0.001}}", KK, MassResolution((0, 1), 0.001, 11)),
        ("{masses: {eta K+: 0.01}, points: 5}", KK, MassResolution((2, 0), 0.01, 5)),
        (
            "{masses: [K+ K-], momenta: {K+: {magnitude: 0.01, angle: 0.001}, K-: {magnitude: 0.02, angle: 0.002},"
            " eta: {magnitude: 0.03, angle: 0.003}}}",
            KK,
            MassResolution((0, 1), MomentumErrors((0.01, 0.02, 0.03), (0.001, 0.002, 0.003)), 11),
        ),
        (
            "{masses: [pi+_1 pi-_1], momenta: {pi+: {magnitude: 0.01, angle: 0.001}, pi-: {magnitude: 0.02, angle: 0.002}}}",
            PIONS,
            MassResolution((0, 1), MomentumErrors((0.01, 0.02, 0.01, 0.02), (0.001, 0.002, 0.001, 0.002)), 11),
        ),
        ("{rows: 4}", KK, GivenPoints(("K+", "K-", "eta"), 4)),
        (
            "{masses: {K+ K-: 0.001, pi+ pi-: 0.002}, points: 7}",
            FOUR,
            SeveralResolutions((MassResolution((0, 1), 0.001, 7), MassResolution((2, 3), 0.002, 7))),
        ),
    ],
)
def test_what_it_gives(load, tmp_path, text, model, expected):
    assert resolution(load, tmp_path, text, model) == expected


@pytest.mark.parametrize(
    ("text", "model", "message"),
    [
        ("0.001", KK, "fix: write  resolution: {masses: {K+ K-: 0.0012}, points: 11}"),
        ("{}", KK, "'resolution' needs masses of pairs, or rows of files"),
        ("{masses: {K+ K-: 0.001}, rows: 5}", KK, "'resolution' has masses of pairs and rows of files"),
        ("{masses: 0.001}", KK, "fix: write  masses: {K+ K-: 0.0012}"),
        ("{mases: {K+ K-: 0.001}}", KK, "fix: did you mean 'masses'?"),
        ("{masses: [K+ K-], momenta: {K+: {magnitude: 0.01, angles: 0.1}}}", KK, "fix: did you mean 'angle'?"),
        ("{rows: 5, points: 5}", KK, "'points' next to 'rows'"),
        ("{masses: {K+ pi-: 0.001}}", KK, "'pi-' is not a final particle"),
        ("{masses: {K+ K-: -0.001}}", KK, "it must be a number > 0"),
        ("{masses: {K+ K-: 0.001}, points: 2}", KK, "it must be a number >= 3"),
        ("{rows: 1}", KK, "it must be a number >= 2"),
        ("{masses: {K+ K- pi+: 0.001}}", FOUR, "'K+ K- pi+' is not a pair of particles"),
        ("{masses: {K+ K-: 0.001, K+ pi-: 0.001}}", FOUR, "K+ is in 'K+ pi-' and in 'K+ K-'"),
        ("{masses: {pi+ pi-: 0.001}}", PIONS, "may be several"),
        (f"{{masses: {{K+ K-: 0.001}}, momenta: {{K+: {SIGMA}}}}}", KK, "'momenta' next to standard deviations of masses"),
        ("{masses: [K+ K-]}", KK, "a list of 'masses' without 'momenta'"),
        (f"{{masses: [K+ K-], momenta: {{K+: {SIGMA}, K-: {SIGMA}}}}}", KK, "'momenta' does not have eta"),
        (f"{{masses: [K+ K-], momenta: {{K+: {SIGMA}, K-: {SIGMA}, pi0: {SIGMA}}}}}", KK, "'pi0' is not a final particle"),
        ("{masses: [K+ K-], momenta: {K+: {magnitude: 0.01}}}", KK, "'angle' is missing"),
        ("{masses: [K+ K-], momenta: {K+: {magnitude: 0, angle: 0.1}}}", KK, "it must be a number > 0"),
        ("{masses: {K+ K-: 0.001, pi+ pi-: 0.002}, points: 200}", FOUR, "200 points for each of 2 masses"),
    ],
)
def test_mistakes(load, tmp_path, text, model, message):
    with pytest.raises(ConfigError) as caught:
        resolution(load, tmp_path, text, model)
    assert message in str(caught.value)
    assert "model.yml:" in str(caught.value)
    assert "list[str]" not in str(caught.value)


def test_points_that_are_too_far_apart(load, tmp_path):
    load(MODEL.format(resolution="{masses: {K+ K-: 0.004}, points: 11}", **KK))
    with pytest.raises(
        DataError, match=r"resolution of K\+ K-: its 11 points are 3.2 MeV apart, and phi\(1020\) is 4.2\d MeV wide\n fix: .* 20 "
    ):
        ctpwa.load_analysis(tmp_path / "model.yml")
