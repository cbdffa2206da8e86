"""The section projections: what it gives, and where its mistakes are."""

import ctpwa
from unit.config.refusals import refusals

MODEL = """decay: J/psi(1S) -> K+ K- eta
resonances:
  phi(1680): {in: K+ K-}
"""


def projections(text):
    return MODEL + f"projections:{text}\n"


def read(tmp_path, text):
    (tmp_path / "model.yml").write_text(text, encoding="utf-8")
    return ctpwa.load_analysis(tmp_path / "model.yml").projections


def test_without_the_section_the_default_variables_are_drawn(tmp_path):
    found = read(tmp_path, MODEL)
    assert [spec.variable.name for spec in found][:2] == ["mass(K+, K-)", "mass(K+, eta)"]
    assert len(found) == 9


def test_texts_and_mappings(tmp_path):
    text = "\n  - mass(K+, K-)\n  - {variable: mass(K+ K-), bins: 20, range: [1, 1.1], label: $m$, unit: MeV}\n  - cos_theta(K+)"
    first, second, third = read(tmp_path, projections(text))
    assert (first.variable.name, first.bins, first.range) == ("mass(K+, K-)", 60, None)
    assert (second.variable.name, second.bins, second.range) == ("mass(K+ K-)", 20, (1.0, 1.1))
    assert (second.variable.label, second.variable.unit) == ("$m$", "MeV")
    assert (third.variable.unit, third.bins) == ("", 40)
    events = ctpwa.generate_phase_space(ctpwa.load_model(tmp_path / "model.yml"), 5)
    assert (second.variable(events) == first.variable(events)).all()


def test_one_text_is_a_list_of_one(tmp_path):
    assert [spec.variable.name for spec in read(tmp_path, projections(" mass(K+ K-)"))] == ["mass(K+ K-)"]


def test_a_mapping_will_do():
    analysis = ctpwa.load_analysis(
        {"decay": "J/psi(1S) -> K+ K- eta", "resonances": {"phi(1680)": {"in": "K+ K-"}}, "projections": ["E(eta)"]}
    )
    assert [spec.variable.label for spec in analysis.projections] == [r"$E(\eta)$"]


test_mistakes = refusals(
    lambda entry: projections(f" {entry}"),
    r"""
    \n - mass(K+, K) | 5:13 | 'K' is not a final particle | did you mean
    \n - 'mass(K+, K)' | 5:14 | 'K' is not a final particle | did you mean
    \n - {variable: 'E(K+) + E(K)'} | 5:26 | 'K' is not a final particle | did you mean
    \n - E(eta) * 1 - foo | 5:17 | unknown name 'foo' | write
    mass(K+ x) | 4:22 | 'x' is not a final particle | known: K+, K-, eta
    \n - [mass(K+ K-)] | 5:4 | must be a mapping of keys | - {variable:
    \n - {variable: mass(K+, K-), bins: 3} | 5:24 | unknown key 'K-)' | quote a variable
    \n - {variable: E(K+), bins: 0} | 5:28 | 'bins' is 0 | a number >= 1
    \n - {variable: E(K+), bins: 10001} | 5:28 | 'bins' is 10001 | a number <= 10000
    \n - {variable: E(K+), bins: 1.5} | 5:28 | 'bins' must be a whole number | whole number
    \n - {variable: E(K+), range: [2, 1]} | 5:29 | the range [2.0, 1.0] is empty | [lowest edge, highest edge]
    \n - {variable: E(K+), range: [1, 2, 3]} | 5:29 | 'range' has 3 entries | [lowest edge, highest edge]
    \n - {variable: E(K+), range: 2} | 5:29 | 'range' must be a list | [lowest edge, highest edge]
    \n - {bins: 3} | 5:4 | key 'variable' is missing | add variable
    \n - E(K+)\n - E(K+) | 6:4 | 'E(K+)' is given twice | another range
    [] | 4:14 | 'projections' is an empty list | name at least one
    3 | 4:14 | 'projections' must be a list | one line per variable
    """,
)


def test_commas_in_a_list_are_explained(problems):
    found = problems(projections(" [mass(K+, K-)]"))
    assert len(found) == 2
    assert all("YAML splits at commas" in problem.fix for problem in found)
