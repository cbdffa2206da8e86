"""Coherent sums of groups of waves, chunk by chunk, against intensities of the groups alone."""

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.base.errors import PhysicsError
from ctpwa.engine.likelihood.intensity import ModelIntensity
from fitting import cases


def whole(parts):
    """I and ψ of all events, and that the chunks follow one another."""
    parts = list(parts)
    assert [part.start for part in parts] == [0, *(part.stop for part in parts[:-1])]
    assert all(len(part.intensity) == part.psi.shape[-1] == part.stop - part.start for part in parts)
    return torch.cat([part.intensity for part in parts]), torch.cat([part.psi for part in parts], dim=-1)


@pytest.mark.parametrize("name", ["floating", "several rows", "basis"])
def test_squares_are_the_intensities_of_the_groups_alone(name, double):
    model = ctpwa.load_model(cases.WITH_BASIS) if name == "basis" else cases.model(name)
    events = ctpwa.generate_phase_space(model, 150, seed=4)
    I = ModelIntensity(model, engine="reference")
    groups = {"first": [model.waves[0].name], "rest": [wave.name for wave in model.waves[1:]], "all": None}
    total, psi = whole(I.sums(events, groups))
    double(total, psi)
    torch.testing.assert_close(total, I(events), rtol=1e-12, atol=0)
    for k, waves in enumerate(groups.values()):
        torch.testing.assert_close(psi[k].abs().square().sum(dim=0), I(events, waves), rtol=1e-11, atol=0)
    torch.testing.assert_close(psi[0] + psi[1], psi[2], rtol=1e-11, atol=1e-14 * psi[2].abs().max().item())


def test_chunks_are_in_the_order_of_the_events():
    model = cases.model("fixed")
    events = ctpwa.generate_phase_space(model, 5000, seed=4)
    I = ModelIntensity(model, engine="reference")
    once = whole(I.sums(events, {"all": None}))
    parts = list(ModelIntensity(model, engine="reference", chunk_bytes=1).sums(events, {"all": None}))
    assert [part.stop for part in parts] == [1024, 2048, 3072, 4096, 5000]
    for a, b in zip(whole(parts), once, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=0)


def test_no_events_and_no_groups():
    model = cases.model("tiny")
    I = ModelIntensity(model, engine="reference")
    events = ctpwa.generate_phase_space(model, 20, seed=4)
    none = {name: p4[:0] for name, p4 in events.items()}
    assert list(I.sums(none, {"all": None})) == []
    total, psi = whole(I.sums(events, {}))
    np.testing.assert_allclose(total, I(events), rtol=1e-13)
    assert psi.shape[0] == 0


def test_unknown_waves():
    with pytest.raises(PhysicsError, match="no wave is called 'f'"):
        list(ModelIntensity(cases.model("tiny"), engine="reference").sums(cases.phase_space("tiny", 10, 1), {"x": ["f"]}))
