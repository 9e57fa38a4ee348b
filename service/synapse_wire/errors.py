"""The error table: every stable code that the contract names, with its class, its retry advice and its details.

The service raises :class:`SynapseError` where a fact is known; the client raises the same class for what it receives.
``docs/wire-contract-v1.md`` repeats this table in prose and a test compares the two, so a code can't be added,
renamed or reclassified on one side only.

Levels: a *channel* error travels in the JSON-RPC ``error`` member, a *semantic* refusal travels inside the result as
``{"module_generation": N, "error": {...}}``. ``invalid_request`` uses both: channel when the parameters alone decide
it, semantic when the state of the service decides it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec

MAX_MESSAGE_CHARS: Final = 512
"""Longest error message; longer ones are cut, because messages may echo what a client sent."""

ErrorClass = Literal["transient", "permanent"]
Level = Literal["channel", "semantic"]
Origin = Literal["contract", "extension"]


class WireError(msgspec.Struct, frozen=True, kw_only=True):
    """An error as it crosses the wire. Optional members are omitted, never null."""

    code: str
    class_: str = msgspec.field(name="class")
    safe_to_retry_same_request: bool
    message: str
    retry_after_ms: int | msgspec.UnsetType = msgspec.UNSET
    details: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    provider_request_id: str | msgspec.UnsetType = msgspec.UNSET


@dataclass(frozen=True, slots=True)
class ErrorSpec:
    """One row of the table.

    ``details`` lists the accepted shapes as sets of member names, a trailing ``?`` marking an optional member. An
    empty set among them means that details may be absent; an empty tuple, that the code never carries any; ``None``,
    that everything is allowed.
    """

    code: str
    class_: ErrorClass
    safe_to_retry: bool
    retry_after_ms: int | None = None
    levels: frozenset[Level] = frozenset({"semantic"})
    details: tuple[frozenset[str], ...] | None = ()
    origin: Origin = "contract"

    def accepts(self, details: Mapping[str, Any] | None) -> bool:
        """True when ``details`` has one of the declared shapes; None is the shape without members."""
        if self.details is None:
            return True
        given = set(details or ())
        for shape in self.details or _NO_DETAILS:
            required = {name for name in shape if not name.endswith("?")}
            allowed = {name.rstrip("?") for name in shape}
            if required <= given <= allowed:
                return True
        return False


_NO_DETAILS: Final[tuple[frozenset[str], ...]] = (frozenset(),)
_OPTIONAL: Final = ""
"""Among the shapes of a code: its details may be absent."""


def _shapes(*shapes: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(shape.split()) for shape in shapes)


def _permanent(code: str, *shapes: str, safe: bool = False) -> ErrorSpec:
    return ErrorSpec(code, "permanent", safe, details=_shapes(*shapes))


def _transient(code: str, retry_after_ms: int | None, *shapes: str, safe: bool = True) -> ErrorSpec:
    return ErrorSpec(code, "transient", safe, retry_after_ms, details=_shapes(*shapes))


_CHANNEL: Final[frozenset[Level]] = frozenset({"channel"})
_BOTH: Final[frozenset[Level]] = frozenset({"channel", "semantic"})

_TABLE: Final = (
    # Shaped by the request or the connection alone.
    ErrorSpec("invalid_request", "permanent", False, levels=_BOTH, details=None),
    ErrorSpec("flow_scope_refused", "permanent", False, levels=_CHANNEL, details=_shapes("method flow_id")),
    ErrorSpec("certify_observation_disabled", "permanent", False, levels=_CHANNEL),
    ErrorSpec(
        "overloaded", "transient", True, 100, levels=_CHANNEL, details=_shapes("limit in_flight", "reason", _OPTIONAL)
    ),
    # Admission, time and the life of a request.
    _transient("queue_full", 250, "max_queue_ms estimated_ms", "class depth", _OPTIONAL),
    _transient("deadline_exceeded", None, safe=False),
    _transient("model_loading", 250),
    _permanent("request_cancelled", safe=True),
    _transient("lane_paused", 1000, "lane_id fingerprint? paused_until_ms reason"),
    _transient("shape_compiling", 1000, "lane_id shape"),
    # Identity, certification and equivalence.
    _permanent("unknown_model", "model_id"),
    _permanent("not_certified", "model_id reason?", _OPTIONAL),
    _permanent("probe_required", "model_id reason?", _OPTIONAL),
    _permanent("substitution_rejected", "lane_id required_fingerprint", "required_fingerprint", _OPTIONAL),
    _permanent("migration_required", "required_epoch table_epoch"),
    _permanent("sequence_too_long", "tokens max_tokens item_id?"),
    # Engines and artifacts.
    _transient(
        "engine_crashed",
        250,
        "lane_id quarantined",
        "item_id reason",
        "lane_id reason",
        "lane_id reason exit",
        _OPTIONAL,
    ),
    _permanent(
        "artifact_invalid",
        "file expected_sha256 actual_sha256 expected_size actual_size recovery_op",
        "model_id expected_fingerprint actual_fingerprint",
        "model_id file reason",
    ),
    _permanent("owned_cuda_unsupported", "driver_api? compute_capability? reason", _OPTIONAL),
    _permanent("backend_unavailable", "catalog_id lane_id backends"),
    _permanent("self_check_failed", "model_id backend check_id reason", "profile reason"),
    # Installation.
    _permanent("model_not_installed", "catalog_id lane_id download_op download_job_id"),
    _permanent("model_in_use", "catalog_id holders"),
    _transient("download_failed", 1000, "file reason http_status"),
    # Durable work and the store.
    _permanent("module_restarted"),
    _permanent("idempotency_conflict", "request_key", _OPTIONAL),
    ErrorSpec("store_failure", "transient", True, 1000, details=_shapes("reason path?", _OPTIONAL)),
    # Remote providers.
    _permanent("op_not_supported_for_remote", "model_id operation", _OPTIONAL),
    _permanent("sentinel_calibration_refused", "model_id reason", _OPTIONAL),
    _permanent("declared_identity_not_accepted", "model_id", _OPTIONAL),
    _permanent("remote_identity_drift", "model_id reason", _OPTIONAL),
    _transient("provider_unavailable", None, "provider http_status", _OPTIONAL),
    _permanent("provider_protocol_violation", "provider reason", _OPTIONAL),
    _permanent("needs_reauth", "logical_handle"),
    _permanent("needs_reauth_expired", "logical_handle", _OPTIONAL),
    _permanent("remote_deployment_changed", "model_id expected actual", _OPTIONAL),
    _permanent("credential_config_invalid", "logical_handle reason", _OPTIONAL),
    # Owned decode and its approvals; all of them permanent.
    _permanent("grammar_disabled", "reason underlying_owned_decode_refusal_id?", _OPTIONAL),
    _permanent("sampling_unsupported"),
    _permanent("artifact_unapproved"),
    _permanent("artifact_disabled"),
    _permanent("artifact_revoked"),
    _permanent("artifact_mismatch"),
    _permanent("unsupported_machine"),
    _permanent("invalid_context_ceiling"),
    _permanent("insufficient_memory"),
    _permanent("incompatible_resident_artifact"),
    _permanent("invalid_kv_configuration"),
    _permanent("invalid_kv_alignment"),
    _permanent("retained_kv_unavailable"),
    _permanent("owned_decode_unavailable"),
    _permanent("unknown_session"),
    _permanent("unknown_request"),
    _permanent("session_still_in_flight"),
    _permanent("decode_scheduler_busy"),
    _permanent("worker_protocol_error"),
    _permanent("scheduler_boundary_error"),
    _permanent("routing_error"),
    _permanent("operator_identity_unavailable"),
    _permanent("approval_migration_state_corrupt"),
    # Ours: a defect in the service itself. The log has the traceback under the reference that details name.
    ErrorSpec(
        "internal_error",
        "permanent",
        False,
        levels=_CHANNEL,
        details=_shapes("reference"),
        origin="extension",
    ),
)

ERRORS: Final[Mapping[str, ErrorSpec]] = {spec.code: spec for spec in _TABLE}
"""Code to row; the only place that knows what a code means."""

CHANNEL_NUMBERS: Final[Mapping[str, int]] = {
    "invalid_request": -32602,
    "flow_scope_refused": -32001,
    "certify_observation_disabled": -32002,
    "overloaded": -32003,
    "internal_error": -32603,
}
"""JSON-RPC number of each code that may travel as a channel error with well-formed parameters."""

PARSE_ERROR: Final = -32700
INVALID_ENVELOPE: Final = -32600
METHOD_NOT_FOUND: Final = -32601


class SynapseError(Exception):
    """A typed refusal or failure, the same class on both sides of the socket.

    ``code`` is a key of :data:`ERRORS`. ``level`` matters only for ``invalid_request``, which is a channel error
    when the parameters alone decide it; every other code has one level. ``number`` overrides the JSON-RPC number
    (unparsable line, bad envelope, unknown method). ``permanent`` is for the owned-decode domain, where
    a store failure and a cancellation, too, are permanent and never safe to repeat.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        retry_after_ms: int | None = None,
        level: Level | None = None,
        number: int | None = None,
        permanent: bool = False,
    ) -> None:
        spec = ERRORS[code]
        if not spec.accepts(details):
            raise ValueError(f"{code} does not carry details {sorted(details or ())}")
        if level is None:
            level = "semantic" if "semantic" in spec.levels else "channel"
        elif level not in spec.levels:
            raise ValueError(f"{code} is never a {level} error")
        super().__init__(message)
        self.code = code
        self.message = message[:MAX_MESSAGE_CHARS]
        self.details = dict(details) if details is not None else None
        self.level: Level = level
        self.number = number if number is not None else CHANNEL_NUMBERS.get(code)
        self.class_: ErrorClass = "permanent" if permanent else spec.class_
        self.safe_to_retry_same_request = spec.safe_to_retry and not permanent
        default = None if permanent else spec.retry_after_ms
        self.retry_after_ms = retry_after_ms if retry_after_ms is not None else default

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (self.to_wire(), self.level, self.number))

    def to_wire(self) -> WireError:
        """The error as it crosses the wire."""
        return WireError(
            code=self.code,
            class_=self.class_,
            safe_to_retry_same_request=self.safe_to_retry_same_request,
            message=self.message,
            retry_after_ms=msgspec.UNSET if self.retry_after_ms is None else self.retry_after_ms,
            details=msgspec.UNSET if self.details is None else self.details,
        )

    @classmethod
    def from_wire(cls, wire: WireError, *, level: Level, number: int | None = None) -> SynapseError:
        """Rebuild what a peer sent, keeping its words even for a code that this version doesn't know."""
        error = cls.__new__(cls)
        Exception.__init__(error, wire.message)
        error.code = wire.code
        error.message = wire.message
        error.details = None if wire.details is msgspec.UNSET else wire.details
        error.level = level
        error.number = number
        error.class_ = "transient" if wire.class_ == "transient" else "permanent"
        error.safe_to_retry_same_request = wire.safe_to_retry_same_request
        error.retry_after_ms = None if wire.retry_after_ms is msgspec.UNSET else wire.retry_after_ms
        return error


def _rebuild(wire: WireError, level: Level, number: int | None) -> SynapseError:
    return SynapseError.from_wire(wire, level=level, number=number)


def invalid_params(message: str, field: str | None = None, **details: Any) -> SynapseError:
    """``invalid_request`` as a channel error: the parameters alone are wrong. ``field`` names the member."""
    named = {"field": field, **details} if field is not None else details
    return SynapseError("invalid_request", message, details=named or None, level="channel")


def invalid_state(message: str, **details: Any) -> SynapseError:
    """``invalid_request`` as a semantic refusal: the state of the service makes the request wrong."""
    return SynapseError("invalid_request", message, details=details or None, level="semantic")
