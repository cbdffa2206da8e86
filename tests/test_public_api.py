"""What users rely on: names and signatures change only on purpose."""

import inspect

import ctpwa

NAMES = {
    "fit",
    "FitResult",
    "Analysis",
    "ArgandCurve",
    "Comparison",
    "ConfigError",
    "CtpwaError",
    "DataError",
    "EventFiles",
    "EventStream",
    "Events",
    "GenerationError",
    "Likelihood",
    "Model",
    "ModelIntensity",
    "ModelValues",
    "MomentSample",
    "PhysicsError",
    "Pole",
    "ProjectionSpec",
    "Ranks",
    "SampleSummary",
    "SpinAmplitudes",
    "ToyGenerator",
    "Variable",
    "Wave",
    "argand",
    "build_likelihood",
    "adaptive_chi2",
    "angular_moments",
    "compare",
    "couplings_for_fractions",
    "current_ranks",
    "export",
    "default_variables",
    "free_parameters",
    "generate_phase_space",
    "generate_toy",
    "load_analysis",
    "load_model",
    "mixed_sample_test",
    "model_values",
    "poles",
    "open_events",
    "open_fit",
    "OpenedFit",
    "write_report",
    "parse_variable",
    "point_to_point",
    "read_events",
    "register_lineshape",
    "write_events",
}


def parameters(function):
    return [
        str(p).split(":")[0] + ("" if p.default is p.empty else f"={p.default!r}") for p in inspect.signature(function).parameters.values()
    ]


def test_exported_names_are_there():
    assert {name for name in NAMES if not hasattr(ctpwa, name)} == set()


def test_every_exported_name_is_known_to_this_test():
    exported = {n for n, value in vars(ctpwa).items() if not n.startswith("_") and not inspect.ismodule(value)}
    assert exported - NAMES == set(), "add new public names here, and to the changelog"


def test_load_model():
    assert parameters(ctpwa.load_model) == ["path_or_mapping"]


def test_spin_amplitudes():
    expected = ["self", "momenta", "barrier=False", "polarisation=None", "device=None", "chunk_size=None", "progress=None"]
    assert parameters(ctpwa.Model.spin_amplitudes) == expected


def test_generate_phase_space():
    expected = ["model_or_masses", "n", "seed=0", "weighted=False", "device='cpu'", "progress=None", "ranks=None"]
    assert parameters(ctpwa.generate_phase_space) == expected


def test_generate_toy():
    arguments = ["couplings=None", "parameters=None", "efficiency=None", "device='cpu'", "engine='auto'"]
    assert parameters(ctpwa.generate_toy) == ["model", "n", "seed=0", *arguments, "progress=None"]
    assert parameters(ctpwa.ToyGenerator) == ["model", *arguments]
    assert parameters(ctpwa.ToyGenerator.generate) == ["self", "n", "seed=0", "progress=None"]


def test_model_intensity():
    assert parameters(ctpwa.ModelIntensity) == ["model", "couplings=None", "parameters=None", "engine='auto'", "device=None"]
    assert parameters(ctpwa.ModelIntensity.__call__) == ["self", "events", "waves=None", "progress=False"]


def test_read_and_write_events():
    expected = ["model", "path", "tree=None", "momenta=None", "weight=None", "weight_file=None", "scale=1.0", "order=None", "unit='GeV'"]
    expected += ["mass_tolerance=None", "parent_tolerance=None", "name=''", "device='cpu'", "progress=None", "ranks=None"]
    assert parameters(ctpwa.read_events) == expected
    assert parameters(ctpwa.open_events) == [parameter for parameter in expected if not parameter.startswith("device")]
    assert parameters(ctpwa.write_events) == ["path", "events", "model=None", "weight_file=None", "made_by=''", "progress=None"]


def test_load_analysis():
    assert parameters(ctpwa.load_analysis) == ["path_or_mapping", "ranks=None"]
    assert parameters(ctpwa.Analysis.read) == ["self", "name=None", "progress=None"]
    assert parameters(ctpwa.Analysis.likelihood) == ["self", "engine=None", "device=None", "progress=None", "precision=None"]


def test_fit():
    common = ["start=None", "seed=0", "minos=()", "truth=None", "tolerance=1e-08", "max_iterations=None", "progress=None", "watch=None"]
    assert parameters(ctpwa.fit) == ["likelihood", "starts=1", "method='newton'", *common, "journal=None"]
    given = ["likelihood=None", "start=None", "starts=None", "method=None", "seed=None", "minos=None", "precision=None"]
    assert parameters(ctpwa.Analysis.fit) == ["self", "engine=None", "device=None", *given, "progress=None", "watch=None", "journal=None"]
    assert parameters(ctpwa.FitResult.save) == ["self", "path"]
    assert parameters(ctpwa.FitResult.load) == ["path"]


def test_variables():
    assert parameters(ctpwa.parse_variable) == ["text", "decay"]
    assert parameters(ctpwa.default_variables) == ["decay"]
    assert parameters(ctpwa.Variable.__call__) == ["self", "events"]
    assert parameters(ctpwa.ProjectionSpec) == ["variable", "bins=60", "range=None"]


def test_reports():
    assert parameters(ctpwa.open_fit) == ["result"]
    expected = ["result", "path", "figures=None", "engine='auto'", "device=None", "phase_space=1000000", "progress=None"]
    assert parameters(ctpwa.write_report) == expected


def test_argand():
    assert parameters(ctpwa.argand) == ["result", "model", "points=200"]


def test_poles():
    assert parameters(ctpwa.poles) == ["result", "model", "sheets='nearest'"]


def test_goodness_of_fit():
    expected = ["data", "data_weights", "model", "model_weights", "n_parameters=0", "per_bin=50"]
    assert parameters(ctpwa.adaptive_chi2) == expected
    assert parameters(ctpwa.mixed_sample_test) == ["data", "model", "model_weights=None", "neighbours=10", "seed=0"]
    expected = ["data", "model", "model_weights=None", "permutations=500", "max_events=4000", "seed=0"]
    assert parameters(ctpwa.point_to_point) == expected
    assert parameters(ctpwa.angular_moments) == ["data", "model", "edges", "max_L=4", "max_M=0", "background=None"]
    assert parameters(ctpwa.MomentSample) == ["mass", "cos_theta", "phi=None", "weights=None"]


def test_export_and_compare():
    expected = ["root=None", "csv=None", "latex=None", "projections=True", "engine='auto'", "device=None", "progress=None"]
    assert parameters(ctpwa.export) == ["result", *expected]
    assert parameters(ctpwa.compare) == ["results", "names=None", "same_samples=None"]


def test_every_error_is_a_ctpwa_error():
    for name in ("ConfigError", "DataError", "GenerationError", "PhysicsError"):
        assert issubclass(getattr(ctpwa, name), ctpwa.CtpwaError)
