"""Event columns in a model file."""

from ctpwa.data.event_column import EventColumn
from unit.config.refusals import refusals

DECAY = "decay: J/psi(1S) -> K+ K- eta\n"
PHI = 'resonances:\n  phi(1020): {in: K+ K-, lineshape: "exp(-t)/(mass**2 - s - i*mass*width)"}\n'


def samples(data="file: d.root", phase_space="file: p.root"):
    return f"{PHI}samples:\n  data: {{{data}}}\n  phase_space: {{{phase_space}}}\n"


def test_names_or_descriptions(load):
    assert load(DECAY + "columns: t\n" + PHI).columns == (EventColumn("t"),)
    assert load(DECAY + "columns: [t, P]\n" + PHI).columns == (EventColumn("t"), EventColumn("P"))
    described = load(DECAY + "columns: {t: {limits: [0, 5]}, e: {size: 3}}\n" + PHI).columns
    assert described == (EventColumn("t", 1, 0.0, 5.0), EventColumn("e", 3))


test_what_is_wrong_is_said_where_it_stands = refusals(
    lambda text: DECAY + text,
    [
        (PHI, "3:37", "unknown name 't'", "or 'columns' if events have it"),
        ("columns: {t: {size: 2}}\n" + PHI, "4:37", "unknown name 't'", "or 'columns' if events have it"),
        ("columns: {s: {}, t: {}}\n" + PHI, "2:11", "'s' is the name of something else", "choose another name"),
        ("columns: {t: {}, a b: {}}\n" + PHI, "2:18", "'a b' cannot be the name", "letters, digits and underscores"),
        ("columns: {t: {limits: [5, 0]}, }\n" + PHI.replace("exp(-t)", "1"), "2:23", "limits from 5 to 0", "lower one first"),
        ("columns: t\n" + samples("file: d.root, columns: {u: x}"), "6:34", "declares no event column 'u'", "known: t"),
        ("columns: t\n" + samples("file: d.root, columns: {t: [a, b]}"), "6:34", "2 given for 't'", "name one"),
        ("columns: {t: {limits: [0, 1]}}\n" + samples("file: d.root, columns: {t: 3}"), "6:34", "'t' of event 0 is 3", "between 0 and 1"),
        ("columns: t\n" + samples("file: d.root, column_files: {u: x.dat}"), "6:39", "declares no event column 'u'", "known: t"),
        (
            "columns: t\n" + samples("file: d.root, columns: {t: x}, column_files: {t: x.dat}"),
            "6:56",
            "both 'columns' and 'column_files'",
            "one",
        ),
        (
            "columns: {t: {size: 3}}\n" + samples("file: d.root, column_files: {t: x.dat}").replace("exp(-t)", "1"),
            "6:39",
            "is a vector",
            "one",
        ),
        ("columns: t\n" + samples("file: d.root, column_files: {t: x.root}"), "6:38", "unknown suffix '.root'", ".npy"),
        ("columns: t\n" + samples(phase_space="generate: 9"), "7:3", "generated events have no event column 't'", "columns: {t: …}"),
        ("columns: t\n" + samples(phase_space="generate: 9, columns: {t: x}"), "7:40", "'t' of generated events is a column", "a number"),
    ],
)


def test_they_are_printed():
    found = [str(column) for column in (EventColumn("t"), EventColumn("P", 1, 0.0, 1.0), EventColumn("e", 3))]
    assert found == ["t", "P (between 0 and 1)", "e (3 numbers)"]
