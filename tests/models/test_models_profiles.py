"""Profiles of models: exact names, a source and a date for every fact, unknown by default, the user's word first."""

from __future__ import annotations

import re

import pytest

from synapse_models.declaration import read_declarations
from synapse_models.planning import plan, profile_notes
from synapse_models.profiles import UNKNOWN, ModelProfile
from synapse_models.profiles.loading import Catalogue, read_profiles, shipped
from synapse_models.registry import DIALECT_SPECS
from synapse_models.yaml_loader import DocumentError

SOURCE = "sources: {s: {where: somewhere, date: 2026-11-30}, t: {where: elsewhere, date: 2026-01-02}}\n"


def user(text: str) -> Catalogue:
    return read_profiles(SOURCE + text, "user")


def problems(text: str) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        read_profiles(text, "user")
    return [str(problem) for problem in caught.value.problems]


def test_the_catalogue_knows_many_models_on_six_dialects() -> None:
    known = shipped().profiles
    assert len({model for _, model in known}) >= 40
    assert {dialect for dialect, _ in known} == set(DIALECT_SPECS) - {"vllm_native"}


def test_every_fact_that_ships_has_a_source_and_a_date() -> None:
    for profile in shipped().profiles.values():
        facts = (*profile.capabilities.values(), *profile.leaves.values(), *profile.facts.values())
        assert facts
        for fact in facts:
            assert len(fact.source) > 10
            assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", fact.date)
        assert profile.origin == "catalogue"


def test_what_a_profile_limits_is_something_that_the_dialect_could_say() -> None:
    for (dialect_id, _), profile in shipped().profiles.items():
        designed = DIALECT_SPECS[dialect_id].designed
        for key, fact in profile.capabilities.items():
            assert fact.support == "unsupported" or not hasattr(designed[key], "reason"), (dialect_id, key)


def test_a_secret_in_a_profile_is_refused_and_not_repeated() -> None:
    key = "sk-live-CANARY0123456789"
    refused = "this looks like a secret, which is never written here"
    head = "profiles:\n- dialects: [openai_chat]\n"
    assert problems(SOURCE + head + f"  models: [{key}]\n  source: s\n") == [
        f"profiles[0].models[0] (line 4): {refused}"
    ]
    assert problems(SOURCE + head + f"  models: [m]\n  source: {key}\n  leaves: {{sampling.seed: unknown}}\n") == [
        "profiles[0].leaves.sampling.seed (line 6): a fact needs one of the file's sources, not '[redacted]'",
        f"profiles[0].source (line 5): {refused}",
    ]


@pytest.mark.parametrize("name", ["claude-opus-4-7-mine", "my-claude-opus-4-7", "opus", "Claude-Opus-4-7", ""])
def test_a_name_is_never_matched_in_part(name: str) -> None:
    profile = shipped().find("anthropic_messages", name)
    assert profile == ModelProfile(model_id=name)
    assert profile.capability("reasoning") == UNKNOWN
    assert profile.leaf("sampling.temperature").support == "unknown"
    assert profile.fact("max_tokens_key") is None


def test_a_model_is_known_on_its_own_dialect_only() -> None:
    assert shipped().find("anthropic_messages", "claude-opus-4-7").origin == "catalogue"
    assert shipped().find("openai_chat", "claude-opus-4-7").origin == "none"


def test_the_facts_that_dialects_ask_for() -> None:
    opus = shipped().find("anthropic_messages", "claude-opus-4-7")
    assert opus.leaf("sampling.temperature").support == "unsupported"
    assert opus.capability("prefill").support == "unsupported"
    assert opus.fact("reasoning_control") == "adaptive"
    assert shipped().find("anthropic_messages", "claude-opus-4-1").capability("prefill").support == "supported"
    assert shipped().find("openai_chat", "gpt-5.2").fact("max_tokens_key") == "max_completion_tokens"
    assert shipped().find("google_genai", "gemini-2.5-pro").fact("reasoning_control") == "budget"
    assert shipped().find("google_genai", "gemini-3.1-pro-preview").fact("reasoning_control") == "level"


def test_a_users_fact_replaces_ours_and_only_that_one() -> None:
    mine = user(
        "profiles:\n"
        "- models: [gpt-5.2, my-model]\n"
        "  dialects: [openai_chat]\n"
        "  source: s\n"
        "  capabilities: {reasoning: {support: unsupported, reason: by contract, source: t}}\n"
        "  facts: {max_tokens_key: max_tokens}\n"
    )
    profile = shipped().under(mine).find("openai_chat", "gpt-5.2")
    assert (profile.origin, profile.overridden) == ("user", ("capabilities.reasoning", "facts.max_tokens_key"))
    reasoning = profile.capability("reasoning")
    assert (reasoning.support, reasoning.source, reasoning.date) == ("unsupported", "elsewhere", "2026-01-02")
    assert profile.capability("function_tools").source.startswith("LiteLLM")
    assert profile.fact("max_tokens_key") == "max_tokens"
    added = shipped().under(mine).find("openai_chat", "my-model")
    assert (added.origin, added.overridden) == ("user", ())


def test_what_an_authoritative_profile_leaves_out_is_absent_and_not_unknown() -> None:
    mine = user(
        "profiles:\n"
        "- models: [mine, gpt-5.2]\n"
        "  dialects: [openai_chat]\n"
        "  source: s\n"
        "  authoritative: true\n"
        "  capabilities: {function_tools: supported, reasoning: unknown}\n"
    )
    profile = mine.find("openai_chat", "mine")
    assert [profile.capability(key).support for key in ("function_tools", "reasoning", "sampled_logprobs")] == [
        "supported",
        "unknown",
        "unsupported",
    ]
    declared = "models: {m: {dialect: openai_chat, model: mine, api_base: 'http://h', capabilities: {%s: true}}}"
    (error,) = plan(read_declarations(declared % "sampled_logprobs"), mine).errors
    assert error.axes[-1].verdict == "its profile lists all that it has, and not this"
    assert plan(read_declarations(declared % "function_tools"), mine).ok
    over = shipped().under(mine).find("openai_chat", "gpt-5.2")
    assert over.capability("multimodal_input").support == "supported"
    assert over.capability("prefill").support == "unsupported"
    assert shipped().find("openai_chat", "nobody").capability("sampled_logprobs").support == "unknown"


def test_a_declaration_may_name_the_profile_it_means_and_the_plan_says_whose_it_is() -> None:
    declarations = read_declarations(
        "models:\n"
        "  gateway: {dialect: openai_chat, model: corp/gpt, api_base: 'http://h', profile: gpt-5.2,"
        " capabilities: {multimodal_input: true}}\n"
        "  plain: {dialect: openai_chat, model: corp/gpt, api_base: 'http://h'}\n"
    )
    result = plan(declarations, shipped())
    assert "multimodal_input" in result.runtime_plans["gateway"].available
    assert "multimodal_input" not in result.runtime_plans["plain"].available
    assert profile_notes(declarations, shipped()) == {
        "gateway": {"origin": "catalogue", "overridden": []},
        "plain": {"origin": "none", "overridden": []},
    }


ENTRY = "profiles: [{models: [m], dialects: [openai_chat], source: s, "


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("profiles: {}", "profiles (line 2): must be a list"),
        (ENTRY + "capabilities: {thinking: supported}}]", "no capability has this name"),
        (ENTRY + "capabilities: {reasoning: maybe}}]", "Invalid enum value 'maybe'"),
        (ENTRY + "capabilities: {reasoning: {support: supported, sauce: s}}}]", "unknown field `sauce`"),
        (ENTRY + "capabilities: {reasoning: {support: supported, source: u}}}]", "needs one of the file's sources"),
        (ENTRY + "leaves: {temperature: unsupported}}]", "no leaf has this name"),
        (ENTRY + "facts: {max_tokens_key: tokens}}]", "must be one of max_tokens, max_completion_tokens"),
        (ENTRY + "facts: {price: 3}}]", "no fact has this name"),
        (ENTRY + "authoritative: 'yes'}]", "authoritative (line 2): must be true or false, not 'yes'"),
        (ENTRY + "name: x}]", "no such key"),
        ("profiles: [{models: [m], dialects: [openai], source: s}]", "no dialect is called 'openai'"),
        ("profiles: [{models: [m, m], dialects: [openai_chat]}]", "'m' on openai_chat is there twice"),
        ("profiles: [{models: [], dialects: [openai_chat]}]", "Expected `array` of length >= 1"),
        ("profiles: [{models: [m], dialects: [openai_chat], capabilities: {fim: supported}}]", "not None"),
        ("extra: 1", "extra (line 2): no such key"),
    ],
)
def test_a_profile_that_cannot_be_meant_is_refused_with_its_place(text: str, expected: str) -> None:
    (problem,) = problems(SOURCE + text + "\n")
    assert expected in problem
    assert "(line 2)" in problem


def test_a_source_has_a_place_and_a_date() -> None:
    assert "Object missing required field `date`" in problems("sources: {s: {where: x}}\nprofiles: []\n")[0]
    assert "matching regex" in problems("sources: {s: {where: x, date: soon}}\nprofiles: []\n")[0]
