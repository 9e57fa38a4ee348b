"""Failing replies in everybody's shapes, and the typed error of each."""

from __future__ import annotations

import json
from typing import Any

import pytest

import synapse_models.errors as errors
from synapse_models.errors import (
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
)
from synapse_models.failures import error_for, error_in_stream, failure_in, read_failure, request_id_of
from synapse_models.policy import RetryPolicy, Timeouts, retry_after_s
from synapse_wire.errors import ERRORS

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("body", "message", "codes"),
    [
        ({"error": {"message": "m", "type": "t", "param": None, "code": "c"}}, "m", ("c", "t")),
        ({"error": "plain"}, "plain", ()),
        (
            {"object": "error", "message": "m", "type": "BadRequestError", "param": None, "code": 400},
            "m",
            ("400", "BadRequestError"),
        ),
        (
            {"type": "error", "error": {"type": "overloaded_error", "message": "m"}, "request_id": "r"},
            "m",
            ("overloaded_error",),
        ),
        ({"error": {"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED"}}, "m", ("429", "RESOURCE_EXHAUSTED")),
        ([{"error": {"code": 500, "message": "m", "status": "INTERNAL"}}], "m", ("500", "INTERNAL")),
        ({"detail": "Not authenticated"}, "Not authenticated", ()),
        ({"unknown": 1}, '{"unknown": 1}', ()),
        ([], "[]", ()),
    ],
)
def test_every_shape_of_failure_is_read(body: Any, message: str, codes: tuple[str, ...]) -> None:
    failure = read_failure(json.dumps(body).encode())
    assert (failure.message, failure.codes) == (message, codes)


def test_what_isn_t_json_is_quoted() -> None:
    assert read_failure(b"<html>Bad Gateway</html>\n").message == "<html>Bad Gateway</html>"
    assert read_failure(b"\xff").message == "\ufffd"
    deep = "[" * 100_000
    assert read_failure(deep.encode()).message == deep
    assert type(error_for(500, {}, deep.encode(), now=NOW)) is ProviderFailed


@pytest.mark.parametrize(
    ("status", "body", "kind", "retry"),
    [
        (401, {"error": {"message": "no", "code": 401}}, AuthenticationFailed, Retry.NEVER),
        (402, {"error": "pay"}, PermissionDenied, Retry.NEVER),
        (403, {"error": "no"}, PermissionDenied, Retry.NEVER),
        (404, {"error": {"message": "The model `x` does not exist", "code": "model_not_found"}}, NotFound, Retry.NEVER),
        (400, {"error": "bad"}, InvalidRequest, Retry.NEVER),
        (422, {"error": "bad"}, InvalidRequest, Retry.NEVER),
        (409, {"error": "again"}, InvalidRequest, Retry.LATER),
        (408, {"error": "slow"}, ConnectionFailed, Retry.LATER),
        (429, {"error": "slow down"}, RateLimited, Retry.LATER),
        (429, {"error": {"message": "quota", "code": "insufficient_quota"}}, PermissionDenied, Retry.NEVER),
        (500, {"error": "x"}, ProviderFailed, Retry.LATER),
        (500, {"error": {"message": "m", "type": "overloaded_error"}}, Overloaded, Retry.LATER),
        (501, {"error": "x"}, ProviderFailed, Retry.NEVER),
        (503, {"error": "x"}, Overloaded, Retry.LATER),
        (529, {"error": "x"}, Overloaded, Retry.LATER),
        (302, "", ProtocolViolation, Retry.NEVER),
    ],
)
def test_the_error_of_each_status(status: int, body: Any, kind: type[ModelError], retry: Retry) -> None:
    error = error_for(status, {}, json.dumps(body).encode(), now=NOW)
    assert type(error) is kind
    assert (error.http_status, error.retry) == (status, retry)


def test_a_404_means_no_such_model_only_if_it_says_so() -> None:
    missing = error_for(404, {}, b'{"error":{"message":"gone","type":"not_found_error"}}', now=NOW)
    assert isinstance(missing, NotFound)
    assert missing.subject == "model"
    address = error_for(404, {}, b"404 page not found", now=NOW)
    assert isinstance(address, NotFound)
    assert address.subject == "address"
    unsupported = b'{"error":{"message":"No endpoints found that can handle the requested parameters.","code":404}}'
    assert type(error_for(404, {}, unsupported, now=NOW)) is InvalidRequest


def test_an_error_carries_the_reply_s_words_its_id_and_its_wishes_without_the_secret() -> None:
    body = b'{"error":{"message":"key topsecret is limited","code":"rate_limit_exceeded"}}'
    headers = {"x-request-id": "r-1", "retry-after": "7", "x-should-retry": "false"}
    error = error_for(429, headers, body, now=NOW, secrets=["topsecret"])
    assert error.excerpt == "key [redacted] is limited"
    assert error.provider_code == "rate_limit_exceeded"
    assert error.provider_request_id == "r-1"
    assert error.retry_after_s == 7.0
    assert error.retry is Retry.NEVER
    assert str(error) == "the provider limits the rate of requests (HTTP 429): key [redacted] is limited"


@pytest.mark.parametrize(
    ("document", "kind"),
    [
        ({"error": {"message": "m", "type": "overloaded_error"}}, Overloaded),
        ({"error": {"message": "m", "code": 429}}, RateLimited),
        ({"error": {"message": "m", "type": "invalid_request_error"}}, InvalidRequest),
        ({"error": {"message": "m", "type": "server_error", "retryable": True}}, ProviderFailed),
        ({"object": "error", "message": "m", "code": 400}, InvalidRequest),
        ({"error": {"message": "m", "type": "authentication_error"}}, AuthenticationFailed),
        ({"error": {"message": "m", "type": "invalid_request_error", "code": "invalid_api_key"}}, AuthenticationFailed),
        ({"error": {"message": "m", "type": "insufficient_quota"}}, PermissionDenied),
        ({"error": {"message": "m", "code": "rate_limit_exceeded", "type": "insufficient_quota"}}, PermissionDenied),
        ({"error": {"message": "m", "type": "permission_error"}}, PermissionDenied),
        ({"error": {"message": "m", "type": "invalid_request_error", "code": "model_not_found"}}, NotFound),
        ({"error": {"message": "m", "code": 50_000}}, ProviderFailed),
        ({"error": {"code": 429}}, RateLimited),
        ({"detail": "m"}, ProviderFailed),
    ],
)
def test_failures_inside_a_success(document: dict[str, Any], kind: type[ModelError]) -> None:
    failure = failure_in(document)
    assert failure is not None
    assert type(error_in_stream(failure)) is kind


@pytest.mark.parametrize(
    ("status", "word"),
    [
        (401, "authentication_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (413, "request_too_large"),
        (429, "rate_limit_error"),
        (429, "insufficient_quota"),
        (529, "overloaded_error"),
    ],
)
def test_a_word_means_the_same_inside_a_success_as_with_its_status(status: int, word: str) -> None:
    body = {"type": "error", "error": {"type": word, "message": "m"}}
    failure = failure_in(body)
    assert failure is not None
    inside, whole = error_in_stream(failure), error_for(status, {}, json.dumps(body).encode(), now=NOW)
    assert (type(inside), inside.retry, inside.message) == (type(whole), whole.retry, whole.message)


@pytest.mark.parametrize("document", [{"choices": []}, {"error": None}, {"error": {}}, {"object": "chat.completion"}])
def test_answers_report_no_failure(document: dict[str, Any]) -> None:
    assert failure_in(document) is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Fri, 15 Jan 2027 08:00:30 GMT"}, 30.0),
        ({"retry-after": "Fri, 15 Jan 2027 07:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Mon, 01 Jan 99999999999999999999 00:00:00 GMT"}, None),
        ({"retry-after": "Mon, 01 Jan 2026 00:00:00 +99999999999999999"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after-ms": "x", "retry-after": "2"}, 2.0),
    ],
)
def test_how_long_a_reply_asks_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers, now=NOW) == seconds


def test_request_ids_are_cut_and_never_empty() -> None:
    assert request_id_of({"x-request-id": "é" * 100}) == "é" * 64
    assert request_id_of({"request-id": " a "}) == "a"
    assert request_id_of({"x-request-id": " "}) is None


def test_pauses_grow_to_their_cap_and_give_way_to_the_provider_s_wish() -> None:
    policy = RetryPolicy(max_attempts=5, base_s=1.0, cap_s=5.0)
    assert [policy.pause_s(n, retry_after_s=None, spread=0.0) for n in (1, 2, 3, 4)] == [1.0, 2.0, 4.0, 5.0]
    assert policy.pause_s(1, retry_after_s=None, spread=1.0) == 0.75
    assert policy.pause_s(1, retry_after_s=9.0, spread=1.0) == 9.0


@pytest.mark.parametrize(
    "bad", [{"max_attempts": 0}, {"max_attempts": 11}, {"base_s": -1.0}, {"base_s": 9.0, "cap_s": 8.0}]
)
def test_a_retry_policy_has_bounds(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        RetryPolicy(**bad)


@pytest.mark.parametrize("bad", [0.0, -1.0, float("inf"), float("nan")])
def test_a_timeout_is_a_positive_number(bad: float) -> None:
    with pytest.raises(ValueError, match="idle_s must be a positive number"):
        Timeouts(idle_s=bad)


def test_every_error_has_a_code_of_its_own_and_a_name_in_the_wire_s_table() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, ModelError)]
    codes = [kind.code for kind in kinds]
    assert len(kinds) >= 19
    assert len(set(codes)) == len(codes)
    assert {kind.wire_code for kind in kinds} <= set(ERRORS)
