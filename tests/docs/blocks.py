"""The code blocks of the documentation, and a folder in which those of one page run one after the other."""

import contextlib
import io
import re
import shlex
import shutil
import textwrap
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import typer
import yaml
from typer.testing import CliRunner

from ctpwa import load_analysis, load_model
from ctpwa.cli.command import all_commands
from ctpwa.cli.main import app
from ctpwa.config.schema import ModelSpec

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w+)(?P<rest>[^\n]*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
REMARK = re.compile(r"<!-- (not run|fails)(?:: (.*))? -->\s*\Z")
KEYS = {field.alias or name for name, field in ModelSpec.model_fields.items()}
FEW_EVENTS, FEW_STARTS, FEW_FITS = 100, 2, 2
LIST = "command-line.md"
STUDIES = {name for name, command in all_commands().items() if command.together and name != "fit"}


@dataclass(frozen=True)
class Block:
    """One fenced block.

    Attributes:
        page:      its file, from the folder docs
        line:      where it begins
        language:  python, sh, yaml or text; what else there is has no meaning here
        title:     the file that it is, if it has one
        text:      its content
        wrong:     whether it is an example of a mistake
        reason:    why it is not run; empty if it is
        fails:     whether a command in it is expected to end with an error
        follows:   whether only blank lines are between it and the block before
        span:      where its content is in the page
    """

    page: str
    line: int
    language: str
    title: str
    text: str
    wrong: bool
    reason: str
    fails: bool
    follows: bool
    span: tuple[int, int]

    def __str__(self):
        return f"docs/{self.page}:{self.line}"


def page_text(page):
    return (DOCS / page).read_text(encoding="utf-8")


def blocks(page):
    """All fenced blocks of a page, in order."""
    text, end, found = page_text(page), 0, []
    for match in FENCE.finditer(text):
        between, rest = text[end : match.start()], match["rest"]
        remark = REMARK.search(between)
        kind, reason = remark.groups() if remark else ("", "")
        title = re.search(r'title="([^"]+)"', rest)
        found.append(
            Block(
                page,
                text.count("\n", 0, match.start()) + 1,
                match["language"],
                title[1] if title else "",
                textwrap.dedent(match["text"]),
                "wrong" in rest.split(),
                (reason or "no reason") if kind == "not run" else "",
                kind == "fails",
                bool(found) and not between.strip(),
                match.span("text"),
            )
        )
        end = match.end()
    return found


def same(shown, printed):
    """Whether a program printed what is shown.

    A line … stands for any lines. Numbers may differ by two units of the last digit that is shown; times, and numbers of steps, may
    differ.
    """
    return _same([_words(line) for line in shown.rstrip().splitlines()], [_words(line) for line in printed.rstrip().splitlines()])


def _same(shown, printed):
    if not shown:
        return not printed
    if shown[0] == ["…"]:
        return any(_same(shown[1:], printed[i:]) for i in range(len(printed) + 1))
    return bool(printed) and _equal(shown[0], printed[0]) and _same(shown[1:], printed[1:])


NUMBER = re.compile(r"[-+]?\d+(?:\.(\d+))?\Z")
LOOSE = [(r"EDM [^)\s]+", "EDM"), (r"\b\d+ (Hessians|gradients|values)", r"\1"), (r"\b\d+(\.\d+)? m?s\b", "s")]


def _words(line):
    for pattern, plain in LOOSE:
        line = re.sub(pattern, plain, line)
    return line.split()


def _equal(shown, printed):
    return len(shown) == len(printed) and all(map(_equal_words, shown, printed))


def _equal_words(a, b):
    if a == b:
        return True
    number = NUMBER.match(a)
    if not number or not NUMBER.match(b):
        return False
    unit = 10.0 ** -len(number[1] or "")
    return abs(float(a) - float(b)) < 2.5 * unit


class Session:
    """Runs the blocks of a page in one folder and one Python namespace.

    Args:
        folder:    the working directory, which must be that of the process
        files:     a folder with files that are there before every command; then commands run with few events and few starts
        settings:  of commands
    """

    def __init__(self, folder, files=None, settings=None):
        self.folder, self.files, self.settings = folder, files, settings
        if files is not None:
            shutil.copytree(files, folder, dirs_exist_ok=True)
        self.names = {"__name__": "__main__"}
        self.models = []

    def run(self, block):
        """What a block prints."""
        return getattr(self, f"_{block.language}")(block)

    def _python(self, block):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(block.text, str(block), "exec"), self.names)
        return printed.getvalue()

    def _sh(self, block):
        printed = []
        if self.files is not None:
            shutil.copytree(self.files, self.folder, dirs_exist_ok=True)
        for line in re.sub(r"\\\n\s*", "", block.text).splitlines():
            command = shlex.split(line, comments=True)
            if not command:
                continue
            assert command[0] == "ctpwa", f"{block}: cannot run {line!r}"
            if command[1] == "demo" or (command[1] in STUDIES and block.page == LIST):  # tests/test_demo.py and other pages run them
                program = typer.main.get_command(app)
                name, own, arguments = program.resolve_command(typer.Context(program), command[1:])
                own.make_context(name, arguments)
                continue
            if self.files is not None:
                command = self._made_small(command)
            result = CliRunner().invoke(app, command[1:], obj=self.settings)
            if block.fails:
                assert result.exit_code == 1, f"{block}: {line!r} did not fail"
                printed.append(result.output)
                continue
            too_few = self.files is not None and command[1] == "fit" and "phase-space events count" in result.output
            allowed = (0, 3) if too_few else (0,)  # the verdict on a page that is run with few events
            assert result.exit_code in allowed, f"{block}: {line!r} ended with {result.exit_code}: {result.output} {result.exception}"
            printed.append(result.stdout)
        return "\n".join(part.rstrip("\n") for part in printed if part)

    def _made_small(self, command):
        """Few events and starts; and nothing that is there already is in the way."""
        limits = {"-n": FEW_FITS if command[1] in STUDIES else FEW_EVENTS, "--events": FEW_EVENTS, "--starts": FEW_STARTS}
        limits |= {"--points": 3 if command[1] == "scan" else 25, "--chains": 1, "--toys": FEW_FITS, "--warm-up": 10}
        command = [
            str(min(int(word), limits[before])) if before in limits else word for before, word in zip(["", *command], command, strict=False)
        ]
        if "--figures" in command:  # tests/unit/report draws them
            at = command.index("--figures")
            command = command[:at] + command[at + 2 :]
        if command[1] == "fit" and "--starts" not in command:
            command += ["--starts", str(FEW_STARTS)]
        if command[1] == "sample" and "--warm-up" not in command:
            command += ["--warm-up", "10"]
        if command[1] in ("init", "generate"):  # which replace only files of their own
            names = [word for before, word in pairwise(command) if before in ("-o", "--out")]
            (self.folder / (names or ["model.yml"])[0]).unlink(missing_ok=True)
        if command[1] == "export" or (command[1] == "fit" and "--resume" not in command):
            command.append("--force")
        for path in self.folder.glob("*.yml"):
            path.write_text(re.sub(r"generate: \d+", "generate: 1000", path.read_text(encoding="utf-8")), encoding="utf-8")
        return command

    def _yaml(self, block):
        """A whole model, a part of the model before it, or resonances for it; a list is a file of variations."""
        content = yaml.safe_load(block.text)
        if isinstance(content, list):
            (self.folder / block.title).write_text(block.text, encoding="utf-8")  # for the command after it
        elif block.title:
            (self.folder / block.title).write_text(block.text, encoding="utf-8")
            assert load_analysis(block.title).model.waves, block
            self.models.append(content)
        elif "decay" in content:
            assert load_analysis(content).model.waves, block
            self.models.append(content)
        elif set(content) <= KEYS:
            assert load_analysis({**self.models[-1], **content}).model.waves, block
        else:
            base = {key: value for key, value in self.models[-1].items() if key in ("decay", "polarisation", "particles", "resonances")}
            assert load_model({**base, "resonances": {**base["resonances"], **content}}).waves, block
        return ""
