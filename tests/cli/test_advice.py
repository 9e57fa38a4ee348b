"""What a person is told to do after an error: something for every code."""

from __future__ import annotations

import pytest

from synapse_cli import advice
from synapse_cli.advice import next_step
from synapse_client import BatchDiverted, ServiceNotRunning
from synapse_wire.errors import ERRORS, SynapseError, WireError


def test_every_code_has_advice_of_its_own_and_no_advice_is_for_a_code_that_is_gone() -> None:
    assert set(advice._NEXT) == {*ERRORS, BatchDiverted.code}
    for code, text in advice._NEXT.items():
        assert text.endswith("."), code


def test_a_code_that_waits_says_for_how_long() -> None:
    error = SynapseError("store_failure", "full", details={"reason": "storage_full"})
    assert next_step(error) == "Look at disks, free space and permissions with `synapse doctor`. Try again in 1 s."
    assert next_step(SynapseError("queue_full", "busy", retry_after_ms=90_000)).endswith(" Try again in 1 min 30 s.")
    assert next_step(SynapseError("model_loading", "soon")) == "The model is being loaded. Try again in 250 ms."


def test_a_batch_that_became_a_job_is_no_riddle_for_a_person() -> None:
    assert "`synapse jobs`" in next_step(BatchDiverted("j1"))
    assert "embed_all" not in next_step(BatchDiverted("j1"))


def test_other_errors_of_the_client_keep_their_remedy() -> None:
    error = ServiceNotRunning("/run/s", "no socket")
    assert next_step(error) == error.remedy


@pytest.mark.parametrize(
    ("class_", "expected"),
    [
        ("transient", "Try again."),
        ("permanent", "The same request will be refused again; change it, or what it asks for."),
    ],
)
def test_a_code_of_a_newer_service_is_judged_by_its_class(class_: str, expected: str) -> None:
    wire = WireError(code="of_tomorrow", class_=class_, safe_to_retry_same_request=False, message="?")
    assert next_step(SynapseError.from_wire(wire, level="semantic")) == expected
