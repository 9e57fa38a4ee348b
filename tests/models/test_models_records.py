"""The persisted response: the committed records of version 1 stay readable, and reading is additive."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from synapse_models.records import RecordError, read_response, write_response
from synapse_models.response import RefusedAnswer

V1 = (Path(__file__).parent / "records" / "response_v1.json").read_bytes()


def test_a_committed_record_of_version_1_reads_with_every_channel() -> None:
    response = read_response(V1)
    first, second, third = response.choices
    assert first.text == response.text == "Oslo is cold."
    assert first.reasoning is not None
    assert first.reasoning.summary == ("Oslo",)
    assert first.logprobs is not None
    # Two alternatives that look alike once stripped stay two.
    assert [(one.token, one.logprob) for one in first.logprobs[0].alternatives] == [(" B", -0.25), ("\tB", -1.5)]
    assert first.logprobs[0].token_bytes == b"Oslo"
    assert first.provider_items is not None
    assert first.provider_items.items == ('{"type":"reasoning","summary":[]}',)
    assert second.tool_calls is not None
    assert (second.tool_calls[0].id, second.tool_calls[0].arguments) == ("", {"city": "Oslo"})
    assert second.structured_output is not None
    assert second.structured_output.value is None
    assert third.refusal is not None
    assert third.refusal.category == "policy"
    assert response.input_scoring is not None
    assert [token.logprob for token in response.input_scoring.tokens] == [None, -0.5]
    assert response.usage is not None
    assert (response.usage.reasoning_tokens, response.usage.cache_read_tokens) == (None, 0)
    assert (response.usage.computed_total, response.usage.reported_total) == (3, 9)
    assert response.provenance is not None
    assert response.provenance.model_identity.provider_reported_model_id == "m-2026"
    assert [attempt.outcome for attempt in response.provenance.attempts] == ["rate_limited", "ok"]


def test_writing_what_was_read_says_the_same_and_nothing_of_what_came_later() -> None:
    written = json.loads(write_response(read_response(V1)))
    added = {"system_fingerprint": None, "service_tier": None}
    assert written == {**json.loads(V1), **added}


def test_an_unknown_field_is_skipped_and_a_missing_one_has_its_default() -> None:
    record = json.loads(V1)
    record["a_later_channel"] = {"x": 1}
    del record["grounding"], record["provenance"]
    response = read_response(json.dumps(record))
    assert (response.grounding, response.provenance) == (None, None)


@pytest.mark.parametrize("version", [0, 2])
def test_a_version_that_may_mean_something_else_is_refused(version: int) -> None:
    record = json.loads(V1)
    record["record_version"] = version
    with pytest.raises(RecordError, match=f"record version {version} can't be read here"):
        read_response(json.dumps(record))


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b'{"record_version": "1", "choices": []}'])
def test_a_text_that_is_no_record_is_refused(text: bytes) -> None:
    with pytest.raises(RecordError):
        read_response(text)


def test_a_refused_choice_raises_only_when_asked() -> None:
    response = read_response(V1)
    with pytest.raises(RefusedAnswer, match=r"choice 2 is a refusal \(model\): policy: No\.") as caught:
        response.raise_for_refusal()
    assert caught.value.choice == 2


def test_a_total_is_only_computed_from_counts_that_were_reported() -> None:
    usage = read_response(b'{"record_version": 1, "choices": [], "usage": {"input_tokens": 5}}').usage
    assert usage is not None
    assert (usage.output_tokens, usage.computed_total) == (None, None)
