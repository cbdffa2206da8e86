"""``ctpwa show``: the result of a fit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ctpwa.base.errors import CtpwaError
from ctpwa.cli.changes import DataOption, NotFitted, SetOption, WithoutOption, of_options, read_changes
from ctpwa.cli.command import Command
from ctpwa.cli.console import echo, print_json
from ctpwa.cli.result_print import print_result
from ctpwa.cli.settings import CommandSettings
from ctpwa.config.changes import Changes
from ctpwa.config.read import load_model
from ctpwa.fitting.by_hand import ByHand
from ctpwa.fitting.plain import to_plain
from ctpwa.fitting.result import FitResult
from ctpwa.fitting.take_over import fitted_values
from ctpwa.fitting.text import Section, result_text
from ctpwa.observables.poles import Pole, poles_section
from ctpwa.observables.poles import poles as find_poles


def show(
    context: typer.Context,
    result: Annotated[Path, typer.Argument(help="a file that ctpwa fit wrote")],
    waves: Annotated[bool, typer.Option("--waves", help="also fractions of every wave, and interferences")] = False,
    correlations: Annotated[bool, typer.Option("--correlations", help="also correlations of the parameters")] = False,
    poles: Annotated[bool, typer.Option("--poles", help="also pole positions and residues of all lineshapes")] = False,
    all_sheets: Annotated[bool, typer.Option("--all-sheets", help="poles on every Riemann sheet, not only the nearest")] = False,
    moments: Annotated[
        bool, typer.Option("--moments", help="of photoproduction: density matrix and moments of the amplitudes and of the events")
    ] = False,
    reasons: Annotated[bool, typer.Option("--reasons", help="all reasons of the verdict, not only the worst three")] = False,
    values: SetOption = None,
    without: WithoutOption = None,
    data: DataOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="print everything for programs")] = False,
    not_fitted: NotFitted = None,
) -> None:
    """Show verdict, parameters, couplings and fractions of a result.

    With --set, --without or --data what follows from them is computed again from the events; nothing is fitted.
    """
    found, by_hand = _result(result, read_changes(values=values, without=without, data=data))
    located = _poles(found, str(result), all_sheets) if poles or all_sheets else ()
    more = [*([poles_section(located)] if located else []), *_photons(found, result, moments)]
    if as_json:
        positions = {"poles": [pole.as_dict() for pole in located]} if located else {}
        changed = {} if by_hand is None else {"changed_by_hand": by_hand.line}
        print_json(changed | found.as_dict() | {"correlation": to_plain(found.correlation)} | positions)
    elif CommandSettings.of(context).tables:
        print_result(found, waves, correlations, more, reasons)
    else:
        echo(result_text(found, waves, correlations, more, reasons))


def _result(path: Path, changes: Changes) -> tuple[FitResult, ByHand | None]:
    """What was found, perhaps with changes."""
    if not changes.in_place:
        found = FitResult.load(path)
        return found, ByHand.of(found)
    from ctpwa.analysis.by_hand import open_by_hand

    with of_options():
        found = open_by_hand(path, changes).result
    return found, ByHand.of(found)


def _photons(found: FitResult, path: Path, moments: bool) -> list[Section]:
    """Density matrix and moments of photoproduction; moments need the events."""
    if found.model is None or "production" not in found.model or ByHand.of(found) is not None:
        if moments:
            raise CtpwaError(f"{str(path)!r} has no moments\n fix: these are of fits of photoproduction, as they were fitted")
        return []
    from ctpwa.analysis.photon_tables import photon_sections, spin_density_section
    from ctpwa.analysis.reopen import open_fit

    return photon_sections(open_fit(path)) if moments else spin_density_section(found, load_model(found.model))


def _poles(found: FitResult, name: str, all_sheets: bool) -> tuple[Pole, ...]:
    if found.model is None:
        raise CtpwaError(f"{name!r} does not contain its model\n fix: call ctpwa.poles(result, model) in Python with the model of the fit")
    by_hand, model = ByHand.of(found), load_model(found.model)
    at = fitted_values(found, model) if by_hand is not None and by_hand.values else found
    return find_poles(at, model, "all" if all_sheets else "nearest")


COMMAND = Command(show, "ctpwa show model.result.json --waves", place=50)
