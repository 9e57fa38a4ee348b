"""Everything that can go wrong between asking a model and having its answer, as one family of exceptions.

Raised by every module of the plane, caught at the edges: the gateway answers :attr:`ModelError.wire_code`, a name from
the table in ``docs/wire-contract-v1.md``. A message is for people; decisions are taken on the type, on ``retry`` and on
``attempts``. No message, excerpt or ``repr`` holds a secret: excerpts come from :func:`redacted` only.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

from synapse_models.parts import Record
from synapse_models.response import Attempt

MAX_EXCERPT_CHARS: Final = 512
"""Longest piece of a provider's reply that an error quotes."""

MAX_REQUEST_ID_BYTES: Final = 128
"""Longest request id that is kept; the wire contract's limit."""

_SECRET_SHAPES: Final = re.compile(
    r"(?i)\b(?:bearer|basic)\s+[^\s\"',;]+"  # an authorization header, quoted back
    r"|\b(?:sk|pk|rk|xai|gsk|hf|AIza)[-_][^\s\"',;]{4,}"  # keys by their makers' prefixes, also when partly starred out
    r"|\bAIza[\w-]{10,}"
)
_KEYS: Final = re.compile(
    r"\b(?:bearer|basic)\s+[\w.~+/=-]+|\b(?:sk|pk|rk|xai|gsk|hf)[-_][\w-]+|\bAIza[\w-]+", re.ASCII | re.IGNORECASE
)
_KEY_RUN: Final = re.compile(r"[a-z0-9]{12,}", re.IGNORECASE)
REDACTED: Final = "[redacted]"


class Retry(enum.Enum):
    """Whether sending the same request again can help."""

    NEVER = "never"
    LATER = "later"


class Rejection(Record, frozen=True):
    """One part of a request that would not reach the model: which, on which dialect, and why."""

    leaf: str
    dialect: str
    reason: str

    def __str__(self) -> str:
        return f"{self.leaf} on {self.dialect}: {self.reason}"


class ModelError(Exception):
    """The base of the family.

    Attributes:
        code: the kind of failure, stable, in snake case.
        retry: whether the same request can succeed later.
        wire_code: the name of this failure in the contract's error table.
        attempts: the tries that were made, oldest first; empty when nothing was sent.
        http_status, provider_code, excerpt: what the last reply said, as far as there was one.
        provider_request_id: the provider's own id of the last try, for its support desk.
        retry_after_s: how long the provider asked to wait, in seconds.
    """

    code: ClassVar[str] = "model_error"
    wire_code: ClassVar[str] = "provider_unavailable"
    default_retry: ClassVar[Retry] = Retry.NEVER

    def __init__(
        self,
        message: str,
        *,
        retry: Retry | None = None,
        attempts: Sequence[Attempt] = (),
        http_status: int | None = None,
        provider_code: str | None = None,
        excerpt: str | None = None,
        provider_request_id: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.retry = retry or self.default_retry
        self.attempts = tuple(attempts)
        self.http_status = http_status
        self.provider_code = provider_code
        self.excerpt = excerpt
        self.provider_request_id = provider_request_id
        self.retry_after_s = retry_after_s

    def __str__(self) -> str:
        quoted = f": {self.excerpt}" if self.excerpt else ""
        status = f" (HTTP {self.http_status})" if self.http_status is not None else ""
        return f"{self.message}{status}{quoted}"


class RequestRejected(ModelError):
    """Parts of the request have no way to the model. Nothing was sent."""

    code = "request_rejected"
    wire_code = "invalid_request"

    def __init__(self, rejections: Iterable[Rejection]) -> None:
        self.rejections = tuple(rejections)
        super().__init__("the request was refused before it was sent: " + "; ".join(map(str, self.rejections)))


class PlanError(ModelError):
    """A plan, a deployment, a connection pool or a dialect that don't fit together. Nothing was sent."""

    code = "plan_error"
    wire_code = "invalid_request"


class DialectFault(ModelError):
    """A dialect contradicts its own decisions on a request: a mistake in this library. Nothing was sent."""

    code = "dialect_fault"
    wire_code = "invalid_request"


class DialectNotImplemented(ModelError):
    """The dialect is a known name, and this release can't speak it."""

    code = "dialect_not_implemented"
    wire_code = "invalid_request"


class AuthenticationFailed(ModelError):
    """There is no credential where one is needed, or the provider doesn't accept it."""

    code = "authentication_failed"
    wire_code = "credential_config_invalid"


class PermissionDenied(ModelError):
    """The credential is good, and not for this: the model, the region, the account's balance."""

    code = "permission_denied"
    wire_code = "credential_config_invalid"


class NotFound(ModelError):
    """The provider knows no such model, or no such address. ``subject`` says which, as far as the reply told."""

    code = "not_found"
    wire_code = "invalid_request"

    def __init__(
        self,
        message: str,
        *,
        subject: str = "resource",
        http_status: int | None = None,
        provider_code: str | None = None,
        excerpt: str | None = None,
        provider_request_id: str | None = None,
    ) -> None:
        super().__init__(
            message,
            http_status=http_status,
            provider_code=provider_code,
            excerpt=excerpt,
            provider_request_id=provider_request_id,
        )
        self.subject = subject


class InvalidRequest(ModelError):
    """The provider read the request and refuses it."""

    code = "invalid_request"
    wire_code = "invalid_request"


class RateLimited(ModelError):
    """Too many requests or tokens for now."""

    code = "rate_limited"
    default_retry = Retry.LATER


class Overloaded(ModelError):
    """The provider has no room for anybody at the moment."""

    code = "overloaded"
    default_retry = Retry.LATER


class ProviderFailed(ModelError):
    """The provider broke down over the request."""

    code = "provider_failed"
    default_retry = Retry.LATER


class ConnectionFailed(ModelError):
    """No connection, or one that broke before the reply was whole."""

    code = "connection_failed"
    default_retry = Retry.LATER


class AttemptTimeout(ModelError):
    """One try took longer than it may, counted to the end of its reply or to the first event of its stream."""

    code = "attempt_timeout"
    default_retry = Retry.LATER


class IdleTimeout(ModelError):
    """A reply that had begun fell silent."""

    code = "idle_timeout"
    default_retry = Retry.LATER


class TotalTimeout(ModelError):
    """The call as a whole, pauses and further tries included, took longer than it may."""

    code = "total_timeout"
    wire_code = "deadline_exceeded"
    default_retry = Retry.LATER


class ProtocolViolation(ModelError):
    """A reply that its dialect doesn't allow."""

    code = "protocol_violation"
    wire_code = "provider_protocol_violation"


class StreamTruncated(ModelError):
    """A stream that ended without saying so. What came before is evidence, never an answer."""

    code = "stream_truncated"
    default_retry = Retry.LATER


class OutputContractViolation(ModelError):
    """A well-formed reply that lacks what the request requires. ``channels`` names what is missing or malformed."""

    code = "output_contract"
    wire_code = "provider_protocol_violation"

    def __init__(self, message: str, *, channels: Sequence[str], attempts: Sequence[Attempt] = ()) -> None:
        super().__init__(message, attempts=attempts)
        self.channels = tuple(channels)


def holds_key(text: str) -> bool:
    """Whether something in ``text`` can only be a key: after its beginning comes a long run of letters and digits.

    :func:`redacted` hides more, whatever may be a key; this leaves ``basic rules`` and ``hf-internal-testing`` alone.
    """
    runs = (run for match in _KEYS.finditer(text) for run in _KEY_RUN.findall(match[0]))
    return any(not run.isalpha() and not run.isdigit() for run in runs)


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """The text, at most :data:`MAX_EXCERPT_CHARS` long, without the given secrets and without what looks like a key.

    The cut comes last, so that it can't leave half of a secret behind.
    """
    for secret in secrets:
        if secret:
            text = text.replace(secret, REDACTED)
    text = _SECRET_SHAPES.sub(REDACTED, text)
    return text if len(text) <= MAX_EXCERPT_CHARS else text[: MAX_EXCERPT_CHARS - 1] + "…"
