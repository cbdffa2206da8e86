"""Decays that are not among the reference vectors: every kind of final spin, symmetry and topology."""

from functools import cache

import ctpwa

MODELS = {
    # weak decay of a baryon whose polarisation matters
    "lambda_c": {
        "decay": "Lambda(c)+ -> p K- pi+",
        "resonances": {
            "Lambda(1520)": {"in": "p K-"},
            "Lambda(1670)": {"in": "p K-"},
            "Delta(1232)": {"in": "p pi+"},
            "K*(892)": {"in": "K- pi+"},
        },
    },
    "phi_f": {
        "decay": "J/psi(1S) -> K+ K- pi+ pi-",
        "resonances": {"phi(1020)": {"in": "K+ K-"}, "f(0)(980)": {"in": "pi+ pi-"}, "f(2)(1270)": {"in": "pi+ pi-"}},
    },
    # two mirrored decays share a final state: K1 K + c.c.
    "k1_k": {
        "decay": "J/psi(1S) -> K+ K- pi+ pi-",
        "resonances": {
            "K(1)(1270)": {"in": ["K+ pi+ pi-", "K- pi+ pi-"]},
            "rho(770)": {"in": "pi+ pi-"},
            "K*(892)": {"in": ["K+ pi-", "K- pi+"]},
        },
        "max_L": 2,
    },
    # spin 3/2 in the final state
    "omega_k_xi": {
        "decay": "psi(2S) -> Omega- K+ Xi~0",
        "resonances": {
            "XiX": {"in": "Omega- K+", "JP": "3/2-", "lineshape": "constant"},
            "OmegaX": {"in": "K+ Xi~0", "JP": "1/2-", "lineshape": "constant"},
            "KX": {"in": "Omega- Xi~0", "JP": "1-", "lineshape": "constant"},
        },
        "max_L": 2,
    },
    # one photon from three different parents
    "gamma_pi0_eta": {
        "decay": "J/psi(1S) -> gamma pi0 eta",
        "resonances": {
            "omega(782)": {"in": "gamma pi0"},
            "rho(770)": {"in": "gamma eta"},
            "a(0)(980)": {"in": "pi0 eta"},
            "a(2)(1320)": {"in": "pi0 eta"},
        },
    },
    "d0_k3pi": {
        "decay": "D0 -> K- pi+ pi+ pi-",
        "resonances": {
            "K*(892)": {"in": "K- pi+"},
            "rho(770)": {"in": "pi+ pi-"},
            "a(1)(1260)": {"in": "pi+ pi+ pi-"},
            "K(1)(1270)": {"in": "K- pi+ pi-"},
        },
    },
    "p_pbar_eta": {
        "decay": "J/psi(1S) -> p p~ eta",
        "resonances": {
            "N(1535)": {"in": ["p eta", "p~ eta"]},
            "N(1520)": {"in": ["p eta", "p~ eta"]},
            "N(1680)": {"in": ["p eta", "p~ eta"], "max_L": 3},
            "X": {"in": "p p~", "JP": "1--", "mass": 2.1, "width": 0.2},
            "Y": {"in": "p p~", "JP": "1+-", "mass": 2.2, "width": 0.3},
        },
    },
    "gamma_pi0_pi0": {
        "decay": "J/psi(1S) -> gamma pi0 pi0",
        "resonances": {
            "f(0)(1500)": {"in": "pi0 pi0"},
            "f(2)(1270)": {"in": "pi0 pi0"},
            "f(4)(2050)": {"in": "pi0 pi0"},
            "omega(782)": {"in": "gamma pi0"},
            "b(1)(1235)": {"in": "gamma pi0"},
        },
    },
    "two_pi_pairs": {
        "decay": "psi(2S) -> pi+ pi- pi+ pi-",
        "resonances": {
            "rho(770)": {"in": "pi+ pi-"},
            "f(0)(980)": {"in": "pi+ pi-"},
            "a(1)(1260)": {"in": ["pi+ pi- pi+", "pi- pi+ pi-"]},
            "a(2)(1320)": {"in": ["pi+ pi- pi+", "pi- pi+ pi-"]},
        },
        "max_L": 2,
    },
    # identical fermions
    "p_p_pi0": {
        "decay": "dibaryon -> p p pi0",
        "particles": {"dibaryon": {"JP": "2+", "mass": 2.9, "charge": 2}},
        "resonances": {
            "Delta(1232)": {"in": "p pi0"},
            "N(1440)": {"in": "p pi0"},
            "XX": {"in": "p p", "JP": "1-", "mass": 2.2, "width": 0.3},
        },
        "max_L": 2,
    },
    # two groups of identical fermions, and C
    "two_p_pbar_pairs": {
        "decay": "Y -> p p p~ p~",
        "particles": {"Y": {"JP": "1--", "mass": 4.6, "charge": 0}},
        "resonances": {
            "V": {"in": "p p~", "JP": "1--", "mass": 2.0, "width": 0.2},
            "S": {"in": "p p~", "JP": "0++", "mass": 2.1, "width": 0.3},
        },
        "max_L": 1,
    },
    "five_body": {
        "decay": "psi(2S) -> p pi- p~ pi+ eta",
        "chains": [
            "psi(2S) -> Lambda(1670) Lambda~ ; Lambda(1670) -> Lambda eta ; Lambda -> p pi- ; Lambda~ -> p~ pi+",
            "psi(2S) -> Lambda(1670)~ Lambda ; Lambda(1670)~ -> Lambda~ eta ; Lambda -> p pi- ; Lambda~ -> p~ pi+",
            {
                "decay": "psi(2S) -> Lambda(1690) Lambda~ ; Lambda(1690) -> Lambda eta ; Lambda -> p pi- ; Lambda~ -> p~ pi+",
                "max_L": 2,
            },
        ],
    },
    # 36 exchanges of identical pions, cascades on both sides
    "three_pi_pairs": {
        "decay": "J/psi(1S) -> pi+ pi- pi+ pi- pi+ pi-",
        "resonances": {"rho(770)": {"in": "pi+ pi-"}, "a(1)(1260)": {"in": ["pi+ pi- pi+", "pi- pi+ pi-"]}},
        "max_L": 1,
    },
    # spin 5 above spin 5, with L up to 10 between them
    "spin_5": {
        "decay": "B+ -> K+ pi- pi+ eta",
        "resonances": {
            "above": {"in": "K+ pi- pi+", "JP": "5+", "mass": 2.6, "width": 0.3},
            "below": {"in": "K+ pi-", "JP": "5-", "mass": 1.8, "width": 0.2},
        },
    },
    "spin_11_half": {
        "decay": "J/psi(1S) -> p p~ eta",
        "resonances": {"N": {"in": ["p eta", "p~ eta"], "JP": "11/2-", "mass": 1.7, "width": 0.15}},
    },
    # a state on its mass shell in all chains, and leptons from a photon
    "lambda_b": {
        "decay": "Lambda(b)0 -> J/psi(1S) p K-; J/psi(1S) -> mu+ mu-",
        "resonances": {
            "Lambda(1520)": {"in": "p K-"},
            "Lambda(1670)": {"in": "p K-"},
            "Pc": {"in": "J/psi(1S) p", "JP": "3/2-", "mass": 4.44, "width": 0.02},
        },
        "max_L": 2,
    },
    "psi_pi_pi": {
        "decay": "psi(2S) -> pi+ pi- J/psi(1S); J/psi(1S) -> e+ e-",
        "resonances": {
            "P0": {"in": "pi+ pi-", "JP": "0++", "lineshape": "constant"},
            "P2": {"in": "pi+ pi-", "JP": "2++", "lineshape": "constant", "max_L": 2},
            "Zc": {"in": ["J/psi(1S) pi+", "J/psi(1S) pi-"], "JP": "1+", "mass": 3.4, "width": 0.1},
        },
    },
    # two identical photons from inner vertices, and weak vertices below strong ones
    "six_body": {
        "decay": "psi(2S) -> p pi- p~ pi+ gamma gamma",
        "chains": [
            "psi(2S) -> Sigma0 Sigma~0 ; Sigma0 -> Lambda gamma ; Lambda -> p pi- ; Sigma~0 -> Lambda~ gamma ; Lambda~ -> p~ pi+",
        ],
    },
}


@cache
def load(name):
    return ctpwa.load_model(MODELS[name])
