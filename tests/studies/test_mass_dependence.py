"""Mass-dependent fits to couplings of bins: made of Breit-Wigners, with covariances, reference phases and open signs."""

import numpy as np
import pytest

from ctpwa.base.errors import DataError
from ctpwa.studies import Bins, MassState, fit_mass_dependence
from ctpwa.studies.about import About
from ctpwa.studies.bin_axes import BinAxis
from ctpwa.studies.fit_record import FitRecord
from ctpwa.studies.mass_dependence import breit_wigner, constant

NAMES, SETS = ("0+ a", "1- b", "2+ c", "0+ d"), (0, 0, 0, 1)
STATES = {
    "a0": MassState(("0+ a",), start={"mass": 1.0, "width": 0.1}),
    "pi1": MassState("1-", start={"mass": 1.55, "width": 0.2}),
    "a2": MassState("2+", start={"mass": 1.3, "width": 0.13}),
    "flat": MassState(("0+ d",), constant),
}
TRUTH = {"a0": (0.98, 0.09), "pi1": (1.6, 0.25), "a2": (1.318, 0.107)}
G = (30.0, 15 * np.exp(1.1j), 40 * np.exp(0.8j), 5.0)
N = 32


EDGES = tuple(np.linspace(1.04, 2.0, N + 1))


def study_of(noise, seed=0, edges=EDGES):
    """Bins with couplings of Breit-Wigners averaged over each bin, in which the strongest wave is real, and signs are anyhow."""
    rng = np.random.default_rng(seed)
    records = []
    for b in range(N):
        m = np.linspace(edges[b], edges[b + 1], 201)
        F = [breit_wigner(m, *pair) for pair in TRUTH.values()] + [constant(m)]
        sizes = 1 + 0.1 * np.arange(4) + 0.02 * b
        c = (
            np.array([np.sqrt(np.mean(np.abs(g * f) ** 2)) * np.exp(1j * np.angle(np.mean(g * f))) for g, f in zip(G, F, strict=True)])
            * sizes
        )
        reference = int(np.abs(c[:3]).argmax())
        c[:3] *= np.exp(-1j * np.angle(c[reference]))
        c[3] = abs(c[3])
        free = [k for k in range(8) if k not in (4 + reference, 7)]
        C = np.zeros((8, 8))
        A = rng.normal(size=(6, 6))
        C[np.ix_(free, free)] = 0.09 * (np.eye(6) + 0.1 * A @ A.T)
        z = np.concatenate([c.real, c.imag])
        if noise:
            z = z + rng.multivariate_normal(np.zeros(8), C)
        if rng.random() < 0.5:
            signs = np.array([1, 1, 1, 1, -1, -1, -1, 1.0])
            z, C = z * signs, C * np.outer(signs, signs)
        values = {f"{name}.{part}": float(z[k + 4 * i]) for k, name in enumerate(NAMES) for i, part in enumerate(("re", "im"))}
        numbers = {"solutions": 1.0, "starts": 1.0, "open sign 0": 1.0, "events total": 1.0, "error total": 1.0}
        numbers |= {f"covariance {i},{k}": float(C[i, k]) for i in range(8) for k in range(i, 8)}
        numbers |= {f"size {name}": float(own) for name, own in zip(NAMES, sizes, strict=True)}
        records.append(FitRecord(str(b), -1.0, True, "", values, numbers=numbers))
    axis = BinAxis("mass(a, b)", edges, "$m$", "GeV")
    extent = {
        "axes": [{"text": axis.text, "edges": list(edges), "label": axis.label, "unit": axis.unit}],
        "couplings": list(NAMES),
        "sets": list(SETS),
        "groups": {"total": 4},
        "names": {"total": "total"},
        "bootstrap": 0,
    }
    about = About("bins", {"distance": 12.5, "starts": 1}, FitRecord("base", float("nan"), False), "", "X -> a b", {}, extent)
    return Bins(about, tuple(records))


def test_masses_and_widths_come_back():
    found = fit_mass_dependence(study_of(noise=True), STATES, starts=4)
    for state, (mass, width) in TRUTH.items():
        for name, true in (("mass", mass), ("width", width)):
            value, error = found[f"{state}.{name}"]
            assert abs(value - true) < 4 * error
            assert 0 < error < 0.1
    assert found.ndf == N * 6 - 6 - 6  # three masses and widths, four complex couplings, two phases of which mean nothing
    assert found.p_value > 1e-3
    assert "a2.mass" in str(found)


def test_without_noise_all_is_exact():
    """But for the average over a bin by three points."""
    found = fit_mass_dependence(study_of(noise=False), STATES, starts=3)
    assert found.chi2 < 0.5
    assert found["a2.mass"][0] == pytest.approx(1.318, abs=1e-3)
    a, b = (found.amplitude(wave, [1.3, 1.4]) for wave in ("1- b", "2+ c"))
    expected = G[1] * breit_wigner(np.array([1.3, 1.4]), *TRUTH["pi1"]) / (G[2] * breit_wigner(np.array([1.3, 1.4]), *TRUTH["a2"]))
    assert min(np.abs(own - expected).max() for own in (a / b, (a / b).conj())) < 0.02 * np.abs(expected).max()


@pytest.mark.parametrize(
    ("states", "words"),
    [
        ({"a2": MassState("2+", start={"mass": 1.3, "width": 0.1})}, "'0\\+ a' has no state"),
        ({"a2": MassState(("3+",))}, "'3\\+', which is no wave"),
    ],
)
def test_what_is_wrong(states, words):
    with pytest.raises(DataError, match=words):
        fit_mass_dependence(study_of(noise=False), states)
