"""What all studies can do: print, draw, save, and be read again from their file."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from ctpwa.base.errors import CtpwaError, printable
from ctpwa.base.markup import element, simple_table, together
from ctpwa.fitting.text import Section
from ctpwa.model.short_names import is_long, shorten
from ctpwa.report.content import FigureView, StudyPage, StudyView
from ctpwa.studies.about import About
from ctpwa.studies.fit_record import FitRecord
from ctpwa.studies.store import StudyStore, read_study, save_study

if TYPE_CHECKING:
    from ctpwa.report.figures.style import AnyFigure

DPI = 160  # of figures in a report
PAGE_DPI = 96  # pixels of a page per inch
_kinds: dict[str, type[Study]] = {}


@dataclass(frozen=True, eq=False)
class Study(ABC):
    """A study and its finished fits. Everything it shows follows from these, so its file is all it needs.

    Attributes:
        about:    which study, of which fit
        records:  the fits
    """

    about: About
    records: tuple[FitRecord, ...]

    name: ClassVar[str] = ""  # of the study and its command, such as ``toys``
    title: ClassVar[str] = ""  # above its tables and its chapter of a report

    def __init_subclass__(cls) -> None:
        _kinds[cls.name] = cls

    @classmethod
    def of(cls, store: StudyStore) -> Self:
        """The study of a store."""
        return cls(store.about, tuple(store.records.values()))

    @cached_property
    def by_key(self) -> Mapping[str, FitRecord]:
        """The fits by their keys."""
        return {record.key: record for record in self.records}

    @property
    def chapter(self) -> str:
        """Title of its chapter of a report, where there may be several of the kind."""
        return self.title

    @property
    @abstractmethod
    def headline(self) -> str:
        """What was found, in one sentence or two."""

    @abstractmethod
    def sections(self) -> tuple[Section, ...]:
        """Tables."""

    @abstractmethod
    def figures(self) -> dict[str, AnyFigure]:
        """Figures by the names of their files."""

    @cached_property
    def _cascades(self) -> list[str]:
        """Couplings with long names."""
        names = {name.rpartition(".")[0] for record in self.records for name in record.values}
        return sorted(name for name in names if is_long(name))

    def shown(self) -> tuple[str, tuple[Section, ...]]:
        """What was found, and tables, in which couplings of cascades have short names."""
        tables = self.sections()
        return shorten(self.headline, self._cascades), tuple(own.shortened(self._cascades) for own in tables) if self._cascades else tables

    @property
    def notes(self) -> tuple[str, ...]:
        """What one should know to read the numbers."""
        return self.about.notes

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why some numbers must not be taken as they are: what is shown first."""
        return ()

    def as_dict(self) -> dict[str, Any]:
        """For programs: what the study is, and all fits."""
        return {"study": self.name, "options": dict(self.about.options), "fits": [record.as_dict() for record in self.records]}

    def __str__(self) -> str:
        found, shown = self.shown()
        tables = [str(Section(own.title, own.columns, (own.columns, *own.rows), own.foot)) for own in shown]
        head = "\n".join([f"{self.title} of {self.about.decay}", *map("warning: {}".format, self.warnings), found])
        return printable("\n\n".join([head, *tables, *map("note: {}".format, self.notes)]))

    def __repr__(self) -> str:
        return printable(f"{type(self).__name__}: {shorten(self.headline, self._cascades)}")

    def _repr_html_(self) -> str:
        """For notebooks."""
        found, shown = self.shown()
        tables = [(element("p", element("strong", own.title)), simple_table(own.columns, own.rows)) for own in shown]
        warnings = (element("p", element("strong", words)) for words in self.warnings)
        return together(warnings, element("p", found), tables, (element("p", note) for note in self.notes)).source

    def view(self) -> StudyView:
        """Its chapter of a report, for ``ctpwa.write_report(…, studies=[…])``.

        Raises:
            CtpwaError: if its numbers make no sense together, as those of a file of somebody else
        """
        from ctpwa.report.figures.style import png_of

        try:
            figures = tuple(
                FigureView(png_of(figure, DPI), f"{self.chapter}: {name.replace('-', ' ')}", PAGE_DPI / DPI)
                for name, figure in self.figures().items()
            )
            return StudyView(self.chapter, *self.shown(), self.notes, figures, self.warnings)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise CtpwaError(f"the study {self.name!r} cannot be shown: its numbers make no sense together ({error})") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all fits to a Parquet file, whole or not at all; ``load_study`` reads it."""
        save_study(path, self.about, self.records)

    def write_report(self, path: str | os.PathLike[str]) -> None:
        """Write a page of this study alone, one HTML file that needs no network and no other file."""
        from ctpwa.report.html.page import write_study_page

        about = self.about
        write_study_page(StudyPage(self.view(), about.decay, about.labels, about.version, about.created), path)

    def write_figures(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write all figures as PDF and PNG into a folder, which is made if it does not exist."""
        from ctpwa.report.figures.style import save_figure

        return [file for name, figure in self.figures().items() for file in save_figure(figure, Path(folder) / name)]


def how_many_good(words: str, bad: int) -> str:
    """A sentence: how many fits there are, and whether all of them are good.

    Args:
        words:  how many there are
        bad:    how many of them are not good
    """
    return f"{words}, {f'{bad} of them NOT good' if bad else 'all good'}."


def load_study(path: str | os.PathLike[str]) -> Study:
    """A study from its file, finished or not.

    Args:
        path:  a Parquet file that a study wrote
    """
    about, records = read_study(path)
    if about.study not in _kinds:
        _import_all()
    if about.study not in _kinds:
        raise CtpwaError(f"{str(path)!r} is a study {about.study!r}, which this ctpwa does not know\n fix: use a newer version of ctpwa")
    return _kinds[about.study](about, tuple(records))


def _import_all() -> None:
    """Import all studies: each is known once its module was imported, and names of a package are imported when they are used."""
    import ctpwa.studies

    for name in ctpwa.studies.__all__:
        getattr(ctpwa.studies, name)
