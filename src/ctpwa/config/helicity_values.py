"""The ``helicity_couplings`` section: values of couplings by helicities of the daughters of every vertex."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ctpwa.base.errors import suggest
from ctpwa.base.words import counted
from ctpwa.config.couplings import read_number, refuse_tied
from ctpwa.config.problems import Problems, SpecError
from ctpwa.config.schema import CouplingValue
from ctpwa.decay.helicity_couplings import Helicities, chain_to_ls, helicities_text
from ctpwa.model.model import Wave

SECTION = "helicity_couplings"
_PAIR = re.compile(r"\(\s*([-+]?[0-9]+(?:/2)?)\s*,\s*([-+]?[0-9]+(?:/2)?)\s*\)")


def chain_name(wave: Wave) -> str:
    """The name of the chain of a wave: that of the wave without (L, S)."""
    return wave.name.removesuffix(wave.chain.ls_text(wave.ls)).strip()


def read_helicities(section: Mapping[str, Mapping[str, CouplingValue]], waves: Sequence[Wave], problems: Problems) -> dict[str, complex]:
    """Couplings of waves that follow from those of helicities."""
    chains: dict[str, list[Wave]] = {}
    for wave in waves:
        chains.setdefault(chain_name(wave), []).append(wave)
    result: dict[str, complex] = {}
    for name, given in section.items():
        with problems.collect((SECTION, name)):
            if name not in chains:
                raise SpecError(f"no chain is called {name!r}", suggest(name, chains) or "write names of waves without (L,S)", key=())
            result |= _of_chain(name, given, chains[name])
    return result


def _of_chain(name: str, given: Mapping[str, CouplingValue], waves: Sequence[Wave]) -> dict[str, complex]:
    chain = waves[0].chain
    for wave in waves:
        refuse_tied(wave.name, waves)
        if any(node.current for node in chain.nodes) or any(resonance.labels for resonance in wave.resonances):
            raise SpecError(f"{name!r} has vertices or lineshapes with couplings of another kind", "give them under 'couplings'", key=())
    H: dict[Helicities, complex] = {}
    for text, value in given.items():
        pairs = _PAIR.findall(text)
        if len(pairs) != len(chain.nodes) or _PAIR.sub("", text).strip():
            raise SpecError(
                f"{text!r} does not give helicities for {counted(len(chain.nodes), 'vertex', 'vertices')}: {chain}",
                "write a pair for every vertex, such as (1/2,0)(0,1/2)",
                key=(text,),
            )
        H[tuple((_doubled(a), _doubled(b)) for a, b in pairs)] = read_number(text, value)
    found, missing, worst = chain_to_ls(chain, [wave.ls for wave in waves], H)
    if missing:
        raise SpecError(
            f"the helicities of {name!r} do not determine its {counted(len(waves), 'wave')}",
            f"give {counted(missing, 'more independent one')}; helicities that parity relates count once",
            key=(),
        )
    if worst is not None:
        what = f"no (L,S) give these helicities: {helicities_text(worst)} contradicts the others"
        raise SpecError(what, "leave out what parity gives, or correct it", key=())
    return {wave.name: c for wave, c in zip(waves, found, strict=True)}


def _doubled(text: str) -> int:
    return int(text.removesuffix("/2")) * (1 if text.endswith("/2") else 2)
