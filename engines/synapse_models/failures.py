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
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Failure(body.decode("utf-8", "replace").strip())
    if isinstance(document, list):  # a stream of Google's that failed is an array
        document = document[0] if document else None
    return _from_document(document) or Failure(body.decode("utf-8", "replace").strip())


def failure_in(document: Mapping[str, Any]) -> Failure | None:
    """The failure that a decoded event reports, None when it reports none."""
    if document.get("error") or document.get("object") == "error" or document.get("type") == "error":
        return _from_document(document)
    return None


def _from_document(document: object) -> Failure | None:
    if not isinstance(document, Mapping):
        return None
    inner = document.get("error")
    if isinstance(inner, str):
        return Failure(inner)
    if isinstance(inner, Mapping):
        document = inner
    message = document.get("message")
    if not isinstance(message, str):
        message = document.get("detail")
    if not isinstance(message, str):
        return None
    words = (document.get(name) for name in ("code", "type", "status"))
    return Failure(message, tuple(str(word) for word in words if isinstance(word, str | int) and word != ""))


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
    words = {word.lower() for word in failure.codes}
    numbers = [int(word) for word in failure.codes if word.isdecimal()]
    error = _classified(numbers[0], failure) if numbers and 400 <= numbers[0] <= 599 else _by_words(words)
    error.provider_code = failure.code
    error.excerpt = failure.message or None
    return error


def _by_words(words: set[str]) -> ModelError:
    if words & _OVERLOADED:
        return Overloaded("the provider is overloaded")
    if words & {"rate_limit_error", "rate_limit_exceeded", "resource_exhausted"}:
        return RateLimited("the provider limits the rate of requests")
    if words & {"invalid_request_error", "badrequesterror", "invalid_argument"}:
        return InvalidRequest("the provider refuses the request")
    return ProviderFailed("the provider failed in the middle of its answer")


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
