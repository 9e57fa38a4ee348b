"""Serving constraints: what each mechanism asks of a server, on both sides of each version boundary."""

from __future__ import annotations

from typing import Any

import pytest

from synapse_models.constraints import PROBE
from synapse_models.deployment import Deployment, ServingFacts
from synapse_models.engine_facts import ENGINES, ServingConstraints
from synapse_models.parts import JSONValue
from synapse_models.serving import (
    Conflict,
    LaunchView,
    Patched,
    RequirementName,
    Satisfied,
    ServingRequirement,
    Unresolved,
    UserChoice,
    Verdict,
    VersionRange,
    combine,
    parse_version,
)

CAPABILITY = {
    "complete_input_scores": "input_scoring",
    "top_logprobs_breadth": "top_logprobs",
    "reasoning_parser": "reasoning",
    "tool_call_parser": "function_tools",
    "tokenizer": "input_scoring",
    "suffix": "fim",
}


def judge(
    name: RequirementName,
    engine: str,
    version: str | None = None,
    *,
    managed: bool = True,
    minimum: int | None = None,
    recipe: dict[str, JSONValue] | None = None,
    explicit: dict[str, JSONValue] | None = None,
    kind: str = "correctness",
    **facts: Any,
) -> Verdict:
    need = ServingRequirement(name=name, capability=CAPABILITY[name], sources=("m",), minimum=minimum)
    launch = LaunchView(
        engine_id=engine,
        managed=managed,
        facts=ServingFacts(engine_version=version, **facts),
        recipe=recipe or {},
        explicit=explicit or {},
    )
    kinds = {rule.id: rule.kind for rule in ENGINES[engine].constraints}
    (verdict,) = [said for rule, said in ServingConstraints().judge(need, launch) if kinds[rule] == kind]
    return verdict


@pytest.mark.parametrize(
    ("engine", "inside", "outside", "parameter", "wanted"),
    [
        ("sglang", "0.5.22", "0.5.23", "disable_radix_cache", True),
        ("vllm", "0.8.5", "0.9.0", "enable_prefix_caching", False),
    ],
)
class TestInputScoresAndThePrefixCache:
    """A prefix that is served from a cache may come without scores."""

    def test_before_the_boundary_the_launch_is_changed(
        self, engine: str, inside: str, outside: str, parameter: str, wanted: bool
    ) -> None:
        verdict = judge("complete_input_scores", engine, inside)
        assert isinstance(verdict, Patched)
        assert verdict.params == {parameter: wanted}

    def test_from_the_boundary_on_nothing_is_needed(
        self, engine: str, inside: str, outside: str, parameter: str, wanted: bool
    ) -> None:
        assert isinstance(judge("complete_input_scores", engine, outside), Satisfied)
        assert isinstance(judge("complete_input_scores", engine, outside, managed=False), Satisfied)

    def test_a_version_on_the_way_to_the_boundary_is_before_it(
        self, engine: str, inside: str, outside: str, parameter: str, wanted: bool
    ) -> None:
        assert isinstance(judge("complete_input_scores", engine, f"{outside}rc1"), Patched)

    @pytest.mark.parametrize("version", [None, "main", ""])
    def test_an_unknown_version_is_never_taken_as_good(
        self, engine: str, inside: str, outside: str, parameter: str, wanted: bool, version: str | None
    ) -> None:
        assert isinstance(judge("complete_input_scores", engine, version), Patched)
        verdict = judge("complete_input_scores", engine, version, managed=False)
        assert isinstance(verdict, Unresolved)
        assert (verdict.stage, verdict.verifier) == ("request", "response.input_scores_complete")

    def test_a_user_who_switches_the_remedy_off_is_stopped_where_it_matters(
        self, engine: str, inside: str, outside: str, parameter: str, wanted: bool
    ) -> None:
        verdict = judge("complete_input_scores", engine, inside, explicit={parameter: not wanted})
        assert isinstance(verdict, Conflict)
        assert verdict.remedy == f"set {parameter} to {wanted}, or take input_scoring out"
        assert isinstance(judge("complete_input_scores", engine, None, explicit={parameter: not wanted}), Conflict)
        assert isinstance(judge("complete_input_scores", engine, outside, explicit={parameter: not wanted}), Satisfied)

    def test_a_user_who_sets_the_remedy_needs_no_second_flag(
        self, engine: str, inside: str, outside: str, parameter: str, wanted: bool
    ) -> None:
        verdict = judge("complete_input_scores", engine, inside, explicit={parameter: wanted})
        assert verdict == Satisfied(by=f"{parameter} is set to {wanted}")

    def test_where_it_is_only_a_matter_of_speed_the_user_decides(
        self, engine: str, inside: str, outside: str, parameter: str, wanted: bool
    ) -> None:
        needless: dict[str, JSONValue] = {parameter: wanted}
        verdict = judge("complete_input_scores", engine, outside, explicit=needless, kind="performance")
        assert isinstance(verdict, UserChoice)
        assert (verdict.parameter, verdict.value, verdict.plan) == (parameter, wanted, not wanted)
        for version, explicit in ((outside, {}), (inside, needless), (None, needless)):
            other = judge("complete_input_scores", engine, version, explicit=dict(explicit), kind="performance")
            assert isinstance(other, Satisfied)

    def test_a_recipe_gives_way(self, engine: str, inside: str, outside: str, parameter: str, wanted: bool) -> None:
        verdict = judge("complete_input_scores", engine, inside, recipe={parameter: not wanted})
        assert isinstance(verdict, Patched)
        assert (verdict.params, verdict.replaces) == ({parameter: wanted}, (parameter,))
        assert isinstance(judge("complete_input_scores", engine, inside, recipe={parameter: wanted}), Satisfied)

    def test_what_was_observed_counts(
        self, engine: str, inside: str, outside: str, parameter: str, wanted: bool
    ) -> None:
        off = judge("complete_input_scores", engine, inside, managed=False, prefix_cache_enabled=False)
        on = judge("complete_input_scores", engine, inside, managed=False, prefix_cache_enabled=True)
        assert isinstance(off, Satisfied)
        assert isinstance(on, Conflict)
        assert on.remedy == f"launch the server again with {parameter} at {wanted}"


def test_a_flag_and_its_opposite_are_one_flag() -> None:
    off = {"no_enable_prefix_caching": True}
    assert isinstance(judge("complete_input_scores", "vllm", "0.8.5", explicit=off), Satisfied)
    contradiction = {"no_enable_prefix_caching": True, "enable_prefix_caching": True}
    assert isinstance(judge("complete_input_scores", "vllm", "0.8.5", explicit=contradiction), Conflict)
    verdict = judge("complete_input_scores", "vllm", "0.8.5", recipe={"no_enable_prefix_caching": False})
    assert isinstance(verdict, Patched)
    assert verdict.replaces == ("no_enable_prefix_caching",)


@pytest.mark.parametrize("version", ["b11434", "b11434-1a2b3c4", "b9000"])
def test_llama_cpp_is_known_not_to_score_its_input(version: str) -> None:
    verdict = judge("complete_input_scores", "llama_cpp", version, managed=False)
    assert isinstance(verdict, Conflict)
    assert "use an engine that scores its input" in verdict.remedy


@pytest.mark.parametrize("version", ["b11435", None])
def test_a_llama_cpp_that_nobody_looked_at_is_neither_refused_nor_trusted(version: str | None) -> None:
    verdict = judge("complete_input_scores", "llama_cpp", version, managed=False)
    assert isinstance(verdict, Unresolved)
    assert verdict.verifier == "response.input_scores_complete"


def test_llama_cpp_drops_a_suffix_and_no_reply_would_tell() -> None:
    assert isinstance(judge("suffix", "llama_cpp", "b11434", managed=False), Conflict)
    verdict = judge("suffix", "llama_cpp", None, managed=False)
    assert isinstance(verdict, Unresolved)
    assert (verdict.stage, verdict.verifier) == ("setup", PROBE)
    need = ServingRequirement(name="suffix", capability="fim", sources=("m",))
    for engine in ("vllm", "unknown"):
        ((_, elsewhere),) = ServingConstraints().judge(need, LaunchView(engine_id=engine, managed=False))
        assert isinstance(elsewhere, Satisfied)


@pytest.mark.parametrize(("version", "allowed"), [("0.10.0", 5), ("0.10.1", 20)])
def test_how_many_alternatives_vllm_allows_by_itself_depends_on_its_version(version: str, allowed: int) -> None:
    assert isinstance(judge("top_logprobs_breadth", "vllm", version, minimum=allowed), Satisfied)
    verdict = judge("top_logprobs_breadth", "vllm", version, minimum=allowed + 1)
    assert isinstance(verdict, Patched)
    assert verdict.params == {"max_logprobs": allowed + 1}


def test_an_unknown_version_allows_an_unknown_number_of_alternatives() -> None:
    assert isinstance(judge("top_logprobs_breadth", "vllm", None, minimum=1), Patched)
    verdict = judge("top_logprobs_breadth", "vllm", None, minimum=1, managed=False)
    assert isinstance(verdict, Unresolved)
    assert verdict.verifier == "response.top_logprobs_breadth"


@pytest.mark.parametrize(
    ("explicit", "kind"),
    [(100, Satisfied), (101, Satisfied), (-1, Satisfied), (99, Conflict), (0, Conflict), ("100", Conflict)],
)
def test_a_users_limit_stays_if_it_is_wide_enough(explicit: JSONValue, kind: type[Verdict]) -> None:
    launched = {"max_logprobs": explicit}
    assert isinstance(judge("top_logprobs_breadth", "vllm", "0.11.0", minimum=100, explicit=launched), kind)


def test_a_recipes_limit_is_widened_and_never_narrowed() -> None:
    verdict = judge("top_logprobs_breadth", "vllm", "0.11.0", minimum=100, recipe={"max_logprobs": 50})
    assert isinstance(verdict, Patched)
    assert (verdict.params, verdict.replaces) == ({"max_logprobs": 100}, ("max_logprobs",))
    assert isinstance(
        judge("top_logprobs_breadth", "vllm", "0.11.0", minimum=100, recipe={"max_logprobs": 200}), Satisfied
    )


def test_an_observed_limit_that_is_too_narrow_means_launching_again() -> None:
    verdict = judge("top_logprobs_breadth", "vllm", "0.11.0", minimum=100, managed=False, max_top_logprobs=20)
    assert verdict == Conflict(
        reason="observed: at most 20 alternatives, and 100 are needed",
        remedy="launch the server again with max_logprobs at 100 or more",
    )


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
@pytest.mark.parametrize("name", ["reasoning_parser", "tool_call_parser"])
class TestParsers:
    """A channel of an open engine needs a parser, whose name only the model's family decides."""

    def test_a_launch_without_one_is_refused_with_what_to_set(self, name: RequirementName, engine: str) -> None:
        verdict = judge(name, engine, "0.11.0")
        assert isinstance(verdict, Conflict)
        assert verdict.remedy.startswith(f"set {name} to the parser of this model's family")

    def test_a_server_that_runs_must_be_asked(self, name: RequirementName, engine: str) -> None:
        verdict = judge(name, engine, "0.11.0", managed=False)
        assert isinstance(verdict, Unresolved)
        assert (verdict.stage, verdict.verifier) == ("setup", "Engine.verify_deployment")

    def test_an_observed_one_will_do(self, name: RequirementName, engine: str) -> None:
        assert isinstance(judge(name, engine, "0.11.0", managed=False, **{name: "qwen3"}), Satisfied)


@pytest.mark.parametrize(("version", "companion"), [("0.8.5", True), ("0.9.0", False), ("0.10.0", False)])
def test_vllm_needed_a_second_flag_for_reasoning_before_0_9(version: str, companion: bool) -> None:
    verdict = judge("reasoning_parser", "vllm", version, recipe={"reasoning_parser": "qwen3"})
    if companion:
        assert isinstance(verdict, Patched)
        assert verdict.params == {"enable_reasoning": True}
    else:
        assert isinstance(verdict, Satisfied)


def test_at_an_unknown_version_the_second_flag_is_neither_set_nor_taken_as_needless() -> None:
    verdict = judge("reasoning_parser", "vllm", None, recipe={"reasoning_parser": "qwen3"})
    assert isinstance(verdict, Unresolved)
    assert verdict.stage == "setup"


def test_vllm_needs_tool_choice_switched_on_beside_the_parser() -> None:
    named: dict[str, JSONValue] = {"tool_call_parser": "hermes"}
    verdict = judge("tool_call_parser", "vllm", "0.11.0", explicit=named)
    assert isinstance(verdict, Patched)
    assert verdict.params == {"enable_auto_tool_choice": True}
    off = judge("tool_call_parser", "vllm", "0.11.0", explicit={**named, "enable_auto_tool_choice": False})
    assert isinstance(off, Conflict)
    on = judge("tool_call_parser", "vllm", "0.11.0", explicit={**named, "enable_auto_tool_choice": True})
    assert isinstance(on, Satisfied)
    external = judge("tool_call_parser", "vllm", "0.11.0", explicit=named, managed=False)
    assert isinstance(external, Unresolved)


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_a_server_without_its_tokenizer_is_refused(engine: str) -> None:
    assert isinstance(judge("tokenizer", engine, "0.11.0"), Satisfied)
    assert isinstance(judge("tokenizer", engine, "0.11.0", explicit={"skip_tokenizer_init": True}), Conflict)
    replaced = judge("tokenizer", engine, "0.11.0", recipe={"skip_tokenizer_init": True})
    assert isinstance(replaced, Patched)
    assert replaced.params == {"skip_tokenizer_init": False}
    seen = judge("tokenizer", engine, "0.11.0", managed=False, tokenizer_available=False)
    assert isinstance(seen, Conflict)
    unseen = judge("tokenizer", engine, "0.11.0", managed=False)
    assert isinstance(unseen, Unresolved)
    assert unseen.verifier == "response.token_text_present"


def test_an_engine_without_rules_is_checked_by_its_replies() -> None:
    need = ServingRequirement(name="complete_input_scores", capability="input_scoring", sources=("m",))
    ((rule, verdict),) = ServingConstraints().judge(need, LaunchView(engine_id="unknown", managed=False))
    assert rule == "unknown.no_rule"
    assert isinstance(verdict, Unresolved)
    assert (verdict.stage, verdict.verifier) == ("request", "response.input_scores_complete")


def test_every_constraint_names_its_source_and_is_a_matter_of_correctness_or_speed() -> None:
    ids = [rule.id for engine in ENGINES.values() for rule in engine.constraints]
    assert len(ids) == len(set(ids)) == 13
    for engine in ENGINES.values():
        for rule in engine.constraints:
            assert rule.id.startswith(engine.id + ".")
            assert rule.source
            assert rule.kind == ("performance" if rule.id.endswith("needless_remedy") else "correctness")


def test_requirements_of_several_models_combine() -> None:
    def need(minimum: int | None, *sources: str) -> ServingRequirement:
        return ServingRequirement(
            name="top_logprobs_breadth", capability="top_logprobs", sources=sources, minimum=minimum
        )

    combined = combine([need(5, "b"), need(None, "a"), need(20, "c", "b")])
    assert combined == (need(20, "a", "b", "c"),)
    assert combine([need(20, "c", "b"), need(5, "b"), need(None, "a")]) == combined


@pytest.mark.parametrize(
    ("version", "inside"),
    [("0.8.9", False), ("0.9", True), ("v0.9.0", True), ("0.9.0.post1", True), ("0.10.0rc1", True), ("0.10", False)],
)
def test_a_range_has_its_lower_bound_and_lacks_its_upper_one(version: str, inside: bool) -> None:
    assert VersionRange(since="0.9.0", before="0.10.0").contains(version) is inside


def test_versions_are_compared_as_numbers() -> None:
    read = [parse_version(text) for text in ("0.5.9", "0.5.23", "0.10.1", "b11434-x", "nightly")]
    assert read[0] is not None
    assert read[1] is not None
    assert read[0] < read[1]
    assert read[3] == ((11434,), 0)
    assert read[4] is None


def deployment(engine: str, **facts: Any) -> Deployment:
    return Deployment(
        engine_id=engine, engine_source="config", api_base="http://127.0.0.1:1", facts=ServingFacts(**facts)
    )


async def asked(engine: str, replies: dict[str, JSONValue], **facts: Any) -> tuple[ServingFacts, list[str]]:
    paths: list[str] = []

    async def probe(path: str) -> JSONValue | None:
        paths.append(path)
        return replies.get(path)

    return await ENGINES[engine].verify_deployment(deployment(engine, **facts), probe), paths


async def test_vllm_is_asked_for_its_version() -> None:
    facts, paths = await asked("vllm", {"/version": {"version": "0.11.0"}}, tool_call_parser="hermes")
    assert facts == ServingFacts(engine_version="0.11.0", tool_call_parser="hermes")
    assert paths == ["/version"]


async def test_sglang_says_how_it_was_started() -> None:
    # The shape of its own source: every server argument, what the scheduler adds, the version. The API key is one of
    # the arguments, and no fact.
    reply = {
        "api_key": "CANARY",
        "version": "0.5.23",
        "disable_radix_cache": True,
        "skip_tokenizer_init": False,
        "reasoning_parser": "qwen3",
        "tool_call_parser": None,
        "internal_states": [{}],
    }
    facts, _ = await asked("sglang", {"/server_info": reply})
    assert facts == ServingFacts(
        engine_version="0.5.23", prefix_cache_enabled=False, tokenizer_available=True, reasoning_parser="qwen3"
    )
    assert "CANARY" not in repr(facts)


async def test_an_older_sglang_answers_under_the_older_path() -> None:
    facts, paths = await asked("sglang", {"/get_server_info": {"version": "0.4.6.post1"}})
    assert facts.engine_version == "0.4.6.post1"
    assert paths == ["/server_info", "/get_server_info"]


async def test_llama_cpp_names_its_build() -> None:
    facts, _ = await asked("llama_cpp", {"/props": {"build_info": "b8681-Debian", "total_slots": 4}})
    assert facts == ServingFacts(engine_version="b8681-Debian", tokenizer_available=True)
    assert parse_version("b8681-Debian") == ((8681,), 0)
    nameless, _ = await asked("llama_cpp", {"/props": {"build_info": "b0-unknown"}})
    assert nameless == ServingFacts(tokenizer_available=True)


@pytest.mark.parametrize("reply", [None, [], "text", {}, {"version": 3}])
async def test_an_answer_that_says_nothing_changes_nothing(reply: JSONValue) -> None:
    facts, _ = await asked("vllm", {"/version": reply}, engine_version="0.8.5")
    assert facts == ServingFacts(engine_version="0.8.5")
