"""Lines to requests and replies to lines: strict on the way in, exact on the way out."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synapse_wire.errors import SynapseError
from synapse_wire.messages import (
    MAX_DUPLICATE_SCAN_BYTES,
    decode_params,
    decode_request,
    encode_error,
    encode_event,
    encode_success,
    field_of,
    readable_id,
)
from synapse_wire.params import EmbedBatch, EmbedQuery, ModelUnload, NoParams

HEAD = b'{"jsonrpc":"2.0","id":1,"method":"m"'


def refused(line: bytes) -> tuple[int | None, str]:
    with pytest.raises(SynapseError) as caught:
        decode_request(line)
    assert (caught.value.code, caught.value.level) == ("invalid_request", "channel")
    assert len(caught.value.message) <= 512
    return caught.value.number, caught.value.message


def number_of(line: bytes) -> int | None:
    """The number that ``line`` is refused with, or None when it is a request."""
    try:
        decode_request(line)
    except SynapseError as error:
        return error.number
    return None


def refused_params(raw: bytes, params: type[Any]) -> tuple[str, str]:
    with pytest.raises(SynapseError) as caught:
        decode_params(raw, params)
    assert (caught.value.code, caught.value.level, caught.value.number) == ("invalid_request", "channel", -32602)
    details = caught.value.details or {}
    return details["field"], caught.value.message


# --- the envelope ---


@pytest.mark.parametrize(
    ("line", "id", "params"),
    [
        (HEAD + b"}", 1, b"{}"),
        (HEAD + b',"params":{}}', 1, b"{}"),
        (HEAD + b',"params":{"a":[1,{"b":null}]}}', 1, b'{"a":[1,{"b":null}]}'),
        (b' { "method" : "m" , "id" : "x:y" , "jsonrpc" : "2.0" } \r', "x:y", b"{}"),
        (b'{"jsonrpc":"2.0","id":-9007199254740991,"method":"m"}', -(2**53) + 1, b"{}"),
        (b'{"jsonrpc":"2.0","id":"","method":"m"}', "", b"{}"),
    ],
)
def test_a_request_is_read(line: bytes, id: int | str, params: bytes) -> None:
    request = decode_request(line)
    assert (request.method, request.id, bytes(request.params)) == ("m", id, params)


def test_a_message_without_an_id_is_a_notification() -> None:
    assert decode_request(b'{"jsonrpc":"2.0","method":"$/cancel","params":{"id":1}}').id is msgspec.UNSET


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"hello",
        b"{",
        HEAD,
        HEAD + b"}}",
        HEAD + b",}",
        HEAD + b'} {"a":1}',
        b"\xef\xbb\xbf" + HEAD + b"}",
        HEAD + b',"params":{"a":NaN}}',
        HEAD + b',"params":{"a":Infinity}}',
        HEAD + b',"params":{"a":01}}',
        HEAD + b',"params":{"a":"\x01"}}',
        HEAD + b',"params":{"a":"\xff"}}',
        HEAD + b',"params":{"a":"\xed\xa0\x80"}}',  # a surrogate as raw bytes
        HEAD + b',"params":{"a":"\\ud800"}}',  # half of a pair, escaped
        HEAD + b',"params":{"\xff":1}}',
        b'{"jsonrpc":"2.0","id":1,"method":"\xff"}',
        b'{"jsonrpc":"2.0","id":"\\udc00","method":"m"}',
        b"[" * 20_000,
        b'{"a":' * 20_000,
        HEAD + b',"params":' + b"[" * 20_000 + b"]" * 20_000 + b"}",
    ],
)
def test_what_is_no_json_is_a_parse_error(line: bytes) -> None:
    number, message = refused(line)
    assert number == -32700
    assert message.startswith("the line is not valid JSON")


@pytest.mark.parametrize(
    "line",
    [
        b"[]",
        b"[" + HEAD + b"}]",
        b"1",
        b"null",
        b'"text"',
        b"{}",
        b'{"id":1,"method":"m"}',
        b'{"jsonrpc":"1.0","id":1,"method":"m"}',
        b'{"jsonrpc":2.0,"id":1,"method":"m"}',
        b'{"jsonrpc":"2.0","id":1}',
        b'{"jsonrpc":"2.0","id":1,"method":""}',
        b'{"jsonrpc":"2.0","id":1,"method":"' + b"m" * 129 + b'"}',
        b'{"jsonrpc":"2.0","id":1,"method":7}',
        HEAD + b',"extra":1}',
        HEAD + b',"' + b"k" * 5000 + b'":1}',
        b'{"jsonrpc":"2.0","id":null,"method":"m"}',
        b'{"jsonrpc":"2.0","id":true,"method":"m"}',
        b'{"jsonrpc":"2.0","id":1.0,"method":"m"}',
        b'{"jsonrpc":"2.0","id":[1],"method":"m"}',
        b'{"jsonrpc":"2.0","id":9007199254740992,"method":"m"}',
        b'{"jsonrpc":"2.0","id":"' + b"i" * 257 + b'","method":"m"}',
        b'{"jsonrpc":"2.0","id":"nul\\u0000","method":"m"}',
        b'{"jsonrpc":"2.0","id":"line\\n","method":"m"}',
    ],
)
def test_json_that_is_no_request_is_a_bad_envelope(line: bytes) -> None:
    number, message = refused(line)
    assert number == -32600
    assert message.startswith(("not a JSON-RPC 2.0 request", 'the member "jsonrpc"'))


def test_a_batch_is_told_what_to_do() -> None:
    assert refused(b" [" + HEAD + b"}]")[1].endswith("batch arrays are not accepted; send one request a line")


def test_a_line_that_is_wrong_in_shape_and_in_json_is_a_parse_error() -> None:
    assert refused(b'{"jsonrpc":7,"id":')[0] == -32700


@pytest.mark.parametrize(
    ("line", "key"),
    [
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}', "id"),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","method":"m"}', "method"),
        (HEAD + b',"params":{},"params":{}}', "params"),
        (HEAD + b',"params":{"text":"a","text":"b"}}', "text"),
        (HEAD + b',"params":{"text":"a","te\\u0078t":"b"}}', "text"),
        (HEAD + b',"params":{"items":[{"id":"a","id":"a"}]}}', "id"),
        (HEAD + b',"params":{"a":{"b":{"c":1,"c":1}}}}', "c"),
    ],
)
def test_a_repeated_key_is_refused_by_name(line: bytes, key: str) -> None:
    number, message = refused(line)
    assert number == -32602
    assert message == f"the key '{key}' appears twice in one object"


@given(st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=4), st.booleans(), st.booleans())
def test_lines_without_repeated_keys_pass(params: dict[str, str], with_id: bool, with_params: bool) -> None:
    # Keys and texts full of colons and quotes must not be taken for members.
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": ":m:"}
    if with_id:
        message["id"] = 'i:"'
    if with_params:
        message["params"] = params
    assert decode_request(json.dumps(message).encode()).method == ":m:"


def test_the_search_for_repeated_keys_ends_with_the_documented_size() -> None:
    def line(size: int) -> bytes:
        head, tail = HEAD + b',"params":{"a":1,"a":2,"text":"', b'"}}'
        return head + b"x" * (size - len(head) - len(tail)) + tail

    assert MAX_DUPLICATE_SCAN_BYTES == 262_144
    assert refused(line(262_144))[0] == -32602
    assert decode_request(line(262_145)).id == 1


def test_a_number_of_thousands_of_digits_costs_nothing_and_is_refused_with_its_field() -> None:
    request = decode_request(HEAD + b',"params":{"model":"m","text":"t","deadline_ms":' + b"9" * 5000 + b"}}")
    assert refused_params(bytes(request.params), EmbedQuery)[0] == "deadline_ms"


@given(st.binary(max_size=64))
def test_no_line_breaks_the_decoder(line: bytes) -> None:
    assert number_of(line) in (None, -32700, -32600, -32602)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=8))
def test_no_json_breaks_the_decoder(value: Any) -> None:
    for message in (value, {"jsonrpc": "2.0", "id": value, "method": "m"}, {"jsonrpc": "2.0", "method": value}):
        assert number_of(json.dumps(message).encode()) in (None, -32700, -32600)


@pytest.mark.parametrize(
    ("line", "id"),
    [
        (b'{"jsonrpc":"1.0","id":5,"method":"m"}', 5),
        (b'{"id":"x","anything":[]}', "x"),
        (b'{"id":1.5}', None),
        (b'{"id":"a\\u0000"}', None),
        (b'{"method":"m"}', None),
        (b'{"id":1', None),
        (b"[" * 20_000, None),
        (b"[1]", None),
        (b'{"id":7,"method":"m","params":{"text":"a\\ud83d"}}', 7),
        (b'{"id":7,"method":"m","params":{"text":NaN}}', 7),
        (b'{"id":"\\ud83d","method":"m"}', None),
        (b'{"id":7,"method":"m","params":{"text":"\\ud83d' + b"a" * MAX_DUPLICATE_SCAN_BYTES + b'"}}', None),
    ],
)
def test_the_id_of_a_bad_line_is_read_where_it_can_be(line: bytes, id: int | str | None) -> None:
    assert readable_id(line) == id


@pytest.mark.parametrize(
    "half", ["\\ud83d", "\\uDE00", "\\ud83d\\u0041", "\\ude00\\ud83d", "\\ud83d\\n", "\\\\\\ud83d"]
)
def test_half_a_character_is_called_that_in_a_line_and_in_parameters(half: str) -> None:
    params = ('{"model":"m","text":"' + half + '"}').encode()

    def read_line() -> None:
        decode_params(decode_request(HEAD + b',"params":' + params + b"}").params, EmbedQuery)

    def read_params() -> None:
        decode_params(params, EmbedQuery)

    for read in (read_line, read_params):
        with pytest.raises(SynapseError) as refusal:
            read()
        assert "is half of a character; replace it before you send the text" in refusal.value.message


@pytest.mark.parametrize("whole", ["\\ud83d\\ude00", "\\\\ud83d", "\\\\\\\\ude00"])
def test_a_whole_character_and_a_backslash_before_letters_are_text(whole: str) -> None:
    params = ('{"model":"m","text":"' + whole + '"}').encode()
    assert decode_params(params, EmbedQuery).text == json.loads(params)["text"]
    with pytest.raises(SynapseError) as refusal:
        decode_params(params[:-1], EmbedQuery)
    assert "half of a character" not in refusal.value.message


# --- parameters ---


@pytest.mark.parametrize(
    ("raw", "params", "field"),
    [
        (b'{"model":"m","text":"t","deadlin_ms":5}', EmbedQuery, "deadlin_ms"),
        (b'{"model":"m"}', EmbedQuery, "text"),
        (b'{"model":"m","text":7}', EmbedQuery, "text"),
        (b'{"model":"m","text":"t","deadline_ms":"5"}', EmbedQuery, "deadline_ms"),
        (b'{"model":"m","text":"t","deadline_ms":1e400}', EmbedQuery, "deadline_ms"),
        (b'{"model":"m","text":"t","deadline_ms":0}', EmbedQuery, "deadline_ms"),
        (b'{"model":"a\\u0000b","text":"t"}', EmbedQuery, "model"),
        (b'{"model":"m\\n","text":"t"}', EmbedQuery, "model"),
        (b'{"model":"","text":"t"}', EmbedQuery, "model"),
        (b'{"model":"m","items":[]}', EmbedBatch, "items"),
        (b'{"model":"m","items":[{"id":"a","text":"t"},{"id":"b"}]}', EmbedBatch, "items[1].text"),
        (b'{"model":"m","items":[{"id":"a","text":"t","q":1}]}', EmbedBatch, "items[0].q"),
        (b'{"model":"m","items":[{"id":"a\\u0000","text":"t"}]}', EmbedBatch, "items[0].id"),
        (b'{"model":"m","items":[{"id":"a","text":"t"},{"id":"a","text":"u"}]}', EmbedBatch, "items[1].id"),
        (b'{"model":"m","text":"\\ud800"}', EmbedQuery, "params"),
        (b'{"model":"m","text":"\xff"}', EmbedQuery, "params"),
        (b"[]", NoParams, "params"),
        (b"7", NoParams, "params"),
        (b'{"x":1}', NoParams, "x"),
    ],
)
def test_wrong_parameters_are_refused_naming_the_field(raw: bytes, params: type[Any], field: str) -> None:
    assert refused_params(raw, params)[0] == field


def test_a_nul_in_a_text_is_text() -> None:
    assert decode_params(b'{"model":"m","text":"a\\u0000b"}', EmbedQuery).text == "a\x00b"


def test_null_on_an_optional_field_and_in_place_of_parameters_means_absent() -> None:
    assert decode_params(b'{"model":"m","text":"t","deadline_ms":null}', EmbedQuery).deadline_ms is None
    assert decode_params(b"null", NoParams) == NoParams()
    assert refused_params(b"null", EmbedQuery)[0] == "model"


def test_the_operation_that_tolerates_unknown_members_tolerates_them() -> None:
    assert decode_params(b'{"model_id":"m","later":true}', ModelUnload) == ModelUnload(model_id="m")


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ("Object contains unknown field `zz`", "zz"),
        ("Object contains unknown field `q` - at `$.items[1]`", "items[1].q"),
        ("Expected `str`, got `int` - at `$.items[0].text`", "items[0].text"),
        ("Expected `int`, got `str` - at `$.values[...]`", "values[...]"),
        ("Expected `object`, got `array`", "params"),
    ],
)
def test_the_field_is_found_in_the_decoders_words(message: str, field: str) -> None:
    assert field_of(message) == field


# --- replies ---


def test_a_success_is_one_line() -> None:
    assert encode_success("a", {"x": "line\nbreak"}) == b'{"id":"a","result":{"x":"line\\nbreak"},"jsonrpc":"2.0"}\n'


def test_a_semantic_refusal_travels_inside_the_result() -> None:
    error = SynapseError("unknown_model", "no such model", details={"model_id": "m"})
    assert json.loads(encode_error(3, error, module_generation=9)) == {
        "jsonrpc": "2.0",
        "id": 3,
        "result": {
            "module_generation": 9,
            "error": {
                "code": "unknown_model",
                "class": "permanent",
                "safe_to_retry_same_request": False,
                "message": "no such model",
                "details": {"model_id": "m"},
            },
        },
    }


@pytest.mark.parametrize("id", [3, "x", None])
def test_a_channel_error_travels_in_the_error_member(id: int | str | None) -> None:
    error = SynapseError("overloaded", "too much", details={"limit": 64, "in_flight": 64})
    assert json.loads(encode_error(id, error, module_generation=9)) == {
        "jsonrpc": "2.0",
        "id": id,
        "error": {
            "code": -32003,
            "message": "too much",
            "data": {
                "code": "overloaded",
                "class": "transient",
                "safe_to_retry_same_request": True,
                "message": "too much",
                "retry_after_ms": 100,
                "details": {"limit": 64, "in_flight": 64},
            },
        },
    }


def test_an_event_is_a_notification() -> None:
    assert json.loads(encode_event({"topic": "log", "seq": 1})) == {
        "jsonrpc": "2.0",
        "method": "event",
        "params": {"topic": "log", "seq": 1},
    }
