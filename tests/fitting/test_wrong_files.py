"""Files of results and checkpoints that were edited, damaged, made up, or are no files: one message each, and nothing is believed."""

import gc
import json
import os
from dataclasses import replace

import numpy as np
import pytest

import ctpwa
from ctpwa.fitting.checkpoint import Checkpoint
from ctpwa.fitting.consistent import METHODS
from ctpwa.fitting.result import checksum
from fitting.made_up import edit, make_result

MASS = "φ(1680).mass"


def minimum(**changes):
    """A result whose parameters are all determined."""
    result = make_result(**changes)
    return replace(result, verdict=replace(result.verdict, flat=(), negative=()))


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "result.json"
    minimum().save(path)
    return path


@pytest.fixture
def checkpoint(tmp_path):
    path = tmp_path / "result.partial.json"
    Checkpoint(("a", "b"), (1.0, 2.0), -3.0, "00", "ff", "0.1.0").save(path)
    return path


def refused(load, path, word=""):
    """One short message with the file, what is wrong, and what to do."""
    with pytest.raises(ctpwa.CtpwaError) as caught:
        load(path)
    message = str(caught.value)
    assert word in message
    assert "\n fix: " in message
    assert len(message) < 1000
    return message


def put(path, value):
    """A change of the content: what stands at the end of a path."""

    def change(content):
        for key in path[:-1]:
            content = content[key]
        content[path[-1]] = value(content[path[-1]]) if callable(value) else value

    return change


class TestChecksum:
    @pytest.mark.parametrize(
        ("old", "new"), [("1.6803217", "1.6813217"), ("-1234.567890123457", "-1235.567890123457"), ('"good": false', '"good": true')]
    )
    def test_an_edited_file_is_refused(self, saved, old, new):
        text = saved.read_text(encoding="utf-8")
        assert old in text
        saved.write_text(text.replace(old, new), encoding="utf-8")
        message = refused(ctpwa.FitResult.load, saved, "was changed after it was written: its content and its checksum do not agree")
        assert message.endswith("\n fix: put back the file that ctpwa wrote, or fit again")

    def test_every_value_counts(self, saved):
        """Whatever is replaced, anywhere in the file."""
        content = json.loads(saved.read_text(encoding="utf-8"))
        right = checksum(content)
        for place, key in places(content):
            if place is content and key == "sha256":
                continue
            before, place[key] = place[key], "something else"
            assert checksum(content) != right
            place[key] = before
        assert checksum(content) == right == content["sha256"]

    @pytest.mark.parametrize("value", [None, "", 0, [], "00" * 32])
    def test_a_wrong_checksum(self, saved, value):
        content = json.loads(saved.read_text(encoding="utf-8"))
        saved.write_text(json.dumps(content | {"sha256": value}))
        refused(ctpwa.FitResult.load, saved, "was changed after it was written")
        del content["sha256"]
        saved.write_text(json.dumps(content))
        refused(ctpwa.FitResult.load, saved, "was changed after it was written")

    def test_the_layout_does_not_count(self, saved):
        content = json.loads(saved.read_text(encoding="utf-8"))
        saved.write_text(json.dumps(dict(reversed(content.items())), indent=7, ensure_ascii=True))
        assert ctpwa.FitResult.load(saved) == minimum()

    def test_files_without_a_checksum_are_of_an_older_schema(self, saved):
        edit(saved, put(["schema"], 1))
        assert refused(ctpwa.FitResult.load, saved, "has schema 1, and this ctpwa reads schema 2 to 3").endswith(
            "fix: fit again, or use the version of ctpwa that wrote it"
        )


def places(content):
    for key, value in list(content.items() if isinstance(content, dict) else enumerate(content)):
        yield content, key
        if isinstance(value, (dict, list)):
            yield from places(value)


CONTRADICTIONS = [
    (["nll"], "nan", "nll is 'nan', not a finite number"),
    (["nll"], -1e5, "aic is "),
    (["bic"], 0.0, "bic is 0.0, and -ln L says"),
    (["weight"], -5.0, "weight is -5, not positive"),
    (["weight"], 0.0, "weight is 0, not positive"),
    (["n_events"], 0, "n_events is 0, less than 1"),
    (["n_events"], 10**30, "n_events is 1000000000000000000000000000000, larger than anything that was counted"),
    (["n_starts"], 0, "n_starts is 0, less than 1"),
    (["method"], "magic", "method has 'magic', which is none of 'newton', 'lbfgs', 'minuit'"),
    (["created"], "yesterday", "created is 'yesterday', not a date"),
    (["record", "seconds"], -1.0, "record.seconds is -1, less than 0"),
    (["record", "hessians"], -1, "record.hessians is -1, less than 0"),
    (["parameters", 1, "name"], "tiny", "parameters has name 'tiny' twice"),
    (["parameters", 0, "value"], "inf", "parameters[0].value is 'inf', not a finite number"),
    (["parameters", 0, "error"], 0.5, "parameters[0].error is 0.5, and the covariance says"),
    (["parameters", 0, "error"], -0.5, "parameters[0].error is -0.5, and the covariance says"),
    (["parameters", 1, "value"], 1.2, "parameters[1].value is 1.2, outside its limits from 1.68032 to inf"),
    (["parameters", 1, "value"], 1.9, "parameters[1].value is 1.9 and said to be at one of its limits"),
    (["parameters", 2, "lower"], 3.0, "parameters[2] has limits from 3 to 2"),
    (["parameters", 2, "at_limit"], True, "parameters[2].value is 4.94066e-324 and said to be at one of its limits, -inf and 2"),
    (["verdict", "at_limits"], ["tiny"], "parameters[1].at_limit is True, and verdict.at_limits says the opposite"),
    (["parameters", 0, "minos", "lower"], 0.4, "parameters[0].minos goes from 0.4 to 0.666667, not from below 0 to above"),
    (["parameters", 0, "minos", "upper"], "inf", "parameters[0].minos goes from"),
    (["fixed", MASS], 1.0, f"{MASS!r} is in parameters and in fixed"),
    (["covariance"], [], "covariance has shape (0,) instead of (3, 3)"),
    (["covariance", 0, 0], -1e-9, "covariance[0][0] is -1e-09, a negative variance"),
    (["covariance", 0, 2], 1.0, "covariance is not symmetric: look at [0][2]"),
    (["covariance", 2, 2], "nan", "covariance[2][2] is 'nan', not a finite number"),
    (["covariance"], lambda C: [[C[0][0], 0, 2 * C[0][2]], [0, 0, 0], [2 * C[2][0], 0, C[2][2]]], "covariance has a correlation beyond 1"),
    (["couplings", 1, "name"], "φ(1680)", "couplings has name 'φ(1680)' twice"),
    (["couplings", 1, "magnitude"], 0.8, "couplings[1]: magnitude and phase do not belong to re and im"),
    (["couplings", 1, "phase"], 1.0, "couplings[1]: magnitude and phase do not belong to re and im"),
    (["couplings", 1, "magnitude_error"], -0.1, "couplings[1].magnitude_error is -0.1, less than 0"),
    (["couplings", 1, "phase_error"], "inf", "couplings[1].phase_error is 'inf', not a finite number"),
    (["fixed", "K*.re"], 0.2, ""),
    (["verdict", "reasons"], [], "verdict.good is false without a reason"),
    (["verdict", "good"], True, "verdict.good is true, and the rest of the verdict says that it is not a minimum"),
    (["verdict", "flat"], [{"nobody": 1.0}], "verdict.flat[0] has 'nobody', which is none of"),
    (["verdict", "at_limits"], [MASS, MASS], f"verdict.at_limits has {MASS!r} twice"),
    (["verdict", "eigenvalues"], [1.0] * 4, "verdict.eigenvalues has 4 entries for 3 parameters"),
    (["minima"], [], "minima is empty"),
    (["minima", 0, "values"], [1.0], "minima[0].values has 1 entries instead of 3"),
    (["minima", 0, "starts"], -1, "minima[0].starts is -1, less than 0"),
    (["precision"], {"nll": 0.0, "shifts": [0.0], "largest": 0.0, "parameter": ""}, "precision.shifts has 1 entries instead of 3"),
    (["precision"], {"nll": 0.0, "shifts": [0.0] * 3, "largest": 0.0, "parameter": "x"}, "precision.parameter has 'x'"),
    (["fractions", 0, "over"], "the moon", "fractions[0].over has 'the moon', which is none of 'phase space', 'truth'"),
    (["fractions"], lambda sets: sets * 2, "fractions has data_set '' twice"),
    (["fractions", 0, "groups"], {}, "fractions[0].groups has nothing instead of 'waves', 'resonances', 'jp'"),
    (["fractions", 0, "groups", "jp", "names", 1], "1⁻", "fractions[0].groups['jp'].names has '1⁻' twice"),
    (["fractions", 0, "groups", "jp", "values", 0], 0.9, "interference has other fractions than values: look at [0][0]"),
    (["fractions", 0, "groups", "jp", "interference", 0, 1], 0.9, "interference is not symmetric"),
    (["fractions", 0, "groups", "jp", "interference_errors", 0, 0], 0.9, "other errors of fractions than covariance"),
    (["fractions", 0, "groups", "jp", "interference_errors", 0, 1], -0.9, "interference_errors is negative: look at [0][1]"),
    (["fractions", 0, "groups", "jp", "covariance", 0, 0], -0.9, "covariance[0][0] is -0.9, a negative variance"),
    (["fractions", 0, "yields"], {}, "fractions[0].yields is of nothing, and the fractions are of 'φ(1680)', 'K*(1410)'"),
    (["fractions", 0, "yields", "φ(1680)", 0], 3.0, "fractions[0].yields['φ(1680)'] is not the fraction of 987.654 events"),
    (["fractions", 0, "yields", "φ(1680)", 1], -3.0, "fractions[0].yields['φ(1680)'][1] is -3, less than 0"),
    (["samples", 0], {}, "samples[0].name is missing"),
    (["samples", 0, "n_events"], -1, "samples[0].n_events is -1, less than 0"),
    (["samples", 0, "files", 0, "sha256"], "x", "samples[0].files[0].sha256 is not a hash: 'x'"),
    (["samples", 0, "weights"], {"total": 1.0}, "samples[0].weights.smallest is missing"),
]


@pytest.mark.parametrize(
    ("path", "value", "words"), CONTRADICTIONS, ids=[f"{'.'.join(map(str, c[0]))} {c[2][:24]}" for c in CONTRADICTIONS]
)
def test_numbers_that_contradict_each_other(saved, path, value, words):
    """With a right checksum: somebody took the trouble."""
    if path == ["fixed", "K*.re"]:
        edit(saved, lambda content: content["fixed"].update({"K*.re": 0.2, "K*.im": -0.7}))
        words = "couplings[1] is not made of its parameters: 0.1-0.7j and 0.2-0.7j"
    else:
        edit(saved, put(path, value))
    refused(ctpwa.FitResult.load, saved, words)


def test_fractions_that_do_not_add_up(saved):
    def change(content):
        group = content["fractions"][0]["groups"]["jp"]
        group["interference"][0][1] = group["interference"][1][0] = 0.9

    edit(saved, change)
    refused(ctpwa.FitResult.load, saved, "fractions[0].groups['jp']: fractions and interferences add up to")


def test_a_covariance_that_is_none(saved):
    """Correlations within their limits, that no three quantities can have together."""

    def change(content):
        C = [[1.0, -0.9, -0.9], [-0.9, 1.0, -0.9], [-0.9, -0.9, 1.0]]
        content["covariance"] = C
        for p in content["parameters"]:
            p.update(error=1.0, at_limit=False)
        content["verdict"]["at_limits"] = []

    edit(saved, change)
    refused(ctpwa.FitResult.load, saved, "covariance is not positive semi-definite: an eigenvalue of the correlations is -0.8")


def test_a_covariance_of_what_is_not_determined_is_rounding(tmp_path):
    """Where a fit ran away nothing but rounding may be left of it; the result is still one."""
    result = make_result()
    C = result.covariance.copy()
    C[1] = 1e-48 * np.array([-1.0, -2.0, 3.0])
    replace(result, covariance=C).save(tmp_path / "r.json")
    loaded = ctpwa.FitResult.load(tmp_path / "r.json")
    np.testing.assert_array_equal(loaded.covariance, C)
    assert np.isfinite(loaded.correlation).all()
    replace(minimum(), covariance=C).save(tmp_path / "r.json")
    refused(ctpwa.FitResult.load, tmp_path / "r.json", "covariance[1][1] is -2e-48, a negative variance")


def test_several_data_sets(tmp_path):
    """A parameter may float in one data set and be fixed in another, and a coupling may be the reference of one only."""
    result = minimum()
    first = result.fractions[0]
    fixed = {MASS: 1.6, "K*.re": 1.0, "K*.im": 0.0}
    both = replace(result.simulation, sizes=2 * result.simulation.sizes)
    result = replace(result, fractions=(replace(first, data_set="one"), replace(first, data_set="two")), fixed=fixed, simulation=both)
    result.save(tmp_path / "r.json")
    assert ctpwa.FitResult.load(tmp_path / "r.json") == result
    replace(result, fractions=(first,)).save(tmp_path / "r.json")
    refused(ctpwa.FitResult.load, tmp_path / "r.json", f"{MASS!r} is in parameters and in fixed")


def test_the_methods_are_those_of_a_fit():
    from ctpwa.fitting import fit

    assert fit.METHODS is METHODS


NO_FILES = {
    "NaN": (b'{"schema": 2, "nll": NaN}', "NaN is not a number in JSON"),
    "infinity": (b'{"schema": 2, "nll": -Infinity}', "-Infinity is not a number in JSON"),
    "1e999": (b'{"schema": 2, "nll": 1e999}', "1e999 is too large for a number"),
    "5000 digits": (b'{"schema": 2, "n_events": ' + b"7" * 5000 + b"}", "a whole number with 5000 digits"),
    "twice": (b'{"schema": 2, "schema": 2}', "the key 'schema' is given twice"),
    "twice, long": (b'{"' + b"k" * 5000 + b'": 2, "' + b"k" * 5000 + b'": 2}', "the key 'kkk"),
    "deep": (b'{"schema": ' + b"[" * 60 + b"]" * 60 + b"}", "more than 40 lists and mappings inside each other"),
    "very deep": (b'{"a":' * 20_000 + b"1" + b"}" * 20_000, "more than 40 lists and mappings inside each other"),
    "not UTF-8": ('{"schema": "é"}'.encode("latin-1"), "can't decode byte"),
    "NUL": (b"\0" * 100, "Expecting value"),
    "empty": (b"", "Expecting value"),
}


@pytest.mark.parametrize("load", [ctpwa.FitResult.load, Checkpoint.load], ids=["result", "checkpoint"])
class TestNoFiles:
    @pytest.fixture(autouse=True)
    def _no_finalisers(self):
        """What other tests left is not collected at the bottom of a recursion, where finalisers fail."""
        gc.disable()
        yield
        gc.enable()

    @pytest.mark.parametrize(("content", "words"), NO_FILES.values(), ids=NO_FILES)
    def test_content(self, tmp_path, load, content, words):
        (tmp_path / "r.json").write_bytes(content)
        refused(load, tmp_path / "r.json", words)

    def test_a_pipe_is_not_waited_for(self, tmp_path, load):
        os.mkfifo(tmp_path / "r.json")
        refused(load, tmp_path / "r.json", "it is not a regular file")

    @pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
    def test_a_device_is_not_read(self, load, device):
        refused(load, device, "it is not a regular file")

    def test_too_large(self, tmp_path, load):
        with open(tmp_path / "r.json", "wb") as file:
            file.truncate(2**40)  # which takes no room on the disk
        refused(load, tmp_path / "r.json", "it is larger than 64 MiB")

    @pytest.mark.parametrize("path", ["a\0b", "x" * 300, "no/such/file", "/", "\x1b[31m", "\udc80"])
    def test_paths(self, load, path):
        assert "".join(refused(load, path).split("\n")).isprintable()


@pytest.mark.parametrize("content", ["[]", "3", "null", '"x"', '{"checkpoint": 1}', '{"checkpoint": []}', '{"checkpoint": {"a": 1}}'])
def test_no_checkpoint(tmp_path, content):
    (tmp_path / "r.json").write_text(content)
    refused(Checkpoint.load, tmp_path / "r.json")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("names", ["a", "a"]), ("names", ["a"]), ("names", [1, 2]), ("names", "ab"), ("names", {"a": 1, "b": 2}), ("values", [1, "2"]),
        ("values", [1, None]), ("values", [1, "nan"]), ("values", 5), ("nll", "inf"), ("nll", None), ("nll", True), ("model_hash", 5),
        ("samples_hash", ["ff"]), ("version", {}), ("something", 1),
    ],
)  # fmt: skip
def test_a_checkpoint_of_wrong_types(checkpoint, key, value):
    content = json.loads(checkpoint.read_text()) | {key: value}
    checkpoint.write_text(json.dumps(content))
    refused(Checkpoint.load, checkpoint, "is not a checkpoint of a fit: ")


@pytest.mark.parametrize("key", ["names", "values", "nll", "model_hash", "samples_hash"])
def test_a_checkpoint_without_something(checkpoint, key):
    content = json.loads(checkpoint.read_text())
    del content[key]
    checkpoint.write_text(json.dumps(content))
    refused(Checkpoint.load, checkpoint, f"{key} is missing")
