"""LaTeX names of resonances, waves, J^P and parameters, for figures and tables."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from ctpwa.decay.chain import Decay, Node
from ctpwa.decay.latex import latex_of_text
from ctpwa.decay.made import Made
from ctpwa.decay.particle import charge_suffix
from ctpwa.decay.spin import format_spin
from ctpwa.model.model import Model, Wave
from ctpwa.model.parameter import asymmetry_owner
from ctpwa.model.resonance import Resonance
from ctpwa.model.short_names import short_names

DIRECT = "direct"  # waves without a resonance
_CHARGE = re.compile(r"\^\{(?:\++|-+|0)\}$")
_JP = re.compile(r"(\d+(?:/2)?)([⁺⁻]?)")
_SYMBOLS = {"rho": r"\rho"}  # of elements of a density matrix
_PARTS = {"re": r"\mathrm{{Re}}\,c[{}]", "im": r"\mathrm{{Im}}\,c[{}]", "abs": r"|c[{}]|", "phase": r"\arg c[{}]"}
_CURRENT = re.compile(r"\(([A-Za-z][^()]*)\)")
_QUANTITIES = {"mass": "M", "width": r"\Gamma"}


def chain_name(wave: Wave) -> str:
    """The resonances of a wave; waves with the same are drawn together."""
    return " ".join(dict.fromkeys(resonance.name for resonance in wave.shown)) or DIRECT


def decay_label(decay: Decay) -> str:
    """A decay in LaTeX between dollar signs."""
    return rf"${decay.parent.latex} \to {' '.join(particle.latex for particle in decay.outer.final)}$"


def group_label(model: Model, name: str) -> str:
    """What has this name, in LaTeX between dollar signs: a resonance, resonances one after the other, a wave or coupling, or J^P."""
    return f"${group_latex(model, name)}$"


def group_latex(model: Model, name: str) -> str:
    """The same without dollar signs."""
    if name in model.resonances:
        return _resonance(model, name)
    for wave in model.waves:
        if chain_name(wave) == name and wave.shown:
            return r"\,".join(_resonance(model, own) for own in dict.fromkeys(r.name for r in wave.shown))
        if wave.name == name:
            return wave_latex(wave, short=_is_short(model, name))
        if name.startswith(f"{wave.name}:"):
            return wave_latex(wave, short=_is_short(model, wave.name)) + r"\," + latex_of_text(name[len(wave.name) + 1 :])
        for node, resonance in zip(wave.chain.carriers, wave.resonances, strict=True):
            if node.particle.name == name:
                return _state(wave, node, resonance)
    if all(_JP.fullmatch(word) for word in name.split()) and name:
        return r"\,".join(_JP.sub(_spin_parity, word) for word in name.split())
    return latex_of_text(name)


def wave_latex(wave: Wave, short: bool = False) -> str:
    """All resonances with the final particles they decay to, then (L, S) of every vertex; J^P and state of X that a beam made.

    Args:
        wave:   the wave
        short:  without the final particles
    """
    root = wave.chain.root
    parts = [] if root.made is None or root.resonance else [f"{format_spin(root.particle.two_J)}^{{{'+-'[root.particle.P == -1]}}}"]
    for node, resonance in zip(wave.chain.shown, wave.shown, strict=True):
        members = "".join(particle.latex for particle in wave.chain.decay.particles(node.leaves))
        parts.append(_state(wave, node, resonance) + ("" if short or node is root else f"[{members}]"))
    parts.append(_CURRENT.sub(r"(\\mathrm{\1})", wave.chain.ls_text(wave.ls)))
    return r"\,".join([*parts, *([] if root.made is None else [made_latex(root.made)])])


def made_latex(made: Made) -> str:
    """In which state X was produced."""
    m = f"M={made.two_m // 2}" if made.folded else f"m={made.m}"
    return rf"{m}\,\epsilon={'+-'[made.reflectivity < 0]}" + (rf"\,k={made.rank}" if made.rank else "")


def parameter_label(model: Model, name: str, couplings: Iterable[str] = ()) -> str:
    """A free parameter in LaTeX between dollar signs.

    Args:
        model:      the model
        name:       of the parameter, such as ``phi(1680).mass``
        couplings:  names of couplings that have parts such as ``.re``; default: those of the model
    """
    owner, _, part = name.rpartition(".")
    if of := asymmetry_owner(name):
        return rf"$\mathrm{{{part.title()}}}\,\Delta[{group_latex(model, of)}]$"
    if owner in model.resonances:
        quantity = _QUANTITIES.get(part, latex_of_text(part))
        return f"${quantity}[{_resonance(model, owner)}]$"
    if part in _PARTS and owner in {*couplings, *model.couplings}:
        return f"${_PARTS[part].format(group_latex(model, owner))}$"
    factors = model.production.rows(model.decay).factors
    if factors is not None and name in factors.names:
        symbol, _, index = name.partition("_")
        index, _, part = index.partition(".")
        of_part = rf"\mathrm{{{part.title()}}}\," if part else ""
        return f"${of_part}{_SYMBOLS.get(symbol, symbol)}_{{{index}}}$"
    return f"${latex_of_text(name)}$"


def _is_short(model: Model, name: str) -> bool:
    """Whether a wave is called by its short form."""
    return _short_names(tuple(wave.name for wave in model.waves))[name] != name


@lru_cache(maxsize=8)
def _short_names(names: tuple[str, ...]) -> dict[str, str]:
    return short_names(names)


def _resonance(model: Model, name: str) -> str:
    """With its charge if there is only one charge state."""
    latex = model.resonances[name].latex
    charges = {node.particle.charge for wave in model.waves for node in wave.chain.carriers if node.resonance == name}
    return _CHARGE.sub("", latex) if len(charges) > 1 else latex


def _state(wave: Wave, node: Node, resonance: Resonance) -> str:
    """A resonance with its charge; a structure without a mass, such as NR, is called the same in systems of any charge."""
    keeps_key = resonance.mass is None and f"{resonance.name}[" in wave.name
    return resonance.latex if keeps_key else _charged(resonance.latex, node.particle.charge)


def _charged(latex: str, charge: int) -> str:
    if not charge:
        return latex
    base = _CHARGE.sub("", latex)
    return (f"{{{base}}}" if base.endswith("}") else base) + f"^{{{charge_suffix(charge)}}}"


def _spin_parity(match: re.Match[str]) -> str:
    return match[1] + {"⁺": "^{+}", "⁻": "^{-}", "": ""}[match[2]]
