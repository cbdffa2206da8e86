"""What was measured: streams of events that are never entirely in memory, files of them, densities of them, and points they stand for."""

import typing as _typing

from ctpwa.base.lazy import on_demand as _on_demand

if _typing.TYPE_CHECKING:
    from ctpwa.data.density import Density, Flat, InColumn
    from ctpwa.data.event_column import EventColumn
    from ctpwa.data.event_files import EventFiles
    from ctpwa.data.resolution import GivenPoints, Points, Resolution, group_points
    from ctpwa.data.stream import EventStream, Piece
    from ctpwa.data.summary import SampleSummary
else:
    __getattr__, __dir__ = _on_demand(__name__)

__all__ = [
    "Density",
    "EventColumn",
    "EventFiles",
    "EventStream",
    "Flat",
    "GivenPoints",
    "InColumn",
    "Piece",
    "Points",
    "Resolution",
    "SampleSummary",
    "group_points",
]
