"""Event columns from files to kernels, and productions whose rows depend on them."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.base.errors import DataError, PhysicsError
from ctpwa.data.events import Events, concatenate
from ctpwa.data.stream import EventStream
from ctpwa.model.lineshapes.formula import Vertex
from ctpwa.model.lineshapes.registry import build_lineshape
from ctpwa.spin.polarisation import Polarisation
from engine.cases import TwoBeams, assert_close, events, example, make, model, point, samples
from engine.test_by_hand import breakup_squared, mass_squared
from ranks.threads import on_ranks

NAME = "columns"


def by_hand(sample, values):
    """I = Σ_feeds (1 ± P) e² Σ_m |Σ_waves c F A|², in numpy."""
    own = model(NAME)
    one = replace(own, production=Polarisation.of("transverse", own.decay.parent), columns=())
    A = one.spin_amplitudes(dict(sample), barrier=True).values.numpy()
    p4 = [sample[label].numpy() for label in own.final_names]
    t, P, e = (sample.columns[name].numpy() for name in ("t", "P", "e"))
    total = np.zeros(len(t))
    for feed, share in (("first", 1 + P), ("second", 1 - P)):
        psi = np.zeros(A.shape[1:], dtype=complex)
        for wave, amplitude in zip(own.waves, A, strict=True):
            i, j = wave.chain.nodes[1].leaves
            s = mass_squared(p4[i] + p4[j])
            q2 = breakup_squared(s, mass_squared(p4[i]), mass_squared(p4[j]))
            (resonance,) = wave.resonances
            m0, width = (values.get(f"{resonance.name}.{p}", resonance.parameters[p]) for p in ("mass", "width"))
            if resonance.name == "phi(1680)":
                F = np.exp(-t / values["phi(1680).tau"]) / (m0**2 - s - 1j * m0 * width * (1 + 0.1 * t)) + 0.2 * t
            else:
                F = 1 / (m0**2 - s - 1j * width * (1 + 0.3 * t * q2))
            name = f"{wave.coupling}:{feed}"
            c = values.get(f"{name}.re", 1.0) + 1j * values.get(f"{name}.im", 0.0)
            psi += wave.factor * c * F * amplitude
        total += share * (e**2).sum(axis=1) * (abs(psi) ** 2).sum(axis=0)
    return total


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_nll_equals_the_formula_by_hand(engine):
    like = make(NAME, engine)
    x = point(like)
    values = dict(zip(like.names, x, strict=True))
    I = {name: by_hand(sample, values) for name, sample in samples(NAME).items()}
    w = {name: sample.weights.numpy() for name, sample in samples(NAME).items()}
    sigma = (w["phase_space"] * I["phase_space"]).sum() / w["phase_space"].sum()
    expected = sum(sign * (w[name] * np.log(I[name] / sigma)).sum() for name, sign in (("data", -1), ("background", 1)))
    assert_close(like.value(x), expected, 1e-12)


def test_each_feed_has_couplings_of_its_own():
    like = make(NAME, "reference")
    assert like.coupling_names == tuple(f"{name}:{feed}" for name in model(NAME).couplings for feed in ("first", "second"))


class Stream(EventStream):
    def __init__(self, events):
        self.events, self.n_events = events, events.n_events

    def pieces(self):
        for start in range(0, self.n_events, 40):
            yield self.events.picked(slice(start, start + 40))


def test_streams_carry_columns():
    expected = make(NAME, "reference")
    streams = {name: Stream(sample) for name, sample in samples(NAME).items()}
    found = make(NAME, "reference", **streams)
    x = point(expected)
    assert found.value(x) == expected.value(x)
    pieces = make(NAME, "reference", chunk=50)
    assert_close(pieces.value_grad_hessian(x)[2], expected.value_grad_hessian(x)[2], 1e-12)


def test_ranks_share_columns(tmp_path):
    """Arrays that every rank has are cut, files are read by the ranks that need them."""
    expected = make(NAME, "reference")
    x = point(expected)
    for name, sample in samples(NAME).items():
        ctpwa.write_events(tmp_path / f"{name}.parquet", sample, model=model(NAME))

    def found(ranks):
        read = {name: ctpwa.read_events(model(NAME), tmp_path / f"{name}.parquet", ranks=ranks) for name in samples(NAME)}
        return [make(NAME, "reference", ranks=ranks, **given).value_grad_hessian(x) for given in ({}, read)]

    for rank in on_ranks(3, found):
        for value in rank:
            for one, other in zip(value, expected.value_grad_hessian(x), strict=True):
                assert_close(one, other, 1e-11)


@pytest.mark.parametrize("suffix", [".root", ".parquet", ".npz"])
def test_files_hold_columns(tmp_path, suffix):
    own, sample = model(NAME), events(NAME, 50, 3, "positive")
    ctpwa.write_events(tmp_path / f"x{suffix}", sample, model=own)
    for found in (ctpwa.read_events(own, tmp_path / f"x{suffix}"), ctpwa.open_events(own, tmp_path / f"x{suffix}").load()):
        for name, values in sample.columns.items():
            assert torch.equal(found.columns[name], values)


def test_columns_of_other_names_and_constants(tmp_path):
    sample = events(NAME, 20, 4)
    plain = replace(sample, columns={"tau": sample.columns["t"], "a": sample.columns["P"], "b": sample.columns["P"]})
    ctpwa.write_events(tmp_path / "x.parquet", plain)
    asked = {"t": "tau", "P": 0.4, "e": ["a", "b", "a"], "extra": "b"}
    found = ctpwa.read_events(model(NAME), tmp_path / "x.parquet", columns=asked, name="data")
    assert found.summary.name == "data"
    assert torch.equal(found.columns["t"], sample.columns["t"])
    assert torch.equal(found.columns["P"], torch.full((20,), 0.4, dtype=torch.float64))
    assert torch.equal(found.columns["e"], sample.columns["P"][:, None].expand(-1, 3))
    assert torch.equal(found.columns["extra"], sample.columns["P"])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"P": 0.4, "e": [0, 0, 1]}, "no column 't' for the event column 't'"),
        ({"t": "tau", "P": 0.4, "e": [0, 1]}, "2 given for 'e'"),
        ({"t": "tau", "P": 1.4, "e": [0, 0, 1]}, "'P' of event 0 is 1.4\n fix: it must be between 0 and 1"),
        ({"t": "high", "P": 0.4, "e": [0, 0, 1]}, "'t' of event 3 is 11"),
        ({"t": "nan", "P": 0.4, "e": [0, 0, 1]}, "'t' of event 5 is nan"),
        ({"t": ["tau"], "P": True, "e": [0, 0, 1]}, "'P' is True"),
        ({"t": "Kp", "P": 0, "e": [0, 0, 1]}, "no column 'Kp'"),
    ],
)
def test_wrong_columns_are_refused(tmp_path, columns, message):
    sample = events(NAME, 20, 4)
    high, nan = sample.columns["t"].clone(), sample.columns["t"].clone()
    high[3], nan[5] = 11, float("nan")
    ctpwa.write_events(tmp_path / "x.parquet", replace(sample, columns={"tau": sample.columns["t"], "high": high, "nan": nan}))
    with pytest.raises(DataError) as error:
        ctpwa.read_events(model(NAME), tmp_path / "x.parquet", columns=columns)
    assert message in str(error.value)


def test_text_files_have_none(tmp_path):
    ctpwa.write_events(tmp_path / "x.txt", replace(events(NAME, 5, 4), columns={}))
    with pytest.raises(DataError, match="a text file has no event column 't'"):
        ctpwa.read_events(model(NAME), tmp_path / "x.txt", columns={"P": 1, "e": [0, 0, 1]})
    found = ctpwa.read_events(model(NAME), tmp_path / "x.txt", columns={"t": 2.0, "P": 1, "e": [0, 0, 1]})
    assert found.columns["t"].tolist() == [2.0] * 5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"t": None}, "no event column 't', which the model declares; it has P, e"),
        ({"t": torch.ones(3)}, "event column 't' is 3 for 127 events"),
        ({"e": torch.ones(127)}, "event column 'e' is 127 for 127 events\n fix: give 3 numbers for each event"),
        ({"P": torch.full((127,), -1.0)}, "'P' of event 0 is -1"),
    ],
)
def test_arrays_are_checked(change, message):
    data = samples(NAME)["data"]
    columns = {name: values for name, values in {**data.columns, **change}.items() if values is not None}
    with pytest.raises(DataError) as error:
        make(NAME, "reference", data=replace(data, columns=columns))
    assert message in str(error.value)


def test_streams_are_checked():
    data = samples(NAME)["data"]
    with pytest.raises(DataError, match="data: no event column 't'"):
        make(NAME, "reference", data=Stream(replace(data, columns={})))


def test_a_sample_of_several_must_have_the_same_columns():
    data = samples(NAME)["data"]
    with pytest.raises(DataError, match="event column 't' is in some"):
        concatenate([data, replace(data, columns={"P": data.columns["P"], "e": data.columns["e"]})])
    both = concatenate([data, data])
    assert torch.equal(both.columns["e"], torch.cat([data.columns["e"]] * 2))


def test_columns_must_be_declared():
    own = model(NAME)
    with pytest.raises(PhysicsError, match="the production uses the event column 'P'"):
        replace(own, columns=own.columns[:1])
    with pytest.raises(PhysicsError, match="uses the event column 't', which the model does not declare"):
        build_lineshape(own.resonances["K*(1410)"].lineshape, Vertex(0.5, 0.5, 1, 3.0))
    with pytest.raises(PhysicsError, match="unknown name 't'"):
        build_lineshape("exp(-t)", Vertex(0.5, 0.5, 1, 3.0))
    with pytest.raises(PhysicsError, match="'t' is an event column of the model, and a parameter"):
        build_lineshape("exp(-t)", Vertex(0.5, 0.5, 1, 3.0, ("t",)), parameters=["t"])


def test_toys_take_constants():
    """With t = 1 for all events, toys are those of the model without columns whose formula has 1 in place of t."""
    every = {key: value for key, value in example("jpsi_kk_eta").items() if key != "samples"}
    shape = {**every["resonances"]["phi(1680)"], "lineshape": "exp(-t)/(mass**2 - s - i*mass*width*t)"}
    with_t = ctpwa.load_model(every | {"resonances": {"phi(1680)": shape}, "columns": "t"})
    plain = {**shape, "lineshape": shape["lineshape"].replace("exp(-t)", "exp(-1.0)").replace("*t)", "*1.0)")}
    expected = ctpwa.generate_toy(ctpwa.load_model(every | {"resonances": {"phi(1680)": plain}}), 200, 3)
    found = ctpwa.generate_toy(with_t, 200, 3, columns={"t": 1.0})
    for name, p4 in expected.items():
        assert torch.equal(found[name], p4)
    assert found.columns["t"].tolist() == [1.0] * 200
    with pytest.raises(DataError, match="no event column 't'"):
        ctpwa.generate_toy(with_t, 10, 3)
    with pytest.raises(DataError, match="declares no event column 'u'"):
        ctpwa.generate_toy(with_t, 10, 3, columns={"u": 1.0})


def test_rows_of_a_production_have_names():
    own = replace(model(NAME), production=TwoBeams())
    spin = own.spin_amplitudes(Events(dict(samples(NAME)["data"]), None, samples(NAME)["data"].columns))
    assert spin.values.shape == (2 * len(own.waves), len(spin.polarisations), 127)
    assert spin.polarisations[0] == "first, m=+1"
