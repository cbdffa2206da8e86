"""Events that are in a sample more than once."""

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.data.repeated import count_repeated, event_keys

MODEL = """
decay: J/psi(1S) -> K+ K- eta
resonances:
  phi(1020): {in: K+ K-}
  phi(1680): {in: K+ K-}
samples: {data: data.npz, phase_space: {generate: 500, seed: 2}}
fit: {engine: reference, starts: 1}
"""


@pytest.fixture(scope="module")
def events(model):
    return ctpwa.generate_phase_space(model, 300, seed=1)


def some_twice(events, again):
    return {name: torch.cat([p, p[again]]) for name, p in events.items()}


@pytest.mark.parametrize(
    ("again", "words"),
    [([], " GeV"), ([17], "; 1 event repeats the momenta of others"), (range(300), "; 300 events repeat the momenta of others")],
)
def test_repeated_events_are_counted_when_files_are_read(model, events, tmp_path, again, words):
    ctpwa.write_events(tmp_path / "data.npz", some_twice(events, list(again)))
    summary = ctpwa.read_events(model, tmp_path / "data.npz", chunk=64).summary
    assert summary.repeated == len(again)
    assert str(summary).endswith(words)
    assert ctpwa.data.SampleSummary.from_dict(summary.as_dict()) == summary


def test_every_number_of_an_event_matters(events):
    momenta = [p[:1] for p in events.values()]
    changed = [momenta]
    for i, p in enumerate(momenta):
        for k in range(4):
            other = p.clone()
            other[0, k] = torch.nextafter(p[0, k], torch.tensor(np.inf, dtype=p.dtype))
            changed.append([*momenta[:i], other, *momenta[i + 1 :]])
    changed.append([momenta[1], momenta[0], momenta[2]])
    assert count_repeated([event_keys(p) for p in changed]) == 0


def test_parts_of_a_sample_are_compared_with_each_other(events):
    keys = event_keys(events.values())
    assert count_repeated([keys[:200], keys[100:], keys[:0]]) == 100
    assert count_repeated([keys[:3], keys[:3], keys[:3]]) == 6
    assert event_keys([torch.tensor([[1.0, 0.0, 0.0, 1.0]])]) == event_keys([torch.tensor([[1.0, -0.0, 0.0, 1.0]])])


@pytest.mark.parametrize("again", [0, 40])
def test_a_fit_of_repeated_events_says_so_beside_its_verdict(events, tmp_path, again):
    (tmp_path / "model.yml").write_text(MODEL)
    ctpwa.write_events(tmp_path / "data.npz", some_twice(events, list(range(again))))
    reasons = "\n".join(ctpwa.load_analysis(tmp_path / "model.yml").fit().verdict.reasons)
    assert ("40 events repeat the momenta of others among the 340 of data: if these are the same events" in reasons) is bool(again)
