"""The sections samples, data_sets and fit: every mistake has a place and advice, and no file is opened."""

from pathlib import Path
from typing import get_args

import pytest

import ctpwa
from ctpwa.config.fit_settings import FitSettings, fit_settings
from ctpwa.config.fit_spec import FitSpec
from ctpwa.config.read import load_document
from ctpwa.config.samples import data_sets
from ctpwa.config.schema import ModelSpec
from ctpwa.config.sources import FileSource, GeneratedSource
from ctpwa.engine.samples.precision import PRECISIONS
from ctpwa.model.couplings import VERTEX, WAVE
from ctpwa.model.parameter import PARTS
from unit.config.refusals import refusals

MODEL = """decay: J/psi(1S) -> K+ K- eta
resonances:
  phi(1680): {in: K+ K-, mass: 1.68, width: 0.15, float: mass}
  K(2)*(1430): {in: [K+ eta, K- eta]}
"""
PHI, KSTAR = "phi(1680)[K+ K-] (1,1)(1,0)", "K(2)*(1430)+[K+ eta] (2,2)(2,0)"
PHSP = "phase_space: {generate: 10}"


def samples(text):
    return MODEL + f"samples:\n  {PHSP}\n  {text}\n"


def with_fit(text):
    return MODEL + f"fit:\n  {text}\n"


def read(load, tmp_path, text):
    load(text)
    document = load_document(tmp_path / "model.yml")
    return data_sets(document.spec, document.model.decay, document.folder)


def test_no_samples(load, tmp_path):
    assert read(load, tmp_path, MODEL) == ()


@pytest.mark.parametrize("data", ["data.root", "{file: data.root}", "[data.root]", "[{file: [data.root]}]"])
def test_ways_to_name_a_file(load, tmp_path, data):
    (data_set,) = read(load, tmp_path, samples(f"data: {data}"))
    assert data_set.name == ""
    assert [source.files for source in data_set.data] == [(tmp_path / "data.root",)]
    assert data_set.phase_space == (GeneratedSource(10, 0),)
    assert data_set.background == data_set.truth == ()


def test_all_keys_of_a_sample(load, tmp_path):
    text = "data: {file: [a.root, b_*.root], tree: t, weight: w, scale: 0.5, order: px py pz E, unit: MeV, "
    text += "momenta: {K+: kp, K-: [a, b, c, d]}, mass_tolerance: {eta: 0.02}, parent_tolerance: .inf}"
    (data_set,) = read(load, tmp_path, samples(text))
    (source,) = data_set.data
    assert isinstance(source, FileSource)
    assert (source.files, source.scale) == ((tmp_path / "a.root", tmp_path / "b_*.root"), 0.5)
    options = source.options
    assert (options.tree, options.weight, options.unit, options.positions) == ("t", "w", "MeV", [3, 0, 1, 2])
    assert options.momenta == {"K+": "kp", "K-": ["a", "b", "c", "d"]}
    assert (options.mass_tolerance, options.parent_tolerance) == ({"eta": 0.02}, float("inf"))


def test_text_files_have_an_order_of_particles(load, tmp_path):
    (data_set,) = read(load, tmp_path, samples("data: {file: a.txt, momenta: [eta, K+, K-], weight_file: w.txt}"))
    assert data_set.data[0].options.momenta == ["eta", "K+", "K-"]
    assert data_set.data[0].weight_files == (tmp_path / "w.txt",)


def test_a_folder_whose_name_looks_like_a_pattern(tmp_path):
    folder = tmp_path / "run[1]"
    folder.mkdir()
    (folder / "model.yml").write_text(samples("data: [a.npz, b_*.npz]"), encoding="utf-8")
    document = load_document(folder / "model.yml")
    one, pattern = (source.files[0] for source in data_sets(document.spec, document.model.decay, document.folder)[0].data)
    assert one == folder / "a.npz"
    (folder / "b_1.npz").touch()
    assert list(Path("/").glob(str(pattern).lstrip("/"))) == [folder / "b_1.npz"]


def test_several_data_sets(load, tmp_path):
    text = MODEL + f'data_sets:\n  "2018": {{data: a.root, {PHSP}}}\n  "2019": {{data: b.root, {PHSP}, truth: {{generate: 5, seed: 3}}}}\n'
    first, second = read(load, tmp_path, text)
    assert (first.name, second.name) == ("2018", "2019")
    assert second.truth == (GeneratedSource(5, 3),)


test_mistakes_in_samples = refusals(
    samples,
    r"""
    dta: a.root\n  data: b.root | 7:3 | unknown key 'dta' | did you mean 'data'?
    data: {fil: a.root} | 7:10 | unknown key 'fil' | did you mean 'file'?
    data: [b.root, {file: a.root, wieght: w}] | 7:33 | unknown key 'wieght' | did you mean 'weight'?
    data: a.root\n  background: {file: b.root, density: flat}
        | 8:30 | 'density' of events that are subtracted | write  backgrounds: {comb: {density: flat
    data: 3 | 7:9 | 'data' must be a mapping of keys, not 3 | data: {file: data.root}
    data: | 7:3 | 'data' is empty | data: {file: data.root}
    data: [] | 7:9 | 'data' is an empty list | name at least one
    data: {file: []} | 7:9 | neither a file nor 'generate' | write {file: data.root}
    data: {tree: t} | 7:9 | neither a file nor 'generate' | write {file: data.root}
    data: data.csv | 7:9 | unknown suffix '.csv' of 'data.csv' | use one of .root
    data: {file: [a.root, b.rot]} | 7:16 | unknown suffix '.rot' | use one of .root
    data: {file: a.txt, weight_file: w.root} | 7:36 | unknown suffix '.root' of 'w.root' | use one of .txt
    data: {file: a.root, scale: 0} | 7:31 | 'scale' is 0 | a number > 0
    data: {file: a.root, scale: x} | 7:31 | 'scale' must be a number, not 'x' | write a number
    data: {file: a.root, weight: true} | 7:32 | 'weight' is true | or say false
    data: {file: a.root, weight: 3} | 7:32 | 'weight' must be text, not 3 | write text
    data: {file: a.root, weight: w, weight_file: w.txt} | 7:48 | both 'weight' and 'weight_file' | leave one of them out
    data: {file: a.root, unit: TeV} | 7:30 | 'TeV' is not a value of 'unit' | did you mean 'MeV' or 'GeV'?
    data: {file: a.root, order: px py pz} | 7:31 | order is 'px py pz' | such as 'px py pz E'
    data: {file: a.root, momenta: kp} | 7:33 | 'momenta' must be a list, not 'kp' | such as {K+: kp}
    data: {file: a.root, momenta: {k+: kp}} | 7:34 | 'k+' is not a final particle | did you mean 'K+'?
    data: {file: a.root, momenta: {K+: [a, b]}} | 7:38 | 2 columns for 'K+' | or four columns
    data: {file: a.root, momenta: {K+: 3}} | 7:38 | 'K+' must be a list, not 3 | write a list
    data: {file: a.txt, momenta: {K+: kp}} | 7:32 | a text file has no names of columns | [K+, K-, eta]
    data: {file: a.txt, momenta: [K+, K-]} | 7:32 | K+, K- are not the final particles | list each of K+, K-, eta once
    data: {file: a.root, mass_tolerance: 0} | 7:40 | 'mass_tolerance' is 0 | a number > 0
    data: {file: a.root, mass_tolerance: {eta: x}} | 7:46 | 'eta' must be a number, not 'x' | write a number
    data: {file: a.root, mass_tolerance: {etta: 1}} | 7:41 | 'etta' is not a final particle | did you mean 'eta'?
    data: {file: a.root, parent_tolerance: wide} | 7:42 | 'parent_tolerance' must be a number, not 'wide' | in GeV
    data: {file: a.root, seed: 3} | 7:30 | 'seed' of a sample that is read from files | leave it out
    data: {file: a.root, proposal: flat} | 7:34 | 'proposal' of a sample that is read from files | leave it out
    data: a.root\n  truth: {generate: 5, proposal: flta} | 8:34 | 'flta' is not a value of 'proposal' | flat
    data: {generate: 100} | 7:20 | 'data' cannot be generated here | give a file
    data: a.root\n  background: {generate: 5} | 8:26 | 'background' cannot be generated here | give a file
    data: a.root\n  background: [a.root, {file: b.root, scale: -0.5}] | 8:46 | 'scale' is -0.5 | a number > 0
    data: a.root\n  truth: {generate: 0} | 8:21 | 'generate' is 0 | a number >= 1
    data: a.root\n  truth: {generate: 5, file: t.root} | 8:30 | 'file' next to 'generate' | not both
    data: a.root\n  truth: {generate: 5, seed: -1} | 8:30 | 'seed' is -1 | a number >= 0
    """,
)


test_mistakes_around_samples = refusals(
    lambda text: MODEL + text,
    r"""
    samples:\n | 5:1 | 'samples' is empty | or remove the key
    samples: data.root\n | 5:10 | 'samples' must be a mapping of keys, not 'data.root' | samples: {data: data.root
    samples: {phase_space: a.root}\n | 5:10 | key 'data' is missing | add data: measured events
    samples: {data: a.root}\n | 5:10 | key 'phase_space' is missing | or {generate: 500000, seed: 1}
    data_sets:\n | 5:1 | 'data_sets' is empty | one indented line per data set
    data_sets: [a]\n | 5:12 | 'data_sets' must be a mapping, not ['a'] | one indented line per data set
    data_sets: {a: b.root}\n | 5:16 | 'a' must be a mapping of keys, not 'b.root' | a: {data: data.root
    data_sets: {2018: {data: a.root, phase_space: {generate: 10}}}\n | 5:13 | the name 2018 is not text | quote it: '2018'
    data_sets: {a: {data: a.csv, phase_space: {generate: 10}}}\n | 5:23 | unknown suffix '.csv' | use one of
    samples: {data: a.root, phase_space: {generate: 10}}\ndata_sets: {a: {data: a.root, phase_space: {generate: 10}}}\n
        | 6:1 | both 'samples' and | move everything
    """,
)


def test_problems_of_model_and_samples_are_reported_together(problems):
    text = MODEL.replace("1430", "143O") + f"samples:\n  data: a.csv\n  {PHSP}\n"
    assert [problem.path for problem in problems(text)] == [("resonances", "K(2)*(143O)"), ("samples", "data")]


def test_a_mapping_has_no_lines_but_paths():
    with pytest.raises(ctpwa.base.ConfigError) as caught:
        ctpwa.load_model({"decay": "J/psi(1S) -> K+ K-", "samples": {"data": {"file": "a.csv"}, "phase_space": {"generate": 1}}})
    (problem,) = caught.value.problems
    assert problem.path == ("samples", "data", "file")


# fit


def test_defaults_of_the_fit_are_those_of_its_settings():
    assert fit_settings(ModelSpec.model_validate({"decay": ""})) == FitSettings()


def test_choices_are_those_of_the_layers_that_use_them():
    fields = FitSpec.model_fields
    assert set(get_args(fields["precision"].annotation)) == set(PRECISIONS)
    assert set(get_args(fields["representation"].annotation)) == set(PARTS)
    assert set(get_args(fields["couplings"].annotation)) == {WAVE, VERTEX}


def test_all_keys_of_the_fit(load, tmp_path):
    text = f"""method: minuit
  starts: 3
  seed: 4
  engine: cpu
  device: cpu
  precision: mixed
  device_memory: 4 GB
  host_memory: 1000000000
  scratch: /big
  representation: polar
  reference_wave: {KSTAR}
  couplings: wave
  constraints: {{phi(1680).mass: [1.68, 0.02]}}
  limits: {{phi(1680).mass: [1.6, 1.8]}}
  start: {{phi(1680).mass: 1.7, "{PHI}.abs": 2}}
  minos: [phi(1680).mass]"""
    load(with_fit(text))
    settings = fit_settings(load_document(tmp_path / "model.yml").spec)
    assert settings == FitSettings(
        "minuit", 3, 4, "cpu", "cpu", "mixed", "4 GB", 1e9, "/big", "polar", KSTAR, "wave",
        {"phi(1680).mass": (1.68, 0.02)}, {"phi(1680).mass": (1.6, 1.8)}, {},
        {"phi(1680).mass": 1.7, f"{PHI}.abs": 2.0}, ("phi(1680).mass",),
    )  # fmt: skip


@pytest.mark.parametrize(("factor", "value"), [("-1", -1), ("0.5", 0.5), ("0.5+0.1j", 0.5 + 0.1j), ("1 - 2j", 1 - 2j)])
def test_factors_of_ties(load, tmp_path, factor, value):
    load(with_fit(f'ties: {{"{KSTAR}": ["{PHI}", {factor}]}}'))
    assert fit_settings(load_document(tmp_path / "model.yml").spec).ties == {KSTAR: (PHI, value)}


# phi(1680) is the reference wave: its coupling is no parameter
test_mistakes_in_the_fit = refusals(
    with_fit,
    """
    methods: newton | 6:3 | unknown key 'methods' | did you mean 'method'?
    errors: false | 6:11 | 'errors' must be a mapping of keys, not false | write  errors: {simulation: false}
    errors: {simulations: false} | 6:12 | unknown key 'simulations' | did you mean 'simulation'?
    method: migrad | 6:11 | 'migrad' is not a value of 'method' | newton
    starts: 0 | 6:11 | 'starts' is 0 | a number >= 1
    starts: 2.5 | 6:11 | 'starts' must be a whole number, not 2.5 | a whole number
    seed: -1 | 6:9 | 'seed' is -1 | a number >= 0
    engine: 1 | 6:11 | 'engine' must be text, not 1 | text
    precision: single | 6:14 | 'single' is not a value of 'precision' | mixed
    representation: Cartesian | 6:19 | 'Cartesian' is not a value | did you mean 'cartesian'?
    couplings: waves | 6:14 | 'waves' is not a value of 'couplings' | did you mean 'wave'?
    reference_wave: phi(1690) | 6:19 | no coupling is called 'phi(1690)' | ctpwa check lists
    constraints: [1, 2] | 6:16 | 'constraints' must be a mapping, not [1, 2] | [mean, standard deviation]
    constraints: {phi(1680).mass: 1.68} | 6:33 | 1.68 is not what 'constraints' hold | [mean, standard deviation]
    constraints: {phi(1680).mass: [1.68]} | 6:33 | [1.68] is not what 'constraints' hold | [mean, standard deviation]
    constraints: {phi(1680).mass: [1.68, .inf]} | 6:33 | inf is not what 'constraints' hold | [mean, standard deviation]
    constraints: {phi(1680).mass: [1.68, -1]} | 6:33 | the standard deviation of 'phi(1680).mass' is -1 | > 0
    constraints: {phi(1680).mas: [1.68, 1]} | 6:17 | 'phi(1680).mas' is not a free parameter | did you mean 'phi(1680).mass'?
    constraints: {phi(1680).width: [0.1, 1]} | 6:17 | 'phi(1680).width' is not a free | add 'width' to 'float' of 'phi(1680)'
    limits: {phi(1680).mass: 1.68} | 6:28 | 1.68 is not what 'limits' hold | [lower, upper]
    limits: {phi(1680).mass: [1.8, 1.6]} | 6:28 | the limits of 'phi(1680).mass' are 1.8 and 1.6 | [lower, upper]
    limits: {phi(1680).width: [0.1, 1]} | 6:12 | 'phi(1680).width' is not a free | add 'width' to 'float' of 'phi(1680)'
    start: {phi(1680).mass: x} | 6:27 | 'phi(1680).mass' must be a number, not 'x' | write a number
    start: {phi(1680).mas: 1.7} | 6:11 | 'phi(1680).mas' is not a free parameter | did you mean 'phi(1680).mass'?
    start: {"phi(1680)[K+ K-] (1,1)(1,0).re": 1} | 6:11 | is not a free parameter | did you mean
    start: {"K(2)*(1430)+[K+ eta] (2,2)(2,0).abs": 1} | 6:11 | is not a free parameter | did you mean 'K(2)*(1430)+[K+ eta] (2,2)(2,0).re'
    minos: phi | 6:10 | 'phi' is not a free parameter | lists couplings and parameters
    minos: [phi(1680).mass, b] | 6:27 | 'b' is not a free parameter | lists couplings and parameters
    minos: true | 6:10 | 'minos' must be a list, not true | a parameter, or a list
    ties: {a: [b, 1]} | 6:10 | no coupling is called 'a' | lists couplings
    ties: {"K(2)*(1430)+[K+ eta] (2,2)(2,0)": [b, 1]} | 6:45 | no coupling is called 'b' | lists couplings
    ties: {"K(2)*(1430)+[K+ eta] (2,2)(2,0)": ["phi(1680)[K+ K-] (1,1)(1,0)", x]} | 6:45 | 'x' is not a factor | such as -1 or 0.5+0.1j
    ties: {"K(2)*(1430)+[K+ eta] (2,2)(2,0)": ["phi(1680)[K+ K-] (1,1)(1,0)", 0]} | 6:45 | 0 is not a factor | not zero
    ties: {"K(2)*(1430)+[K+ eta] (2,2)(2,0)": "phi(1680)[K+ K-] (1,1)(1,0)"} | 6:45 | is not what 'ties' hold | [other coupling, factor]
    ties: {"K(2)*(1430)+[K+ eta] (2,2)(2,0)": ["K(2)*(1430)+[K+ eta] (2,2)(2,0)", 1]} | 6:9 | tied in a circle | leave one of them untied
    fit | 6:3 | 'fit' must be a mapping of keys, not 'fit' | fit: {starts: 20, seed: 1}
    """,
)


def test_engines_are_those_that_are_named(tmp_path):
    (tmp_path / "model.yml").write_text(with_fit("engine: gpu\n  minos: phi"))
    with pytest.raises(ctpwa.base.ConfigError) as caught:
        load_document(tmp_path / "model.yml", engines=("auto", "cpu", "mine"))
    engine, minos = caught.value.problems  # and everything else that is wrong
    assert engine.what == "there is no engine 'gpu'"
    assert engine.fix == "known: auto, cpu, mine"
    assert engine.location == f"{tmp_path / 'model.yml'}:6:11"
    assert "'phi' is not a free parameter" in minos.what
    (tmp_path / "model.yml").write_text(with_fit("engine: mine"))
    assert load_document(tmp_path / "model.yml", engines=("auto", "mine")).spec.fit.engine == "mine"
    assert load_document(tmp_path / "model.yml").spec.fit.engine == "mine"  # nothing is computed


def test_ties_that_leave_no_reference(problems):
    text = with_fit(f'reference_wave: {KSTAR}\n  ties: {{"{KSTAR}": ["{PHI}", 1]}}')
    (problem,) = problems(text)
    assert problem.path == ("fit", "ties")
    assert "the reference wave" in problem.what


def test_what_is_the_same_for_all_data_sets(problems):
    text = MODEL + f"data_sets:\n  one: {{data: a.npz, {PHSP}, polarisation: transverse}}\n"
    (found,) = problems(text)
    assert found.what == "'polarisation' is the same for all data sets"
    assert found.path == ("data_sets", "one", "polarisation")
    assert "first + second" in found.fix
