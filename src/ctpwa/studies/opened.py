"""The fit that a study is of, from whatever names it: a model file is fitted first, unless that was done already."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from ctpwa.analysis.analysis import Analysis, load_analysis
from ctpwa.analysis.reopen import OpenedFit, open_fit
from ctpwa.base.errors import CtpwaError
from ctpwa.base.ranks import ONE, Ranks
from ctpwa.fitting.checkpoint import hash_of_model
from ctpwa.fitting.minimum import INTERRUPTED
from ctpwa.fitting.result import FitResult
from ctpwa.studies.files import MODEL_FILES

Fit = OpenedFit | FitResult | str | os.PathLike[str]


def opened_fit(given: Fit, ranks: Ranks | None = None, progress: bool | None = None) -> OpenedFit:
    """The fit that a study is of, reopened if need be.

    Args:
        given:     a reopened fit, a result, its file, or a model file
        ranks:     processes that share the study; default: this one alone
        progress:  show progress bars if a model is fitted

    Raises:
        CtpwaError: if it is not good enough to study
    """
    if not isinstance(given, (OpenedFit, FitResult)):
        given = result_of(Path(given), ranks or ONE, progress)
    opened = given if isinstance(given, OpenedFit) else open_fit(given)
    if not opened.result.verdict.good:
        raise CtpwaError(
            f"the fit did not end good: {'; '.join(opened.result.verdict.reasons) or 'it gives no reason'}\n"
            " fix: mend it first; studies compare with its minimum and its errors"
        )
    return opened


def result_of(given: Path, ranks: Ranks = ONE, progress: bool | None = None, tell: Callable[[str], None] = lambda text: None) -> Path:
    """The file of a result; that of a model file is ``model.result.json`` beside it, and is made if it does not exist.

    Args:
        given:     a result or a model file
        ranks:     processes of which the first one fits
        progress:  show progress bars; default: on a terminal when it takes more than two seconds
        tell:      is told that a fit begins

    Raises:
        CtpwaError: if the result beside a model file is that of another model
    """
    if given.suffix not in MODEL_FILES:
        return given
    result = given.with_name(f"{given.stem}.result.json")

    def fitted() -> None:
        analysis = load_analysis(given, ONE)
        if result.exists():
            _check_fitted(analysis, result)
            return
        tell(f"{given} is fitted first")
        not_interrupted(analysis.fit(progress=progress)).save(result)

    ranks.on_first(fitted)
    return result


def _check_fitted(analysis: Analysis, result: Path) -> None:
    model = FitResult.load(result).model
    if model is None or hash_of_model(model) != hash_of_model(analysis.description):
        raise CtpwaError(
            f"{str(result)!r} is the result of another model than {analysis.name!r}\n"
            f" fix: give {result} itself, or fit again with  ctpwa fit {analysis.name} --force"
        )


def not_interrupted(result: FitResult) -> FitResult:
    """A result that nobody has cut short: a study would take such a one for a finished fit.

    Raises:
        KeyboardInterrupt: if it was
    """
    if INTERRUPTED in result.verdict.reasons:
        raise KeyboardInterrupt
    return result
