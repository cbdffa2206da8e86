"""What was measured: streams of events that are never entirely in memory, files of them, and summaries of files."""

from ctpwa.data.event_files import EventFiles
from ctpwa.data.stream import EventStream
from ctpwa.data.summary import SampleSummary

__all__ = ["EventFiles", "EventStream", "SampleSummary"]
