"""Reference vectors and the amplitudes of this package in their conventions."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import torch

from ctpwa.decay.particle import Particle
from ctpwa.decay.spin import LS
from ctpwa.decay.structure import Structure, relabel
from ctpwa.spin.evaluate import Evaluator, harmonics_needed

NAMES = ("a_kketa", "b_gammaf", "c_ppbareta", "e2_a1pi4pi")


def load(name):
    data = json.loads((Path(__file__).parent / "vectors" / f"{name}.json").read_text())
    data["B"] = {pol: np.array(B["re"]) + 1j * np.array(B["im"]) for pol, B in data["B"].items()}
    return data


def final_particles(data):
    return [
        Particle(p["name"], p["twoJ"], p["P"], None, p["mass"], None, 0, p["kind"] == "photon", p["name"], 0, frozenset({(0, 0, 0)}), "")
        for p in data["particles"]
    ]


def structure_of(data, amp):
    names = [p["name"] for p in data["particles"]]

    def build(node):
        L, two_S = amp["nodes"][node["name"]]
        daughters = tuple(names.index(d) if isinstance(d, str) else build(d) for d in node["daughters"])
        return Structure(node["2J"], LS(L, Fraction(two_S, 2)), daughters, 3.0)

    return build(data["chains"][amp["chain"]])


def permutations_of(data):
    names = [p["name"] for p in data["particles"]]
    return [[names.index(swap[name]) for name in names] for swap in data["symmetrisation"]] or [list(range(len(names)))]


def rows_of(polarisation, two_J):
    every = list(range(two_J, -two_J - 1, -2))
    return {"unpol": every, "pm1": [m for m in every if abs(m) == 2], "mmax": [two_J]}[polarisation]


def gram_matrices(data, momenta_key, rest_frame):
    """B [event, amp, amp] of every polarisation, with |q|^L kept."""
    final = final_particles(data)
    tops = [[relabel(structure_of(data, amp), new) for new in permutations_of(data)] for amp in data["amps"]]
    p4 = [torch.tensor(data[momenta_key][p.name], dtype=torch.float64).T.contiguous() for p in final]
    evaluator = Evaluator(final, p4, harmonics_needed([s for group in tops for s in group]), rest_frame=rest_frame)
    result = {}
    for polarisation in data["B"]:
        two_ms = rows_of(polarisation, data["initial"]["2J"])
        A = torch.stack([sum(evaluator.top_amplitude(s, two_ms) for s in group).flatten(0, 1) for group in tops]).numpy()
        result[polarisation] = np.einsum("ape,bpe->eab", A.conj(), A)
    return result
