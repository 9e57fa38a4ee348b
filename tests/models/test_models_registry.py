"""The registries are complete: no capability, dialect, leaf or channel is without a decision."""

from __future__ import annotations

import itertools
from typing import get_args

import pytest
from msgspec import structs

from synapse_models.capabilities import CAPABILITY_SPECS, leaf_owner, parse_config
from synapse_models.checks import CHECKS, MODEL_VERIFIERS
from synapse_models.constraints import VERIFIERS
from synapse_models.contract import CHANNELS
from synapse_models.dialect import Supported, Unsupported
from synapse_models.errors import DialectNotImplemented
from synapse_models.leaves import LEAVES
from synapse_models.registry import DIALECT_BINDERS, DIALECT_SPECS, active_keys, binder, outcome, spec, status
from synapse_models.response import Choice, Response
from synapse_models.serving import RequirementName

SEVEN = (
    "openai_chat",
    "openai_completions",
    "openai_responses",
    "anthropic_messages",
    "google_genai",
    "sglang_native",
    "vllm_native",
)
TWELVE = (
    "input_scoring",
    "sampled_logprobs",
    "top_logprobs",
    "reasoning",
    "function_tools",
    "hosted_tools",
    "structured_output",
    "stateful_session",
    "opaque_continuation",
    "multimodal_input",
    "prefill",
    "fim",
)


def test_there_are_seven_dialects_and_twelve_capabilities() -> None:
    assert tuple(DIALECT_SPECS) == SEVEN
    assert tuple(CAPABILITY_SPECS) == TWELVE


@pytest.mark.parametrize(("dialect_id", "key"), list(itertools.product(SEVEN, TWELVE)))
def test_every_dialect_has_an_outcome_for_every_capability(dialect_id: str, key: str) -> None:
    designed = DIALECT_SPECS[dialect_id].designed[key]
    if isinstance(designed, Unsupported):
        assert len(designed.reason.split()) >= 3
    else:
        options = {field.name for field in structs.fields(CAPABILITY_SPECS[key].config)}
        assert options >= designed.options.keys() | designed.unsupported_options.keys()


@pytest.mark.parametrize("dialect_id", SEVEN)
def test_no_dialect_decides_a_capability_that_does_not_exist(dialect_id: str) -> None:
    assert set(DIALECT_SPECS[dialect_id].designed) == set(TWELVE)


@pytest.mark.parametrize(("dialect_id", "key"), list(itertools.product(sorted(DIALECT_BINDERS), TWELVE)))
def test_a_binder_says_what_its_description_says(dialect_id: str, key: str) -> None:
    assert DIALECT_BINDERS[dialect_id].capabilities[key] == DIALECT_SPECS[dialect_id].designed[key]


@pytest.mark.parametrize("dialect_id", SEVEN)
def test_what_is_active_follows_from_the_binders(dialect_id: str) -> None:
    executable = dialect_id in DIALECT_BINDERS
    assert status(dialect_id) == ("active" if executable else "reserved")
    for key in TWELVE:
        expected = "supported" if isinstance(DIALECT_SPECS[dialect_id].designed[key], Supported) else "unsupported"
        assert outcome(dialect_id, key) == (expected if executable else "reserved")


def test_the_absence_of_log_probabilities_is_a_decision_of_anthropics_dialect() -> None:
    refused = DIALECT_SPECS["anthropic_messages"].designed["sampled_logprobs"]
    assert refused == Unsupported(reason="messages return no log-probabilities")


def test_without_binders_every_key_is_reserved() -> None:
    assert active_keys({}) == frozenset()
    assert status("openai_chat", {}) == "reserved"


def test_a_capability_becomes_active_with_the_first_binder_that_can_say_it() -> None:
    completions = {"openai_completions": DIALECT_BINDERS["openai_completions"]}
    assert active_keys(completions) == {"input_scoring", "sampled_logprobs", "top_logprobs", "fim"}
    assert "stateful_session" not in active_keys()


def test_a_dialect_without_a_binder_says_so_by_name() -> None:
    with pytest.raises(DialectNotImplemented, match="'vllm_native' is known, but can't be executed yet"):
        binder("vllm_native")
    with pytest.raises(DialectNotImplemented, match="'openai_chatt' doesn't exist"):
        binder("openai_chatt")
    assert spec("openai_chatt") is None


def test_wire_versions_are_known_and_the_default_is_the_current_one() -> None:
    assert DIALECT_SPECS["anthropic_messages"].wire_versions == ("2026-10-21", "2023-06-01")
    assert DIALECT_SPECS["google_genai"].default_wire_version == "v1"


def test_every_leaf_has_one_owner_at_most_and_every_owned_leaf_exists() -> None:
    owned = [leaf for known in CAPABILITY_SPECS.values() for leaf in known.leaves]
    assert len(owned) == len(set(owned))
    assert set(owned) <= set(LEAVES)
    for known in CAPABILITY_SPECS.values():
        for leaf in known.defaults.values():
            assert leaf_owner(leaf) == known.key


def test_every_option_is_a_default_or_a_floor_and_not_both() -> None:
    for known in CAPABILITY_SPECS.values():
        options = {field.name for field in structs.fields(known.config)}
        assert options == set(known.defaults) | set(known.minimums)
        assert not set(known.defaults) & set(known.minimums)


def test_every_capability_is_complete_with_true_alone() -> None:
    for key in TWELVE:
        assert parse_config(key, True) == parse_config(key, {}) == CAPABILITY_SPECS[key].config()


def test_every_field_of_a_response_is_classified() -> None:
    per_choice = {name for name, channel in CHANNELS.items() if channel.kind == "per_choice"}
    singular = {name for name, channel in CHANNELS.items() if channel.kind == "singular"}
    core = {name for name, channel in CHANNELS.items() if channel.kind == "core"}
    assert per_choice == {
        "text",
        "reasoning",
        "refusal",
        "tool_calls",
        "structured_output",
        "logprobs",
        "refusal_logprobs",
        "provider_items",
        "finish_reason",
    }
    assert singular == {"input_scoring", "server_tool_uses", "citations", "grounding"}
    assert core == {
        "usage",
        "response_id",
        "response_model",
        "system_fingerprint",
        "service_tier",
        "session",
        "provenance",
    }
    fields = {field.name for kind in (Choice, Response) for field in structs.fields(kind)}
    assert fields - set(CHANNELS) == {"index", "choices", "record_version", "finish_reason_raw"}


def test_every_channel_of_a_capability_exists() -> None:
    for known in CAPABILITY_SPECS.values():
        assert set(known.channels) <= set(CHANNELS)


def test_every_verifier_that_a_plan_can_name_for_a_reply_exists() -> None:
    assert set(VERIFIERS) == set(get_args(RequirementName)) - {"suffix"}
    assert set(VERIFIERS.values()) | set(MODEL_VERIFIERS.values()) == set(CHECKS)
    assert set(MODEL_VERIFIERS) <= set(TWELVE)
