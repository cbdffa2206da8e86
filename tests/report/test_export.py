"""Exports: ROOT files read back, CSV files parsed, LaTeX tables with every brace closed."""

import csv
import io
import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
import uproot
from matplotlib.mathtext import MathTextParser

import ctpwa
from ctpwa.analysis.reopen import open_fit
from ctpwa.base.errors import CtpwaError, DataError
from ctpwa.base.output import write_texts
from ctpwa.base.timing import TIMING
from ctpwa.data.root_output import root_output
from ctpwa.decay.latex import COMMANDS
from ctpwa.report.export.csv_files import csv_tables
from ctpwa.report.export.latex import latex_tables, number
from ctpwa.report.export.safe_names import safe_names
from fitting.made_up import make_result
from kk_eta import TWO

MODEL = (
    TWO
    + """data_sets:
  3.1 GeV: {data: one.npz, phase_space: {file: flat.npz, weight_file: weights.txt}, background: {file: side.npz, scale: 0.5}}
  b: {data: side.npz, phase_space: {generate: 200, seed: 2}}
projections:
  - {variable: "mass(K+, K-)", bins: 10, range: [1.2, 2.2]}
  - {variable: "cos_theta(K+; K+ K-)", bins: 8}
fit: {engine: reference, starts: 1}
"""
)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A small simultaneous fit with background and weights."""
    folder = tmp_path_factory.mktemp("export")
    (folder / "model.yml").write_text(MODEL)
    model = ctpwa.load_model(folder / "model.yml")
    for seed, (name, n) in enumerate({"one": 90, "side": 40, "flat": 300}.items()):
        ctpwa.write_events(folder / f"{name}.npz", ctpwa.generate_phase_space(model, n, seed=10 + seed), model=model)
    np.savetxt(folder / "weights.txt", np.linspace(-0.1, 1.5, 300))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        ctpwa.load_analysis("model.yml").fit().save("result.json")
    return open_fit(folder / "result.json")


@pytest.fixture(scope="module")
def exported(fitted, tmp_path_factory):
    """All exports, with model bins that are narrower than those of the data."""
    folder = tmp_path_factory.mktemp("out")
    opened = open_fit(fitted.path)
    opened.analysis.projections = tuple(replace(axis, fine_events=5) for axis in opened.analysis.projections)
    files = ctpwa.export(opened, root=folder / "x.root", csv=folder / "csv", latex=folder / "tex", engine="reference", progress=False)
    projected = opened.project("reference", progress=False)
    assert sorted(files) == sorted(file for file in folder.rglob("*") if file.is_file())
    with uproot.open(folder / "x.root") as root:
        yield folder, root, projected


def names_of(root):
    return json.loads(str(root["names"]))


# ROOT


def test_histograms(exported):
    _, root, projected = exported
    names = names_of(root)
    assert names["data sets"] == {"3_1_GeV": "3.1 GeV", "b": "b"}
    for folder, data_set in names["data sets"].items():
        for safe, variable in names["variables"].items():
            (p,) = [p for p in projected[data_set].projections if p.variable.name == variable]
            at = root[f"{folder}/projections/{safe}"]
            for name, values, variances in (
                ("data", p.data, p.data_variance),
                ("background", p.background, p.background_variance),
                ("fit", p.expected, p.background_variance + p.rebinned(p.variance)),
            ):
                assert at[name].classname == "TH1D"
                np.testing.assert_allclose(at[name].values(), values, rtol=1e-12, atol=1e-12)
                np.testing.assert_allclose(at[name].variances(), variances, rtol=1e-12, atol=1e-12)
                np.testing.assert_allclose(at[name].axis().edges(), p.edges, rtol=1e-12, atol=1e-15)
                assert at[name].values(flow=True)[[0, -1]].tolist() == [0, 0]
            for kind in ("groups", "waves", "jp"):
                for own, original in names[kind].items():
                    histogram = at[f"{kind}/{own}"]
                    np.testing.assert_allclose(histogram.values(), p.rebinned(p.component(original)), rtol=1e-12)
                    assert histogram.title == original
            np.testing.assert_allclose(at["interference"].values(), p.rebinned(p.all_interference), rtol=1e-12)
            assert p.fine > 1
            np.testing.assert_allclose(at["fine/signal"].values(), p.total, rtol=1e-12)
            total = sum(at[f"fine/groups/{own}"].values() for own in names["groups"]) + at["fine/interference"].values()
            np.testing.assert_allclose(total, at["fine/signal"].values(), rtol=1e-10, atol=1e-10)
            assert at["fit"].member("fXaxis").member("fTitle") == variable + (" [GeV]" if "mass" in variable else "")


def test_moments_of_a_histogram_are_those_of_its_bins(exported):
    _, root, projected = exported
    p = projected["b"].projections[0]
    histogram = root["b/projections/mass_Kp_Km/data"]
    x = (p.edges[1:] + p.edges[:-1]) / 2
    assert histogram.member("fTsumw") == p.data.sum()
    assert histogram.member("fTsumwx") / histogram.member("fTsumw") == pytest.approx((x * p.data).sum() / p.data.sum())


def test_dalitz_plots(exported):
    _, root, projected = exported
    (grid,) = projected["3.1 GeV"].grids
    for name, values in (("data", grid.data), ("fit", grid.expected), ("pull", np.nan_to_num(grid.pulls))):
        histogram = root[f"3_1_GeV/dalitz/{name}"]
        assert histogram.classname == "TH2D"
        np.testing.assert_allclose(histogram.values(), values, rtol=1e-12, atol=1e-12)
        for axis, edges in enumerate(grid.edges):
            np.testing.assert_allclose(histogram.axis(axis).edges(), edges, rtol=1e-12)


def test_every_event_has_its_weights_in_the_order_of_the_input(fitted, exported):
    _, root, projected = exported
    names = names_of(root)
    I = fitted.intensity("reference")
    for samples in fitted.read(progress=False):
        folder, found = safe_names([samples.name])[samples.name], projected[samples.name]
        trees = {"phase_space": samples.phase_space, "data": samples.data} | (
            {"background": samples.background} if samples.background is not None else {}
        )
        assert {key.split(";")[0] for key in root[folder].keys(recursive=False, filter_classname="TTree")} == set(trees)
        for name, events in trees.items():
            tree = root[f"{folder}/{name}"].arrays(library="np")
            w = np.ones(events.n_events) if events.weights is None else events.weights.numpy()
            np.testing.assert_array_equal(tree["weight"], w)
            factor = found.scale * w if name == "phase_space" else 1.0
            np.testing.assert_allclose(tree["fit" if name == "phase_space" else "intensity"], factor * I(events).numpy(), rtol=1e-10)
            for own, original in names["groups"].items():
                np.testing.assert_allclose(tree[f"group_{own}"], factor * I(events, found.groups[original]).numpy(), rtol=1e-10)
            for own, original in names["waves"].items():
                np.testing.assert_allclose(tree[f"wave_{own}"], factor * I(events, [original]).numpy(), rtol=1e-10)
        flat = root[f"{folder}/phase_space"].arrays(library="np")
        background = 0.0 if samples.background is None else samples.background.weights.sum().item()
        assert flat["fit"].sum() == pytest.approx(samples.data.n_events - background, rel=1e-12)
        (p, *_) = found.projections
        filled, _ = np.histogram(p.variable(samples.phase_space), bins=p.edges, weights=flat["fit"])
        np.testing.assert_allclose(filled + p.background, p.expected, rtol=1e-10, atol=1e-10)


def test_one_data_set_has_no_folder_of_its_own(fitted, tmp_path):
    samples = fitted.read(progress=False)[1]
    alone = replace(samples, name="")
    from ctpwa.report.export.root import write_root

    write_root(tmp_path / "x.root", fitted.intensity("reference"), [(alone, fitted.project("reference")["b"])])
    with uproot.open(tmp_path / "x.root") as root:
        tops = {key.split(";")[0] for key in root.keys(recursive=False)}
        assert tops == {"projections", "dalitz", "phase_space", "data", "names", "made_by"}


def test_many_events_come_in_their_order(tmp_path):
    parts = [{"a": np.arange(k, k + 4.0), "b": -np.arange(k, k + 4.0)} for k in range(0, 40, 4)]
    with root_output(tmp_path / "x.root") as out:
        assert out.tree("t", ["a", "b"], iter(parts), basket=10) == 40
        assert out.tree("empty", ["a"], iter([])) == 0
    with uproot.open(tmp_path / "x.root") as file:
        np.testing.assert_array_equal(file["t/a"].array(library="np"), np.arange(40.0))
        np.testing.assert_array_equal(file["t/b"].array(library="np"), -np.arange(40.0))
        assert file["empty"].num_entries == 0


def test_a_file_that_fails_leaves_the_old_one(tmp_path):
    (tmp_path / "x.root").write_text("old")

    def interrupted():
        with root_output(tmp_path / "x.root") as out:
            out.text("a", "b")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("x.root", "old")]
    with pytest.raises(DataError, match=r"cannot write '.*x.txt' as a ROOT file\n fix: give a name that ends with .root"):
        root_output(tmp_path / "x.txt").__enter__()


def test_names_are_safe_and_different():
    found = safe_names(["K*(1410)+[K+ eta]", "K*(1410)-[K- eta]", "1⁻", "1⁺", "a b", "a-b", "a_b", "", "φ", "K*(1410)+[K+ eta]"])
    assert found["K*(1410)+[K+ eta]"] == "Kst_1410_p_Kp_eta"
    assert found["K*(1410)-[K- eta]"] == "Kst_1410_m_Km_eta"
    assert (found["1⁻"], found["1⁺"]) == ("1m", "1p")
    assert len(set(found.values())) == len(found) == 9
    assert all(re.fullmatch(r"\w+", name, re.ASCII) for name in found.values())


# CSV


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_tables_hold_every_digit():
    result = make_result()
    tables = csv_tables(result)
    parameters = table(tables["parameters.csv"])
    for row, p in zip(parameters, result.parameters, strict=True):
        assert (row["name"], float(row["value"]), float(row["start"])) == (p.name, p.value, p.start)
        assert row["error"] == ("" if p.error is None else repr(p.error))
        assert row["simulation"] == ("" if p.simulation is None else repr(p.simulation))
        assert row["lower"] == ("" if p.lower is None else repr(p.lower))
        assert row["at_limit"] == ("true" if p.at_limit else "false")
    assert float(parameters[0]["minos_upper"]) == result.parameters[0].minos.upper
    assert (parameters[1]["minos_valid"], parameters[2]["minos_valid"]) == ("false", "")
    assert [(row["name"], float(row["re"])) for row in table(tables["couplings.csv"])] == [(c.name, c.re) for c in result.couplings]
    assert table(tables["couplings.csv"])[0]["phase_error"] == ""
    for name in ("covariance", "correlation"):
        rows = table(tables[f"{name}.csv"])
        found = [[float(row[column]) for column in result.names] for row in rows]
        np.testing.assert_array_equal(found, getattr(result, name))
    (entry,) = result.fractions
    fractions = table(tables["fractions.csv"])
    for kind, group in entry.groups.items():
        rows = [row for row in fractions if row["kind"] == kind]
        assert [(row["name"], float(row["fraction"]), float(row["error"])) for row in rows] == list(
            zip(group.names, group.values.tolist(), group.errors.tolist(), strict=True)
        )
        pairs = [row for row in table(tables["interference.csv"]) if row["kind"] == kind]
        assert len(pairs) == len(group.names) * (len(group.names) - 1) // 2
        assert float(pairs[0]["interference"]) == group.interference[0, 1]
    assert next(row for row in fractions if row["kind"] == "resonances")["yield"] == repr(entry.yields["φ(1680)"][0])
    assert table(tables["fixed.csv"]) == [{"name": "φ(1680).width", "value": repr(0.1 + 0.2)}]


def test_projections_as_csv(exported):
    folder, _, projected = exported
    names = {file.name for file in (folder / "csv").iterdir()}
    assert {"dalitz_3_1_GeV.csv", "dalitz_b.csv", "projection_b_mass_Kp_Km.csv", "projection_b_mass_Kp_Km_fine.csv"} <= names
    p = projected["3.1 GeV"].projections[0]
    rows = table((folder / "csv" / "projection_3_1_GeV_mass_Kp_Km.csv").read_text(encoding="utf-8"))
    for column, numbers in (("low", p.edges[:-1]), ("data", p.data), ("data_error", np.sqrt(p.data_variance)), ("fit", p.expected)):
        np.testing.assert_allclose([float(row[column]) for row in rows], numbers, rtol=1e-12, atol=1e-12)
    assert [row["pull"] == "" for row in rows] == np.isnan(p.pulls).tolist()
    parts = sum(np.array([float(row[column]) for row in rows]) for column in rows[0] if column.startswith("group "))
    interference = np.array([float(row["interference"]) for row in rows])
    np.testing.assert_allclose(parts + interference + p.background, p.expected, rtol=1e-10, atol=1e-10)
    fine = table((folder / "csv" / "projection_3_1_GeV_mass_Kp_Km_fine.csv").read_text(encoding="utf-8"))
    np.testing.assert_allclose([float(row["signal"]) for row in fine], p.total, rtol=1e-12, atol=1e-12)
    (grid,) = projected["b"].grids
    cells = table((folder / "csv" / "dalitz_b.csv").read_text(encoding="utf-8"))
    assert sum(float(cell["data"]) for cell in cells) == grid.data.sum()
    assert sum(float(cell["fit"]) for cell in cells) == pytest.approx(grid.expected.sum())


@pytest.mark.usefixtures("exported")
def test_it_is_told_how_long_projections_and_tables_take():
    assert {"projections", "tables"} <= TIMING.seconds.keys()


def test_tables_without_samples(fitted, tmp_path):
    """The result alone is enough for everything but projections."""
    shutil.copy(fitted.path, tmp_path / "result.json")
    files = ctpwa.export(tmp_path / "result.json", csv=tmp_path / "csv", latex=tmp_path / "tex", projections=False)
    assert not any("projection" in file.name for file in files)
    assert {"parameters.csv", "fractions_1.tex"} <= {file.name for file in files}
    with pytest.raises(DataError, match="which was fitted, was not found"):
        ctpwa.export(tmp_path / "result.json", csv=tmp_path / "other")
    assert not (tmp_path / "other").exists()


# LaTeX


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((1.68023, 0.0025), r"$1.6802 \pm 0.0025$"),
        ((1234.5, 78.0), r"$1234 \pm 78$"),
        ((-0.5, 0.0312, (-0.0302, 0.0339)), r"$-0.500^{+0.034}_{-0.030}$"),
        ((-0.5, 0.0312, (-0.302, 0.0339)), r"$-0.500^{+0.034}_{-0.302}$"),
        ((1.0, 0.0), "$1$ (fixed)"),
        ((1.5, None), "$1.5$ (no error)"),
        ((5e-20, 1e-21), r"$5 \times 10^{-20} \pm 1 \times 10^{-21}$"),
        ((1.0, 0.1, (-np.inf, 0.1)), r"$1.00 \pm 0.10$"),
    ],
)
def test_numbers(arguments, text):
    assert number(*arguments) == text


def check_latex(text):
    """Braces, environments, columns and math as LaTeX wants them."""
    body = re.sub(r"(?<!\\)%.*", "", text)
    depth = 0
    for brace in re.findall(r"(?<!\\)[{}]", body):
        depth += 1 if brace == "{" else -1
        assert depth >= 0
    assert depth == 0
    opened = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", body):
        if kind == "begin":
            opened.append(name)
        else:
            assert opened.pop() == name
    assert not opened
    assert len(re.findall(r"(?<!\\)\$", body)) % 2 == 0
    assert not re.search(r"[^\x00-\x7f]", body), "pdflatex knows no other letters in math"
    for columns, inside in re.findall(r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end\{tabular\}", body, re.DOTALL):
        rows = [line for line in inside.splitlines() if line.endswith(r"\\")]
        assert len(rows) > 1
        assert {len(re.split(r"(?<!\\)&", row)) for row in rows} == {len(columns)}
    parser = MathTextParser("path")
    for formula in re.findall(r"(?<!\\)\$.*?(?<!\\)\$", body):
        parser.parse(formula)


def test_latex_tables_are_whole(exported):
    folder = exported[0] / "tex"
    assert sorted(file.name for file in folder.iterdir()) == [
        "couplings.tex", "fractions_1.tex", "fractions_2.tex", "parameters.tex", "tables.tex", "waves_1.tex", "waves_2.tex",
    ]  # fmt: skip
    for file in folder.iterdir():
        check_latex(file.read_text(encoding="utf-8"))
    inputs = re.findall(r"\\input\{(.*?)\}", (folder / "tables.tex").read_text(encoding="utf-8"))
    assert sorted([*inputs, "tables.tex"]) == sorted(file.name for file in folder.iterdir())


def test_latex_has_latex_names(fitted, exported):
    text = (exported[0] / "tex" / "parameters.tex").read_text(encoding="utf-8")
    mass = fitted.result["phi(1680).mass"]
    assert rf"$M[\phi(1680)]$ & {number(mass.value, mass.error)}\,GeV" in text
    fractions = (exported[0] / "tex" / "fractions_1.tex").read_text(encoding="utf-8")
    assert "$K_{2}^{*}(1430)$ & " in fractions
    assert r"Fraction [\%]" in fractions


def test_latex_of_a_result_without_a_model():
    first = make_result().parameters[0]
    minos = replace(
        first, name="a_b%.mass", value=1.0, error=0.1, at_limit=True, simulation=0.02, minos=replace(first.minos, lower=-0.11, upper=0.09)
    )
    result = make_result(parameters=(minos,), covariance=np.eye(1), model=None)
    tables = latex_tables(result)
    for text in tables.values():
        check_latex(text)
    assert r"$\mathrm{a\_b\%.mass}$ & $1.000^{+0.090}_{-0.110}$\,GeV, at its limit & $\pm 0.02$ \\" in tables["parameters.tex"]
    plain = latex_tables(replace(result, parameters=(replace(minos, simulation=None),), simulation=None))["parameters.tex"]
    assert r"$\mathrm{a\_b\%.mass}$ & $1.000^{+0.090}_{-0.110}$\,GeV, at its limit \\" in plain
    assert "simulation" not in plain


HOSTILE = ("\\input{/etc/passwd}", "\\write18{ls}", "a^^5cinput{b}", "} \\\\ & $x$ % y", "\\end{tabular}\\input{x}", "a\n\nb")


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_is_a_command_of_latex(name):
    model = ctpwa.load_model(
        {
            "decay": "J/psi(1S) -> K+ K- eta",
            "particles": {"eta": {"latex": name}},
            "resonances": {"phi(1680)": {"in": "K+ K-", "latex": name}, "Y": {"JP": "2++", "mass": 1.4, "width": 0.1, "in": "K+ eta"}},
        }
    )
    own = make_result()
    groups = {kind: replace(group, names=(name, *group.names[1:])) for kind, group in own.fractions[0].groups.items()}
    wave = model.waves[0].name
    result = make_result(
        parameters=tuple(replace(own.parameters[0], name=text) for text in (name, f"{name}.mass", "phi(1680).mass", f"{wave}.re")),
        covariance=np.eye(4),
        couplings=(replace(own.couplings[0], name=name), replace(own.couplings[0], name=wave)),
        fractions=(replace(own.fractions[0], groups=groups),),
    )
    for tables in (latex_tables(result), latex_tables(result, model)):
        for file, text in tables.items():
            body = text.replace("\\&", "")
            check_latex(body)
            known = {"begin", "end", "usepackage", "toprule", "midrule", "bottomrule", "\\", "arg", *COMMANDS}
            known |= {"documentclass", "small", "input"} if file == "tables.tex" else set()
            assert set(re.findall(r"\\([A-Za-z]+|.)", text)) <= known
            assert "^^" not in text
            assert text.count(r"\end{tabular}") == (file != "tables.tex")


def test_folders_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CtpwaError, match="it is a file\n fix: name a folder"):
        write_texts(tmp_path / "file", {"a": "b"})
    with pytest.raises(CtpwaError, match="No such file or directory\n fix: make the folder above it"):
        write_texts(tmp_path / "a" / "b", {"a": "b"})
