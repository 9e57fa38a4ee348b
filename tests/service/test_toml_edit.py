"""Changing single keys of a file that also holds tables: what is inside a table is nobody's top-level key."""

from __future__ import annotations

import tomllib

import pytest

from synapse_service.settings.toml_edit import edited, line_of

TABLES = """\
# mine
cpu_lanes = true # yes

# the first model
[[preload]]
model_id = "a"
log_level = "not a setting"
[preload.files]
model = {url = "file:///a"}

[[preload]]
model_id = "b"
"""


def test_a_key_is_added_before_the_tables_and_the_comment_that_stands_on_them() -> None:
    """Red without the look for the first table: the key would become a member of the last one."""
    after = edited(TABLES, {"inline_max_items": 7})
    assert tomllib.loads(after) == tomllib.loads(TABLES) | {"inline_max_items": 7}
    assert "inline_max_items = 7\n# the first model\n[[preload]]" in after


def test_a_member_of_a_table_is_not_taken_for_a_key_of_the_same_name() -> None:
    after = edited(TABLES, {"log_level": "debug"})
    document = tomllib.loads(after)
    assert (document["log_level"], document["preload"][0]["log_level"]) == ("debug", "not a setting")
    assert edited(after, {"log_level": None}) == TABLES


def test_a_key_before_the_tables_is_changed_in_its_place() -> None:
    assert edited(TABLES, {"cpu_lanes": False}) == TABLES.replace("cpu_lanes = true", "cpu_lanes = false")


def test_a_file_that_begins_with_a_table_gets_its_keys_before_it() -> None:
    assert edited('[[preload]]\nmodel_id = "a"\n', {"cpu_lanes": True}) == (
        'cpu_lanes = true\n[[preload]]\nmodel_id = "a"\n'
    )


@pytest.mark.parametrize(("index", "line"), [(0, 5), (1, 11), (2, 11)])
def test_each_of_several_tables_has_its_line(index: int, line: int) -> None:
    assert line_of(TABLES, "preload", index) == line
    assert line_of(TABLES, "model_id") is None
