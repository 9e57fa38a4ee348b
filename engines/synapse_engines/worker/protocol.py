"""The messages between the service and a worker, as types, and their place in frames.

Shared by both ends. The service sends Load, Embed, Score, Measure, Ping and Shutdown; the worker answers each request
with exactly one of Ready, Embedded, Scored, Measured, Pong or Failed that carries the request's id. Before the answer
it sends Progress as often as work completes, and Compiling around each time that the engine compiles. Arrays travel in
a frame's payload, as the docstring of each message says. Ids begin at 1 and grow; 0 in a Failed means that the request
could not be read.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypeVar

import msgspec

from synapse_engines.families.base import Pooling
from synapse_engines.readout import Readout
from synapse_engines.worker.frames import Frame, ProtocolError, encode_frame

BackendName = Literal["openvino", "mlx", "coreml", "reference"]
Encoding = Literal["json", "f32"]

SELF_TEST_LENGTHS = (128, 1, 128, 17, 1)
"""Lengths in tokens of the rows that a fresh model computes first, in this order, each cut to `max_tokens`.

A long row comes first because an engine whose first row ever has one token may specialise itself wrongly for good;
the rows after it would show that, as they go down to one token and back up.
"""

SELF_TEST_REVISION = 1
"""Goes up when the self-test's rows change; values kept from another revision must not be used."""


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="type", tag=str.lower):
    """Base of all messages.

    Attributes:
        id: number of the request that this message is, or answers.
    """

    id: int


class PackageFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One archive of a package set: its absolute path and the SHA-256 of its bytes."""

    path: str
    sha256: str


class LoadSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A model, what it is for, and how to compute it.

    Attributes:
        backend: the engine to build the model on.
        model_path: the safetensors file, absolute.
        config: the model's `config.json` as it is.
        family, pooling, normalize, max_tokens, dtype: see `backend.EmbedSpec`. What scores is never normalised, and its
            pooling is the one that its configuration asks for: a Load that says otherwise is refused.
        readout: how a score is read off the logits; None for a model that embeds.
        threads: processor threads for the engine, at least 1.
        self_test_values: what the rows of the self-test must give, as base64 of little-endian float32, one vector, or
            score and logits, for each distinct length in the order in which it first occurs. None, or a text that is
            nothing of the kind, has the worker compute them with the reference.
        packages: the archives of a package set in the order of its manifest; empty for every other model. What they
            hold can't be given to the reference, so a set has no self-test.
        package_root: where they are unpacked, absolute; None for every other model.
        dims: numbers in a vector of a package set, 0 for every other model, whose configuration says it.
    """

    backend: BackendName
    model_path: str
    config: dict[str, Any]
    family: str
    pooling: Pooling
    normalize: bool
    max_tokens: int
    dtype: Literal["f32", "f16"] = "f32"
    readout: Readout | None = None
    threads: int
    self_test_values: str | None = None
    packages: tuple[PackageFile, ...] = ()
    package_root: str | None = None
    dims: int = 0


class Load(Message, frozen=True):
    """Build the model and prove it. Once in a worker's life. No payload."""

    spec: LoadSpec


class Embed(Message, frozen=True):
    """Compute vectors. Payload: the token ids of all rows one after the other, little-endian int32.

    Attributes:
        lengths: number of ids of each row.
        encoding: how to return the rows; see Embedded.
    """

    lengths: list[int]
    encoding: Encoding


class Score(Message, frozen=True):
    """Compute scores. Payload: the token ids of all rows, as for Embed.

    Attributes:
        lengths: number of ids of each row.
    """

    lengths: list[int]


class Measure(Message, frozen=True):
    """Compare two sets of vectors. Payload: the candidate's rows, then the reference's rows, little-endian float32.

    Attributes:
        dims: numbers in a row.
        rows: rows in each of the two sets.
    """

    dims: int
    rows: int


class Ping(Message, frozen=True):
    """Ask for a sign of life, answered at once even while the worker computes. No payload."""


class Shutdown(Message, frozen=True):
    """Finish the request in hand, let go of the model and exit. Not answered: the exit is the answer."""


class Ready(Message, frozen=True):
    """The model is loaded and passed its self-test. No payload.

    Attributes:
        dims: numbers in a vector, 0 where the answer is a score.
        facts: what the engine says about itself, read back after compiling.
        load_ms: time from receiving Load, self-test included.
        self_test_values: what the self-test expects, as in LoadSpec, if it was computed now; else None.
    """

    dims: int
    facts: dict[str, str]
    load_ms: float
    self_test_values: str | None


class Embedded(Message, frozen=True):
    """The vectors of an Embed. Payload: the encoded rows in request order, one after the other.

    With "json" a row is the text of an array whose numbers are the shortest that read back as the same float32; with
    "f32" it is raw little-endian float32. A row with a number that is not finite has no bytes.

    Attributes:
        sizes: bytes of each row.
        non_finite: indices of the rows that are not finite, ascending.
        compute_ms: time inside the engine.
    """

    sizes: list[int]
    non_finite: list[int]
    compute_ms: float


class Scored(Message, frozen=True):
    """The scores of a Score. Payload, in little-endian float32: one score a row, in request order, then every row's
    logits.

    Attributes:
        width: logits of a row.
        token_ids: the tokens whose logits were read, yes and no; empty for a classifier.
        non_finite: indices of the rows whose logits are not all finite, ascending. Their numbers mean nothing.
        compute_ms: time inside the engine.
    """

    width: int
    token_ids: list[int]
    non_finite: list[int]
    compute_ms: float


class Measured(Message, frozen=True):
    """The comparison that a Measure asked for; `worker.measure` defines the figures. No payload."""

    mean_cosine: float
    min_cosine: float
    worst_decile_overlap: float


class Pong(Message, frozen=True):
    """The worker's control thread is alive.

    Attributes:
        busy_with: id of the request being computed, None if there is none.
    """

    busy_with: int | None


class Progress(Message, frozen=True):
    """Work completed since the request began; the only proof that a worker moves forward.

    Attributes:
        rows_done, tokens_done: totals of this request so far.
    """

    rows_done: int
    tokens_done: int


class Compiling(Message, frozen=True):
    """The engine begins to compile for rows of one length, or is done with it. Meanwhile it computes nothing.

    Attributes:
        shape: tokens of a row, padding included.
        begun: True at the beginning, False at the end.
    """

    shape: int
    begun: bool


class Failed(Message, frozen=True):
    """The request could not be served.

    Attributes:
        kind: the `kind` of an EngineError; "protocol" for a request that makes no sense; or "internal" for a fault of
            the worker itself, after which it exits.
        message: one readable sentence.
        details: the error's own facts.
    """

    kind: str
    message: str
    details: dict[str, Any]


Request: TypeAlias = Load | Embed | Score | Measure | Ping | Shutdown
Reply: TypeAlias = Ready | Embedded | Scored | Measured | Pong | Progress | Compiling | Failed

_T = TypeVar("_T")

_encoder = msgspec.json.Encoder()
_request_decoder: msgspec.json.Decoder[Request] = msgspec.json.Decoder(Request)
_reply_decoder: msgspec.json.Decoder[Reply] = msgspec.json.Decoder(Reply)


def encode(message: Request | Reply, payload: bytes = b"") -> bytes:
    """One frame that carries `message`.

    Raises:
        ProtocolError: the message or its payload is too large for a frame.
    """
    return encode_frame(_encoder.encode(message), payload)


def decode_request(frame: Frame) -> Request:
    """The request in a frame's head.

    Raises:
        ProtocolError: the head is not JSON, or not a request.
    """
    return _decode(_request_decoder, frame)


def decode_reply(frame: Frame) -> Reply:
    """The worker's message in a frame's head.

    Raises:
        ProtocolError: the head is not JSON, or not a worker's message.
    """
    return _decode(_reply_decoder, frame)


def _decode(decoder: msgspec.json.Decoder[_T], frame: Frame) -> _T:
    try:
        return decoder.decode(frame.head)
    # Deep nesting ends as RecursionError, which is not one of msgspec's own.
    except (msgspec.DecodeError, RecursionError) as error:
        raise ProtocolError(f"a frame's head is not a message: {str(error)[:200]}") from error
