"""Some of the events of a sample, for a quick search of good starts."""

from __future__ import annotations

import torch

from ctpwa.engine.sample import Sample


def random_part(sample: Sample, share: float, random: torch.Generator, device: torch.device) -> Sample:
    """A random share of the events on a device, with weights that make up for the others.

    Args:
        sample:  the events
        share:   between 0 and 1
        random:  which ones
        device:  where to put them
    """
    n = max(round(share * sample.n_events), min(sample.n_events, 1))
    if n == sample.n_events:
        return sample.to(device)
    chosen = torch.randperm(sample.n_events, generator=random)[:n].sort().values.to(sample.w.device)
    w = sample.w[chosen] * (sample.n_events / n)
    vertices = {place: (s[chosen], q2[chosen]) for place, (s, q2) in sample.vertices.items()}
    part = Sample(sample.K[..., chosen].contiguous(), sample.E[:, chosen].contiguous(), w, int((w >= 0).sum()), None, vertices)
    return part.to(device)
