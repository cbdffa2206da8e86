"""Lineshapes of TF-PWA as those of a model file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ctpwa.base.errors import ConfigError
from ctpwa.interchange.tfpwa.configuration import Configuration, ParticleEntry, is_number
from ctpwa.interchange.tfpwa.models import FLATTES, GENERAL, KNOWN, PLAIN, SMOOTH
from ctpwa.interchange.tfpwa.parameters import Values
from ctpwa.kinematics.two_body import barrier_coefficients
from ctpwa.model.lineshapes.expression_text import breakup_text

TF_PI = 3.14159265359  # of its Gounaris-Sakurai formula
DAUGHTERS_OF_RHO = (0.13957039, 0.1349768)  # GeV
MOST_POINTS = 60


@dataclass(frozen=True)
class Lineshapes:
    """Makes lineshapes of resonances.

    Attributes:
        configuration:  for messages
        values:         of its parameters
    """

    configuration: Configuration
    values: Values

    def of(self, particle: ParticleEntry, smallest_l: int, masses: tuple[float, float] | None) -> dict[str, Any]:
        """What a resonance of a model file says.

        Args:
            particle:    the resonance
            smallest_l:  of the vertices where it decays
            masses:      nominal masses of its daughters, GeV; None if one is not known
        """
        model = particle.model
        l = int(particle.keys["bw_l"]) if particle.keys.get("bw_l") is not None else smallest_l
        if model == "one" or (model in (*PLAIN, "BWR2") and particle.width is None):
            return {"lineshape": "constant"}
        if model == "x":
            return {"lineshape": "m + 0"}
        if model == "exp":
            return {"lineshape": "exp(-a*m)", "parameters": {"a": abs(self._number(particle, "a"))}, "float": ["a"]}
        if model == "exp_com":
            return {
                "lineshape": "exp(-(a + i*b)*s)",
                "parameters": {key: self._number(particle, key) for key in "ab"},
                "float": ["a", "b"],
            }
        if model in FLATTES:
            return self._flatte(particle)
        if model in SMOOTH:
            return self._points(particle)
        if model == "KMatrixSingleChannel":
            return self._k_matrix(particle, l)
        if particle.mass is None or (not particle.width and model != "poly"):
            raise self._error(particle, f"{particle.name!r} has no mass or width", "", "add them, in GeV")
        if model == "poly":
            return self._polynomial(particle)
        values = {"mass": particle.mass, "width": particle.width}
        if model == "BW" or (model in (*PLAIN, "BWR2", "GS_rho", "BWR_normal") and not particle.keys.get("running_width", True)):
            return {**values, "lineshape": "breit_wigner_constant_width"}
        if model in PLAIN:
            return {**values, "width_l": l} | ({"radius": particle.radius} if l else {})
        if model == "LASS":
            numbers = {key: abs(self._number(particle, key)) for key in "ar"}
            return {**values, "lineshape": "lass", "parameters": numbers, "float": ["a", "r"]}
        if masses is None and model in ("BWR2", "BWR_normal", "GS_rho"):
            raise self._error(particle, f"{model} of {particle.name!r} needs the masses of its daughters", "", "add them")
        width = "mass**2*width/m*" + _running(l, particle.radius, breakup_text(*masses, "mass**2") if masses else "1")
        if model == "BWR2":  # returns the conjugate of its formula
            return {**values, "lineshape": f"1/(mass**2 - s + i*{width})"}
        if model == "BWR_normal":
            return {**values, "lineshape": f"({width})**0.5/(mass**2 - s - i*{width})"}
        if model == "BWR_coupling":
            ones = sum(barrier_coefficients(l))
            coupling = f"mass*width*q/m*q2**{l}*{ones}/{_polynomial_text(l, 'q2', particle.radius)}" if l else "mass*width*q/m"
            return {**values, "lineshape": f"1/(mass**2 - s - i*{coupling})"}
        if model == "GS_rho":
            return {**values, "lineshape": self._gounaris_sakurai(particle, width, masses)}
        raise self._error(particle, f"the model {model!r} of {particle.name!r} cannot be imported", "model", f"{', '.join(KNOWN)} can")

    def _error(self, particle: ParticleEntry, what: str, key: str, fix: str) -> ConfigError:
        return self.configuration.error(what, (*particle.path, key) if key in particle.keys else particle.path, fix)

    def _number(self, particle: ParticleEntry, name: str) -> float:
        """A parameter that TF-PWA fits: from its parameters, else from the configuration."""
        given = self.values.real(f"{particle.name}_{name}")
        value = particle.keys.get(name) if given is None else given
        if not is_number(value):
            raise self._error(particle, f"{name!r} of {particle.name!r} is not given", name, f"add {name}: …, or give --params")
        return float(value)  # type: ignore[arg-type]

    def _complex(self, particle: ParticleEntry, name: str) -> complex:
        value = self.values.complex(f"{particle.name}_{name}")
        if value is None:
            raise self._error(particle, f"{name!r} of {particle.name!r} is not given", name, "give --params")
        return value

    def _numbers(self, particle: ParticleEntry, key: str, least: int = 1) -> list[float]:
        value = particle.keys.get(key)
        if not isinstance(value, list) or not least <= len(value) <= MOST_POINTS or not all(map(is_number, value)):
            raise self._error(particle, f"{key!r} of {particle.name!r} is not a list of numbers", key, f"give {least} to {MOST_POINTS}")
        return [float(x) for x in value]

    def _pairs(self, particle: ParticleEntry) -> list[tuple[float, float]]:
        given: Any = particle.keys.get("mass_list")
        right = isinstance(given, list) and 1 <= len(given) <= 8
        if not right or not all(
            isinstance(p, list) and len(p) == 2 and all(is_number(m) and m >= 0 for m in p) and sum(p) > 0 for p in given
        ):
            raise self._error(particle, f"mass_list of {particle.name!r} is not a list of pairs", "mass_list", "write [[m1, m2], …] in GeV")
        return [(float(a), float(b)) for a, b in given]

    def _flatte(self, particle: ParticleEntry) -> dict[str, Any]:
        """1/(m0² − s ± i m0 Σ g q/m …), q = i|q| below its threshold."""
        pairs, keys = self._pairs(particle), particle.keys
        if particle.mass is None:
            raise self._error(particle, f"{particle.name!r} has no mass", "", "add it, in GeV")
        sign = keys.get("im_sign", FLATTES[particle.model])
        if sign not in (1, -1):
            raise self._error(particle, f"im_sign is {sign!r}", "im_sign", "write 1 or -1")
        general = particle.model in GENERAL
        for key in ("has_bprime", "no_m0", "no_q0", "cut_phsp"):
            if keys.get(key) not in (None, True, False):
                raise self._error(particle, f"{key} is {keys[key]!r}", key, "write True or False")
        if keys.get("cut_phsp"):
            raise self._error(particle, "cut_phsp cannot be imported", "cut_phsp", "remove it, or use breit_wigner_channels")
        ls = [int(l) for l in self._numbers(particle, "l_list")] if general and keys.get("l_list") is not None else [0] * len(pairs)
        if len(ls) != len(pairs) or min(ls) < 0 or max(ls) > 8:
            raise self._error(particle, f"l_list of {particle.name!r} is {keys.get('l_list')!r}", "l_list", "give an l for each channel")
        power = "**2" if particle.model == "Flatte2" else ""
        terms = []
        for i, (pair, l) in enumerate(zip(pairs, ls, strict=True)):
            q2, q0_2 = breakup_text(*pair), f"abs({breakup_text(*pair, 'mass**2')})"
            term = f"g_{i}{power}*sqrt({q2})"
            if general and not keys.get("no_q0"):
                term += f"*mass/sqrt({q0_2})"
            if l:
                term += f"*(abs({q2})" + ("" if keys.get("no_q0") else f"/{q0_2}") + f")**{l}"
            if l and general and keys.get("has_bprime", True):
                nominal = "1" if keys.get("no_q0") else q0_2
                term += f"*{_polynomial_text(l, nominal, particle.radius)}/{_polynomial_text(l, f'abs({q2})', particle.radius)}"
            terms.append(term)
        factor = "1" if general and keys.get("no_m0") else "mass"
        text = f"1/(mass**2 - s {'+' if sign > 0 else '-'} i*{factor}/m*({' + '.join(terms)}))"
        numbers = {f"g_{i}": self._number(particle, f"g_{i}") for i in range(len(pairs))}
        said = keys.get("float", [])
        free = [name for name in numbers if name not in keys or (isinstance(said, list) and name in said)]
        return {"mass": particle.mass, "lineshape": text, "parameters": numbers, "float": free}

    def _gounaris_sakurai(self, particle: ParticleEntry, width: str, masses: tuple[float, float] | None) -> str:
        """Its own masses of the daughters, and π to eleven digits."""
        a, b = (particle.keys.get(key, own) for key, own in zip(("c_daug2Mass", "c_daug3Mass"), DAUGHTERS_OF_RHO, strict=True))
        if not (is_number(a) and is_number(b) and a > 0 and b > 0):
            raise self._error(
                particle, f"masses of the daughters of {particle.name!r}: {a!r}, {b!r}", "c_daug2Mass", "write numbers in GeV"
            )
        total, pi = float(a) + float(b), repr(TF_PI)
        if masses is not None and sum(masses) < total - 1e-9:
            what = f"GS_rho of {particle.name!r} has daughters of {total:g} GeV, which are heavier than those of the decay"
            raise self._error(particle, what, "c_daug2Mass", "give c_daug2Mass and c_daug3Mass")
        k, k0 = _real_root(breakup_text(a, b)), _real_root(breakup_text(a, b, "mass**2"))
        h, h0 = (f"2/{pi}*{q}/{m}*log(({m} + 2*{q})/{total!r})" for q, m in ((k, "m"), (k0, "mass")))
        slope = f"({h0}*(1/(8*{k0}**2) - 1/(2*mass**2)) + 1/(2*{pi}*mass**2))"
        f = f"width*mass**2/{k0}**3*({k}**2*({h} - {h0}) + (mass**2 - s)*{k0}**2*{slope})"
        quarter = total**2 / 4
        D = f"3/{pi}*{quarter!r}/{k0}**2*log((mass + 2*{k0})/{total!r}) + mass/(2*{pi}*{k0}) - {quarter!r}*mass/({pi}*{k0}**3)"
        return f"(1 + ({D})*width/mass)/(mass**2 - s + {f} - i*{width})"

    def _polynomial(self, particle: ParticleEntry) -> dict[str, Any]:
        """Σ c_i (m − m0)^(n − i), c_0 = 1."""
        order = particle.keys.get("n_order", 3)
        if isinstance(order, bool) or not isinstance(order, int) or not 0 <= order <= 10:
            raise self._error(particle, f"n_order is {order!r}", "n_order", "write a whole number up to 10")
        numbers: dict[str, float] = {}
        given = self.values.real(f"{particle.name}_mass")
        m0 = particle.mass if given is None else given
        terms = [f"(m - {m0!r})**{order}" if order else "1"]
        for i in range(1, order + 1):
            c = self._complex(particle, f"c_{i}")
            numbers |= {f"c_{i}_re": c.real, f"c_{i}_im": c.imag}
            terms.append(f"(c_{i}_re + i*c_{i}_im)" + (f"*(m - {m0!r})**{order - i}" if order > i else ""))
        self.values.complex(f"{particle.name}_c_0")
        return {"lineshape": f"({' + '.join(terms)})", "parameters": numbers, "float": list(numbers)}

    def _k_matrix(self, particle: ParticleEntry, l: int) -> dict[str, Any]:
        """P/(1 − iK) of one channel: K = Σ m_i Γ_i(m)/(m_i² − s), P = Σ β_i m_i Γ_i/(m_i² − s)."""
        masses, widths = self._numbers(particle, "mass_list"), self._numbers(particle, "width_list")
        m1, m2 = (particle.keys.get(key, -1) for key in ("m1", "m2"))
        if len(masses) != len(widths) or len(masses) > 6 or not (is_number(m1) and is_number(m2)) or min(m1, m2) < 0:
            raise self._error(
                particle, f"{particle.name!r} needs m1, m2, mass_list and width_list of equal length", "mass_list", "correct them"
            )
        numbers: dict[str, float] = {}
        K, P, free = [], [], []
        for i, (mass, width) in enumerate(zip(masses, widths, strict=True), start=1):
            for key, given in (("mass", mass), ("width", width)):
                value = self.values.real(f"{particle.name}_{key}{i}")
                numbers[f"{key}{i}"] = given if value is None else value
            beta = self._complex(particle, f"beta{i}") if i > 1 else 1.0 + 0.0j
            own = f"mass{i}*width{i}/(mass{i}**2 - s)"
            K.append(
                f"{own}*mass{i}/m*"
                + _running(l, particle.radius, breakup_text(float(m1), float(m2), f"mass{i}**2"), breakup_text(float(m1), float(m2)))
            )
            if i > 1:
                numbers |= {f"beta{i}_re": beta.real, f"beta{i}_im": beta.imag}
                free += [f"beta{i}_re", f"beta{i}_im"]
            P.append(f"(beta{i}_re + i*beta{i}_im)*{own}" if i > 1 else own)
        self.values.complex(f"{particle.name}_beta1")
        return {"lineshape": f"({' + '.join(P)})/(1 - i*({' + '.join(K)}))", "parameters": numbers, "float": free}

    def _points(self, particle: ParticleEntry) -> dict[str, Any]:
        """Values at points, zero at both ends and beyond; they are fixed in the model file."""
        keys = particle.keys
        if keys.get("points") is not None:
            masses = self._numbers(particle, "points", 4)
        else:
            low, high, n = (keys.get(key) for key in ("min_m", "max_m", "interp_N"))
            if not (is_number(low) and is_number(high) and isinstance(n, int) and 4 <= n <= MOST_POINTS and low < high):  # type: ignore[operator]
                raise self._error(
                    particle, f"{particle.name!r} needs 'points', or min_m, max_m and interp_N", "interp_N", "give 4 to 60 points"
                )
            masses = [low + (high - low) / (n - 1) * i for i in range(n)]  # type: ignore[operator]
        if keys.get("polar") not in (None, True):
            raise self._error(particle, "polar: False cannot be imported", "polar", "give magnitudes and phases")
        if keys.get("with_bound"):
            raise self._error(particle, "with_bound cannot be imported: it is not 0 beyond its points", "with_bound", "remove it")
        if particle.model != "interp_c" and keys.get("bc_type", "not-a-knot") != "not-a-knot":
            raise self._error(particle, f"bc_type {keys['bc_type']!r} cannot be imported", "bc_type", "not-a-knot can")
        found = [self._complex(particle, f"point_{i}") for i in range(len(masses) - 2)]
        values = [0j, *found, 0j]
        self.configuration.note(f"the values of {particle.name!r} at its points are fixed; a spline of ctpwa floats them", particle.path)
        columns = {"real": [v.real for v in values], "imaginary": [v.imag for v in values]}
        options = {"masses": masses, **columns, "interpolation": SMOOTH[particle.model]}
        return {"lineshape": "table", "options": options}


def _running(l: int, d: float, q0_2: str, q2: str = "q2") -> str:
    """(q/q0)^(2l+1) N_l(q0 d)/N_l(q d)."""
    ratio = f"sqrt({q2}/{q0_2})" if q2 != "q2" else f"q/{_real_root(q0_2)}"
    return ratio + (f"*({q2}/{q0_2})**{l}*{_polynomial_text(l, q0_2, d)}/{_polynomial_text(l, q2, d)}" if l else "")


def _real_root(x: str) -> str:
    """√|x|, which is real whatever x is."""
    return f"((({x})**2)**0.25)"


def _polynomial_text(l: int, q2: str, d: float) -> str:
    z2 = f"({q2}*{d**2!r})"
    return "(" + " + ".join(f"{n}*{z2}**{k}" if k else str(n) for k, n in enumerate(barrier_coefficients(l))) + ")"
