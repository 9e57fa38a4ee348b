"""The note on declaring models: its examples are read and planned as they stand, and its tables are complete."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec import structs

from synapse_models.capabilities import CAPABILITY_SPECS
from synapse_models.declaration import ModelDeclaration, read_declarations
from synapse_models.planning import plan
from synapse_models.profiles.loading import read_profiles, shipped
from synapse_models.requirements import TaskRequirements

NOTE = (Path(__file__).parents[2] / "docs" / "models-file.md").read_text(encoding="utf-8")
MODELS, PROFILES = re.findall(r"```yaml\n(.*?)```", NOTE, re.S)


def test_the_example_of_models_fits() -> None:
    result = plan(read_declarations(MODELS), shipped())
    assert result.ok
    assert set(result.bindings) == {"writer", "scorer"}
    assert result.bindings["scorer"].required == ("input_scoring",)
    assert [finding.code for finding in result.diagnostics] == []
    assert result.runtime_plans["writer"].minimums == {"top_logprobs": {"minimum": 20}}


def test_the_example_of_profiles_goes_before_ours() -> None:
    over = shipped().under(read_profiles(PROFILES, "user"))
    assert over.find("openai_chat", "Qwen/Qwen3-8B").origin == "user"


def test_every_key_capability_option_and_need_is_in_the_note() -> None:
    keys = {field.name for field in structs.fields(ModelDeclaration)} - {"name", "root", "options"}
    needs = {field.name for field in structs.fields(TaskRequirements)}
    options = {field.name for spec in CAPABILITY_SPECS.values() for field in structs.fields(spec.config)}
    missing = [word for word in sorted(keys | needs | options | set(CAPABILITY_SPECS)) if f"`{word}`" not in NOTE]
    assert missing == []
