"""The section backgrounds and what fit says about it: every mistake has a place and advice, and no file is opened."""

import pytest

from ctpwa.config.fit_settings import fit_settings
from ctpwa.config.read import load_document
from ctpwa.config.samples import data_sets
from unit.config.refusals import refusals

MODEL = """decay: J/psi(1S) -> K+ K- eta
columns: [b, {vector}]
resonances:
  phi(1680): {in: K+ K-, mass: 1.68, width: 0.15, float: mass}
""".replace("[b, {vector}]", "{b: {}, v: {size: 3}}")
START = "samples:\n  data: data.root\n  phase_space: mc.root\n  backgrounds:\n"
SIDE = "{density: flat, fraction: {value: 0.1, float: true}}"


def text(*entries, fit="{}"):
    return MODEL + START + "".join(f"    {entry}\n" for entry in entries) + f"fit: {fit}\n"


def read(load, tmp_path, content):
    load(content)
    document = load_document(tmp_path / "model.yml")
    return data_sets(document.spec, document.model.decay, document.folder)[0].backgrounds, fit_settings(document.spec)


def test_all_densities(load, tmp_path):
    found, settings = read(
        load,
        tmp_path,
        text(
            "one: {density: flat, fraction: 0.1}",
            "two: {density: 1 + mass2(K+ K-), fraction: {value: 0.2, float: true, limits: [0.1, 0.3]}}",
            "three: {density: {column: b}, fraction: 0}",
            "four: {density: {histogram: b.json}, fraction: 0}",
            'five: {density: {sideband: [low.root, {file: high.root, scale: 2}], variables: ["mass(K+, K-)"], smoothing: 0}, fraction: 0}',
            "six: {density: {formula: 1 + mass2(K+ K-)}, fraction: 0}",
            "seven: {density: {sideband: low.root, variables: {variable: mass(K+ K-), bins: 5, range: [1, 2]}}, fraction: 0}".replace(
                "variables: {", "variables: [{").replace("2]}}", "2]}]}"),
            fit="{subtraction: plain}",
        ),
    )  # fmt: skip
    assert [own.name for own in found] == ["one", "two", "three", "four", "five", "six", "seven"]
    assert [(own.fraction, own.floating) for own in found[:3]] == [(0.1, False), (0.2, True), (0, False)]
    densities = [own.density for own in found]
    assert densities[1].formula == densities[5].formula == "1 + mass2(K+ K-)"
    assert (densities[0].formula, densities[2].column, densities[3].histogram) == (None, "b", tmp_path / "b.json")
    assert [source.files[0].name for source in densities[4].sideband.sources] == ["low.root", "high.root"]
    assert densities[4].sideband.smoothing == 0
    (axis,) = densities[6].sideband.axes
    assert (axis.variable.name, axis.bins, axis.range, densities[6].sideband.smoothing) == ("mass(K+ K-)", 5, (1, 2), 1)
    assert settings.limits == {"two.fraction": (0.1, 0.3)}
    assert (settings.extended, settings.subtraction) == (False, "plain")


def test_a_model_of_sideband_events(load, tmp_path):
    """Masses and widths are those of the PDG, of the file's own particles, or given; a structure of no particle needs both."""
    resonances = (
        '{phi(1020): K+ K-, "K*(1410)": [K+ eta, K- eta], K(S)0: {in: K+ K-, mass: 1.1, width: 0.01}, X: {in: K+ K-, mass: 1.5, width: 1}}'
    )
    found, _ = read(load, tmp_path, text(f"side: {{density: {{sideband: low.root, resonances: {resonances}}}, fraction: 0.1}}"))
    peaks = found[0].density.sideband.peaks
    assert [peak.name for peak in peaks] == ["phi(1020)", "K*(1410)", "K(S)0", "X"]
    assert (peaks[0].mass, peaks[0].width) == (pytest.approx(1.01946, abs=1e-4), pytest.approx(0.00425, abs=1e-4))
    assert peaks[1].systems == ("K+ eta", "K- eta")
    assert [(peak.mass, peak.width) for peak in peaks[2:]] == [(1.1, 0.01), (1.5, 1)]
    assert str(found[0].density) == "sideband as phi(1020), K*(1410), K(S)0, X and phase space"


@pytest.mark.parametrize(
    "fit",
    [
        "{constraints: {side.fraction: [0.1, 0.02]}, limits: {side.fraction: [0, 0.4]}, start: {side.fraction: 0.2}, minos: side.fraction}",
        "{fix: {side.fraction: 0.3}}",
        "{fix: side.fraction}",
        "{relations: {other.fraction: 0.1*side.fraction}}",
        "{extended: true, constraints: {signal.yield: [100, 10]}, limits: {side.yield: [0, 500]}, minos: [side.yield, signal.yield]}",
        "{extended: true, fix: {other.yield: 12}}",
    ],
)
def test_the_fit_knows_their_parameters(load, fit):
    load(text(f"side: {SIDE}", "other: {density: flat, fraction: 0.05}", fit=fit))


test_mistakes = refusals(
    text,
    """
    x: {density: flat, fraction: 1.2} | 9:34 | the fraction of 'x' is 1.2 | give a number from 0 to 1
    x: {density: flat, fraction: -0.1} | 9:34 | the fraction of 'x' is -0.1 | give a number from 0 to 1
    x: {density: flat, fraction: 1} | 8:3 | the fractions add up to 1 | leave something for the signal
    x: {density: flat} | 9:8 | key 'fraction' is missing | add fraction: its part of all events
    x: {fraction: 0.1} | 9:8 | key 'density' is missing | add density: flat, a formula
    x: 0.1 | 9:8 | 'x' must be a mapping of keys, not 0.1 | write  x: {density: flat, fraction: 0.1}
    signal: {density: flat, fraction: 0.1} | 9:5 | a background cannot be called 'signal' | give it another name
    """,
)


test_mistakes_in_a_fraction = refusals(
    lambda keys: text(f"x: {{density: flat, fraction: {{value: 0.1, {keys}}}}}"),
    """
    float: maybe | 9:54 | 'float' must be true or false | write true or false
    flot: true | 9:47 | unknown key 'flot' | did you mean 'float'
    limits: [0, 0.3] | 9:55 | limits of the fraction of 'x': it does not float | float: true
    float: true, limits: [0, 3] | 9:68 | are 0 and 3 | both from 0 to 1
    float: true, limits: [0.2, 0.3] | 9:42 | outside its limits 0.2 to 0.3 | correct it
    """,
)


test_mistakes_in_a_density = refusals(
    lambda density: text(f"x: {{density: {density}, fraction: 0}}"),
    """
    {column: c} | 9:27 | the model declares no event column 'c' | b
    {column: v} | 9:27 | event column 'v' is a vector | one number for each event
    {} | 9:18 | a density with nothing | write  density: flat
    {column: b, histogram: b.json} | 9:18 | a density with column and histogram | write  density
    flatt | 9:18 | unknown name 'flatt' | write mass(K+, K-)
    1 + mass(K+ pi-) | 9:30 | 'pi-' is not a final particle | known: K+, K-, eta
    {sideband: s.root} | 9:18 | sideband events without variables and without resonances | write  variables
    {histogram: b.json, resonances: {phi(1020): K+ K-}} | 9:50 | 'resonances' without | leave it out
    {sideband: s.rot, variables: mass(K+ K-)} | 9:29 | unknown suffix '.rot' | use one of
    {histogram: b.json, smoothing: 1} | 9:49 | 'smoothing' without sideband events | leave it out
    b.json | 9:18 | the file 'b.json' is not a formula | density: {histogram: b.json}
    s.root | 9:18 | the file 's.root' is not a formula | density: {sideband: s.root, variables
    '1' | 9:18 | the density '1' is the same for all events | density: flat
    1 | 9:18 | 'density' must be a mapping | write flat, a formula
    {colum: b} | 9:19 | unknown key 'colum' | did you mean 'column'
    """,
)


test_mistakes_in_a_sideband = refusals(
    lambda keys: text(f"x: {{density: {{sideband: s.root, {keys}}}, fraction: 0}}"),
    """
    variables: mass(K+ K-), resonances: {phi(1020): K+ K-} | 9:48 | 'variables' beside resonances | write  variables
    variables: [{variable: mass(K+ K-), range: [2, 1]}] | 9:80 | the range [2.0, 1.0] is empty | write [lowest
    variables: 2*mass(K+ K-)*mass(K+ eta) | 9:48 | has no range of its own | write  {variable
    variables: [mass(K+ K-)], smoothing: -1 | 9:74 | 'smoothing' is -1 | >= 0
    """,
)


test_mistakes_in_the_resonances_of_a_sideband = refusals(
    lambda peaks: text(f"x: {{density: {{sideband: s.root, resonances: {{{peaks}}}}}, fraction: 0}}"),
    """
    phi(1020): K+ eta | 9:61 | 'phi(1020)' cannot decay to K+ eta: charge +1 | its states are phi(1020)
    phi(1020): K+ pi- | 9:64 | 'pi-' is not a final particle | K-
    K*(892): {in: K+ K- eta} | 9:64 | is not a part of | two of
    Upsilon(1S): K+ K-
        | 9:50 | 'Upsilon(1S)' (mass 9.4604, width 5.4e-05 GeV) is never in K+ K-, whose mass runs from 0.9874 to 2.549 GeV | remove it
    X: K+ K- | 9:50 | no particle is called 'X' | mass and width
    X: {mass: 1.5} | 9:50 | resonance 'X' is in no system | X: K+ K-
    X: {im: K+ K-} | 9:54 | unknown key 'im' | known: in, mass, width
    phase space: K+ K- | 9:50 | a resonance cannot be called 'phase space' | always part
    X: {in: K+ K-, mass: x} | 9:71 | must be a number | in GeV
    """,
)


test_mistakes_in_the_fit = refusals(
    lambda fit: text(f"side: {SIDE}", "other: {density: flat, fraction: 0.05}", fit=fit),
    """
    {constraints: {other.fraction: [0.1, 0.02]}} | 11:21 | 'other.fraction' is not a free parameter | {value: 0.05, float: true}
    {limits: {side.fraction: [0, 2]}} | 11:31 | the limits of 'side.fraction' are 0 and 2 | stay in 0 to 1
    {start: {side.fraction: 1.5}} | 11:30 | 'side.fraction' is 1.5 | give a number from 0 to 1
    {fix: {side.fraction: 1.5}} | 11:28 | 'side.fraction' is 1.5 | give a number from 0 to 1
    {minos: sid.fraction} | 11:14 | 'sid.fraction' is not a free parameter | did you mean 'side.fraction'
    {minos: side.yield} | 11:14 | 'side.yield' is not a free parameter | lists couplings and parameters
    {relations: {side.fraction: 2*other.fraction}} | 11:19 | 'side.fraction' is a formula and cannot float | let the parameters
    {extended: true, minos: side.fraction} | 11:30 | 'side.fraction' is not a free parameter | lists couplings and parameters
    {subtraction: bound} | 11:20 | 'bound' is not a value of 'subtraction' | did you mean 'bounded'
    """,
)


def test_several_data_sets(load, problems):
    entry = "{data: DATA.root, phase_space: mc.root, backgrounds: {side: {density: flat, fraction: FRACTION}}}"

    def sets(fractions, fit="{}"):
        lines = (f"  '{k}': " + entry.replace("DATA", f"d{k}").replace("FRACTION", f) for k, f in enumerate(fractions))
        return MODEL + "data_sets:\n" + "\n".join(lines) + f"\nfit: {fit}\n"

    load(sets(["{value: 0.1, float: true}"] * 2, "{minos: side.fraction}"))
    (found,) = problems(sets(["0.1", "0.2"]))
    assert found.what == "'side' has another fraction in another data set, and is one parameter"


def test_yields_of_several_data_sets(load, problems):
    """Fractions are where they start, which need not be the same; what one data set does not have cannot follow from it."""

    def sets(fit, names=("one", "two")):
        entry = "{data: DATA.root, phase_space: mc.root, backgrounds: {BACKGROUND: {density: flat, fraction: FRACTION}}}"
        backgrounds = [("side", "0.1"), ("side", "0.2")] if names[0] == "one" else [("b.side", "0.1"), ("side", "0.2")]
        lines = [
            f"  {name}: " + entry.replace("DATA", f"d{k}").replace("BACKGROUND", own).replace("FRACTION", f)
            for k, (name, (own, f)) in enumerate(zip(names, backgrounds, strict=True))
        ]
        return MODEL + "data_sets:\n" + "\n".join(lines) + f"\nfit: {{extended: true, {fit}}}\n"

    load(sets("fix: {one.side.yield: 3}, limits: {two.side.yield: [0, 9]}, constraints: {one.signal.yield: [5, 1]}, minos: two.side.yield"))
    (found,) = problems(sets("minos: signal.yield"))
    assert "'signal.yield' is not a free parameter" in found.what
    assert "one.signal.yield" in found.fix
    (found,) = problems(sets("start: {one.side.yield: -1}"))
    assert found.what == "'one.side.yield' is -1"
    (found,) = problems(sets("starts: 1", names=("a", "a.b")))
    assert found.what == "two data sets would have the yield 'a.b.side.yield'"
    second = sets("relations: {'NR1[K+ K-] (1,1)(1,0).re': one.side.yield}").replace(
        "data_sets:", "  NR1: {in: K+ K-, JP: 1-, lineshape: constant}\ndata_sets:"
    )
    (found,) = problems(second)
    assert "follows from 'one.side.yield', which data set 'two' does not have" in found.what
