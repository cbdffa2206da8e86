"""The demonstration runs and does what it says."""

import re

import numpy as np
import pytest
from typer.testing import CliRunner

import ctpwa
from ctpwa.cli import demonstration as demo
from ctpwa.cli.main import app
from ctpwa.generate.toys import ToySettings

LEFT_OUT = ("X(1750)", "rho(2150)", "K*(1410)", "K(3)*(1780)", "K(4)*(2045)")
SMALL = "".join(line for line in demo.MODEL.splitlines(keepends=True) if not any(name in line for name in LEFT_OUT))


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The demonstration with three resonances: its folder, its result, and what it prints. The reference engine has nothing to compile."""
    import contextlib
    import io

    folder = tmp_path_factory.mktemp("demo") / "out"
    toys = ToySettings(pilot_events=1 << 10, maximum_events=1 << 12)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        result = demo.main(1_000, 4_000, 3, folder, text=SMALL, engine="reference", toys=toys)
    return folder, result, printed.getvalue()


def test_files(shown):
    folder, result, printed = shown
    names = ["dalitz.pdf", "dalitz.png", "model.yml", "projections.pdf", "projections.png", "report.html", "result.json", "toy.root"]
    assert sorted(file.name for file in folder.iterdir()) == names
    assert all(str(folder / name) in printed for name in names)
    assert all((folder / name).stat().st_size > 30_000 for name in ("dalitz.png", "projections.png"))
    assert ctpwa.FitResult.load(folder / "result.json").nll == result.nll


def test_goodness_of_all_projections_is_said(shown):
    _, _, printed = shown
    found = re.findall(r"^  (.*?) +chi2/ndf = ([\d.]+)/(\d+) +without (.*): ([\d.]+)/\d+$", printed, re.MULTILINE)
    assert [line[0] for line in found[:3]] == ["mass(K+, K-)", "mass(K+, eta)", "mass(K-, eta)"]
    assert len(found) == 9
    assert all(0.2 < float(chi2) / int(ndf) < 2.5 for _, chi2, ndf, _, _ in found)
    strength = shown[1].fractions[0].groups["resonances"]
    assert {name for _, _, _, name, _ in found} == {strength.names[int(np.argmin(strength.values))]}
    inside = found[:6]  # masses and helicity angles: directions to the beam say little about a resonance
    assert sum(float(line[4]) for line in inside) > 1.5 * sum(float(line[1]) for line in inside)


def test_ten_masses_and_widths_float_and_start_elsewhere(tmp_path):
    (tmp_path / "model.yml").write_text(demo.MODEL.replace("{phase_space}", "1000"), encoding="utf-8")
    analysis = ctpwa.load_analysis(tmp_path / "model.yml")
    resonances = analysis.model.resonances
    floating = [f"{name}.{which}" for name, resonance in resonances.items() for which in resonance.floating]
    assert len(floating) == 10
    assert list(analysis.settings.start) == floating
    for name, start in analysis.settings.start.items():
        resonance, _, which = name.rpartition(".")
        assert start == pytest.approx(getattr(resonances[resonance], which), rel=0.2)
        assert start != getattr(resonances[resonance], which)


def test_couplings_start_at_random(shown):
    folder, result, _ = shown
    true = ctpwa.load_model(folder / "model.yml").coupling_values
    assert len(result.parameters) == 10
    for name, c in true.items():
        if c != 1:
            assert abs(complex(result[f"{name}.re"].start, result[f"{name}.im"].start) - c) > 0.1 * abs(c)


def test_the_truth_is_found(shown):
    _, result, printed = shown
    assert result.verdict.good
    assert "verdict: good" in printed
    (largest,) = re.findall(r"\d+ pulls: mean .*, largest (.*)", printed)
    assert float(largest) < 4.5


def test_generated_and_fitted_values_are_compared(shown):
    folder, result, printed = shown
    mass = result["phi(1680).mass"]
    (line,) = re.findall(r"  phi\(1680\)\.mass .*", printed)
    _, generated, fitted, _, error, pull = line.split()
    assert float(generated) == pytest.approx(1.659, abs=1e-3)
    assert float(fitted) == pytest.approx(mass.value, abs=1e-3)
    assert float(error) == pytest.approx(mass.error, rel=0.05)
    assert float(pull) == pytest.approx((mass.value - 1.659) / mass.error, abs=0.01)
    couplings = ctpwa.load_model(folder / "model.yml").coupling_values
    for name, c in couplings.items():
        lines = printed[printed.index(f"\n  {name} ") :].splitlines()[1:3]
        assert float(lines[0].removeprefix(f"  {name}").split()[0]) == pytest.approx(abs(c), rel=0.1)
        assert float(lines[1].split()[0]) == pytest.approx(np.degrees(np.angle(c)), abs=1)


def test_pulls_of_phases_know_of_full_turns(shown):
    """3.1 rad and −3.1 rad are neighbours."""
    _, _, printed = shown
    phases = printed[printed.index("couplings: magnitude") : printed.index("fit fractions")]
    values = [line.split() for line in phases.splitlines() if line.startswith(" " * 20) and "±" in line]
    assert len(values) == 2
    for generated, fitted, _, error, pull in values:
        assert abs(float(fitted) - float(generated)) <= 180
        assert float(pull) == pytest.approx((float(fitted) - float(generated)) / float(error), rel=0.3, abs=0.3)


def test_command():
    result = CliRunner().invoke(app, ["demo", "--help"], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    assert "Example: ctpwa demo" in result.stdout
    assert demo.OUTPUT.name in result.stdout
