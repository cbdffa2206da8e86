"""What was measured: streams of events that are never entirely in memory, files of them, densities of them, and points they stand for."""

from ctpwa.data.density import Density, Flat, InColumn
from ctpwa.data.event_column import EventColumn
from ctpwa.data.event_files import EventFiles
from ctpwa.data.resolution import GivenPoints, Points, Resolution, group_points
from ctpwa.data.stream import EventStream, Piece
from ctpwa.data.summary import SampleSummary

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
