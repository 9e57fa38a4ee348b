"""What a dialect is: its description, which exists for all seven, and its binder, which exists once it is built.

A binder translates and does no I/O. It is one object in one package under ``dialects/``, and one line in
``registry.py``. Records that cross between it and ``model.py`` are here.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from synapse_models.audit import LeafDecision
from synapse_models.capabilities import CapabilityConfig
from synapse_models.contract import OutputRule
from synapse_models.parts import JSONValue, Record
from synapse_models.profiles import ModelProfile
from synapse_models.request import Request
from synapse_models.response import Response

if TYPE_CHECKING:
    from synapse_models.sse import SseEvent
    from synapse_models.stream import StreamEvent

InputKind = Literal["completion", "chat"]


class Supported(Record, frozen=True):
    """A dialect can say the capability.

    Attributes:
        options: what of it can be said: option → the values or names that exist on the wire, for options of words;
            an option with no entry isn't limited by the dialect.
        unsupported_options: option → why the wire has no place for it.
    """

    options: Mapping[str, tuple[str, ...]] = {}
    unsupported_options: Mapping[str, str] = {}

    def refusal(self, config: CapabilityConfig) -> str | None:
        """Why this dialect can't say ``config``, or None when it can."""
        for option, reason in self.unsupported_options.items():
            if getattr(config, option, None) not in (None, ()):
                return f"{option}: {reason}"
        for option, words in self.options.items():
            asked = getattr(config, option, None)
            for word in asked if isinstance(asked, tuple) else () if asked is None else (asked,):
                if word not in words:
                    return f"{option}: {word!r} is not one of {', '.join(words)}"
        return None


class Unsupported(Record, frozen=True):
    """A dialect can't say the capability, and why."""

    reason: str


CapabilityOutcome: TypeAlias = Supported | Unsupported


class DialectSpec(Record, frozen=True):
    """The stable description of a wire protocol, whether or not it can be executed yet.

    ``wire_versions`` are known versions, the default first. ``designed`` says for each capability what the protocol
    can express.
    """

    id: str
    title: str
    connection_family: str
    wire_versions: tuple[str, ...]
    inputs: tuple[InputKind, ...]
    designed: Mapping[str, CapabilityOutcome]

    @property
    def default_wire_version(self) -> str:
        return self.wire_versions[0]


class WireAuth(Enum):
    """How a credential becomes a header. Part of what is bound, hence of a plan's fingerprint and of provenance."""

    BEARER = "bearer"
    X_API_KEY = "x-api-key"
    X_GOOG_API_KEY = "x-goog-api-key"


class WireRequest(Record, frozen=True):
    """One HTTP request without host and credential. ``path`` is relative to the connection's base URL."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: JSONValue


class WireReply(Record, frozen=True):
    """One whole HTTP reply. Header names are lower case; ``body`` is the bytes as received."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class CallContext(Record, frozen=True):
    """What a binder may know of the call beside the request: what was bound, and for which model."""

    dialect_id: str
    wire_version: str
    model_id: str
    profile: ModelProfile
    engine_id: str = "unknown"


class StreamDecoder(Protocol):
    """Reads one stream. Fed every event in order, then told about the end of the bytes.

    ``ended`` becomes True at the protocol's own end; what comes after it is not read.
    """

    ended: bool

    def feed(self, event: SseEvent) -> list[StreamEvent]: ...

    def end(self) -> list[StreamEvent]:
        """The bytes ended. Raises a truncation error when the protocol's own end wasn't seen."""
        ...


class DialectBinder(Protocol):
    """Translates for one dialect, whatever its wire version."""

    @property
    def spec(self) -> DialectSpec: ...

    @property
    def auth(self) -> WireAuth: ...

    @property
    def identity_headers(self) -> tuple[str, ...]:
        """Reply headers, in lower case, that say whose account and which build answered; kept in provenance."""
        ...

    @property
    def capabilities(self) -> Mapping[str, CapabilityOutcome]:
        """One outcome for every capability."""
        ...

    @property
    def output_rules(self) -> Mapping[str, OutputRule]:
        """One rule for every channel."""
        ...

    @property
    def reserved_options(self) -> frozenset[str]:
        """Wire keys that a leaf, a capability or the binding owns, so that no dialect option may spell them."""
        ...

    def decide(self, leaf: str, value: Any, request: Request, context: CallContext) -> LeafDecision:
        """The decision on one active leaf, a function of value, wire version and model profile. Raises KeyError for
        a path that is no leaf."""
        ...

    def encode(self, request: Request, context: CallContext) -> WireRequest:
        """The request on the wire. Only called when no leaf was rejected."""
        ...

    def decode(self, reply: WireReply, request: Request, context: CallContext) -> Response:
        """The response of a successful, whole reply. Raises a protocol violation for anything else."""
        ...

    def stream_decoder(self, request: Request, context: CallContext) -> StreamDecoder: ...
