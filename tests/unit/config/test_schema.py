"""The JSON schema that editors use to complete and check model files."""

import json
from pathlib import Path

from ctpwa.config.schema import ModelSpec

FILE = Path(__file__).parents[3] / "docs" / "model.schema.json"


def test_schema_is_up_to_date(request):
    text = json.dumps(ModelSpec.model_json_schema(), indent=2, ensure_ascii=False) + "\n"
    if request.config.getoption("--update-golden"):
        FILE.write_text(text, encoding="utf-8")
    assert FILE.read_text(encoding="utf-8") == text, "run pytest --update-golden tests/unit/config/test_schema.py"


def test_short_forms_are_in_the_schema():
    definitions = ModelSpec.model_json_schema()["$defs"]
    assert {"type": "string"} in definitions["ChainSpec"]["anyOf"]
    assert {"type": "string"} in definitions["ResonanceSpec"]["properties"]["in"]["anyOf"]


def test_every_key_is_described():
    schema = ModelSpec.model_json_schema()
    chain = next(part for part in schema["$defs"]["ChainSpec"]["anyOf"] if "properties" in part)
    for part in (schema, schema["$defs"]["ParticleSpec"], schema["$defs"]["ResonanceSpec"], chain):
        for name, key in part["properties"].items():
            assert key.get("description"), name
