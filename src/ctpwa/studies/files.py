"""Where the files of studies are: next to the fit that they are of, and how they are found again."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ctpwa.base.errors import CtpwaError
from ctpwa.fitting.checkpoint import hash_of_model, hash_of_samples
from ctpwa.fitting.result import CHECKSUM, FitResult
from ctpwa.studies.store import is_study
from ctpwa.studies.study import Study, load_study

MODEL_FILES = (".yml", ".yaml")
SUFFIX = ".parquet"
ORDER = ("toys", "bootstrap", "sample", "scan", "significance", "hypotheses", "search", "mass-scan", "selection", "bins", "systematics")


@dataclass(frozen=True)
class FoundStudies:
    """The studies next to a fit.

    Attributes:
        studies:   those of this fit, by their files: errors, then questions about the model, then what is systematic
        left_out:  files of studies that are not, and why
    """

    studies: dict[Path, Study]
    left_out: dict[Path, str]


def study_path(fit: Path, suffix: str) -> Path:
    """The default file of a study: ``model.result.json`` and ``model.yml`` have ``model.toys.parquet``."""
    return fit.with_name(f"{_stem(fit)}.{suffix}{SUFFIX}")


def _stem(fit: Path) -> str:
    return fit.name.removesuffix(".json").removesuffix(".result") if fit.suffix not in MODEL_FILES else fit.stem


def model_and_samples(description: Mapping[str, Any], summaries: Sequence[Mapping[str, Any]]) -> str:
    """Equal for the same model and the same events: what a study is of that needs no fit.

    Args:
        description:  content of the model file
        summaries:    of what was read
    """
    return f"{hash_of_model(description)} {hash_of_samples(summaries)}"


def find_studies(path: str | os.PathLike[str], result: FitResult) -> FoundStudies:
    """The studies that lie next to the file of a result.

    Args:
        path:    the file, such as ``model.result.json``, whose studies are ``model.*.parquet``
        result:  what is in it
    """
    file, own = Path(path), result.as_dict()[CHECKSUM]
    of_model = None if result.model is None else model_and_samples(result.model, result.samples)
    found: dict[Path, Study] = {}
    left_out: dict[Path, str] = {}
    for each in sorted(file.parent.iterdir()):
        if not (each.name.startswith(f"{_stem(file)}.") and each.suffix == SUFFIX):
            continue
        if not is_study(each):
            if each.name.removeprefix(f"{_stem(file)}.").removesuffix(SUFFIX).startswith(ORDER):
                left_out[each] = "it is no study of ctpwa, or is damaged: do the study again, or rename the file"
            continue
        try:
            study = load_study(each)
        except CtpwaError as error:
            left_out[each] = str(error).partition("\n")[0]
            continue
        if study.about.result in (own, of_model):
            found[each] = study
        else:
            left_out[each] = "it belongs to another fit"
    return FoundStudies(dict(sorted(found.items(), key=lambda pair: _place(pair[1]))), left_out)


def _place(study: Study) -> int:
    """Where its chapter stands in a report; kinds of others are last."""
    return ORDER.index(study.name) if study.name in ORDER else len(ORDER)
