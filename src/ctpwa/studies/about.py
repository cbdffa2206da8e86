"""What a study is: which one, of which fit, and with which options."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ctpwa.base.errors import shortened
from ctpwa.fitting.plain import build, to_plain
from ctpwa.studies.fit_record import FitRecord

SCHEMA = 1
LONGEST = 80  # characters of an option in a message


@dataclass(frozen=True)
class About:
    """What the fits of a study depend on, and what their numbers are compared with.

    Attributes:
        study:    its name, such as ``toys``
        options:  what every fit depends on: plain numbers, texts, lists and mappings. How many fits there are is not among them
        base:     the fit that the study is of
        result:   checksum of its file
        decay:    what was fitted, in words
        labels:   LaTeX of parameters and resonances
        extent:   how far the study goes, such as the number of toys; a later call may go further
        notes:    what one should know to read it
        version:  of ctpwa
        created:  date and time
    """

    study: str
    options: Mapping[str, Any]
    base: FitRecord
    result: str
    decay: str
    labels: Mapping[str, str] = field(default_factory=dict)
    extent: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    version: str = ""
    created: str = ""

    @property
    def identity(self) -> str:
        """Equal for studies whose fits are the same, one by one."""
        what = to_plain([self.study, self.options, self.result])
        return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()

    def differences(self, other: About) -> list[str]:
        """Options in which another study differs, in words."""
        if self.result != other.result:
            return ["it is of another fit"]
        mine, theirs = to_plain(self.options), to_plain(other.options)
        names = sorted(name for name in {*mine, *theirs} if mine.get(name) != theirs.get(name))
        return [f"{name} was {_shown(theirs.get(name))} and is {_shown(mine.get(name))}" for name in names]

    def as_text(self) -> str:
        """As it is in a file."""
        return json.dumps({"schema": SCHEMA} | to_plain(self), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_content(cls, content: Any) -> About:
        """What ``as_text`` wrote, after it was read as JSON; a ValueError if it is something else."""
        if not isinstance(content, dict) or content.get("schema") != SCHEMA:
            raise ValueError(f"it is not of schema {SCHEMA}")
        about: About = build(cls, {name: value for name, value in content.items() if name != "schema"})
        return about


def _shown(option: Any) -> str:
    """An option in a message: edges of many bins are long."""
    return shortened(repr(option), LONGEST)
