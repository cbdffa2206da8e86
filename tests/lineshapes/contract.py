"""Cases of the lineshape contract: every kind, at several parameter points, with the mpmath function that it must equal."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import mpmath as mp

from ctpwa.model.lineshapes.formula import Formula, Vertex
from ctpwa.model.lineshapes.registry import build_lineshape
from lineshapes import mp_reference

DIGITS = 50
PI, PI0, K, ETA = 0.13957039, 0.1349768, 0.493677, 0.547862
PIPI = {"pipi": [PI, PI], "KK": "own"}


@dataclass(frozen=True)
class Case:
    """One lineshape at one parameter point.

    Attributes:
        label:       name of the test
        spec:        what build_lineshape gets
        vertex:      the vertex
        parameters:  values by name
        masses:      event masses m to test at, GeV
        options:     options of the lineshape
        reference:   the mpmath function; by default the one of the same name
        passed:      options that the mpmath function needs, too
    """

    label: str
    spec: Any
    vertex: Vertex
    parameters: dict[str, float]
    masses: tuple[float, ...]
    options: dict[str, Any] = field(default_factory=dict)
    reference: Callable[..., Any] | None = None
    passed: tuple[str, ...] = ()

    def build(self) -> Formula:
        return build_lineshape(self.spec, self.vertex, **self.options)

    def points(self):
        """(s, q2) of every event mass, as floats; q² from the daughters' nominal masses, in high precision and rounded once."""
        for m in self.masses:
            with mp.workdps(DIGITS):
                s = mp.mpf(m**2)
                yield float(s), max(float(mp_reference.breakup2(s, mp.mpf(self.vertex.m1), mp.mpf(self.vertex.m2))), 0.0)

    def exact(self, s: float, q2: float, **parameters: Any):
        """The mpmath value."""
        function = self.reference or getattr(mp_reference, self.spec)
        vertex = replace(self.vertex, m1=mp.mpf(self.vertex.m1), m2=mp.mpf(self.vertex.m2), d=mp.mpf(self.vertex.d))
        passed = {name: self.options[name] for name in self.passed if name in self.options}
        return function(mp.mpf(s), mp.mpf(q2), vertex, **passed, **parameters)

    def exact_derivatives(self, s: float, q2: float, names: list[str]):
        """F, ∂F [param] and ∂²F [pair] by finite differences in high precision."""
        with mp.workdps(DIGITS):
            point = [mp.mpf(self.parameters[name]) for name in names]

            def along(*values):
                return mp.mpc(self.exact(s, q2, **dict(zip(names, values, strict=True))))

            def order(*indices):
                n = [0] * len(names)
                for index in indices:
                    n[index] += 1
                return complex(mp.diff(along, tuple(point), tuple(n)))

            first = [order(i) for i in range(len(names))]
            second = [order(i, j) for i, j in itertools.product(range(len(names)), repeat=2) if j <= i]
            return complex(along(*point)), first, second


def _custom_text(s, q2, v, mass, width, phi, a):
    q = mp.sqrt(q2)
    below = mass**2 - s - 1j * mass * width * (2 * q / mp.sqrt(s)) * mp.exp(-a * q2) * mp_reference.ranked_sqrt(s - a)
    return mp.exp(1j * phi) * abs(mp.tan(phi) - 3) / below + mp.log(1 + q2 / mass**2) * s**a


CHANNELS = {"KK": "own", "pipi": [PI, PI, 2], "etaeta": [ETA, ETA, 0], "KKst": [K, 0.8955, 1]}
SIGMA = {"mass": 0.953, "b_1": 1.302, "b_2": 0.34, "A": 2.426, "g_4pi": 0.011, "r_KK": 0.6, "r_etaeta": 0.2, "alpha": 1.3}

TABLE = {"masses": [0.6, 0.9, 1.1, 1.25, 1.5, 1.8], "widths": [0.0, 0.05, 0.3, 0.5, 0.9, 1.1]}
CASES = [
    *(
        Case(f"breit_wigner-L{L}-m{mass}", "breit_wigner", Vertex(K, K, L, d), {"mass": mass, "width": width}, (0.99, 1.05, 1.9))
        for L, d in ((0, 3.0), (1, 3.0), (2, 5.0), (4, 1.0))
        for mass, width in ((1.0195, 0.0043), (1.5, 0.1), (0.9, 0.3))
    ),
    *(Case(f"breit_wigner-L{L}", "breit_wigner", Vertex(K, K, L, 3.0), {"mass": 1.85, "width": 0.09}, (1.9,)) for L in (3, 5, 6)),
    Case("breit_wigner-unequal", "breit_wigner", Vertex(PI, K, 1, 3.0), {"mass": 0.8955, "width": 0.047}, (0.64, 0.8955, 1.4)),
    Case("breit_wigner-no-barrier", "breit_wigner", Vertex(PI, K, 2, 0.0), {"mass": 1.43, "width": 0.1}, (0.64, 1.4), reference=None),
    Case("constant-width", "breit_wigner_constant_width", Vertex(PI, K, 1, 3.0), {"mass": 0.8955, "width": 0.047}, (0.64, 0.8955, 1.4)),
    *(
        Case(
            f"channels-{mass}",
            "breit_wigner_channels",
            Vertex(K, K, 2, 3.0),
            {"mass": mass, "width_KK": 0.01, "width_pipi": 0.15, "width_etaeta": 0.002, "width_KKst": 0.03},
            (0.99, 1.12, 1.7),
            {"channels": CHANNELS},
            passed=("channels",),
        )
        for mass in (1.2755, 1.05, 1.6)
    ),
    *(
        Case(
            f"flatte-{convention}",
            "flatte",
            Vertex(K, K, 0, 3.0),
            {"mass": 0.965, "g_pipi": 0.4, "g_KK": 0.8, "g_etaeta": 0.3},
            (0.99, 1.05, 1.5),
            {"channels": {**PIPI, "etaeta": [ETA, ETA]}, "convention": convention},
            passed=("channels", "convention"),
        )
        for convention in ("squared", "linear", "mass")
    ),
    Case(
        "flatte-below",
        "flatte",
        Vertex(PI, ETA, 0, 3.0),
        {"mass": 0.98, "g_pieta": 0.32, "g_KK": 0.33, "g_pietap": 0.2},
        (0.7, 0.97, 1.2),
        {"channels": {"pieta": "own", "KK": [K, K], "pietap": [PI, 0.95778]}},
        passed=("channels",),
    ),
    Case("gounaris_sakurai", "gounaris_sakurai", Vertex(PI, PI, 1, 3.0), {"mass": 0.7753, "width": 0.149}, (0.29, 0.7753, 1.6)),
    Case("gounaris_sakurai-charged", "gounaris_sakurai", Vertex(PI, PI0, 1, 3.0), {"mass": 1.465, "width": 0.4}, (0.29, 0.8, 1.6)),
    Case("gounaris_sakurai-below", "gounaris_sakurai", Vertex(PI, PI, 1, 3.0), {"mass": 0.25, "width": 0.1}, (0.29, 0.8)),
    Case(
        "gounaris_sakurai-barrier",
        "gounaris_sakurai",
        Vertex(PI, PI, 1, 4.0),
        {"mass": 0.7753, "width": 0.149},
        (0.29, 0.8, 1.6),
        {"barrier": True},
        passed=("barrier",),
    ),
    *(
        Case(
            f"breit_wigner_table-{kind}",
            "breit_wigner_table",
            Vertex(PI, 0.77, 0, 3.0),
            {"mass": 1.23, "width": 0.42},
            (0.5, 0.95, 1.31, 1.9),
            {**TABLE, "interpolation": kind},
            passed=("masses", "widths", "interpolation"),
        )
        for kind in ("linear", "pchip", "cubic")
    ),
    Case(
        "breit_wigner_table-squared",
        "breit_wigner_table",
        Vertex(PI, 0.77, 0, 3.0),
        {"mass": 1.23, "width": 0.42},
        (0.95, 1.31),
        {**TABLE, "interpolation": "cubic", "variable": "squared mass"},
        passed=("masses", "widths", "interpolation", "variable"),
    ),
    *(
        Case(
            f"table-{kind}-{'-'.join(columns)}",
            "table",
            Vertex(PI, PI, 0, 3.0),
            {},
            (0.5, 0.95, 1.31, 1.9),
            {"masses": TABLE["masses"], **columns, "interpolation": kind, "variable": variable},
            passed=("masses", *columns, "interpolation", "variable"),
        )
        for kind, variable, columns in (
            ("linear", "mass", {"real": [0.1, 0.5, -0.3, 0.2, 0.7, 1.0], "imaginary": [0.0, 0.2, 0.9, 0.1, -0.4, 0.3]}),
            ("pchip", "squared mass", {"magnitude": [0.1, 0.5, 0.8, 0.2, 0.7, 1.0], "phase": [0.0, 0.5, 1.9, 2.8, 3.3, 4.1]}),
            ("cubic", "mass", {"magnitude": [0.1, 0.5, 0.8, 0.2, 0.7, 1.0], "phase": [0.0, 0.5, 1.9, 2.8, 3.3, 4.1]}),
        )
    ),
    *(
        Case(f"kpi_s_wave-{part}", "kpi_s_wave", Vertex(K, PI, 0, 3.0), {}, (0.64, 1.33, 1.6), {"part": part}, passed=("part",))
        for part in ("Kpi", "Ketap", "three_halves")
    ),
    Case(
        "coupled_channels-one-pole-P-wave",
        "coupled_channels",
        Vertex(PI, PI, 1, 5.0),
        {"mass1": 0.77, "g1_pipi": 0.45, "g1_KK": 0.3, "g1_omegapi": 0.2},
        (0.5, 0.99, 1.4),
        {"channels": {"pipi": "own", "KK": [K, K, 1], "omegapi": [0.78266, PI0]}},
        passed=("channels",),
    ),
    Case(
        "coupled_channels-two-poles-with-background",
        "coupled_channels",
        Vertex(PI, PI, 0, 3.0),
        {
            **{
                "mass1": 0.98,
                "g1_pipi": 0.4,
                "g1_KK": 0.8,
                "mass2": 1.45,
                "g2_pipi": 0.7,
                "g2_KK": -0.3,
                "beta2_re": 0.5,
                "beta2_im": -0.8,
            },
            **{"c0_pipi_pipi": 0.4, "c0_pipi_KK": -0.2, "c0_KK_KK": 0.3},
        },
        (1.2,),
        {"channels": {"pipi": "own", "KK": [K, K]}, "poles": 2, "background": 0},
        passed=("channels", "poles", "background"),
    ),
    Case(
        "coupled_channels-dispersive",
        "coupled_channels",
        Vertex(PI, ETA, 0, 3.0),
        {"mass1": 0.98, "g1_pieta": 0.4, "g1_KK": 0.5, "g1_pietap": 0.3},
        (0.7, 0.9, 1.05, 1.2),
        {"channels": {"pieta": "own", "KK": [K, K], "pietap": [PI, 0.95778]}, "dispersive": True},
        passed=("channels", "dispersive"),
    ),
    Case(
        "coupled_channels-two-dispersive-poles",
        "coupled_channels",
        Vertex(PI, PI, 0, 3.0),
        {"mass1": 0.6, "g1_pipi": 1.1, "g1_KK": 0.2, "mass2": 1.3, "g2_pipi": 0.4, "g2_KK": 0.9, "beta2_re": 0.5, "beta2_im": 0.1},
        (1.2,),
        {"channels": {"pipi": "own", "KK": [K, K]}, "poles": 2, "dispersive": True, "channel": "KK"},
        passed=("channels", "poles", "dispersive", "channel"),
    ),
    Case("bugg_sigma", "bugg_sigma", Vertex(PI, PI, 0, 3.0), SIGMA, (0.29, 0.6, 1.03, 1.4)),
    Case(
        "bugg_sigma-closed",
        "bugg_sigma",
        Vertex(PI, PI0, 0, 3.0),
        SIGMA,
        (0.6, 1.05, 1.4),
        {"below_threshold": "closed"},
        passed=("below_threshold",),
    ),
    Case(
        "one_channel", "bugg_one_channel", Vertex(PI, PI, 0, 3.0), {"mass": 0.9264, "b_1": 0.5843, "b_2": 1.6663, "A": 1.082}, (0.29, 1.1)
    ),
    Case("one_channel-K", "bugg_one_channel", Vertex(K, PI, 0, 3.0), {"mass": 1.9, "b_1": 2.3, "b_2": 0.1, "A": 2.5}, (0.64, 1.7)),
    *(
        Case(
            f"lass-{cutoff}",
            "lass",
            Vertex(K, PI, 0, 3.0),
            {"mass": mass, "width": 0.279, "a": 2.07, "r": 3.32},
            (0.64, 1.2, 1.6),
            {"cutoff": cutoff} if cutoff else {},
            passed=("cutoff",),
        )
        for cutoff, mass in ((None, 1.435), (1.5, 0.6))
    ),
    Case(
        "generalised_lass",
        "generalised_lass",
        Vertex(K, PI, 0, 3.0),
        {"mass": 1.435, "width": 0.279, "a": 2.07, "r": 3.32, "B": 0.9, "phi_B": 0.3, "R": 1.1, "phi_R": -0.7},
        (0.64, 1.2, 1.6),
    ),
    Case("constant", "constant", Vertex(K, K, 3, 3.0), {}, (1.0, 1.5)),
    Case("exponential", "exponential", Vertex(K, K, 0, 3.0), {"alpha": 0.6}, (0.99, 1.5)),
    Case(
        "polynomial",
        "polynomial",
        Vertex(K, K, 0, 3.0),
        {"c_1": 0.6, "c_2": -0.2, "c_3": 0.1},
        (0.99, 1.5),
        {"degree": 3},
        passed=("degree",),
    ),
    Case("phase_space", "phase_space", Vertex(K, PI, 0, 3.0), {}, (0.7, 1.5), {"power": 0.5}, passed=("power",)),
    Case(
        "text",
        "exp(i*phi)*abs(tan(phi) - 3)/(mass**2 - s - i*mass*width*rho*exp(-a*q2)*sqrt(s - a)) + log(1 + q2/mass**2)*s**a",
        Vertex(K, PI, 0, 3.0),
        {"mass": 1.435, "width": 0.279, "phi": 0.8, "a": 0.7},
        (0.7, 1.5),
        {"parameters": ["phi", "a"]},
        _custom_text,
    ),
]
