"""The error table guards its own shapes: which details a code may, must and must not carry."""

from __future__ import annotations

from typing import Any

import pytest

from synapse_wire.errors import ERRORS, SynapseError, WireError

MANDATORY = {
    "artifact_invalid",
    "backend_unavailable",
    "download_failed",
    "flow_scope_refused",
    "internal_error",
    "lane_paused",
    "migration_required",
    "model_in_use",
    "model_not_installed",
    "needs_reauth",
    "self_check_failed",
    "sequence_too_long",
    "shape_compiling",
    "unknown_model",
}


def test_the_codes_that_promise_details_are_refused_without_them() -> None:
    assert {code for code, spec in ERRORS.items() if not spec.accepts(None)} == MANDATORY


@pytest.mark.parametrize(
    ("code", "details", "accepted"),
    [
        ("unknown_model", {"model_id": "m"}, True),
        ("unknown_model", {}, False),
        ("unknown_model", {"model_id": "m", "hint": "n"}, False),
        ("sequence_too_long", {"tokens": 9, "max_tokens": 8}, True),
        ("sequence_too_long", {"tokens": 9, "max_tokens": 8, "item_id": "a"}, True),
        ("sequence_too_long", {"tokens": 9, "item_id": "a"}, False),
        ("substitution_rejected", {"required_fingerprint": "f"}, True),
        ("substitution_rejected", {"lane_id": "l", "required_fingerprint": "f"}, True),
        ("substitution_rejected", {"lane_id": "l"}, False),
        ("substitution_rejected", None, True),
        ("module_restarted", None, True),
        ("module_restarted", {"job_id": "j"}, False),
        ("invalid_request", {"anything": 1}, True),
    ],
)
def test_details_have_one_of_the_declared_shapes(code: str, details: dict[str, Any] | None, accepted: bool) -> None:
    assert ERRORS[code].accepts(details) is accepted


def test_an_error_with_foreign_details_can_not_be_raised() -> None:
    with pytest.raises(ValueError, match=r"unknown_model does not carry details \['model'\]"):
        SynapseError("unknown_model", "no such model", details={"model": "m"})


@pytest.mark.parametrize("code", ["store_failure", "request_cancelled"])
def test_the_decode_domain_never_calls_a_repetition_safe(code: str) -> None:
    wire = SynapseError(code, "failed", permanent=True).to_wire()
    assert wire == WireError(code=code, class_="permanent", safe_to_retry_same_request=False, message="failed")
