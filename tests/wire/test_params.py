"""Every parameter of every served operation: what is refused, with which number, and which member is named.

The cases follow from the registry: each served operation has complete examples here, each member of its parameter type
gets the values that its type rules out, and a member without an example fails the first test.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
import msgspec.inspect as mi
import pytest

from synapse_wire.errors import SynapseError
from synapse_wire.messages import decode_params
from synapse_wire.operations import OPERATIONS
from synapse_wire.params import MAX_EVIDENCE_BYTES, MAX_EVIDENCE_DEPTH, SAFE_INT, CachePin, EmbedBatch, ModelStatus
from wire.contract_drift import fields_of

CONSTRAINTS: Final = {
    "deadline_ms": 1000,
    "max_queue_ms": 0,
    "required_fingerprint": "syn1-a",
    "allow_equivalent": True,
    "required_epoch": 0,
    "accept_declared": False,
}
FILE: Final = {"url": "file:///m/model.safetensors", "sha256": "0" * 64}

EXAMPLES: Final[Mapping[str, list[dict[str, Any]]]] = {
    "embed.query": [
        {"model": "m", "text": "", "target_fingerprint": "syn1-a", "vector_encoding": "base64", **CONSTRAINTS}
    ],
    "embed.batch": [
        {
            "model": "m",
            "items": [{"id": "a", "text": "one"}],
            "request_key": "k",
            "vector_encoding": "json",
            **CONSTRAINTS,
        }
    ],
    "embed.result": [{"job_id": "j", "cursor": 0, "max_page_bytes": 1}],
    "rerank.score": [{"model": "m", "query": "", "candidates": [{"id": "a", "text": ""}], **CONSTRAINTS}],
    "job.resume": [{"job_id": "j"}],
    "model.load": [
        {
            "model_id": "m",
            "task": "embed",
            "engine": "owned-cpu",
            "source": "hf",
            "files": {"model": FILE, "tokenizer": FILE, "config": FILE, "extra": [FILE]},
            "repo": "owner/name",
            "revision": "0" * 40,
            "pooling": "mean",
            "normalize": True,
            "dtype": "f32",
            "max_tokens": 256,
            "overlength": "refuse",
            "template": "t",
            "profile": "p",
        }
    ],
    "model.status": [{"job_id": "j"}, {"model_id": "m"}],
    "model.unload": [{"model_id": "m"}],
    "models.list": [{}],
    "models.catalog": [{"query": "q", "task": "rerank", "runnable_here": True, "installed": False}],
    "models.download": [{"catalog_id": "c", "request_key": "k"}],
    "models.download.cancel": [{"job_id": "j"}],
    "models.remove": [{"catalog_id": "c"}],
    "aliases.check_index": [{"index_fingerprint": "syn1-a", "provenance_set": ["syn1-b"]}],
    "alias.retract": [
        {"left": "syn1-a", "right": "syn1-b", "evidence": {"why": "drift"}},
        {"fingerprint_a": "syn1-a", "fingerprint_b": "syn1-b"},
    ],
    "alias.declare": [
        {"left": "syn1-a", "right": "syn1-b", "evidence": {"mean_cosine": 0.9995}},
        {"fingerprint_a": "syn1-a", "fingerprint_b": "syn1-b"},
    ],
    "cache.pin": [
        {"catalog_id": "c", "pinned": True, "owner": "o"},
        {"model_id": "m", "pinned": False, "owner": "o"},
    ],
    "cache.gc": [{"dry_run": True}],
    "probe.start": [{"model_id": "m"}],
    "probe.status": [{"job_id": "j"}],
    "probe.report": [{"model_id": "m"}],
    "admission.status": [{}],
    "certify.observations": [{}],
    "service.hello": [
        {
            "client": {"name": "test", "version": "1"},
            "protocol": 1,
            "scope": {"flow_id": "f", "project_root": "/p", "harness": "h", "session": "s"},
        }
    ],
    "service.info": [{}],
    "service.diagnostics": [{}],
    "service.shutdown": [{"drain_ms": 0, "force": False}],
    "events.subscribe": [{"topics": ["jobs"]}],
    "settings.get": [{"names": ["cpu_lanes"]}],
    "settings.set": [{"values": {"cpu_lanes": True}}],
    "logs.tail": [{"after_seq": 0, "level": "info", "limit": 1}],
    "jobs.list": [{"states": ["done"], "limit": 1}],
    "jobs.cancel": [{"job_id": "j"}],
    "downloads.list": [{"limit": 1}],
    "lanes.pause": [{"scope": "neural_engine", "duration_ms": 7_200_000, "reason": "measuring"}],
    "lanes.resume": [{}],
    "lanes.status": [{}],
    "service.pause": [{"duration_ms": 604_800_000, "reason": "a film"}, {"until_resumed": True, "reason": "a film"}],
    "service.resume": [{}],
    "lanes.list": [{}],
    "lanes.load": [{"lane_id": "m"}],
    "lanes.keep_warm": [{"lane_id": "m", "on": True}],
    "cache.usage": [{}],
    "storage.status": [{}],
    "storage.move": [{"path": "/disk/models", "mode": "adopt"}],
    "storage.cancel": [{}],
    "credentials.set": [{"name": "huggingface", "secret": "hf_x", "origin": "https://hub.test"}],
    "credentials.delete": [{"name": "huggingface"}],
    "credentials.list": [{}],
}

SERVED: Final = {name: row.params for name, row in OPERATIONS.items() if row.params is not None}
ONE_OF: Final = ("model.status", "cache.pin", "alias.declare", "alias.retract", "service.pause")
"""Operations that need exactly one of some optional members; their own tests are below."""
TOLERANT: Final = ("model.unload", "alias.declare", "alias.retract")
"""Operations that ignore members that they don't know."""

BEYOND_TYPES: Final = (("lanes.pause", "reason"), ("service.pause", "reason"), ("service.pause", "until_resumed"))
"""Members with a rule that no type says; ``test_pause_params`` is about them."""

CONTROL: Final = ("\x00", "a\nb", "\x7f", "\x85")
STRANGERS: Final[Mapping[type[mi.Type], tuple[Any, ...]]] = {
    mi.StrType: (1, True, 1.5, [], {}),
    mi.LiteralType: ("no such choice", "", True, 1.5, [], {}),
    mi.IntType: ("1", True, 1.5, 1.0, [], {}),
    mi.BoolType: ("true", 0, 1, [], {}),
    mi.ListType: ("a", 1, True, {}),
    mi.DictType: ("a", 1, True, []),
    mi.StructType: ("a", 1, True, []),
}


def refusal(params: type[Any], value: Any) -> tuple[str | int | bool | None, ...] | None:
    """What refuses ``value``, as (code, level, number, class, safe to retry, field), or None when it is accepted."""
    try:
        decode_params(json.dumps(value).encode(), params)
    except SynapseError as error:
        details = error.details or {}
        return (error.code, error.level, error.number, error.class_, error.safe_to_retry_same_request, details["field"])
    return None


def expected(field: str) -> tuple[str | int | bool, ...]:
    return ("invalid_request", "channel", -32602, "permanent", False, field)


# --- the examples cover everything ---


def _paths(value: Any, prefix: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield prefix + name
            yield from _paths(inner, f"{prefix}{name}.")
    elif isinstance(value, list):
        for inner in value:
            yield from _paths(inner, prefix.removesuffix(".") + "[].")


def _known(paths: set[str]) -> set[str]:
    # Names of settings, and whatever evidence holds, are not members.
    return {path for path in paths if not path.startswith(("values.", "evidence."))}


def test_every_served_operation_and_every_member_has_an_example() -> None:
    assert {
        name: _known({path for example in examples for path in _paths(example)}) for name, examples in EXAMPLES.items()
    } == {name: {field.path for field in fields_of(params)} for name, params in SERVED.items()}


@pytest.mark.parametrize("name", SERVED)
def test_the_examples_are_accepted_and_arrive_unchanged(name: str) -> None:
    for example in EXAMPLES[name]:
        value = decode_params(json.dumps(example).encode(), SERVED[name])
        assert _without_none(msgspec.to_builtins(value)) == example


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(inner) for key, inner in value.items() if inner is not None}
    return [_without_none(inner) for inner in value] if isinstance(value, list) else value


# --- one case for each member ---


def _members() -> Iterator[tuple[str, str]]:
    for name, params in SERVED.items():
        for field in fields_of(params):
            yield name, field.path


MEMBERS: Final = list(_members())


def _fresh(example: dict[str, Any]) -> Any:
    return json.loads(json.dumps(example))


def _example_with(name: str, path: str) -> Any:
    for example in EXAMPLES[name]:
        if path in set(_paths(example)):
            return _fresh(example)
    raise AssertionError(f"no example of {name} has {path}")


def _keys(path: str) -> list[str | int]:
    keys: list[str | int] = []
    for part in path.split("."):
        keys.append(part.removesuffix("[]"))
        if part.endswith("[]"):
            keys.append(0)
    return keys


def _holder(example: Any, path: str) -> tuple[Any, str]:
    *outer, last = _keys(path)
    for key in outer:
        example = example[key]
    return example, str(last)


def _put(name: str, path: str, value: Any) -> Any:
    example = _example_with(name, path)
    holder, last = _holder(example, path)
    holder[last] = value
    return example


def _take(name: str, path: str) -> Any:
    example = _example_with(name, path)
    holder, last = _holder(example, path)
    del holder[last]
    return example


def shown(path: str) -> str:
    """The path as an error names it: the first item of an array is ``[0]``."""
    return path.replace("[]", "[0]")


def _type_of(name: str, path: str) -> mi.Type:
    kind: mi.Type = mi.type_info(SERVED[name])
    for key in _keys(path):
        kind = _inside(kind, key)
    return kind


def _inside(kind: mi.Type, key: str | int) -> mi.Type:
    if isinstance(kind, mi.StructType):
        kind = next(field.type for field in kind.fields if field.encode_name == key)
    elif isinstance(kind, mi.ListType):
        kind = kind.item_type
    if isinstance(kind, mi.UnionType):
        kind = next(part for part in kind.types if not isinstance(part, mi.NoneType))
    return kind


def _required(name: str, path: str) -> bool:
    return next(field.required for field in fields_of(SERVED[name]) if field.path == path)


@pytest.mark.parametrize(("name", "path"), [case for case in MEMBERS if case[0] not in ONE_OF])
def test_missing_and_null_are_refused_exactly_when_the_member_is_required(name: str, path: str) -> None:
    params, missing, null = SERVED[name], _take(name, path), _put(name, path, None)
    if _required(name, path):
        assert refusal(params, missing) == expected(shown(path))
        assert refusal(params, null) == expected(shown(path))
    else:
        absent = decode_params(json.dumps(missing).encode(), params)
        assert decode_params(json.dumps(null).encode(), params) == absent


@pytest.mark.parametrize(("name", "path"), MEMBERS)
def test_a_value_of_another_type_is_refused(name: str, path: str) -> None:
    strangers = STRANGERS[type(_type_of(name, path))]
    assert {str(value): refusal(SERVED[name], _put(name, path, value)) for value in strangers} == {
        str(value): expected(shown(path)) for value in strangers
    }


@pytest.mark.parametrize(("name", "path"), [case for case in MEMBERS if case not in BEYOND_TYPES])
def test_the_bounds_of_a_value_are_where_the_type_puts_them(name: str, path: str) -> None:
    good, bad = _bounds(name, path)
    outcome = [(value, refusal(SERVED[name], _put(name, path, value))) for value in [*good, *bad]]
    assert outcome == [(value, None) for value in good] + [(value, expected(shown(path))) for value in bad]


def _bounds(name: str, path: str) -> tuple[list[Any], list[Any]]:
    """Values just inside and just outside what the member's type allows."""
    kind = _type_of(name, path)
    if isinstance(kind, mi.IntType):
        least = -SAFE_INT if kind.ge is None else int(kind.ge)
        most = SAFE_INT if kind.le is None else int(kind.le)
        return [least, most], [least - 1, most + 1, 10**30]
    if isinstance(kind, mi.StrType):
        return _text_bounds(kind)
    if isinstance(kind, mi.LiteralType):
        return list(kind.values), []
    if isinstance(kind, mi.ListType):
        (item,) = _example_with_value(name, path)[:1]
        shortest, longest = kind.min_length or 0, kind.max_length
        good = [[item] * shortest] + ([[item] * longest] if longest else [])
        return good, ([[item] * (longest + 1)] if longest else []) + ([[]] if shortest else [])
    if isinstance(kind, mi.DictType):
        shortest, longest = kind.min_length or 0, kind.max_length
        good = [{str(n): None for n in range(shortest)}, {str(n): n for n in range(longest or 256)}]
        bad = [{str(n): n for n in range(longest + 1)}] if longest else []
        return good, bad + ([{}] if shortest else [])
    return ([True, False], []) if isinstance(kind, mi.BoolType) else ([], [])


def _example_with_value(name: str, path: str) -> Any:
    holder, last = _holder(_example_with(name, path), path)
    return holder[last]


def _text_bounds(kind: mi.StrType) -> tuple[list[Any], list[Any]]:
    if kind.pattern is not None and "0-9a-f" in kind.pattern:
        return ["0f" * 32], ["0f" * 31, "0f" * 33, "0F" * 32, "0g" * 32, "0f" * 32 + "\n", ""]
    good = ["ä🙂" + "x" * ((kind.max_length or 100_002) - 2), " "]
    bad = [] if kind.max_length is None else ["x" * (kind.max_length + 1)]
    if kind.min_length:
        bad.append("")
    else:
        good.append("")
    (good if kind.pattern is None else bad).extend(CONTROL)
    return good, bad


# --- objects ---


def _objects() -> Iterator[tuple[str, str]]:
    for name, params in SERVED.items():
        yield name, ""
        for field in fields_of(params):
            kind = _type_of(name, field.path)
            if isinstance(kind, mi.StructType):
                yield name, field.path + "."
            elif isinstance(kind, mi.ListType) and isinstance(kind.item_type, mi.StructType):
                yield name, field.path + "[]."


@pytest.mark.parametrize(("name", "prefix"), list(_objects()))
def test_an_unknown_member_is_refused_except_where_the_contract_tolerates_it(name: str, prefix: str) -> None:
    example = _fresh(EXAMPLES[name][0])
    holder, last = _holder(example, prefix + "surplus")
    holder[last] = 1
    tolerated = name in TOLERANT
    assert refusal(SERVED[name], example) == (None if tolerated else expected(shown(prefix + "surplus")))


@pytest.mark.parametrize("name", SERVED)
@pytest.mark.parametrize("value", [[], "a", 1, True])
def test_parameters_that_are_no_object_are_refused(name: str, value: object) -> None:
    assert refusal(SERVED[name], value) == expected("params")


@pytest.mark.parametrize("name", SERVED)
def test_absent_parameters_are_an_empty_object(name: str) -> None:
    assert refusal(SERVED[name], None) == refusal(SERVED[name], {})


def test_a_list_of_texts_names_the_item_that_is_wrong() -> None:
    items = [{"id": str(n), "text": "x"} for n in range(5)]
    items[3]["text"] = None  # type: ignore[assignment]
    assert refusal(EmbedBatch, {"model": "m", "items": items}) == expected("items[3].text")


@pytest.mark.parametrize("twin", ["a", "a - at `$.model`", "`", "é"])
def test_an_id_that_stands_twice_is_refused_at_its_second_place(twin: str) -> None:
    items = [{"id": "other", "text": ""}, {"id": twin, "text": "1"}, {"id": twin, "text": "2"}]
    assert refusal(EmbedBatch, {"model": "m", "items": items}) == expected("items[2].id")


def test_ids_that_differ_only_in_form_are_different_ids() -> None:
    items = [{"id": "\u00e9", "text": ""}, {"id": "e\u0301", "text": ""}]
    assert refusal(EmbedBatch, {"model": "m", "items": items}) is None


@pytest.mark.parametrize("value", [{}, {"job_id": None}, {"job_id": "j", "model_id": "m"}])
def test_a_status_is_asked_of_exactly_one_id(value: dict[str, Any]) -> None:
    assert refusal(ModelStatus, value) == expected("job_id")


@pytest.mark.parametrize("other", ["job_id", "model_id"])
def test_null_beside_the_one_id_of_a_status_counts_as_absent(other: str) -> None:
    asked = {"job_id": "j", "model_id": "m", other: None}
    assert refusal(ModelStatus, asked) is None


@pytest.mark.parametrize(
    ("ids", "field"),
    [({}, "model_id"), ({"model_id": "m", "catalog_id": "c"}, "model_id"), ({"model_id": None}, "model_id")],
)
def test_a_pin_is_about_exactly_one_id(ids: dict[str, Any], field: str) -> None:
    assert refusal(CachePin, {"pinned": True, **ids}) == expected(field)


@pytest.mark.parametrize("value", [{}, {"pinned": None}])
def test_a_pin_says_whether_it_holds(value: dict[str, Any]) -> None:
    assert refusal(CachePin, {"model_id": "m", **value}) == expected("pinned")


@pytest.mark.parametrize("other", ["model_id", "catalog_id", "owner"])
def test_null_beside_the_one_id_of_a_pin_counts_as_absent(other: str) -> None:
    asked = {"model_id": "m", "catalog_id": "m", "pinned": True} | {other: None}
    if other == "owner":
        del asked["catalog_id"]
    assert refusal(CachePin, asked) is None


ALIASES: Final = ("alias.declare", "alias.retract")


@pytest.mark.parametrize("name", ALIASES)
@pytest.mark.parametrize("names", [("left", "right"), ("fingerprint_a", "right"), ("fingerprint_a", "fingerprint_b")])
def test_two_fingerprints_may_be_given_under_either_name(name: str, names: tuple[str, str]) -> None:
    params = decode_params(json.dumps(dict(zip(names, "ab", strict=True))).encode(), SERVED[name])
    assert (params.fingerprints, params.facts) == (("a", "b"), {})


@pytest.mark.parametrize("name", ALIASES)
@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({}, "left"),
        ({"right": "b"}, "left"),
        ({"left": "a"}, "right"),
        ({"left": "a", "right": None}, "right"),
        ({"left": "a", "fingerprint_a": "a", "right": "b"}, "left"),
        ({"left": "a", "right": "b", "fingerprint_b": "c"}, "right"),
        ({"left": "a", "right": "a"}, "right"),
        ({"left": "a", "fingerprint_b": "a"}, "right"),
        ({"left": "a", "right": "b", "evidence": {"text": "x" * MAX_EVIDENCE_BYTES}}, "evidence"),
    ],
)
def test_a_pair_is_two_different_fingerprints_each_given_once(name: str, given: dict[str, Any], field: str) -> None:
    assert refusal(SERVED[name], given) == expected(field)


def nested(levels: int) -> dict[str, Any]:
    value: Any = 1
    for level in range(levels - 1):
        value = [value] if level % 2 else {"x": value}
    return {"x": value}


@pytest.mark.parametrize("name", ALIASES)
def test_evidence_is_nested_no_deeper_than_other_answers_can_show(name: str) -> None:
    deep, deeper = nested(MAX_EVIDENCE_DEPTH), nested(MAX_EVIDENCE_DEPTH + 1)
    assert refusal(SERVED[name], {"left": "a", "right": "b", "evidence": deep}) is None
    assert refusal(SERVED[name], {"left": "a", "right": "b", "evidence": deeper}) == expected("evidence")


@pytest.mark.parametrize("name", ALIASES)
def test_the_longest_evidence_is_accepted(name: str) -> None:
    evidence = {"text": "x" * (MAX_EVIDENCE_BYTES - len('{"text":""}'))}
    assert refusal(SERVED[name], {"left": "a", "right": "b", "evidence": evidence}) is None


@pytest.mark.parametrize("key", ["", "x" * 257, "a\x00b"])
def test_a_setting_with_an_impossible_name_is_refused(key: str) -> None:
    assert refusal(SERVED["settings.set"], {"values": {key: 1}}) == expected("values")


@pytest.mark.parametrize("raw", [b'{"model":"m","text":"\\ud800"}', b'{"model":"m","text":"\xff"}', b'{"model":"m"'])
def test_text_that_is_not_unicode_and_half_an_object_are_refused(raw: bytes) -> None:
    with pytest.raises(SynapseError) as caught:
        decode_params(raw, SERVED["embed.query"])
    assert (caught.value.number, caught.value.details) == (-32602, {"field": "params"})


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity", b"1e400", b"0x10", b"01"])
def test_a_number_that_json_does_not_have_is_refused(number: bytes) -> None:
    with pytest.raises(SynapseError) as caught:
        decode_params(b'{"model":"m","text":"","deadline_ms":' + number + b"}", SERVED["embed.query"])
    assert caught.value.number == -32602


def test_what_the_service_says_about_a_wrong_member_is_short_whatever_was_sent() -> None:
    with pytest.raises(SynapseError) as caught:
        decode_params(b'{"' + b"x" * 5000 + b'":1}', SERVED["service.info"])
    assert len(caught.value.message) == 512
    assert caught.value.details == {"field": "x" * 128}
