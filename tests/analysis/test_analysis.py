"""From a model file to samples and a likelihood."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.data.summary import grouped
from ctpwa.generate import sample_phase_space
from ctpwa.model.reference_phases import NONE
from ranks.threads import on_ranks

MODEL = """decay: J/psi(1S) -> K+ K- eta
polarisation: transverse
resonances:
  phi(1680):   {in: K+ K-, mass: 1.659, width: 0.164, float: [mass, width]}
  K(2)*(1430): {in: [K+ eta, K- eta]}
"""
PHI, KSTAR = "phi(1680)[K+ K-] (1,1)(1,0)", "K(2)*(1430)+[K+ eta] (2,2)(2,0)"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with samples and a model file, which is not the working directory."""
    folder = tmp_path_factory.mktemp("analysis")
    model = ctpwa.load_model({"decay": "J/psi(1S) -> K+ K- eta", "resonances": {"phi(1020)": {"in": "K+ K-"}}})
    for i, name in enumerate(("data.root", "more.npz", "side.parquet", "phsp.root", "rest.npz")):
        ctpwa.write_events(folder / name, ctpwa.generate_phase_space(model, 40 + i, seed=i))
    return folder


@pytest.fixture
def analysis(folder):
    def load(text):
        (folder / "model.yml").write_text(MODEL + text, encoding="utf-8")
        return ctpwa.load_analysis(folder / "model.yml")

    return load


def events(folder, name, **options):
    return ctpwa.read_events(ctpwa.load_model(folder / "model.yml"), folder / name, **options)


def test_samples_are_read_from_beside_the_model_file(analysis, folder):
    samples = analysis("samples: {data: data.root, phase_space: phsp.root}").read()
    assert torch.equal(samples.data["K+"], events(folder, "data.root")["K+"])
    assert torch.equal(samples.phase_space["eta"], events(folder, "phsp.root")["eta"])
    assert samples.background is samples.truth is None


def test_generated_phase_space_is_that_of_the_generator(analysis):
    loaded = analysis("samples: {data: data.root, phase_space: {generate: 30, seed: 5}, truth: {generate: 7}}")
    samples = loaded.read()
    expected = sample_phase_space(loaded.model, 30, seed=5)
    for name in expected:
        assert torch.equal(samples.phase_space[name], expected[name])
    assert torch.equal(samples.phase_space.weights, expected.weights)
    assert torch.equal(samples.truth.weights, sample_phase_space(loaded.model, 7).weights)
    v = expected.weights
    weights = f"weights {grouped(float(v.sum()))} (min {grouped(float(v.min()))}, max {grouped(float(v.max()))})"
    note = f"generated along the resonances (effective number {round(float(v.sum() ** 2 / v.square().sum()))}), seed 5"
    assert str(loaded.summaries[1]) == f"phase space: 30 events, {weights}, m(J/psi(1S)) 3.09690 ± 0.00000 GeV; {note}"


def test_flat_phase_space(analysis):
    text = "samples: {data: data.root, phase_space: {generate: 30, seed: 5, proposal: flat}, truth: {generate: 7, proposal: flat}}"
    loaded = analysis(text)
    samples, expected = loaded.read(), ctpwa.generate_phase_space(loaded.model, 30, seed=5)
    for name in expected:
        assert torch.equal(samples.phase_space[name], expected[name])
    assert samples.phase_space.weights is samples.truth.weights is None
    assert str(loaded.summaries[1]) == "phase space: 30 events, m(J/psi(1S)) 3.09690 ± 0.00000 GeV; generated, seed 5"


def test_generated_events_on_several_ranks(analysis, folder):
    """The same events and the same line, also where a rank has none of them."""
    text = "samples: {data: data.root, phase_space: {generate: 2, seed: 5}, truth: {generate: 40}}"
    alone = analysis(text)
    expected = alone.read()
    for samples in on_ranks(3, lambda ranks: ctpwa.load_analysis(folder / "model.yml", ranks).read()):
        assert [str(one) for one in samples.summaries[1:]] == [str(one) for one in expected.summaries[1:]]
        for kind in ("phase_space", "truth"):
            own, whole = getattr(samples, kind), getattr(expected, kind)
            numbers = own.part.numbers()
            assert torch.equal(own.weights, whole.weights[numbers])
            assert torch.equal(own["eta"], whole["eta"][numbers])


def test_several_sources_are_one_sample(analysis, folder):
    text = "samples: {data: [data.root, more.npz], phase_space: phsp.root, background: [{file: side.parquet, scale: 0.3}, rest.npz]}"
    loaded = analysis(text)
    samples = loaded.read()
    assert torch.equal(samples.data["K-"], torch.cat([events(folder, name)["K-"] for name in ("data.root", "more.npz")]))
    assert samples.data.weights is None
    assert samples.background.weights.tolist() == [0.3] * 42 + [1.0] * 44
    assert [summary.name for summary in loaded.summaries] == ["data 1", "data 2", "phase space", "background 1", "background 2"]


def test_the_likelihood_is_that_of_the_samples(analysis, folder):
    text = f"""samples: {{data: data.root, phase_space: phsp.root, background: {{file: side.parquet, scale: 0.2}}}}
fit:
  engine: reference
  representation: polar
  reference_wave: {KSTAR}
  constraints: {{phi(1680).mass: [1.68, 0.02]}}
  start: {{phi(1680).mass: 1.7, "{PHI}.abs": 2.5}}
"""
    loaded = analysis(text)
    likelihood = loaded.likelihood()
    direct = ctpwa.build_likelihood(
        loaded.model,
        events(folder, "data.root"),
        events(folder, "phsp.root"),
        events(folder, "side.parquet", scale=0.2),
        engine="reference",
        representation="polar",
        reference_wave=KSTAR,
        constraints={"phi(1680).mass": (1.68, 0.02)},
    )
    assert likelihood.names == direct.names == (f"{PHI}.abs", f"{PHI}.phase", "phi(1680).mass", "phi(1680).width")
    start = loaded.start(likelihood)
    assert start.tolist() == [2.5, 0.0, 1.7, 0.164]
    assert likelihood.value(start) == direct.value(start)
    assert likelihood.engine.device.type == "cpu"


def test_background_is_subtracted(analysis, folder):
    """−Σ ln I + Σ_b w ln I + (N − W_b) ln σ, from the intensities of each sample."""
    subtracted = "samples: {data: data.root, phase_space: phsp.root, background: {file: side.parquet, scale: 0.2}}"
    with_background = analysis(f"{subtracted}\nfit: {{subtraction: plain}}")
    likelihood = with_background.likelihood(engine="reference")
    x = with_background.start(likelihood)
    I = {name: likelihood.intensity(x, name).numpy() for name in ("data", "background", "phase space")}
    expected = -np.log(I["data"]).sum() + 0.2 * np.log(I["background"]).sum() + (40 - 0.2 * 42) * np.log(I["phase space"].mean())
    assert likelihood.value(x) == pytest.approx(expected, rel=1e-12)


def test_data_sets_share_parameters_and_constraints_count_once(analysis):
    text = """data_sets:
  "2018": {data: data.root, phase_space: phsp.root}
  "2019": {data: more.npz, phase_space: {generate: 50}}
fit: {constraints: {phi(1680).mass: [1.5, 0.01]}}
"""
    loaded = analysis(text)
    likelihood = loaded.likelihood(engine="reference")
    assert len(likelihood.terms) == 2
    x = loaded.start(likelihood)
    parts = [
        ctpwa.build_likelihood(loaded.model, samples.data, samples.phase_space, engine="reference").value(x)
        for samples in (loaded.read("2018"), loaded.read("2019"))
    ]
    assert likelihood.value(x) == pytest.approx(sum(parts) + ((1.659 - 1.5) / 0.01) ** 2 / 2, rel=1e-13)
    assert [summary.name for summary in loaded.summaries] == ["2018 data", "2018 phase space", "2019 data", "2019 phase space"]


def test_samples_are_read_once_until_forgotten(analysis):
    loaded = analysis("samples: {data: data.root, phase_space: phsp.root}")
    first = loaded.read()
    assert loaded.read() is first
    loaded.forget()
    assert loaded.read() is not first


def test_loading_opens_no_file_of_events(analysis):
    loaded = analysis("samples: {data: nowhere.root, phase_space: {generate: 5}}")
    with pytest.raises(ctpwa.base.DataError, match=r"data: there is no file '.*nowhere.root'"):
        loaded.read()


def test_paths_of_a_mapping_are_relative_to_the_working_directory(folder, monkeypatch):
    monkeypatch.chdir(folder)
    description = {
        "decay": "J/psi(1S) -> K+ K- eta",
        "resonances": {"phi(1020)": {"in": "K+ K-"}},
        "samples": {"data": folder / "data.root", "phase_space": "phsp.root"},
    }
    assert ctpwa.load_analysis(description).read().data.n_events == 40


def test_nothing_to_fit(analysis):
    loaded = analysis("")
    assert loaded.data_sets == loaded.summaries == ()
    for method in (loaded.likelihood, loaded.read):
        with pytest.raises(ctpwa.base.DataError) as caught:
            method()
        assert "no samples" in str(caught.value)
        assert "add  samples: {data: data.root, phase_space: {generate: 500000}}" in str(caught.value)


def test_which_data_set(analysis):
    loaded = analysis("data_sets: {a: {data: data.root, phase_space: phsp.root}, b: {data: more.npz, phase_space: phsp.root}}")
    with pytest.raises(ctpwa.base.DataError, match="there are 2 data sets: a, b"):
        loaded.read()
    with pytest.raises(ctpwa.base.DataError, match="there is no data set 'c'"):
        loaded.read("c")


def test_background_with_negative_weights(analysis, folder):
    np.savetxt(folder / "w.txt", -np.ones(42))
    loaded = analysis("samples: {data: data.root, phase_space: phsp.root, background: {file: side.parquet, weight_file: w.txt}}")
    with pytest.raises(ctpwa.base.DataError, match="background: its weights add up to -42\n fix: give positive weights"):
        loaded.read()


def test_errors_name_the_sample(analysis, folder):
    loaded = analysis("data_sets: {a: {data: {file: data.root, momenta: {K+: kq}}, phase_space: phsp.root}}")
    with pytest.raises(ctpwa.base.DataError, match=r"a data: .*data\.root, tree 'events': no four-momentum of 'K"):
        loaded.read()


def test_what_was_written_is_kept(analysis):
    loaded = analysis("samples: {data: data.root, phase_space: phsp.root}\nfit: {starts: 3, seed: 8}")
    assert loaded.description["samples"] == {"data": "data.root", "phase_space": "phsp.root"}
    assert (loaded.settings.starts, loaded.settings.seed) == (3, 8)
    assert loaded.name.endswith("model.yml")
    assert str(ctpwa.load_model(loaded.description)) == str(loaded.model)


def test_a_start_value_must_be_of_the_likelihood(analysis):
    loaded = analysis("samples: {data: data.root, phase_space: phsp.root}\nfit: {start: {phi(1680).mass: 1.7}}")
    other = SimpleNamespace(names=("phi(1680).width",), start=np.array([0.1]), model=loaded.model, phases=NONE)
    with pytest.raises(
        ctpwa.base.PhysicsError, match=r"start value of 'phi\(1680\).mass', which is not a free parameter\n fix: it is fixed"
    ):
        loaded.start(other)


@pytest.mark.parametrize("kind", ["data", "phase_space", "truth"])
def test_weights_that_add_up_to_less_than_nothing(analysis, folder, kind):
    np.savetxt(folder / "minus.txt", np.full(41, -2.0))
    sources = {"data": "data.root", "phase_space": "phsp.root", kind: "{file: more.npz, weight_file: minus.txt}"}
    text = ", ".join(f"{name}: {source}" for name, source in sources.items())
    with pytest.raises(ctpwa.base.DataError, match=f"{kind.replace('_', ' ')}: its weights add up to -82\n fix: give positive weights"):
        analysis(f"samples: {{{text}}}").read()


def test_a_source_with_negative_weights_is_part_of_a_sample(analysis, folder):
    np.savetxt(folder / "minus.txt", np.full(41, -0.5))
    loaded = analysis("samples: {data: [data.root, {file: more.npz, weight_file: minus.txt}], phase_space: phsp.root}")
    assert float(loaded.read().data.weights.sum()) == 40 - 0.5 * 41


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ("samples: {data: [data.root, {file: data.root}], phase_space: phsp.root}", "data: '.*data.root' is the same file as .* of data"),
        ("samples: {data: [data.root, {file: link.root, scale: 2}], phase_space: phsp.root}", "link.root' is the same file as .*data.root"),
        ("samples: {data: ['d*.root', '*a.root'], phase_space: phsp.root}", "is the same file|is named twice"),
        ("samples: {data: data.root, phase_space: data.root}", "phase space: '.*data.root' is the same file as '.*data.root' of data"),
        ("samples: {data: data.root, phase_space: phsp.root, background: data.root}", "background: .* is the same file"),
        ("samples: {data: data.root, phase_space: phsp.root, truth: [phsp.root, phsp.root]}", "is the same file|is named twice"),
        (
            "data_sets: {a: {data: data.root, phase_space: phsp.root}, b: {data: data.root, phase_space: phsp.root}}",
            "b data: '.*data.root' is the same file as '.*data.root' of a data",
        ),
    ],
)  # fmt: skip
def test_the_same_events_twice(analysis, folder, samples, message):
    if not (folder / "link.root").exists():
        (folder / "link.root").symlink_to(folder / "data.root")
    loaded = analysis(samples)
    with pytest.raises(ctpwa.base.DataError, match=message):
        loaded.read(loaded.data_sets[0].name)


def test_files_that_may_serve_twice(analysis, folder):
    """Phase space as its own truth and that of two data sets; data and background with different weights."""
    np.savetxt(folder / "half.txt", np.full(40, 0.5))
    a = "{data: data.root, phase_space: phsp.root, truth: phsp.root, background: {file: data.root, weight_file: half.txt}}"
    loaded = analysis(f"data_sets: {{a: {a}, b: {{data: more.npz, phase_space: phsp.root}}}}")
    assert loaded.read("a").truth.n_events == loaded.read("b").phase_space.n_events == 43


@pytest.mark.parametrize("n", [10**12, 10**15, 10**18])
def test_more_phase_space_than_there_is_memory(analysis, n):
    loaded = analysis(f"samples: {{data: missing.root, phase_space: {{generate: {n}}}}}")  # nothing is read before
    with pytest.raises(ctpwa.CtpwaError, match=r"phase space: .* events of 3 particles need .* to generate, but cpu has .* left\n fix: "):
        loaded.read()
