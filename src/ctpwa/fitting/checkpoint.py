"""What an unfinished fit has found so far, and how to know that it belongs to the same fit."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ctpwa.base.errors import CtpwaError
from ctpwa.base.output import written_whole
from ctpwa.fitting.journal import Journal
from ctpwa.fitting.json_file import no_such_file, read_json
from ctpwa.fitting.plain import build, to_plain
from ctpwa.fitting.result import FitResult

SCHEMA = 1
HOW_TO_FIT = frozenset(
    {"method", "starts", "seed", "engine", "device", "precision", "device_memory", "host_memory", "scratch", "start", "minos"}
)  # keys of ``fit`` that leave the likelihood alone
OF_A_SAMPLE = ("name", "n_events", "notes")


@dataclass(frozen=True)
class Checkpoint:
    """A point to continue from.

    Attributes:
        names:         free parameters
        values:        where they are
        nll:           −ln L there
        model_hash:    of the description of the likelihood
        samples_hash:  of what was read
        version:       of ctpwa
        journal:       what many starts have found; None if there is one start only
    """

    names: tuple[str, ...]
    values: tuple[float, ...]
    nll: float
    model_hash: str
    samples_hash: str
    version: str = ""
    journal: Journal | None = None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it, whole or not at all."""
        content = asdict(replace(self, journal=None)) | {"journal": None if self.journal is None else self.journal.as_dict()}
        text = json.dumps({"checkpoint": SCHEMA} | content, indent=1, ensure_ascii=False, allow_nan=False)
        with written_whole(path) as file:
            file.write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Checkpoint:
        """Read a file that ``save`` wrote."""
        fix = f"remove it to start over:  rm {path}"
        content = read_json(path, "checkpoint of a fit", fix)
        try:
            if content.pop("checkpoint") != SCHEMA:
                raise CtpwaError(f"{str(path)!r} is a checkpoint of another version of ctpwa, {content.get('version')}\n fix: {fix}")
            search = content.pop("journal", None)
            loaded: Checkpoint = build(cls, content | {"journal": None})
            if len(loaded.values) != len(set(loaded.names)) or len(loaded.names) != len(loaded.values):
                raise ValueError("names and values do not match")
            journal = None if search is None else Journal.from_dict(search)
            if journal is not None and len(journal.start) != len(loaded.values):
                raise ValueError("its search has other parameters")
            return replace(loaded, journal=journal)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise no_such_file(path, "checkpoint of a fit", error, fix) from None

    @classmethod
    def of(cls, result: FitResult, path: str | os.PathLike[str]) -> Checkpoint:
        """The point where a fit ended.

        Args:
            result:  what it found
            path:    its file, for messages
        """
        if result.model is None:
            raise CtpwaError(f"{str(path)!r} does not say which model it belongs to\n fix: use --from, which matches parameters by name")
        hashes = hash_of_model(result.model), hash_of_samples(result.samples)
        return cls(result.names, tuple(result.x.tolist()), result.nll, *hashes, result.version)


def hash_of_model(description: Mapping[str, Any]) -> str:
    """Equal for model files with the same likelihood; how it is minimised does not count."""
    given = description.get("fit") or {}
    fit = {key: value for key, value in given.items() if key not in HOW_TO_FIT} if isinstance(given, Mapping) else given
    if isinstance(given, Mapping) and given.get("fix") and isinstance(given.get("start"), Mapping):  # fixed at their start values
        names = [given["fix"]] if isinstance(given["fix"], str) else list(given["fix"])
        fit["start"] = {name: value for name, value in given["start"].items() if name in names}
    return _sha256({**description, "fit": fit})


def hash_of_samples(summaries: Sequence[Mapping[str, Any]]) -> str:
    """Equal for samples with the same content, wherever their files are."""
    return _sha256(
        [
            {key: summary[key] for key in OF_A_SAMPLE}
            | {"weights": _range(summary["weights"])}
            | {key: [file["sha256"] for file in summary[key]] for key in ("files", "weight_files")}
            for summary in summaries
        ]
    )


def _range(weights: Mapping[str, float] | None) -> list[float] | None:
    """What several processes find as well as one; their sum is rounded differently."""
    return None if weights is None else [weights["smallest"], weights["largest"]]


def _sha256(value: Any) -> str:
    """Of a value as it is in a file, so that a file gives the same."""
    return hashlib.sha256(json.dumps(to_plain(value), sort_keys=True, default=str).encode()).hexdigest()
