"""benchmarks/paper.py from beginning to end at a tiny size, with small models and an engine that compiles nothing; the page made of it."""

import json
import shutil
import sys

import pytest
import torch

import ctpwa
from conftest import ROOT
from ctpwa.generate.toys import ToySettings
from ctpwa.report.figures.style import save_figure
from threads import one_thread

MODEL = """decay: J/psi(1S) -> K+ K- eta
polarisation: transverse
resonances:
  phi(1680): {in: K+ K-, mass: 1.659, width: 0.164, float: [mass]}
  K(2)*(1430): {in: [K+ eta, K- eta], mass: 1.427, width: 0.100, float: [width]}
couplings:
  phi(1680)[K+ K-] (1,1)(1,0): 1
  K(2)*(1430)+[K+ eta] (2,2)(2,0): {abs: 8, phase: 1}
"""
FOUR_BODIES = {
    "decay": "J/psi(1S) -> K+ K- pi+ pi-",
    "polarisation": "transverse",
    "chains": ["J/psi(1S) -> phi(1020) f(0)(980) ; phi(1020) -> K+ K- ; f(0)(980) -> pi+ pi-"],
}
MODULES = ("common", "fit", "likelihood", "paper", "paper_demo", "paper_figures", "paper_tables", "plain_torch", "roofline")


@pytest.fixture(scope="module")
def paper():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        import paper

        yield paper
    for name in MODULES:
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def run(paper, tmp_path_factory):
    """Results of a tiny run, and their folder."""
    folder = tmp_path_factory.mktemp("paper")
    (folder / "model.yml").write_text(MODEL, encoding="utf-8")
    with one_thread(torch), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["common"], "KK_ETA", folder / "model.yml")
        patch.setattr(sys.modules["likelihood"], "FOUR_PIONS", FOUR_BODIES)
        patch.setitem(save_figure.__kwdefaults__, "suffixes", (".png",))
        short = ToySettings(pilot_events=1 << 9, maximum_events=1 << 11)
        patch.setitem(ctpwa.generate.ToyGenerator.__init__.__kwdefaults__, "settings", short)
        patch.setattr(paper, "BUDGET_S", 0.0)
        paper.main(["--device", "cpu", "--engine", "reference", "--events", "300", "--quick", "--out", str(folder / "out")])
    return json.loads((folder / "out" / "results.json").read_text(encoding="utf-8")), folder / "out"


def test_everything_is_measured_and_written(run):
    results, folder = run
    problems = results["demo"]["problems"]
    assert [(row["couplings"], row["floating"]) for row in problems] == [(3, False), (3, True), (2, False), (2, True)]
    assert [row["free"] for row in problems] == [4, 6, 2, 4]
    for row in problems:
        assert row["fit"]["good"]
        assert row["gradient_difference"] < 1e-10
        assert row["autograd_difference"] < 1e-9
    tied, untied = problems[2]["fit"], problems[0]["fit"]
    assert untied["nll"] <= tied["nll"]  # the tied model is a special case of the other
    assert {p.name for p in folder.iterdir()} == {"results.json", "tables.md"} | {
        f"{name}.png" for name in ("iterations", "synthetic", "projections", "pulls")
    }


def test_truth_is_found(run):
    truth = run[0]["demo"]["truth"]
    assert truth["ratio_p"] > 1e-3
    assert {entry["kind"] for entry in truth["entries"]} == {"couplings", "masses and widths", "fractions"}
    assert all(abs(entry["pull"]) < 4 for entry in truth["entries"])


def test_page_has_a_table_for_every_run(paper, run, tmp_path):
    results, folder = run
    full = json.loads(json.dumps(results))
    full["about"] |= {"device": "cuda", "hardware": "a GPU", "n_data": 1_000_000, "n_phsp": 5_000_000}
    for row in full["demo"]["problems"]:
        row |= {"peak_bytes": 1e9, "peak_initialisation_bytes": 2e9, "autograd_peak_bytes": 5e10, "gradient_ms": 0.2, "hessian_ms": 2.0}
    other = tmp_path / "gpu"
    shutil.copytree(folder, other)
    (other / "results.json").write_text(json.dumps(full), encoding="utf-8")
    page = tmp_path / "docs" / "performance.md"
    (page.parent / "images").mkdir(parents=True)
    shutil.copy(ROOT / "docs" / "performance.md", page)
    for _ in range(2):  # the second time it replaces what the first has written
        paper.main(["--docs", str(other / "results.json"), str(folder / "results.json"), "--page", str(page)])
    text = page.read_text(encoding="utf-8")
    assert text.count("**a GPU**") == 6
    assert text.count(f"**{results['about']['hardware']}**") == 4
    row = next(line for line in text.splitlines() if line.startswith("| NLL + gradient | 3 couplings, fixed | **200 µs** | 15 ms |"))
    assert row.split(" | ")[4:6] == ["75", "met"]
    memory = next(line for line in text.splitlines() if line.startswith("| peak of GPU memory in a fit | 3 couplings, fixed"))
    assert memory.split(" | ")[3:6] == ["20 GB", "20", "**missed**"]
    assert "ratios to the paper are below 30:** " in text
    assert "has no meaning" in text
    assert (page.parent / "images" / "performance-pulls.png").stat().st_size > 1000


def test_page_without_a_place_is_left_alone(paper, run, tmp_path):
    page = tmp_path / "performance.md"
    page.write_text("nothing", encoding="utf-8")
    with pytest.raises(SystemExit, match="no place for the part 'demonstration'"):
        paper.main(["--docs", str(run[1] / "results.json"), "--page", str(page)])
    assert page.read_text(encoding="utf-8") == "nothing"


def test_operations_are_counted(paper):
    operations = sys.modules["roofline"].operations
    assert operations("t0 = p0 * p0 - e0") == 2
    assert operations("t1 = -(t0 * e1)") == 2
    assert operations("t2 = 1.0 / (t0 * t0 + t1 * t1)") == 4
    assert operations("t3 = math.sqrt(t2)") == 1


def test_events_are_counted_in_powers_of_ten(paper):
    count = sys.modules["paper_tables"].count
    assert [count(n) for n in (100, 1000, 500_000, 1_000_000, 1234)] == ["100", "10³", "5·10⁵", "10⁶", "1234"]
