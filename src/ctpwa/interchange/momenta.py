"""Momenta of events from invariant masses and angles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from ctpwa.base.errors import DataError, PhysicsError, suggest
from ctpwa.kinematics.decay_angles import Topology, momenta_at
from ctpwa.model.model import Model


def decay_momenta(model: Model, chain: str, masses: Mapping[str, Any], angles: Mapping[str, Any]) -> dict[str, Tensor]:
    """Momenta of a decay to any number of particles from the masses and helicity angles of one of its chains, in its rest frame.

    Args:
        model:   the model
        chain:   final particles in pairs of brackets, such as ``((K+ K-) pi+) pi-``
        masses:  mass in GeV of every pair in brackets, such as ``{"K+ K-": 1.02, "(K+ K-) pi+": 1.5}``, numbers or [event]
        angles:  (cos θ, φ) of the first of each pair, in its helicity frame; of the whole chain (1, 0) if left out

    Raises:
        PhysicsError: if the chain is not one of this decay
        DataError: if something is not given, or a mass is not possible
    """
    decay = model.decay
    if decay.parent.mass is None:
        raise PhysicsError(f"{decay.parent.name} has no mass", "give it one")
    topology = _parsed(chain, list(decay.labels))
    names = {pair: _text(pair, decay.labels)[1:-1] for pair in _pairs(topology)}
    inner = [name for pair, name in names.items() if pair != topology]
    for key, given, known in (("masses", masses, inner), ("angles", angles, list(names.values()))):
        for name in given:
            if " ".join(name.split()) not in known:
                raise DataError(f"{key}: {name!r} is not a pair of {chain!r}\n fix: {suggest(name, known)}")
    numbers = {" ".join(name.split()): _tensor(value, f"the mass of {name!r}") for name, value in masses.items()}
    turned = {" ".join(name.split()): _both(value, name) for name, value in angles.items()}
    turned.setdefault(names[topology], (_tensor(1.0, ""), _tensor(0.0, "")))
    for name in inner:
        if name not in numbers or name not in turned:
            raise DataError(
                f"mass or angles of {name!r} are not given\n fix: give masses={{{name!r}: …}} and angles={{{name!r}: (cos θ, φ)}}"
            )
    shape = torch.broadcast_shapes(*(x.shape for x in (*numbers.values(), *(angle for pair in turned.values() for angle in pair))))
    own: dict[Topology, Tensor] = {i: _tensor(0.0 if p.massless else p.mass or 0.0, "").expand(shape) for i, p in enumerate(decay.final)}
    own |= {pair: (_tensor(decay.parent.mass, "") if pair == topology else numbers[name]).expand(shape) for pair, name in names.items()}
    for pair, name in names.items():
        low = own[pair] < sum(own[part] for part in pair)
        if bool(low.any()):
            event = int(low.nonzero()[0, 0])
            raise DataError(
                f"point {event}: {name!r} has {float(own[pair][event]):g} GeV, less than its parts\n fix: correct the masses, in GeV"
            )
    directions = {pair: (turned[name][0].expand(shape), turned[name][1].expand(shape)) for pair, name in names.items()}
    p4 = momenta_at(topology, own, directions)
    return {label: p4[i] for i, label in enumerate(decay.labels)}


def _tensor(value: Any, what: str) -> Tensor:
    found = torch.as_tensor(value, dtype=torch.float64).reshape(-1)
    if not bool(found.isfinite().all()):
        raise DataError(f"{what} is not finite\n fix: correct it")
    return found


def _both(value: Any, name: str) -> tuple[Tensor, Tensor]:
    try:
        cos_theta, phi = value
    except (TypeError, ValueError):
        raise DataError(f"angles of {name!r} are {value!r}\n fix: give (cos θ, φ)") from None
    cosine = _tensor(cos_theta, f"cos θ of {name!r}")
    if bool((cosine.abs() > 1).any()):
        raise DataError(f"cos θ of {name!r} is {float(cosine.abs().max()):g}\n fix: a cosine is at most 1")
    return cosine, _tensor(phi, f"φ of {name!r}")


def _parsed(chain: str, labels: list[str]) -> Topology:
    """Nested pairs of indices."""
    stack: list[list[Any]] = [[]]
    known = " ".join(labels)
    for word in (
        chain.replace("(", " ( ").replace(")", " ) ").split() if not any("(" in label for label in labels) else _words(chain, labels)
    ):
        if word == "(":
            stack.append([])
        elif word == ")":
            done = stack.pop()
            if len(done) != 2 or not stack:
                raise PhysicsError(f"{chain!r} is not made of pairs", f"write pairs of {known} in brackets")
            stack[-1].append((done[0], done[1]))
        elif word in labels:
            stack[-1].append(labels.index(word))
        else:
            raise PhysicsError(f"{word!r} of {chain!r} is not a final particle", f"they are {known}")
    leaves = list(_leaves(stack[-1]))
    if len(stack) != 1 or len(stack[0]) != 2 or sorted(leaves) != list(range(len(labels))):
        raise PhysicsError(f"{chain!r} does not hold all final particles in pairs", f"write pairs of {known} in brackets")
    return stack[0][0], stack[0][1]


def _words(chain: str, labels: list[str]) -> Iterator[str]:
    """Brackets and names, where names such as J/psi(1S) hold brackets themselves."""
    rest = chain.strip()
    while rest:
        name = next((label for label in sorted(labels, key=len, reverse=True) if rest.startswith(label)), None)
        word = name or rest[0] if name or rest[0] in "()" else rest.split()[0]
        yield word
        rest = rest[len(word) :].lstrip()


def _leaves(node: Any) -> Iterator[int]:
    for part in node if isinstance(node, (list, tuple)) else [node]:
        if isinstance(part, int):
            yield part
        else:
            yield from _leaves(part)


def _pairs(node: Topology) -> Iterator[Topology]:
    if isinstance(node, tuple):
        yield node
        for part in node:
            yield from _pairs(part)


def _text(node: Topology, labels: Any) -> str:
    return f"({' '.join(_text(part, labels) for part in node)})" if isinstance(node, tuple) else labels[node]
