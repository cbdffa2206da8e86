"""Loading models from text, and looking at what is wrong with them."""

import pytest

from ctpwa import load_model
from ctpwa.base import ConfigError


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Load a model from YAML text, as the file model.yml."""

    def load_text(text):
        (tmp_path / "model.yml").write_text(text, encoding="utf-8")
        monkeypatch.chdir(tmp_path)
        return load_model("model.yml")

    return load_text


@pytest.fixture
def problems(load):
    """The problems of a YAML text."""

    def problems_of(text):
        with pytest.raises(ConfigError) as caught:
            load(text)
        return caught.value.problems

    return problems_of


@pytest.fixture
def refused(problems):
    """Checks that a text has exactly one problem, with these words at this line and column."""

    def check(text, where, what, fix):
        (problem,) = problems(text)
        assert what in problem.what
        assert fix in problem.fix
        assert fix, "every problem says what to do"
        assert problem.location == f"model.yml:{where}"
        line = int(where.split(":")[0])
        assert problem.excerpt.startswith(f"{line:5d} | {text.splitlines()[line - 1].expandtabs(1)}")
        return problem

    return check
