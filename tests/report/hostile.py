"""A fit in which everything that its author can choose tries to run a script, and its report.

Every text calls ``ran("where it is from")``; a page that is opened with such a function knows which of them did.
"""

import re
from dataclasses import replace

import ctpwa
from ctpwa.analysis.reopen import open_fit
from ctpwa.studies import load_study
from ctpwa.studies.about import About
from ctpwa.studies.fit_record import FitRecord
from ctpwa.studies.store import save_study

NAME = "X<svg/onload=ran('name')>"
QUOTED = "Y'\"&amp;<img/src=x/onerror=ran('quoted')></script><script>ran('end')</script>"
LINK = r"\href{javascript:ran('link')}{\style{color:red}{f}_{2}}"
IMAGE = r"\text{<img/src=x/onerror=ran('latex')>}"
COMMENT = "<!--<script>ran('unit')"
DATA_SET = "set</title></template><img/src=x/onerror=ran('set')>"
NOT_CLOSED = r"$\frac{<img/src=x/onerror=ran('label')>"
FILE = "toy<img src=x onerror=ran('path')>.npz"
MESSAGE = "<img src=x onerror=\"ran('message')\"><iframe srcdoc=\"<script>parent.ran('frame')</script>\"></iframe>"
STUDY = "</section></main><img src=x onerror=ran('study')><script>ran('note')</script>"
MODEL = {
    "decay": "J/psi(1S) -> K+ K- eta",
    "polarisation": "transverse",
    "particles": {"eta": {"latex": IMAGE}},
    "resonances": {
        NAME: {"JP": "1--", "mass": 1.68, "width": 0.15, "in": "K+ K-"},
        QUOTED: {"JP": "3--", "mass": 1.854, "width": 0.087, "in": "K+ K-"},
        "K(2)*(1430)": {"in": ["K+ eta", "K- eta"], "latex": LINK},
    },
    "couplings": {
        f"{NAME}[K+ K-] (1,1)(1,0)": {"abs": 0.1, "phase": 1.0},
        f"{QUOTED}[K+ K-] (3,3)(3,0)": {"abs": 20.0, "phase": -0.5},
        "K(2)*(1430)+[K+ eta] (2,2)(2,0)": 1,
    },
    "data_sets": {DATA_SET: {"data": {"file": FILE}, "phase_space": {"generate": 1500, "seed": 2}}},
    "fit": {"engine": "reference", "starts": 2, "reference_wave": "K(2)*(1430)+[K+ eta] (2,2)(2,0)"},
    "projections": [
        {"variable": "mass(K+, K-)", "label": NOT_CLOSED + "$", "unit": COMMENT},
        {"variable": "cos_theta(K+; K+ K-)", "bins": 10, "label": IMAGE, "unit": "$"},
    ],
}


def hostile_fit(folder):
    """Such a fit, opened as a report does it; messages are put in, as someone's result file may have them."""
    model = ctpwa.load_model(MODEL)
    ctpwa.write_events(folder / "toy.npz", ctpwa.generate_toy(model, 300, seed=1, engine="reference"), model=model)
    (folder / "toy.npz").rename(folder / FILE)
    description = MODEL | {"data_sets": {DATA_SET: {**MODEL["data_sets"][DATA_SET], "data": {"file": _as_pattern(folder / FILE)}}}}
    result = ctpwa.load_analysis(description).fit()
    opened = open_fit(result)
    verdict = replace(result.verdict, good=False, reasons=(MESSAGE,))
    samples = tuple({**sample, "notes": [MESSAGE]} for sample in result.samples)
    changed = replace(result, verdict=verdict, samples=samples, version=MESSAGE, method=MESSAGE, created=MESSAGE, model_file=MESSAGE)
    return replace(opened, result=replace(changed, settings={**result.settings, MESSAGE: MESSAGE}), path=MESSAGE)


def hostile_study(path):
    """The file of a study whose names, labels, notes and reasons do the same, read again."""
    base = FitRecord("base", -1.0, True, values={NAME: 1.0}, errors={NAME: 0.1}, fractions={QUOTED: 0.5}, fraction_errors={QUOTED: 0.1})
    fits = [replace(base, key=str(k), values={NAME: 1.0 + 0.1 * k}, fractions={QUOTED: 0.5 - 0.01 * k}) for k in range(3)]
    bad = replace(base, key=STUDY, good=False, reasons=STUDY)
    labels = {NAME: NOT_CLOSED, QUOTED: IMAGE}
    save_study(path, About("toys", {}, base, "", STUDY, labels, notes=(STUDY,), version=STUDY, created=STUDY), [*fits, bad])
    return load_study(path)


def _as_pattern(path):
    return re.sub(r"([*?[])", r"[\1]", str(path))
