"""From a reply that reports a failure to the typed error for it, whoever speaks: providers, their servers, a proxy.

Servers answer in each other's shapes (an Anthropic route with an OpenAI error, a gateway with HTML), so the parser
accepts all of them on every dialect. Pure: the connection hands in the status, the headers and the body.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from synapse_models.errors import (
    MAX_REQUEST_ID_BYTES,
    AuthenticationFailed,
    ConnectionFailed,
    InvalidRequest,
    ModelError,
    NotFound,
    Overloaded,
    PermissionDenied,
    ProtocolViolation,
    ProviderFailed,
    RateLimited,
    Retry,
    redacted,
)
from synapse_models.policy import RETRYABLE_STATUS, retry_after_s

_REQUEST_ID_HEADERS: Final = ("x-request-id", "request-id", "x-goog-request-id")
_EXHAUSTED: Final = frozenset({"insufficient_quota", "billing_error", "billing_hard_limit_reached"})
_OVERLOADED: Final = frozenset({"overloaded_error", "overloaded", "unavailable", "server_overloaded"})
_MISSING_MODEL: Final = frozenset({"model_not_found", "not_found_error", "notfounderror", "not_found"})
_STATUS_OF_WORDS: Final[Mapping[str, int]] = {
    **dict.fromkeys(("invalid_request_error", "badrequesterror", "invalid_argument", "failed_precondition"), 400),
    **dict.fromkeys(("authentication_error", "authenticationerror", "invalid_api_key", "unauthenticated"), 401),
    **dict.fromkeys(("permission_error", "permissiondeniederror", "permission_denied", *_EXHAUSTED), 403),
    **dict.fromkeys(_MISSING_MODEL, 404),
    "request_too_large": 413,
    **dict.fromkeys(("rate_limit_error", "ratelimiterror", "rate_limit_exceeded", "resource_exhausted"), 429),
    **dict.fromkeys(_OVERLOADED, 503),
}
"""The status with which a provider sends its word for a failure, where the failure is the whole reply."""


class Failure(msgspec.Struct, frozen=True):
    """What a failing reply said: its message, and its words for the kind of failure, all possibly empty."""

    message: str
    codes: tuple[str, ...] = ()

    @property
    def code(self) -> str | None:
        """The provider's most specific word."""
        return self.codes[0] if self.codes else None


def read_failure(body: bytes) -> Failure:
    """What the body says. Anything that isn't a known shape is quoted as text."""
    try:
        document = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Failure(body.decode("utf-8", "replace").strip())
    if isinstance(document, list):  # a stream of Google's that failed is an array
        document = document[0] if document else None
    failure = _from_document(document)
    return failure if failure.message else Failure(body.decode("utf-8", "replace").strip(), failure.codes)


def failure_in(document: Mapping[str, Any]) -> Failure | None:
    """The failure that a decoded event reports, None when it reports none. One that says nothing of it has no message.

    ``document`` is no answer: an event that has one says so by its choices.
    """
    told = _from_document(document)
    if document.get("error") or document.get("object") == "error" or document.get("type") == "error" or told.message:
        return told
    return None


def _from_document(document: object) -> Failure:
    if not isinstance(document, Mapping):
        return Failure("")
    inner = document.get("error")
    if isinstance(inner, str) and inner:
        return Failure(inner)
    if isinstance(inner, Mapping):
        document = inner
    found = (document.get(name) for name in ("message", "detail"))
    words = (document.get(name) for name in ("code", "type", "status"))
    return Failure(
        next((text for text in found if isinstance(text, str) and text), ""),
        tuple(str(word) for word in words if isinstance(word, str | int) and word != ""),
    )


def request_id_of(headers: Mapping[str, str]) -> str | None:
    """The provider's id of a reply, cut to the limit; None when there is none, never empty."""
    for name in _REQUEST_ID_HEADERS:
        if value := headers.get(name, "").strip():
            return value.encode()[:MAX_REQUEST_ID_BYTES].decode("utf-8", "ignore")
    return None


def error_for(
    status: int, headers: Mapping[str, str], body: bytes, *, now: float, secrets: Iterable[str] = ()
) -> ModelError:
    """The typed error for a reply whose status isn't a success; ``now`` is Unix time in seconds."""
    failure = read_failure(body)
    error = _classified(status, failure)
    error.http_status = status
    error.provider_code = redacted(failure.code, secrets) if failure.code else None
    error.excerpt = redacted(failure.message, secrets) or None
    error.provider_request_id = request_id_of(headers)
    error.retry_after_s = retry_after_s(headers, now=now)
    wish = headers.get("x-should-retry")
    if wish in ("true", "false"):
        error.retry = Retry.LATER if wish == "true" else Retry.NEVER
    return error


def error_in_stream(failure: Failure) -> ModelError:
    """The typed error for a failure that is reported inside a stream, where the status said success.

    It quotes the failure in full: the pool, which knows the secret, takes that out and cuts the rest.
    """
    numbers = [int(word) for word in failure.codes if word.isdecimal() and len(word) == 3]
    words = [_STATUS_OF_WORDS[word.lower()] for word in failure.codes if word.lower() in _STATUS_OF_WORDS]
    status = next((status for status in (*numbers, *words) if 400 <= status <= 599), None)
    if status is None:
        error: ModelError = ProviderFailed("the provider failed in the middle of its answer")
    else:
        error = _classified(status, failure)
    error.provider_code = failure.code
    error.excerpt = failure.message or None
    return error


def _classified(status: int, failure: Failure) -> ModelError:
    words = {word.lower() for word in failure.codes}
    if status < 400:
        return ProtocolViolation("the reply is neither an answer nor an error")
    if status == 401:
        return AuthenticationFailed("the provider doesn't accept the credential")
    if status in (402, 403) or words & _EXHAUSTED:
        return PermissionDenied("the credential doesn't allow this request")
    if status == 404:
        return _not_found(failure, words)
    if status == 429:
        return RateLimited("the provider limits the rate of requests")
    if status in (503, 529) or words & _OVERLOADED:
        return Overloaded("the provider is overloaded")
    if status == 408:
        return ConnectionFailed("the provider gave up waiting for the request")
    if status < 500:
        again = Retry.LATER if status in RETRYABLE_STATUS else Retry.NEVER
        return InvalidRequest("the provider refuses the request", retry=again)
    again = Retry.LATER if status in RETRYABLE_STATUS else Retry.NEVER
    return ProviderFailed("the provider failed", retry=again)


def _not_found(failure: Failure, words: set[str]) -> ModelError:
    """A 404 means "no such model" only if the reply says so: some gateways use it for parameters nobody supports."""
    if words & _MISSING_MODEL:
        return NotFound("the provider knows no such model", subject="model")
    if "parameter" in failure.message.lower():
        return InvalidRequest("the provider refuses the request's parameters")
    return NotFound("there is nothing at this address", subject="address")
