"""Lines to typed requests, and replies to lines: JSON-RPC 2.0 as this socket speaks it.

One object a line; batch arrays are refused. A request carries an ``id`` (a string, or an integer that a double can
hold) and gets exactly one reply with the same ``id``. The only notification a client may send is ``$/cancel``.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Final, TypeVar

import msgspec

from synapse_wire.errors import (
    INVALID_ENVELOPE,
    MAX_MESSAGE_CHARS,
    PARSE_ERROR,
    SynapseError,
    WireError,
    invalid_params,
)
from synapse_wire.params import NO_CONTROL

MAX_DUPLICATE_SCAN_BYTES: Final = 256 * 1024
"""Lines up to this size are searched for repeated object keys; in longer ones the last value wins."""

CANCEL: Final = "$/cancel"

RequestId = (
    Annotated[int, msgspec.Meta(ge=-(2**53) + 1, le=2**53 - 1)]
    | Annotated[str, msgspec.Meta(max_length=256, pattern=NO_CONTROL)]
)

_DECODE_FAILURES: Final = (msgspec.DecodeError, RecursionError, UnicodeError, OverflowError, MemoryError)


_NO_PARAMS: Final = msgspec.Raw(b"{}")


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One incoming message. ``id`` is unset for a notification."""

    jsonrpc: str
    method: Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
    params: msgspec.Raw = _NO_PARAMS
    id: RequestId | msgspec.UnsetType = msgspec.UNSET


class CancelParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of ``$/cancel``: the id of a request that this connection sent."""

    id: RequestId


class Success(msgspec.Struct, frozen=True, gc=False):
    """A reply whose ``result`` is an operation's payload, or a semantic refusal."""

    id: RequestId
    result: Any
    jsonrpc: str = "2.0"


HOLE: Final = msgspec.Raw(b"\0")
"""Stands in a result where a :class:`Spliced` payload goes. No JSON text holds a NUL, so it is found with certainty."""


class Spliced(msgspec.Struct, frozen=True):
    """A result with one large member that is JSON already: ``payload`` takes the place of the HOLE in ``result``."""

    result: Any
    payload: bytes


class Refusal(msgspec.Struct, frozen=True):
    """The result of a request that the service understood and refused."""

    module_generation: int
    error: WireError


class ChannelError(msgspec.Struct, frozen=True):
    """The ``error`` member of a reply: JSON-RPC number, message, and the wire error as ``data``."""

    code: int
    message: str
    data: WireError


class Failure(msgspec.Struct, frozen=True):
    """A reply to a request that never reached its operation. ``id`` is null when it could not be read."""

    id: RequestId | None
    error: ChannelError
    jsonrpc: str = "2.0"


class Event(msgspec.Struct, frozen=True):
    """A notification from the service, sent only to connections that subscribed."""

    params: Any
    method: str = "event"
    jsonrpc: str = "2.0"


ENCODER: Final = msgspec.json.Encoder()
_REQUEST: Final = msgspec.json.Decoder(Request)
_DECODERS: dict[type, msgspec.json.Decoder[Any]] = {}

T = TypeVar("T")


def decode_request(line: bytes) -> Request:
    """One line as a :class:`Request`; raises ``invalid_request`` numbered -32700 or -32600."""
    try:
        request = _REQUEST.decode(line)
    except msgspec.ValidationError as error:
        raise _wrong_shape(line, error) from error
    except _DECODE_FAILURES as error:
        raise _malformed(PARSE_ERROR, f"the line is not valid JSON: {_reason(error, line)}") from error
    if request.jsonrpc != "2.0":
        raise _malformed(INVALID_ENVELOPE, 'the member "jsonrpc" must be "2.0"')
    if len(line) <= MAX_DUPLICATE_SCAN_BYTES:
        # Each member of an object needs a colon of its own, so a line with no more colons than the members just read
        # repeats none. This spares the most frequent small requests the slow search.
        members = 2 + (request.id is not msgspec.UNSET) + (request.params is not _NO_PARAMS)
        if line.count(b":") != members:
            _refuse_duplicate_keys(line)
    return request


def readable_id(line: bytes) -> int | str | None:
    """The id of a line whose envelope is bad, when it can still be read, so that the reply can name it."""
    try:
        return msgspec.json.decode(line, type=_OnlyId).id
    except _DECODE_FAILURES:
        pass
    # Programs exist that write half a character, or NaN, and wait for the answer under their id. Python reads those.
    if len(line) > MAX_DUPLICATE_SCAN_BYTES:
        return None
    try:
        found = msgspec.convert(json.loads(line), type=_OnlyId).id
        str(found).encode()  # An id that is no text itself can't be written back.
    except (*_DECODE_FAILURES, ValueError):
        return None
    return found


class _OnlyId(msgspec.Struct):
    id: RequestId | None = None


def decode_params(raw: msgspec.Raw | bytes, params: type[T]) -> T:
    """Decode an operation's parameters; raises a channel ``invalid_request`` that names the field."""
    decoder = _DECODERS.get(params)
    if decoder is None:
        decoder = _DECODERS[params] = msgspec.json.Decoder(params)
    try:
        value: T = decoder.decode(raw)
    except msgspec.ValidationError as error:
        if bytes(raw) == b"null":
            return decode_params(b"{}", params)
        message = str(error)
        raise invalid_params(message, field_of(message)) from error
    except _DECODE_FAILURES as error:
        raise invalid_params(f"the parameters are not valid JSON: {_reason(error, raw)}", "params") from error
    return value


_PATH: Final = re.compile(r" - at (?:`key` in )?`\$\.?([^`]*)`$")
_NAMED: Final = re.compile(r"(?:unknown|required) field `(.*?)`", re.DOTALL)


def field_of(message: str) -> str:
    """The field that a msgspec message is about, as a path such as ``items[3].text``; ``params`` for the whole."""
    path = _PATH.search(message)
    named = _NAMED.search(message)
    parts = [part for part in (path and path.group(1), named and named.group(1)) if part]
    return (".".join(parts) or "params")[:128]


def _wrong_shape(line: bytes, error: msgspec.ValidationError) -> SynapseError:
    # Validation stops at the first wrong type, so the rest of the line has not been looked at yet. Untyped decoding
    # costs up to 25 times the line's size, so long lines keep the first finding.
    if len(line) <= MAX_DUPLICATE_SCAN_BYTES:
        try:
            msgspec.json.decode(line)
        except _DECODE_FAILURES as failure:
            return _malformed(PARSE_ERROR, f"the line is not valid JSON: {_reason(failure, line)}")
    batch = line.lstrip()[:1] == b"["
    hint = "batch arrays are not accepted; send one request a line" if batch else str(error)
    return _malformed(INVALID_ENVELOPE, f"not a JSON-RPC 2.0 request: {hint}")


def _malformed(number: int, message: str) -> SynapseError:
    return SynapseError("invalid_request", message, level="channel", number=number)


def _reason(error: BaseException, line: msgspec.Raw | bytes) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    # The decoder calls this "truncated" or "unexpected".
    for found in _ESCAPES.finditer(bytes(line)[:MAX_DUPLICATE_SCAN_BYTES]):
        if found["half"]:
            return f"{found['half'].decode()} is half of a character; replace it before you send the text"
    return str(error)[:MAX_MESSAGE_CHARS]


_ESCAPES: Final = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.",
    re.DOTALL,
)
"""Every escape in a JSON text; a surrogate that isn't one of a pair is a ``half``."""


def _refuse_duplicate_keys(line: bytes) -> None:
    # No JSON library here can refuse a repeated key, and the first of two values would vanish without a word.
    try:
        _KEY_SEARCH.decode(line.decode())
    except _Repeated as error:
        raise invalid_params(f"the key {error.key!r} appears twice in one object", error.key) from None
    except (RecursionError, ValueError) as error:
        # What the typed decoder passed over unread inside the parameters, such as bytes that are not UTF-8.
        raise _malformed(PARSE_ERROR, f"the line is not valid JSON: {_reason(error, line)}") from error


class _Repeated(Exception):
    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key[:128]


def _unique(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) == len(pairs):
        return
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise _Repeated(key)
        seen.add(key)


# Only keys matter here: numbers are not converted, which also keeps digits without end from costing time.
_KEY_SEARCH: Final = json.JSONDecoder(object_pairs_hook=_unique, parse_int=len, parse_float=len)


def encode_success(request_id: int | str, result: Any) -> bytes:
    """A result as one line."""
    return ENCODER.encode(Success(request_id, result)) + b"\n"


def encode_spliced(request_id: int | str, spliced: Spliced) -> tuple[bytes, bytes, bytes]:
    """A result as one line in three parts, of which the one in the middle is the payload itself and no copy of it."""
    before, hole, after = ENCODER.encode(Success(request_id, spliced.result)).partition(bytes(HOLE))
    if not hole:
        raise ValueError("the result has no hole for its payload")
    return before, spliced.payload, after + b"\n"


def encode_error(request_id: int | str | None, error: SynapseError, module_generation: int) -> bytes:
    """An error as one line, at the level that it belongs to."""
    if error.level == "semantic" and request_id is not None:
        return encode_success(request_id, Refusal(module_generation, error.to_wire()))
    number = error.number if error.number is not None else INVALID_ENVELOPE
    return ENCODER.encode(Failure(request_id, ChannelError(number, error.message, error.to_wire()))) + b"\n"


def encode_event(params: Any) -> bytes:
    """An event as one line."""
    return ENCODER.encode(Event(params)) + b"\n"
