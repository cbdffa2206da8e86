"""FitResult: saved and loaded bit by bit, whole or not at all, compared, printed; broken files are named."""

import copy
import json
import os
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

import ctpwa
from ctpwa.fitting.result import FoundMinimum, FractionSet
from ctpwa.minimise.minos import MinosError
from fitting.made_up import edit, fractions, make_result


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "result.json"
    make_result().save(path)
    return path


class TestRoundTrip:
    def test_everything_comes_back(self, saved):
        result, loaded = make_result(), ctpwa.FitResult.load(saved)
        assert loaded == result
        assert loaded.parameters == result.parameters
        assert loaded.couplings == result.couplings
        assert loaded.verdict == result.verdict
        assert loaded.record == result.record
        assert loaded.minima == result.minima
        assert loaded.fixed == result.fixed
        assert loaded.samples == result.samples
        assert loaded.model == result.model
        assert loaded.settings == result.settings
        for name in ("decay", "method", "corrected", "n_events", "n_starts", "model_file", "version", "created"):
            assert getattr(loaded, name) == getattr(result, name)
            assert type(getattr(loaded, name)) is type(getattr(result, name))

    def test_numbers_are_the_same_to_the_last_bit(self, saved):
        result, loaded = make_result(), ctpwa.FitResult.load(saved)
        assert loaded.covariance.tobytes() == result.covariance.tobytes()
        assert np.array([loaded.nll, loaded.weight]).tobytes() == np.array([result.nll, result.weight]).tobytes()
        for one, other in zip(loaded.parameters, result.parameters, strict=True):
            assert np.float64(one.value).tobytes() == np.float64(other.value).tobytes()
            assert np.float64(one.start).tobytes() == np.float64(other.start).tobytes()  # also the sign of zero
        for kind in ("waves", "resonances", "jp"):
            one, other = loaded.fractions[0].groups[kind], result.fractions[0].groups[kind]
            assert one.names == other.names
            for array in ("values", "covariance", "interference", "interference_errors"):
                assert getattr(one, array).tobytes() == getattr(other, array).tobytes()
                assert getattr(one, array).shape == getattr(other, array).shape

    def test_infinities_and_none(self, saved):
        loaded = ctpwa.FitResult.load(saved)
        assert loaded.parameters[1].minos == MinosError(-np.inf, np.inf, False, "no valid minimum")
        assert loaded.parameters[1].error is None
        assert loaded.parameters[1].upper is None
        assert loaded.verdict.gradient_norm == np.inf
        assert loaded.model["resonances"]["φ"]["limits"]["mass"] == [1.0, np.inf]
        assert loaded.couplings[0].phase_error is None

    @pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
    def test_numbers_that_need_not_be_finite(self, tmp_path, value):
        """Values of minima that were not refined, and what a verdict or MINOS has no number for."""
        result = make_result()
        result = replace(result, minima=(*result.minima, FoundMinimum(value, 5, False, (0.0, 0.0, 0.0))))
        result = replace(result, verdict=replace(result.verdict, edm=value, gradient_norm=value))
        result.save(tmp_path / "r.json")
        loaded = ctpwa.FitResult.load(tmp_path / "r.json")
        for number in (loaded.minima[-1].nll, loaded.verdict.edm, loaded.verdict.gradient_norm):
            assert isinstance(number, float)
            np.testing.assert_equal(number, value)
        assert loaded == result

    def test_a_path_that_is_not_utf8(self, tmp_path):
        """File names are bytes; a fit of a day is not lost because of one."""
        result = make_result(model_file=os.fsdecode(b"caf\xe9/model.yml"))
        result.save(tmp_path / "r.json")
        assert os.fsencode(ctpwa.FitResult.load(tmp_path / "r.json").model_file) == b"caf\xe9/model.yml"

    def test_without_optional_parts(self, tmp_path):
        result = make_result(fractions=(), samples=(), model=None, settings={}, created="")
        result.save(tmp_path / "r.json")
        assert ctpwa.FitResult.load(tmp_path / "r.json") == result

    def test_no_groups(self, tmp_path):
        """A model without resonances has no fractions of resonances."""
        entry = FractionSet("", "truth", {"resonances": fractions(), "waves": fractions("a"), "jp": fractions("none")}, {})
        result = make_result(fractions=(entry,))
        result.save(tmp_path / "r.json")
        group = ctpwa.FitResult.load(tmp_path / "r.json").fractions[0].groups["resonances"]
        assert group.values.shape == (0,)
        assert group.covariance.shape == (0, 0)

    def test_numbers_of_numpy(self, tmp_path):
        result = make_result(fractions=(), samples=(), settings={"points": np.eye(2)})
        result = replace(result, n_events=np.int64(7), weight=np.float64(0.1), corrected=np.bool_(False))
        result.save(tmp_path / "r.json")
        loaded = ctpwa.FitResult.load(tmp_path / "r.json")
        assert (loaded.n_events, loaded.weight, loaded.corrected, loaded.settings) == (7, 0.1, False, {"points": [[1.0, 0.0], [0.0, 1.0]]})

    def test_the_file_is_strict_json_in_utf8(self, saved):
        def refuse(text):
            raise AssertionError(f"{text} is not JSON")

        content = json.loads(saved.read_text(encoding="utf-8"), parse_constant=refuse)
        assert content["schema"] == 3
        assert content["ctpwa"] == "0.1.0"
        assert "φ(1680).mass" in saved.read_text(encoding="utf-8")
        assert content["aic"] == make_result().aic


class TestWholeOrNothing:
    @pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
    @pytest.mark.parametrize("step", ["replace", "fsync"])
    def test_a_failure_leaves_the_old_file(self, saved, monkeypatch, error, step):
        before = saved.read_bytes()

        def fail(*_):
            raise error

        monkeypatch.setattr(os, step, fail)
        with pytest.raises(ctpwa.CtpwaError if isinstance(error, OSError) else KeyboardInterrupt):
            make_result(nll=5.0).save(saved)
        monkeypatch.undo()
        assert saved.read_bytes() == before
        assert [file.name for file in saved.parent.iterdir()] == ["result.json"]

    def test_a_failure_while_writing(self, saved, monkeypatch):
        from pathlib import Path

        before, write = saved.read_bytes(), Path.write_text

        def half(self, text, **options):
            write(self, text[: len(text) // 2], **options)
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, "write_text", half)
        with pytest.raises(ctpwa.CtpwaError, match="No space left"):
            make_result(nll=5.0).save(saved)
        monkeypatch.undo()
        assert saved.read_bytes() == before
        assert [file.name for file in saved.parent.iterdir()] == ["result.json"]

    def test_what_cannot_be_written_leaves_the_old_file(self, saved):
        before = saved.read_bytes()
        with pytest.raises(TypeError):
            make_result(settings={"object": object()}).save(saved)
        assert saved.read_bytes() == before

    def test_no_folder(self, tmp_path):
        with pytest.raises(ctpwa.CtpwaError, match="there is no folder"):
            make_result().save(tmp_path / "nowhere" / "r.json")


def assert_broken(path, *words):
    """One clear error: the file, what is wrong, what to do."""
    with pytest.raises(ctpwa.CtpwaError) as caught:
        ctpwa.FitResult.load(path)
    message = str(caught.value)
    assert str(path) in message
    assert "\n fix: " in message
    for word in words:
        assert word in message
    assert caught.value.__cause__ is None
    return message


class TestBrokenFiles:
    def test_no_file(self, tmp_path):
        assert_broken(tmp_path / "nothing.json", "No such file")

    def test_a_folder(self, tmp_path):
        assert_broken(tmp_path, "directory")

    @pytest.mark.parametrize(
        "content",
        [b"", b"\x00\xff\xfe", b"{", b"not json", b"[1, 2", b'{"schema": 1', b"[" * 100_000],
        ids=lambda content: repr(content[:12]),
    )
    def test_no_json(self, tmp_path, content):
        (tmp_path / "r.json").write_bytes(content)
        assert_broken(tmp_path / "r.json", "not a result of a fit")

    @pytest.mark.parametrize("part", [0.1, 0.5, 0.9, 0.999])
    def test_a_file_that_ends_early(self, saved, part):
        text = saved.read_bytes()
        saved.write_bytes(text[: int(part * len(text))])
        assert_broken(saved, "not a result of a fit")

    @pytest.mark.parametrize(
        "content", ["[]", "3", '"text"', "null", "{}", '{"schema": 1}', '{"schema": "2"}', '{"schema": true}', '{"schema": null}']
    )
    def test_another_schema(self, tmp_path, content):
        (tmp_path / "r.json").write_text(content, encoding="utf-8")
        assert_broken(tmp_path / "r.json", "schema")

    @pytest.mark.parametrize("key", sorted(set(make_result().as_dict()) - {"schema", "sha256", "ctpwa", "derived", "asymmetries"}))
    def test_a_missing_key(self, saved, key):
        edit(saved, lambda content: content.pop(key))
        assert_broken(saved, f"{key} is None" if key in ("aic", "bic") else f"{key} is missing")

    @pytest.mark.parametrize("key", sorted(set(make_result().as_dict()) - {"schema", "sha256"}))
    @pytest.mark.parametrize("wrong", [[[{}]], {"a": {"b": []}}, 10**99], ids=["list", "mapping", "number"])
    def test_a_key_of_the_wrong_kind(self, saved, key, wrong):
        """Texts, numbers, lists and mappings in each other's places."""
        if key in ("model", "settings") and isinstance(wrong, dict):
            return
        edit(saved, lambda content: content.update({key: wrong}))
        named = {"ctpwa": "version"} | ({"nll": "-ln L says", "weight": "yields"} if wrong == 10**99 else {})
        assert_broken(saved, named.get(key, key))

    @pytest.mark.parametrize(
        ("path", "value", "words"),
        [
            (("parameters", 1, "value"), "much", ["parameters[1].value is 'much', not a number"]),
            (("parameters", 1, "value"), None, ["parameters[1].value is None, not a number"]),
            (("parameters", 0, "name"), 7, ["parameters[0].name is 7, not a text"]),
            (("parameters", 0, "at_limit"), 1, ["parameters[0].at_limit is 1, not true or false"]),
            (("parameters", 0, "minos", "lower"), [], ["parameters[0].minos.lower"]),
            (("parameters", 2, "colour"), "red", ["parameters[2].colour is not known"]),
            (("covariance", 1), [1.0, 2.0], ["covariance"]),
            (("covariance", 1, 2), "x", ["covariance[1][2]"]),
            (("covariance",), [1.0, 2.0, 3.0], ["covariance has shape (3,) instead of (3, 3)"]),
            (("n_events",), 3.5, ["n_events is 3.5, not a whole number"]),
            (("n_events",), True, ["n_events is True"]),
            (("nll",), True, ["nll is True"]),
            (("verdict", "flat", 0, "tiny"), "x", ["verdict.flat[0]['tiny']"]),
            (("fractions", 0, "groups", "jp", "values"), [1.0], ["groups['jp'].values has shape (1,) instead of (2,)"]),
            (("fractions", 0, "groups", "jp", "covariance"), [[1.0]], ["covariance has shape (1, 1) instead of (2, 2)"]),
            (("fractions", 0, "yields", "K*(1410)"), [1.0], ["yields['K*(1410)'] has 1 entry instead of 2"]),
            (("minima", 0, "values"), 5, ["minima[0].values is 5, not a list"]),
            (("record", "history"), {"a": 1}, ["record.history"]),
            (("something else",), 5, ["something else is not known"]),
        ],
    )
    def test_wrong_inside(self, saved, path, value, words):
        edit(saved, lambda content: put(content, path, value))
        assert_broken(saved, *words)

    def test_any_value_replaced(self):
        """Whatever stands anywhere in the file: a result, or the one kind of error that ``load`` turns into a message."""
        content = make_result().as_dict()
        for wrong in ({"x": 1}, [["y"]], "z", None, True):
            for place, key in places(content):
                before = place[key]
                place[key] = wrong
                with suppress(ValueError):
                    assert ctpwa.FitResult.from_dict(content) is not None
                place[key] = before


def put(content, path, value):
    for key in path[:-1]:
        content = content[key]
    content[path[-1]] = value


def places(content):
    items = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in list(items):
        yield content, key
        if isinstance(value, (dict, list)):
            yield from places(value)


class TestComparison:
    def test_equal(self):
        assert make_result() == make_result()
        assert copy.deepcopy(make_result()) == make_result()
        assert make_result() != "a result"

    @pytest.mark.parametrize(
        "changes", [{"nll": -1.0}, {"covariance": np.eye(3)}, {"method": "lbfgs"}, {"fractions": ()}, {"fixed": {}}, {"created": "later"}]
    )
    def test_different(self, changes):
        assert make_result(**changes) != make_result()

    def test_nan_equals_nan(self):
        assert make_result(nll=np.nan) == make_result(nll=np.nan)


class TestNumbers:
    def test_by_name(self):
        result = make_result()
        assert result["tiny"].error == np.sqrt(result.covariance[2, 2])
        assert result.value("φ(1680).mass") == 1.6803217
        assert result.names == ("K*(1410)+[K⁺ η] (1,1)(1,0).re", "φ(1680).mass", "tiny")
        np.testing.assert_array_equal(result.x, [1 / 3, 1.6803217, 5e-324])
        np.testing.assert_array_equal(result.errors, [np.sqrt(result.covariance[0, 0]), np.nan, np.sqrt(result.covariance[2, 2])])

    def test_correlation(self):
        sigma = np.array([2.0, 0.0, 1e-9])
        rho = np.array([[1, 0, 0.3], [0, 0, 0], [0.3, 0, 1]])
        found = make_result(covariance=rho * np.outer(sigma, sigma)).correlation
        np.testing.assert_allclose(found, rho, rtol=1e-14)

    def test_criteria(self):
        result = make_result(nll=100.0, weight=np.e**2)
        assert result.aic == 206.0
        assert result.bic == pytest.approx(206.0)  # 3 ln e² = 6
