"""Requests to lines and lines to replies, seen from the client. Bytes in, values out; no I/O.

Both clients are built on this: they move bytes and keep the waiting callers, everything that has to do with the shape
of a message is here.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from synapse_client.errors import ProtocolViolation
from synapse_wire.errors import SynapseError, WireError, invalid_params
from synapse_wire.framing import MAX_LINE_BYTES
from synapse_wire.messages import CANCEL, ENCODER, ChannelError

MAX_REPLY_BYTES: Final = 8 * MAX_LINE_BYTES
"""Longest accepted reply. The service bounds what it is sent, not what it answers, so this only stops nonsense."""

MAX_IN_FLIGHT: Final = 64
"""Requests that one connection may have open. The service refuses the next one, so the client waits instead."""

T = TypeVar("T")


class Reply(msgspec.Struct, frozen=True):
    """The answer to request ``id``: either ``result`` as raw JSON, or ``error``."""

    id: int | str
    result: msgspec.Raw
    error: SynapseError | None = None


class Notification(msgspec.Struct, frozen=True):
    """A message that nobody asked for by id."""

    method: str
    params: msgspec.Raw


class _Outgoing(msgspec.Struct, frozen=True):
    id: int
    method: str
    params: Any
    jsonrpc: str = "2.0"


class _CancelParams(msgspec.Struct, frozen=True):
    id: int


class _Cancel(msgspec.Struct, frozen=True):
    params: _CancelParams
    method: str = CANCEL
    jsonrpc: str = "2.0"


class _Incoming(msgspec.Struct, frozen=True):
    id: int | str | None = None
    result: msgspec.Raw | UnsetType = UNSET
    error: ChannelError | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: msgspec.Raw | UnsetType = UNSET


class _Refused(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    # A refusal has exactly these two members. A job's status also has an `error`, among others, and is no refusal.
    module_generation: int
    error: WireError


_INCOMING: Final = msgspec.json.Decoder(_Incoming)
_REFUSED: Final = msgspec.json.Decoder(_Refused)
_RESULTS: dict[type, msgspec.json.Decoder[Any]] = {}
_NOTHING: Final = msgspec.Raw(b"null")


def encode_request(request_id: int, method: str, params: Any) -> bytes:
    """A request as one line. ``params`` is a mapping, a wire struct, or raw JSON without a line break.

    Raises ``invalid_request`` for what can't be sent: text that isn't valid Unicode, numbers that JSON can't write,
    and lines over the limit, which the service would skip without being able to tell whose they were.
    """
    try:
        line = ENCODER.encode(_Outgoing(request_id, method, params))
    except (TypeError, ValueError, RecursionError) as error:
        raise invalid_params(f"the parameters of {method} can't be written as JSON: {error}", "params") from error
    if len(line) > MAX_LINE_BYTES:
        raise invalid_params(
            f"the request takes {len(line)} bytes; the longest that the service accepts is {MAX_LINE_BYTES}",
            "params",
            bytes=len(line),
            max_bytes=MAX_LINE_BYTES,
        )
    return line + b"\n"


def encode_cancel(request_id: int) -> bytes:
    """The notification that takes back a request of the same connection."""
    return ENCODER.encode(_Cancel(_CancelParams(request_id))) + b"\n"


def decode_line(line: bytes) -> Reply | Notification:
    """One line from the service. Raises :class:`ProtocolViolation` when it is neither a reply nor a notification.

    A service that takes no more connections says ``overloaded`` before it was asked anything; that is raised as it is.
    """
    try:
        message = _INCOMING.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise ProtocolViolation(f"The service sent a line that is not a JSON-RPC message: {error}.") from error
    if message.id is None:
        if message.method is not UNSET:
            return Notification(message.method, _NOTHING if message.params is UNSET else message.params)
        if message.error is not UNSET:
            if message.error.data.code == "overloaded":
                raise SynapseError.from_wire(message.error.data, level="channel", number=message.error.code)
            raise ProtocolViolation(f"The service could not read a request: {message.error.message}.")
        raise ProtocolViolation("The service sent a reply without an id.")
    if message.error is not UNSET:
        refused = SynapseError.from_wire(message.error.data, level="channel", number=message.error.code)
        return Reply(message.id, _NOTHING, refused)
    if message.result is UNSET:
        raise ProtocolViolation("The service sent a reply with neither a result nor an error.")
    return Reply(message.id, message.result, _refusal(message.result))


def _refusal(result: msgspec.Raw) -> SynapseError | None:
    # Decoding stops at the first member that a refusal doesn't have, so this costs little on large results.
    try:
        refused = _REFUSED.decode(result)
    except msgspec.ValidationError:
        return None
    return SynapseError.from_wire(refused.error, level="semantic")


def decode_result(result: msgspec.Raw, shape: type[T]) -> T:
    """A result as ``shape``, one of the types in :mod:`synapse_wire.results`."""
    decoder = _RESULTS.get(shape)
    if decoder is None:
        decoder = _RESULTS[shape] = msgspec.json.Decoder(shape)
    try:
        value: T = decoder.decode(result)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise ProtocolViolation(f"The service answered in a shape that isn't {shape.__name__}: {error}.") from error
    return value
