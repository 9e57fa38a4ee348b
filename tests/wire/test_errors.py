"""Typed errors: levels, numbers, retry advice, and the trip over the wire and back."""

from __future__ import annotations

import pickle

import msgspec
import pytest

from synapse_wire.errors import (
    CHANNEL_NUMBERS,
    ERRORS,
    INVALID_ENVELOPE,
    SynapseError,
    WireError,
    invalid_params,
    invalid_state,
)


def test_channel_numbers_are_the_contracts() -> None:
    assert CHANNEL_NUMBERS == {
        "invalid_request": -32602,
        "flow_scope_refused": -32001,
        "certify_observation_disabled": -32002,
        "overloaded": -32003,
        "internal_error": -32603,
    }
    assert {code for code, spec in ERRORS.items() if "channel" in spec.levels} == set(CHANNEL_NUMBERS)


@pytest.mark.parametrize(
    ("code", "class_", "safe", "retry_after_ms"),
    [
        ("queue_full", "transient", True, 250),
        ("overloaded", "transient", True, 100),
        ("store_failure", "transient", True, 1000),
        ("request_cancelled", "permanent", True, None),
        ("deadline_exceeded", "transient", False, None),
        ("invalid_request", "permanent", False, None),
        ("not_certified", "permanent", False, None),
        ("migration_required", "permanent", False, None),
    ],
)
def test_retry_advice(code: str, class_: str, safe: bool, retry_after_ms: int | None) -> None:
    spec = ERRORS[code]
    assert (spec.class_, spec.safe_to_retry, spec.retry_after_ms) == (class_, safe, retry_after_ms)


def test_an_invalid_request_is_a_channel_error_by_its_parameters_and_semantic_by_state() -> None:
    by_parameters = invalid_params("too short", "text")
    assert (by_parameters.level, by_parameters.number, by_parameters.details) == ("channel", -32602, {"field": "text"})
    by_state = invalid_state("no such job", job_id="j")
    assert (by_state.level, by_state.details) == ("semantic", {"job_id": "j"})
    assert invalid_state("no").details is None
    assert invalid_params("no").details is None


def test_an_error_cannot_take_a_level_its_code_does_not_have() -> None:
    with pytest.raises(ValueError, match="never a channel error"):
        SynapseError("unknown_model", "no", details={"model_id": "m"}, level="channel")
    with pytest.raises(ValueError, match="never a semantic error"):
        SynapseError("overloaded", "no", level="semantic")
    with pytest.raises(KeyError):
        SynapseError("no_such_code", "no")


def test_a_message_is_cut_to_512_characters() -> None:
    assert SynapseError("model_loading", "é" * 600).message == "é" * 512


def test_optional_members_are_absent_and_never_null() -> None:
    plain = msgspec.to_builtins(SynapseError("request_cancelled", "stopped").to_wire())
    assert plain == {
        "code": "request_cancelled",
        "class": "permanent",
        "safe_to_retry_same_request": True,
        "message": "stopped",
    }


def test_the_owned_decode_domain_makes_failures_permanent() -> None:
    wire = SynapseError("store_failure", "full", details={"reason": "storage_full"}, permanent=True).to_wire()
    assert (wire.class_, wire.safe_to_retry_same_request, wire.retry_after_ms) == ("permanent", False, msgspec.UNSET)


def test_an_error_comes_back_from_the_wire_as_it_went() -> None:
    sent = SynapseError("queue_full", "busy", details={"class": "bulk", "depth": 256}, retry_after_ms=900)
    back = SynapseError.from_wire(sent.to_wire(), level="semantic")
    assert (back.code, back.message, back.details, back.retry_after_ms, back.class_) == (
        "queue_full",
        "busy",
        {"class": "bulk", "depth": 256},
        900,
        "transient",
    )
    assert back.safe_to_retry_same_request is True
    assert str(back) == "queue_full: busy"
    assert back.to_wire() == sent.to_wire()


def test_a_code_from_a_newer_service_is_kept() -> None:
    wire = WireError(code="from_later", class_="odd", safe_to_retry_same_request=True, message="m")
    back = SynapseError.from_wire(wire, level="semantic")
    assert (back.code, back.class_, back.safe_to_retry_same_request) == ("from_later", "permanent", True)


def test_an_error_survives_pickling() -> None:
    sent = SynapseError("invalid_request", "bad line", level="channel", number=INVALID_ENVELOPE)
    back = pickle.loads(pickle.dumps(sent))
    assert (back.code, back.message, back.level, back.number) == ("invalid_request", "bad line", "channel", -32600)
