"""Heat maps of correlations and interferences show the numbers that they are given."""

import itertools

import numpy as np
import pytest

import ctpwa
from ctpwa.fitting.fractions import Fractions
from ctpwa.report.figures.correlation import draw_correlations, parameter_order
from ctpwa.report.figures.interference import draw_interference
from ctpwa.report.figures.style import save_figure
from poles.fits import fitted

MODEL = {
    "decay": "J/psi(1S) -> K+ K- eta",
    "resonances": {
        "phi(1680)": {"in": "K+ K-", "float": ["mass", "width"]},
        "phi(3)(1850)": {"in": "K+ K-"},
        "K(2)*(1430)": {"in": ["K+ eta", "K- eta"]},
    },
}
PHI3, K2 = "phi(3)(1850)[K+ K-] (3,3)(3,0)", "K(2)*(1430)+[K+ eta] (2,2)(2,0)"


@pytest.fixture(scope="module")
def model():
    return ctpwa.load_model(MODEL)


def result(model, names, seed=0):
    A = np.random.default_rng(seed).normal(size=(len(names), len(names) + 3))
    return fitted(model, dict.fromkeys(names, 1.0), A @ A.T)


NAMES = ("phi(1680).mass", f"{PHI3}.re", f"{PHI3}.im", "phi(1680).width", f"{K2}.re", f"{K2}.im")


def test_couplings_come_before_lineshapes(model):
    fit = result(model, NAMES)
    order, n_couplings = parameter_order(fit, model)
    assert [fit.names[i] for i in order] == [NAMES[1], NAMES[2], NAMES[4], NAMES[5], NAMES[0], NAMES[3]]
    assert n_couplings == 4


def test_correlations(model):
    fit = result(model, NAMES)
    axes, bar = draw_correlations(fit, model).axes
    order, _ = parameter_order(fit, model)
    drawn = np.asarray(axes.images[0].get_array())
    assert drawn == pytest.approx(fit.correlation[np.ix_(order, order)])
    assert axes.images[0].get_clim() == (-1, 1)
    texts = np.array([text.get_text().strip("$") for text in axes.texts], dtype=float).reshape(6, 6)
    assert texts == pytest.approx(drawn, abs=0.005001)
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels[0].endswith("1")
    assert "phi_{3}(1850)" in labels[0]
    assert labels[1] == r"$\mathrm{Im}$  2"
    assert labels[4] == r"$M[\phi(1680)]$  5"
    assert [line.get_ydata()[0] for line in axes.lines[:1]] == [3.5]
    assert bar.get_ylabel() == "correlation"


def test_a_hundred_parameters(model, tmp_path):
    fit = result(model, [f"p{i}.re" for i in range(100)])
    figure = draw_correlations(fit, model)
    axes = figure.axes[0]
    assert axes.images[0].get_array().shape == (100, 100)
    assert not axes.texts
    width, height = figure.get_size_inches()
    assert height / 100 > 0.11  # inches for a label
    figure.canvas.draw()
    boxes = [label.get_window_extent() for label in axes.get_yticklabels()]
    assert all(not a.overlaps(b) for a, b in itertools.pairwise(boxes))
    assert width < 20


def groups(n):
    rng = np.random.default_rng(1)
    A = rng.normal(size=(n, n))
    names = tuple(["phi(1680)", "phi(3)(1850)", "K(2)*(1430)", *(f"X{i}" for i in range(n))][:n])
    values = (A + A.T) / 10
    return Fractions(names, np.diag(values).copy(), np.eye(n), values, np.abs(values))


@pytest.mark.parametrize("n", [3, 25, 26])
def test_interferences(model, n, tmp_path):
    fractions = groups(n)
    axes = draw_interference(fractions, model).axes[0]
    drawn = axes.images[0].get_array()
    below = np.tril_indices(n)
    assert np.asarray(drawn)[below] == pytest.approx(100 * fractions.interference[below])
    assert drawn.mask[np.triu_indices(n, 1)].all()
    assert not drawn.mask[below].any()
    assert len(axes.texts) == (n * (n + 1) // 2 if n <= 25 else 0)
    if axes.texts:
        assert [float(text.get_text().strip("$")) for text in axes.texts] == pytest.approx(100 * fractions.interference[below], abs=0.0501)
    assert [label.get_text() for label in axes.get_yticklabels()][:2] == [r"$\phi(1680)$", r"$\phi_{3}(1850)$"]
    assert all(file.stat().st_size > 3000 for file in save_figure(axes.figure, tmp_path / "interference"))
