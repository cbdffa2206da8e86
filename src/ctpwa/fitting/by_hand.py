"""What a result says that was not fitted: values that were changed by hand, other data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

KEY = "by_hand"  # of the settings of a result


@dataclass(frozen=True)
class ByHand:
    """What was changed in a result after the fit.

    Attributes:
        options:  the options of the command line that say the same
        values:   whether values differ from those of the fit; else only the data do
        nll:      −ln L of the fit, if it was of the same events
    """

    options: tuple[str, ...]
    values: bool
    nll: float | None

    @classmethod
    def of(cls, result: Any) -> ByHand | None:
        """What was changed in this result; None if it is what was fitted."""
        given: Mapping[str, Any] | None = result.settings.get(KEY)
        return None if given is None else cls(tuple(given["options"]), given["values"], given["nll"])

    @property
    def settings(self) -> dict[str, Any]:
        """The entry of the settings of a result."""
        return {KEY: asdict(self) | {"options": list(self.options)}}

    @property
    def line(self) -> str:
        """What was changed, in words."""
        return f"changed by hand: {' '.join(self.options)}; nothing was refitted"

    def lines(self, nll: float) -> Sequence[str]:
        """What stands above everything else.

        Args:
            nll:  −ln L with the changes
        """
        if not self.values:
            more = "values, errors and verdict are those of the fit; -ln L and yields are of these events"
            return (self.line, more) if self.nll is None else (self.line, "these are the events that were fitted")
        above = "" if self.nll is None else f"-ln L is {nll - self.nll:.3f} above that of the fit; "
        return self.line, f"{above}values have no errors"
