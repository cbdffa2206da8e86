"""What docs/command-line.md shows is what the commands print."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import ctpwa
from ctpwa.cli.command import all_commands
from ctpwa.cli.main import app
from ctpwa.cli.settings import CommandSettings

PAGE = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")
SECTIONS = {section.partition("`")[0]: section.partition("\n## ")[0] for section in PAGE.split("\n## `ctpwa ")[1:]}
STUDIES = PAGE.split("\n## Studies\n")[1].partition("\n## ")[0]  # options that all of them have
STUDY_COMMANDS = [name for name, command in all_commands().items() if command.together and name != "fit"]
MODEL = """decay: J/psi(1S) -> K+ K- eta
polarisation: transverse
resonances:
  phi(1020): {in: K+ K-, float: [mass, width]}
  K(2)*(1430): {in: [K+ eta, K- eta]}
"""


def block(command, language):
    """The first block of a language in the section of a command."""
    return re.search(rf"^```{language}\n(.*?)^```$", SECTIONS[command], re.MULTILINE | re.DOTALL)[1]


def test_init_writes_what_is_shown():
    result = CliRunner().invoke(app, ["init", "J/psi(1S) -> K+ K- eta", "--out", "-"])
    assert block("init", "yaml") in result.stdout


def test_check_prints_what_is_shown(tmp_path):
    (tmp_path / "model.yml").write_text(MODEL)
    assert CliRunner().invoke(app, ["check", str(tmp_path / "model.yml")]).stdout == block("check", "text")


def test_fit_begins_with_what_is_shown(tmp_path):
    text = MODEL + "samples: {data: data.npz, phase_space: {generate: 500, seed: 2}}\n"
    (tmp_path / "model.yml").write_text(text)
    model = ctpwa.load_model(tmp_path / "model.yml")
    ctpwa.write_events(tmp_path / "data.npz", ctpwa.generate_phase_space(model, 300, seed=1), model=model)

    def stop(*_, **__):
        raise ctpwa.CtpwaError("what is shown comes before the fit")

    result = CliRunner().invoke(app, ["fit", str(tmp_path / "model.yml"), "--engine", "reference"], obj=CommandSettings(watch=stop))
    assert result.stdout == block("fit", "text") + "\n"


@pytest.mark.parametrize("command", all_commands())
def test_every_option_is_in_the_table(command):
    said = set(re.findall(r"`(--[a-z-]+)", SECTIONS[command] + (STUDIES if command in STUDY_COMMANDS else "")))
    shown = set(re.findall(r"--[a-z-]+", CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"}).stdout))
    assert shown - {"--help", "--samples"} == said
