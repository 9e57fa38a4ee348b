"""The strict loader: what is easily misread is refused, with key path and line."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synapse_models.yaml_loader import MAX_BYTES, MAX_INTEGER, DocumentError, Problem, load


def problems(text: str | bytes) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        load(text)
    return [str(problem) for problem in caught.value.problems]


def test_scalars_follow_the_core_schema_of_yaml_1_2() -> None:
    text = (
        "t: [true, True, FALSE]\n"
        "n: [null, ~, Null, '']\n"
        "words: [yes, no, on, off, y, 2026-10-21, 12:30:45, 1_000, 0b1, 'true', \"1\", 1.2.3]\n"
        "numbers: [0, -7, 0x1F, 0o17, 1e3, .5, 1., -2.5]\n"
        "block: |\n  a\n  b\n"
    )
    assert load(text).value == {
        "t": [True, True, False],
        "n": [None, None, None, ""],
        "words": ["yes", "no", "on", "off", "y", "2026-10-21", "12:30:45", "1_000", "0b1", "true", "1", "1.2.3"],
        "numbers": [0, -7, 31, 15, 1000.0, 0.5, 1.0, -2.5],
        "block": "a\nb\n",
    }


def test_whole_numbers_stay_whole() -> None:
    value = load("a: 1\nb: 1.0").value
    assert [type(one) for one in value.values()] == [int, float]


def test_every_key_and_item_has_its_line() -> None:
    document = load("a:\n  b:\n  - x\n  - y\n")
    assert document.lines[("a", "b")] == 2
    assert document.lines[("a", "b", 1)] == 4
    assert document.problem(("a", "b", "gone"), "m") == Problem(("a", "b", "gone"), 2, "m")


def test_a_key_that_occurs_twice_is_an_error_at_every_level_with_both_lines() -> None:
    assert problems("a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\na: 2\nl:\n- {x: 1, x: 2}\n") == [
        "b.c (line 5): the key is there twice; first on line 3",
        "a (line 6): the key is there twice; first on line 1",
        "l[0].x (line 8): the key is there twice; first on line 8",
    ]


def test_the_same_key_spelled_in_two_ways_is_still_twice() -> None:
    assert problems("a: 1\n'a': 2\n") == ["a (line 2): the key is there twice; first on line 1"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: &x 1\n", ["a (line 1): anchors aren't read here"]),
        ("a: 1\nb: *x\n", ["b (line 2): aliases aren't read here; write the value out"]),
        ("<<: {a: 1}\n", ["line 1: merge keys aren't read here; write the values out"]),
        ("a: !!str 1\n", ["a (line 1): tags aren't read here"]),
        ("a: !x {b: 1}\n", ["a (line 1): tags aren't read here"]),
        ("a: ! b\n", ["a (line 1): tags aren't read here"]),
        ("%YAML 1.1\n---\na: yes\n", ["line 2: directives aren't read here"]),
        ("a: 1\n---\nb: 2\n", ["line 2: a second document"]),
        ("1: a\n", ["line 1: a key must be text; quote it if 1 is meant"]),
        ("true: a\n", ["line 1: a key must be text; quote it if True is meant"]),
        ("~: a\n", ["line 1: a key must be text; quote it if None is meant"]),
        ("a: 1e400\n", ["a (line 1): 1e400 is too large a number"]),
        ("a: .inf\n", ["a (line 1): .inf isn't a number that can be sent"]),
        ("a: -.Inf\n", ["a (line 1): -.Inf isn't a number that can be sent"]),
        ("a: .nan\n", ["a (line 1): .nan isn't a number that can be sent"]),
        (
            "a: 9007199254740992\n",
            ["a (line 1): 9007199254740992 is beyond 9007199254740991, where numbers stop being exact"],
        ),
        (b"a: 1\nb: \xff\n", ["line 2: this isn't UTF-8"]),
    ],
)
def test_what_is_easily_misread_is_refused(text: str | bytes, expected: list[str]) -> None:
    assert problems(text) == expected


def test_half_a_character_is_no_text() -> None:
    half = "half a character; write it out instead of as two escapes"
    assert problems('a: "\\ud83d"\n') == [f"a (line 1): {half}"]
    assert load('a: "\\U0001F600"').value == {"a": "\U0001f600"}


def test_a_key_may_have_any_name() -> None:
    assert problems('"?": 1\nb: 2\n"?": 3\n') == ["? (line 3): the key is there twice; first on line 1"]
    document = load('"?": 1\nb: 2\n"c":\n  "?": 3\n')
    assert document.value == {"?": 1, "b": 2, "c": {"?": 3}}
    assert (document.lines[("?",)], document.lines[("c", "?")]) == (1, 4)
    assert problems("? {a: &x 1}\n: 2\n")[0] == "?.a (line 1): anchors aren't read here"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("%YAML 1.3\n---\na: 1\n", 1),
        ("a: 1\n...\n%YAML 1." + "9" * 5000 + "\n---\nb: 2\n", 2),
        ('a: 1\nb: "\\UFFFFFFFF"\n', 2),
        ('a: 1\n\nb: "\\U00110000"\n', 3),
    ],
)
def test_what_the_parser_trips_over_is_refused_with_the_line_that_it_came_to(text: str, line: int) -> None:
    assert problems(text) == [
        f"line {line}: this isn't YAML: a directive or an escape, here or further down, stands for nothing"
    ]


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("ab:?-[]{},&*!|>'\"%@`# \n\t\\xuUFN019<=.YAMLTG"), max_size=40))
def test_any_text_is_a_document_or_no_document(text: str) -> None:
    with contextlib.suppress(DocumentError):
        load(text)


def test_no_message_repeats_what_can_only_be_a_secret() -> None:
    (problem,) = problems("? [sk-live-CANARY0123456789]\n: 1\n")
    assert problem == "line 1: a key must be text; quote it if ['[redacted]'] is meant"


plain_text = st.text(
    st.characters(exclude_categories=("Cc", "Cs"), exclude_characters="\u2028\u2029\ufffe\uffff\ufeff"), max_size=8
)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-MAX_INTEGER, MAX_INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False)
    | plain_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(plain_text, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=80, deadline=None)
@given(json_values)
def test_json_is_read_as_what_it_says(value: Any) -> None:
    read = load(json.dumps(value, ensure_ascii=False)).value
    assert read == value
    assert repr(read) == repr(value)


def test_an_alias_bomb_is_refused_without_being_expanded() -> None:
    text = "a: &a [x, x]\n" + "".join(f"{name}: &{name} [*a, *a]\n" for name in "bcdefgh")
    assert len(problems(text)) == 22


def test_all_problems_are_reported_not_only_the_first() -> None:
    assert len(problems("a: 1\na: 2\nb: !x 1\nc: .nan\n")) == 3


@pytest.mark.parametrize("text", ["a: [", "a:\n\tb: 1", "a: 'x", "a: b: c", "a: \x00", "a: \ud800"])
def test_what_is_no_yaml_is_refused_as_such(text: str) -> None:
    (problem,) = problems(text)
    assert "this isn't YAML" in problem


def test_a_document_may_be_a_mebibyte_and_no_more() -> None:
    head = "a: '"
    fits = head + "x" * (MAX_BYTES - len(head) - 1) + "'"
    assert len(load(fits).value["a"]) == MAX_BYTES - 5
    assert problems(fits + "\n") == [f"{MAX_BYTES + 1} bytes are too many; {MAX_BYTES} at most"]


def test_nesting_has_an_end() -> None:
    assert load("[" * 32 + "]" * 32).value is not None
    (problem,) = problems("[" * 40 + "]" * 40)
    assert problem.endswith("nested deeper than 32")


def test_a_byte_order_mark_is_no_part_of_the_first_key() -> None:
    assert load("\ufeffa: 1".encode()).value == {"a": 1}
