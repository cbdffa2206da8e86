"""What users rely on: names and signatures change only on purpose."""

import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ctpwa

API = Path(__file__).parents[1] / "docs" / "api"
PACKAGES = [module.name for module in pkgutil.walk_packages(ctpwa.__path__, "ctpwa.") if module.ispkg]
PUBLIC = {name: module for name in ["ctpwa", *PACKAGES] if hasattr(module := importlib.import_module(name), "__all__")}
NAMES = {f"{home}.{name}": getattr(module, name) for home, module in PUBLIC.items() for name in module.__all__}


def parameters(function):
    return [
        str(p).split(":")[0] + ("" if p.default is p.empty else f"={p.default!r}") for p in inspect.signature(function).parameters.values()
    ]


def test_there_are_few_names_at_the_top():
    assert len(ctpwa.__all__) <= 25, "it belongs into a submodule"


@pytest.mark.parametrize("home", PUBLIC)
def test_all_is_all_there_is(home):
    module = PUBLIC[home]
    assert sorted(module.__all__) == sorted(set(module.__all__))
    assert {n for n, value in vars(module).items() if not n.startswith("_") and not inspect.ismodule(value)} == set(module.__all__)
    assert module.__doc__


def test_a_name_has_one_home():
    homes = {}
    for name, value in NAMES.items():
        homes.setdefault(id(value), []).append(name)
    assert [names for names in homes.values() if len(names) > 1] == []


def test_submodules_are_there_after_importing_ctpwa():
    """Except those that docs/api/index.md names; this process has imported all of them, another one has not."""
    text = re.search(r"except those in (.*)\nwhich are imported explicitly", (API / "index.md").read_text(encoding="utf-8")).group(1)
    explicit = re.findall(r"`(ctpwa[\w.]+)`", text)
    here = sorted(set(PUBLIC) - set(explicit))
    assert len(explicit) == 4
    code = f"import ctpwa\nfor name in {here}: eval(name)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_name_hides_a_module():
    """``import ctpwa.a.b as x`` would give the function."""
    modules = {module.name for module in pkgutil.walk_packages(ctpwa.__path__, "ctpwa.")}
    assert modules & set(NAMES) == set()


@pytest.mark.parametrize("name", NAMES)
def test_every_name_says_what_it_is(name):
    assert inspect.getdoc(NAMES[name])


def test_every_name_has_a_line_in_the_reference():
    """And a place in the table of names."""
    pages = "\n".join(page.read_text(encoding="utf-8") for page in sorted(API.glob("*.md")))
    assert sorted(re.findall(r"^::: ([\w.]+)$", pages, re.MULTILINE)) == sorted(NAMES)
    rows = re.findall(r"^\| `(ctpwa[\w.]*)` \|[^|]*\|([^|]*)\|$", pages, re.MULTILINE)
    assert {home: sorted(re.findall(r"`(\w+)`", names)) for home, names in rows} == {
        home: sorted(module.__all__) for home, module in PUBLIC.items()
    }


def test_load_model():
    assert parameters(ctpwa.load_model) == ["path_or_mapping"]


def test_spin_amplitudes():
    expected = ["self", "momenta", "barrier=False", "polarisation=None", "device=None", "chunk_size=None", "progress=None"]
    assert parameters(ctpwa.Model.spin_amplitudes) == expected


def test_generate_phase_space():
    expected = ["model_or_masses", "n", "seed=0", "weighted=False", "columns=None", "device='cpu'", "progress=None", "ranks=None"]
    assert parameters(ctpwa.generate_phase_space) == expected


def test_generate_toy():
    arguments = ["couplings=None", "parameters=None", "efficiency=None", "columns=None", "device='cpu'", "engine='auto'"]
    with_backgrounds = [*arguments[:4], "backgrounds=()", *arguments[4:]]
    assert parameters(ctpwa.generate_toy) == ["model", "n", "seed=0", *with_backgrounds, "progress=None", "conjugate=False"]
    assert parameters(ctpwa.generate.ToyGenerator) == ["model", *arguments, f"settings={ctpwa.generate.ToySettings()}", "conjugate=False"]
    assert parameters(ctpwa.generate.ToyGenerator.generate) == ["self", "n", "seed=0", "backgrounds=()", "progress=None"]


def test_model_intensity():
    assert parameters(ctpwa.ModelIntensity) == [
        "model",
        "couplings=None",
        "parameters=None",
        "engine='auto'",
        "device=None",
        "chunk_bytes=None",
        "conjugate=False",
    ]
    assert parameters(ctpwa.ModelIntensity.__call__) == ["self", "events", "waves=None", "progress=False"]


def test_read_and_write_events():
    expected = ["model", "path", "tree=None", "momenta=None", "weight=None", "weight_file=None", "scale=1.0", "order=None", "unit='GeV'"]
    expected += ["mass_tolerance=None", "parent_tolerance=None", "columns=None", "column_files=None", "name=''", "device='cpu'"]
    expected += ["progress=None", "ranks=None", "chunk=131072", "conjugate=False"]
    assert parameters(ctpwa.read_events) == expected
    assert parameters(ctpwa.open_events) == [parameter for parameter in expected if not parameter.startswith("device")]
    assert parameters(ctpwa.write_events) == [
        "path",
        "events",
        "model=None",
        "weight_file=None",
        "made_by=''",
        "progress=None",
        "chunk=131072",
        "conjugate=False",
    ]


def test_load_analysis():
    assert parameters(ctpwa.load_analysis) == [
        "path_or_mapping",
        "ranks=None",
        "fix=None",
        "changes=Changes(without=(), free=(), set={}, data=(), fix={})",
    ]
    assert parameters(ctpwa.Analysis.read) == ["self", "name=None", "progress=None"]
    assert parameters(ctpwa.Analysis.likelihood) == ["self", "engine=None", "device=None", "progress=None", "precision=None"]


def test_fit():
    search = f"search={ctpwa.fitting.SearchSettings()}"
    common = ["start=None", "seed=0", "minos=()", "truth=None", "tolerance=1e-08", "max_iterations=None", "progress=None", "watch=None"]
    last = ["simulation=True", "effective_sizes=True", "curvature=None"]
    assert parameters(ctpwa.fit) == ["likelihood", "starts=1", "method='newton'", *common, "journal=None", search, *last]
    given = ["likelihood=None", "start=None", "starts=None", "method=None", "seed=None", "minos=None", "precision=None"]
    known = ["progress=None", "watch=None", "journal=None", search, "simulation=None", "effective_sizes=True"]
    assert parameters(ctpwa.Analysis.fit) == ["self", "engine=None", "device=None", *given, *known]
    assert parameters(ctpwa.FitResult.save) == ["self", "path"]
    assert parameters(ctpwa.FitResult.load) == ["path"]


def test_variables():
    assert parameters(ctpwa.observe.parse_variable) == ["text", "decay"]
    assert parameters(ctpwa.observe.default_variables) == ["decay"]
    assert parameters(ctpwa.observe.Variable.__call__) == ["self", "events", "chunk=65536"]
    assert parameters(ctpwa.observe.ProjectionSpec) == ["variable", "bins=60", "range=None", "fine_events=4000"]


def test_reports():
    assert parameters(ctpwa.open_fit) == ["result"]
    expected = ["result", "path", "figures=None", "studies=()", "engine='auto'", "device=None", "phase_space=1000000", "progress=None"]
    assert parameters(ctpwa.write_report) == expected


def test_argand():
    assert parameters(ctpwa.argand) == ["result", "model", "points=200"]


def test_poles():
    assert parameters(ctpwa.poles) == ["result", "model", "sheets='nearest'", "resonances=None"]


def test_goodness_of_fit():
    expected = ["data", "data_weights", "model", "model_weights", "n_parameters=0", "per_bin=50"]
    assert parameters(ctpwa.observables.adaptive_chi2) == expected
    assert parameters(ctpwa.observables.mixed_sample_test) == ["data", "model", "model_weights=None", "neighbours=10", "seed=0"]
    expected = ["data", "model", "model_weights=None", "permutations=500", "max_events=4000", "seed=0"]
    assert parameters(ctpwa.observables.point_to_point) == expected
    assert parameters(ctpwa.observables.angular_moments) == ["data", "model", "edges", "max_L=4", "max_M=0", "background=None"]
    assert parameters(ctpwa.observables.MomentSample) == ["mass", "cos_theta", "phi=None", "weights=None"]


def test_export_and_compare():
    expected = [
        "root=None",
        "csv=None",
        "latex=None",
        "projections=True",
        "systematic=None",
        "engine='auto'",
        "device=None",
        "progress=None",
    ]
    assert parameters(ctpwa.export) == ["result", *expected]
    assert parameters(ctpwa.compare) == ["results", "names=None", "same_samples=None"]


def test_every_error_is_a_ctpwa_error():
    errors = [value for value in NAMES.values() if inspect.isclass(value) and issubclass(value, Exception)]
    assert len(errors) == 8
    assert all(issubclass(error, ctpwa.CtpwaError) for error in errors)
