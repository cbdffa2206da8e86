"""The section ``production``, and events that have no rows."""

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.base.errors import ConfigError, CtpwaError, DataError
from ctpwa.engine.likelihood.interference import ProbedAmplitudes
from ctpwa.engine.plan.channels import model_channels
from ctpwa.model.open_signs import open_signs

LINEAR = {"degree": "P", "angle": "alpha"}
PHOTONS = {"kind": "photoproduction", "polarisation": LINEAR, "waves": ["0+", "2+"]}
PIONS = {"kind": "diffraction", "waves": ["1+", "2+"], "beam": [190, 0, 0, 189.99994873711475]}
RHO = {"rho(770)": {"in": "pi+ pi-"}}


def load(production, **others):
    return ctpwa.load_model({"decay": "X -> eta pi0", "production": production} | others)


def diffraction(**others):
    return load(PIONS | others, decay="X -> pi- pi+ pi-", resonances=RHO)


def names(model):
    return [wave.name for wave in model.waves]


def test_all_states():
    model = load(PHOTONS)
    assert len(model.waves) == 2 * (1 + 5)
    assert names(model)[:3] == ["0+ (0,0) m=0 e=+", "0+ (0,0) m=0 e=-", "2+ (2,0) m=-2 e=+"]
    assert [column.name for column in model.columns] == ["beam", "P", "alpha"]
    assert str(model.production) == "photoproduction in the helicity frame, linear polarisation"


def test_chosen_states_and_rank():
    waves = {"0+": {"reflectivity": -1}, "2+": {"m": [1, 2], "reflectivity": 1}}
    model = load(PHOTONS | {"waves": waves, "rank": {"positive": 2}})
    assert names(model) == ["0+ (0,0) m=0 e=-", "2+ (2,0) m=+1 e=+", "2+ (2,0) m=+2 e=+", "2+ (2,0) m=+2 e=+ k=1"]
    assert model.production.sectors == ((1, 0), (1, 1), (-1, 0))


def test_states_of_definite_reflectivity():
    model = diffraction()
    assert {(w.chain.root.particle.name, str(w.chain.root.made)) for w in model.waves} == {
        ("X(1+)", "M=0 e=+"),
        ("X(1+)", "M=1 e=+"),
        ("X(1+)", "M=1 e=-"),
        ("X(2+)", "M=0 e=-"),
        *(("X(2+)", f"M={M} e={e}") for M in (1, 2) for e in "+-"),
    }
    assert model.production.reaction.frame == "gottfried-jackson"


def test_written_chains():
    model = load(PIONS, decay="X -> pi- pi+ pi-", chains=["X -> rho(770) pi- ; rho(770) -> pi+ pi-"])
    assert names(model) == names(diffraction())


@pytest.mark.parametrize("production", [PHOTONS | {"rank": 2}, PHOTONS | {"polarisation": None, "rank": 2}])
def test_sectors_are_coherent_sets(production):
    model = load(production)
    channels = model_channels(model)
    sets = ProbedAmplitudes.of(model, channels).coherent_sets(channels.couplings)
    sectors = [wave.chain.root.made.sector for wave in model.waves]
    assert len(set(sets)) == len(set(sectors)) == len(set(zip(sets, sectors, strict=True)))


def test_open_signs():
    assert len(open_signs(load(PHOTONS))) == 2
    assert open_signs(load(PHOTONS | {"polarisation": LINEAR | {"circular": 0.2}})) == []
    assert open_signs(diffraction()) == []  # rho(770) has a phase of its own


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"polarisation": {"degree": 1.2, "angle": 0.1}}, "'degree' of the polarisation is 1.2"),
        ({"polarisation": {"degree": "P"}}, "direction of linear polarisation is not known"),
        ({"polarisation": {"degree": "P", "angle": 0.1, "direction": "e"}}, "direction of linear polarisation is not known"),
        ({"polarisation": {"angle": 0.1}}, "no degree"),
        ({"waves": ["2++"]}, "has a C parity"),
        ({"waves": ["1/2+"]}, "is no J"),
        ({"waves": ["0-"]}, "has no wave"),
        ({"waves": {"2+": {"m": [0, 3]}}}, "no projection m = \\+3"),
        ({"waves": {"2+": {"m": [0, 0]}}}, "'m' is"),
        ({"polarisation": None, "waves": {"2+": {"m": [-1]}}}, "M = -1 of .* is negative"),
        ({"polarisation": None, "waves": {"2+": {"m": 0, "reflectivity": 1}}}, "no state M = 0 of reflectivity \\+"),
        ({"waves": ["0+"], "rank": 2}, "rank 2 of reflectivity \\+1 has 1 waves"),
        ({"beam": [1, 2, 3]}, "momentum of the beam"),
        ({"frame": "lab"}, "frame"),
    ],
)
def test_mistakes(changes, what):
    with pytest.raises(ConfigError, match=what) as error:
        load(PHOTONS | changes)
    assert " fix: " in str(error.value)


@pytest.mark.parametrize(
    ("others", "what"),
    [
        ({"polarisation": "transverse"}, "has no 'polarisation'"),
        ({"decay": "J/psi(1S) -> eta pi0"}, "is a particle"),
        ({"columns": {"beam": {"size": 3}}}, "needs 4 numbers"),
        ({"samples": {"data": "a.root", "phase_space": {"generate": 10}}}, "cannot be generated"),
        ({"samples": {"data": "a.root", "phase_space": "b.root", "conjugate": True}}, "conjugate"),
        ({"weak": True}, "parity is not conserved"),
    ],
)
def test_what_a_production_cannot_have(others, what):
    with pytest.raises(CtpwaError, match=what):
        load(PHOTONS, **others)


def test_polarisation_must_be_said():
    with pytest.raises(ConfigError, match="polarisation of the photons is not given"):
        load({"kind": "photoproduction", "waves": ["0+"]})


def test_nothing_is_generated():
    with pytest.raises(CtpwaError, match="nothing says how s, t and the mass of X are distributed"):
        ctpwa.generate_phase_space(load(PHOTONS), 10)


def events(**changes):
    """Two events of one X with 1.3 GeV at an angle to the beam."""
    X = np.array([np.sqrt(1.3**2 + 0.3**2 + 8.0**2), 0.3, 0.0, 8.0])
    half = np.array([X[0] / 2, X[1] / 2, np.sqrt((X[0] / 2) ** 2 - 0.15**2 - 4.0**2 - 0.25), 4.0])
    other = X - half
    columns = {"beam": np.array([9.0, 0, 0, 9.0]), "P": np.array(0.4), "alpha": np.array(0.3)} | changes
    columns = {name: torch.tensor(np.stack([values, values])) for name, values in columns.items()}
    return ctpwa.Events({"eta": torch.tensor(np.stack([half, half])), "pi0": torch.tensor(np.stack([other, other]))}, None, columns)


def test_events_are_right():
    assert load(PHOTONS).spin_amplitudes(events()).K.isfinite().all()


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"P": np.array(1.5)}, "'P' of event 0 is 1.5"),
        ({"beam": np.array([9.0, 1.0, 0, np.sqrt(80.0)])}, "not perpendicular to its beam"),
        ({"beam": np.array([-9.0, 0, 0, 9.0])}, "momentum of the beam in event 0"),
        ({"beam": np.array([3.0, 0, 0, 3.0])}, "four-momentum is not conserved"),
    ],
)
def test_events_without_rows(changes, what):
    with pytest.raises(DataError, match=what) as error:
        load(PHOTONS).spin_amplitudes(events(**changes))
    assert " fix: " in str(error.value)


def test_no_production_plane():
    along = events()
    turned = {name: p4.clone() for name, p4 in along.items()}
    turned["pi0"][:, 1:3] = -turned["eta"][:, 1:3]  # together along the beam
    with pytest.raises(DataError, match=r"event 0 has no production plane.*and 1 more"):
        load(PHOTONS).spin_amplitudes(ctpwa.Events(turned, None, along.columns))


def test_no_beam():
    without = events()
    missing = ctpwa.Events(without.momenta, None, {name: values for name, values in without.columns.items() if name != "beam"})
    with pytest.raises(DataError, match="no event column 'beam'"):
        load(PHOTONS).spin_amplitudes(missing)


def test_too_much_polarisation():
    model = load(PHOTONS | {"polarisation": LINEAR | {"circular": 0.95}})
    with pytest.raises(DataError, match="sum of squares above 1"):
        model.spin_amplitudes(events())
