"""What was measured: streams of events that are never entirely in memory, files of them, and densities of events."""

from ctpwa.data.density import Density, Flat, InColumn
from ctpwa.data.event_column import EventColumn
from ctpwa.data.event_files import EventFiles
from ctpwa.data.stream import EventStream, Piece
from ctpwa.data.summary import SampleSummary

__all__ = ["Density", "EventColumn", "EventFiles", "EventStream", "Flat", "InColumn", "Piece", "SampleSummary"]
