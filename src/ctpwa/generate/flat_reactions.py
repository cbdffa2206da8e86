"""Flat phase space of a production: X of all masses, decays of all kinds, e^{bt}                                            (F13.8)"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from ctpwa.base.progress import Progress
from ctpwa.base.ranks import Ranks
from ctpwa.data.events import Events
from ctpwa.data.own_part import OwnPart
from ctpwa.generate.accepted import SAFETY, Accepted
from ctpwa.generate.proposal import EventProposal, flat_branch
from ctpwa.generate.reactions import Given, Reactions, generated_events
from ctpwa.generate.room import check_count
from ctpwa.model.model import Model

PILOT_SEED, PILOT_EVENTS = 0x3E7A_3E7A, 1 << 14  # to find the largest weight
BLOCK = 1 << 15  # events at a time; part of what a seed means


def flat_reactions(
    model: Model, reactions: Reactions, n: int, seed: int, weighted: bool, columns: Given, progress: bool | None, ranks: Ranks
) -> Events:
    """Events of a production without its amplitudes; see ``generate_phase_space``. If a larger weight turns up later, all events accepted
    so far are compared with it again, which keeps the distribution exact.
    """
    proposal = EventProposal(model, {}, reactions.device, channels=[flat_branch(model)])
    n = check_count(n, seed, proposal.n_rows, reactions.device, ranks.size)
    random = torch.Generator(device=reactions.device).manual_seed(seed)
    with Progress("phase space", n, show=progress if ranks.first else False) as bar:
        rows, weights = _weighted(proposal, n, random, bar) if weighted else (_accepted(proposal, n, random, bar), None)
    first, last = ranks.share(n)
    if weights is not None:
        weights = (weights / weights.mean() if n else weights)[first:last]
    events = generated_events(model, rows[..., first:last], columns, reactions, weights)
    return replace(events, part=OwnPart(((first, last),), n)) if ranks.size > 1 else events


def _weighted(proposal: EventProposal, n: int, random: torch.Generator, bar: Progress) -> tuple[Tensor, Tensor]:
    pieces = [_tried(proposal, 0, random)[:2]]
    for done in range(0, n, BLOCK):
        pieces.append(_tried(proposal, min(BLOCK, n - done), random)[:2])
        bar.advance(min(BLOCK, n - done))
    return torch.cat([rows for rows, _ in pieces], dim=-1), torch.cat([weights for _, weights in pieces])


def _accepted(proposal: EventProposal, n: int, random: torch.Generator, bar: Progress) -> Tensor:
    pilot = torch.Generator(device=proposal.device).manual_seed(PILOT_SEED)
    maximum = SAFETY * float(_tried(proposal, PILOT_EVENTS, pilot)[1].max())
    accepted = Accepted(n, maximum, proposal.device, proposal.n_rows)
    while accepted.n < n:
        before = accepted.n
        accepted.add(*_tried(proposal, BLOCK, random))
        bar.advance(max(accepted.n - before, 0))
    return accepted.momenta()


def _tried(proposal: EventProposal, n: int, random: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Rows, weights 1/g, and a uniform number for each event."""
    uniform = torch.rand(n, proposal.n_uniform + 1, generator=random, device=proposal.device, dtype=torch.float64).T.contiguous()
    rows = proposal.draw(uniform[1:])
    return rows, 1 / proposal.density(proposal.densities(rows)), uniform[0]
