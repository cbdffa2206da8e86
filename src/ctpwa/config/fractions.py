"""The ``fractions`` section: how large resonances, waves or all waves with a J^P are, instead of couplings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ctpwa.base.errors import suggest
from ctpwa.config.couplings import refuse_tied
from ctpwa.config.problems import Problems, SpecError
from ctpwa.config.schema import ModelSpec, ShareSpec
from ctpwa.generate.shares import GivenFraction
from ctpwa.model.couplings import VERTEX, coupling_names
from ctpwa.model.model import Wave
from ctpwa.model.spin_parity import spin_parity

ADVICE = "write a fraction such as 0.3 or 30 %, or {fraction: 30 %, phase: 1.2}"
LARGEST = 2.0  # more is a percentage without its sign
_JP = re.compile(r"\d+(/2)?[-+⁺⁻]{1,2}")
_PLAIN = str.maketrans("⁺⁻", "+-")
_PERCENT = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*%\s*")


def read_shares(spec: ModelSpec, waves: Sequence[Wave], problems: Problems) -> tuple[GivenFraction, ...]:
    """What resonances and waves make up; unknown names, numbers that are no fractions and waves with two of them become problems."""
    found: dict[str, GivenFraction] = {}
    if spec.fractions:
        with problems.collect(("fractions",)):
            _check_alone(spec)
    for name, own in spec.fractions.items():
        with problems.collect(("fractions", name)):
            couplings = couplings_of_share(name, waves)
            fraction = share_of(own)
            _check_once(name, couplings, found)
            found[name] = GivenFraction(name, couplings, fraction, own.phase)
    if (
        found
        and not any(share.fraction for share in found.values())
        and {c for s in found.values() for c in s.couplings} == {*coupling_names(waves)}
    ):
        problems.add(SpecError("all fractions are 0", ADVICE), ("fractions",))
    return tuple(found.values())


def share_note(shares: Sequence[GivenFraction], waves: Sequence[Wave]) -> str:
    """What the user should know about couplings that follow from fractions."""
    text = ", ".join(f"{share.name} {100 * share.fraction:g} %" for share in shares)
    named = {name for share in shares for name in share.couplings}
    rest = any(name not in named for name in coupling_names(waves))
    more = "; other waves share the rest equally" if rest else ""
    return f"couplings follow from fractions over phase space, computed when they are needed: {text}{more}"


def _check_alone(spec: ModelSpec) -> None:
    if spec.couplings:
        raise SpecError("'fractions' and 'couplings' both give values to couplings", "leave one of them out", key=())
    if spec.columns:
        raise SpecError("fractions are integrals over phase space, where event columns have no values", "give 'couplings' instead", key=())
    if spec.fit.ties or spec.fit.couplings == VERTEX:
        key = "ties" if spec.fit.ties else "couplings: vertex"
        raise SpecError(f"fractions give every coupling a value of its own, and 'fit' has {key!r}", "give 'couplings' instead", key=())


def couplings_of_share(name: str, waves: Sequence[Wave]) -> tuple[str, ...]:
    """The couplings of a resonance, of a wave, of all waves with a J^P, or one coupling; an unknown name is a ``SpecError``."""
    names = coupling_names(waves)
    if name in names:
        return (name,)
    own = [wave for wave in waves if name in (wave.coupling, *(resonance.name for resonance in wave.resonances))]
    if own:
        return coupling_names(own)
    if all(map(_JP.fullmatch, name.split())):
        return _with_jp(name, waves)
    refuse_tied(name, waves)
    resonances = dict.fromkeys(resonance.name for wave in waves for resonance in wave.resonances)
    near = suggest(name, [*resonances, *names])
    fix = near if near.startswith("did") else "ctpwa check lists the waves and their couplings"
    raise SpecError(f"neither a resonance nor a coupling is called {name!r}", fix, key=())


def _with_jp(name: str, waves: Sequence[Wave]) -> tuple[str, ...]:
    """The couplings of all waves with a J^P, such as ``1-``, or ``0+ 1-`` of two systems."""
    groups: dict[str, list[Wave]] = {}
    for wave in waves:
        groups.setdefault(spin_parity(wave).translate(_PLAIN), []).append(wave)
    own = groups.get(" ".join(name.translate(_PLAIN).split()))
    if own is None:
        raise SpecError(f"no wave has J^P = {name}", f"name one of {', '.join(sorted(groups))}", key=())
    return coupling_names(own)


def share_of(own: ShareSpec) -> float:
    """The fraction as a number."""
    text = own.fraction
    percent = _PERCENT.fullmatch(text) if isinstance(text, str) else None
    if isinstance(text, str) and percent is None:
        raise SpecError(f"{text!r} is not a fraction", ADVICE)
    value = float(percent[1]) / 100 if percent else float(text)
    if not 0 <= value <= LARGEST:
        advice = (
            f"write {value:g} %" if not percent and LARGEST < value <= 100 * LARGEST else f"write a fraction from 0 to {100 * LARGEST:g} %"
        )
        raise SpecError(f"{text if isinstance(text, str) else format(text, 'g')} is not a fraction", advice)
    return value


def _check_once(name: str, couplings: Sequence[str], found: Mapping[str, GivenFraction]) -> None:
    for other in found.values():
        both = [coupling for coupling in couplings if coupling in other.couplings]
        if both:
            raise SpecError(f"{both[0]!r} belongs to {other.name!r} and to {name!r}", "name waves, or one of the two", key=())
