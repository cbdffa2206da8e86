"""Whatever stands at any place of a file, it is imported or refused with a message."""

import copy
import json
import random

import pytest
import yaml
from tests.interchange.published import lhcb
from tests.interchange.test_tfpwa import CASES

from ctpwa.base.errors import CtpwaError
from ctpwa.interchange import read_serialization, read_tfpwa

GARBAGE = ["x", -1, [], {}, None, [1], {"a": 1}, 1e300, True, "a b;c->d", [["a"]]]


def paths(value, path=()):
    """Where something stands; of long lists the first entries."""
    if path:
        yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, entry in entries:
        yield from paths(entry, (*path, key))


def changed(content, path, value):
    content = copy.deepcopy(content)
    holder = content
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return content


def check(read, content, seed, n):
    """Some changes at random places; the number that were refused."""
    chosen = random.Random(seed)
    places, refused = list(paths(content)), []
    for _ in range(n):
        try:
            read(changed(content, chosen.choice(places), chosen.choice(GARBAGE)))
        except CtpwaError as error:
            refused.append(str(error))
    assert all("fix:" in message for message in refused)
    return len(refused)


@pytest.mark.parametrize("name", ["constrained", "no_barriers", "lists"])
def test_configurations(tmp_path, name):
    def read(content):
        (tmp_path / "config.yml").write_text(yaml.safe_dump(content))
        read_tfpwa(tmp_path / "config.yml", CASES[name]["params"])

    assert check(read, CASES[name]["config"], 1, 40) > 10


def test_serialized_models(tmp_path):
    content = lhcb()
    description = content["distributions"][0]["decay_description"]
    description["chains"] = description["chains"][:2]
    content["misc"]["amplitude_model_checksums"] = content["misc"]["amplitude_model_checksums"][:2]

    def read(content):
        (tmp_path / "model.json").write_text(json.dumps(content))
        read_serialization(tmp_path / "model.json")

    assert check(read, content, 2, 80) > 40
