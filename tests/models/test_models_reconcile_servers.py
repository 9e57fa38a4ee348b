"""Reconciliation of servers: launches, what was observed after them, checks that are still open, routes."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from fixtures.reconciling import (
    SCORING,
    binding,
    codes,
    launched,
    only_error,
    relaunch_case,
    run,
    server,
)
from synapse_models.deployment import Deployment, RouteIntent, ServingFacts
from synapse_models.plans import (
    DeploymentReconcileInput,
)
from synapse_models.requirements import TaskRequirements


def test_bindings_of_one_root_share_one_launch_and_keep_their_own_defaults() -> None:
    result = run(
        binding("a", tasks={"t": TaskRequirements(min_top_logprobs=30)}, args={"sampling.temperature": 0.1}),
        binding("b", tasks={"u": TaskRequirements(min_top_logprobs=100)}),
        launched(planned_facts=ServingFacts(engine_version="0.11.0")),
    )
    deployment = result.deployments["r"]
    assert deployment.launch_patch == {"max_logprobs": 100}
    (breadth,) = [need for need in deployment.requirements if need.name == "top_logprobs_breadth"]
    assert (breadth.minimum, breadth.sources) == (100, ("a", "b"))
    assert result.bindings["a"].request_defaults == {"sampling.temperature": 0.1}
    assert result.bindings["b"].request_defaults == {}


def test_a_managed_server_has_no_runtime_plan_before_its_facts() -> None:
    result = run(binding(), launched())
    assert result.ok
    assert result.runtime_plans == {}


def test_after_the_launch_the_same_plan_comes_out_and_the_model_can_be_bound() -> None:
    result = relaunch_case(ServingFacts(engine_version="0.8.5", prefix_cache_enabled=False))
    assert result.ok
    plan = result.runtime_plans["m"]
    assert plan.route is not None
    assert plan.route.endpoint == "http://h"
    assert plan.engine_version == "0.8.5"
    assert plan.verification_fingerprint is not None


def test_a_flag_that_the_plan_took_out_stays_out_of_the_verification() -> None:
    recipe = {"no_enable_prefix_caching": False}
    wanted = binding(dialect="openai_completions", declared=SCORING)
    before = launched(planned_facts=ServingFacts(engine_version="0.8.5"), recipe=recipe)
    frozen = run(wanted, before).deployments["r"]
    assert frozen.launch_drops == ("no_enable_prefix_caching",)
    after = structs.replace(before, frozen=frozen, facts=ServingFacts(engine_version="0.8.5"))
    assert run(wanted, after).ok


def test_a_newer_server_than_planned_may_keep_the_needless_flag() -> None:
    assert relaunch_case(ServingFacts(engine_version="0.11.0")).ok


def test_facts_that_ask_for_another_launch_say_relaunch() -> None:
    error = only_error(relaunch_case(ServingFacts(engine_version="0.8.5", prefix_cache_enabled=True)))
    assert error.code == "serving_conflict"
    assert error.remedy is not None
    assert error.remedy.startswith("relaunch: ")


def test_another_plan_after_the_launch_says_relaunch() -> None:
    error = only_error(
        relaunch_case(ServingFacts(engine_version="0.8.5"), planned_facts=ServingFacts(engine_version="0.11.0"))
    )
    assert error.code == "launch_plan_changed"
    assert [axis.verdict for axis in error.axes] == ["enable_prefix_caching=False", "nothing beyond the recipe"]
    assert error.remedy == "relaunch with the plan that is needed now"


def test_facts_that_need_a_flag_nobody_planned_say_relaunch() -> None:
    wanted = binding(tasks={"t": TaskRequirements(min_top_logprobs=10)})
    before = launched(planned_facts=ServingFacts(engine_version="0.11.0"))
    frozen = run(wanted, before).deployments["r"]
    assert frozen.launch_patch == {}
    after = structs.replace(before, frozen=frozen, facts=ServingFacts(engine_version="0.9.0"))
    error = only_error(run(wanted, after))
    assert (error.code, error.remedy) == ("launch_plan_insufficient", "relaunch with max_logprobs=10")


def test_a_launched_server_without_its_plan_cannot_be_verified() -> None:
    assert only_error(run(binding(), launched(facts=ServingFacts()))).code == "launch_plan_missing"


def external(**more: Any) -> DeploymentReconcileInput:
    running = Deployment(engine_id="vllm", engine_source="config", api_base="http://h")
    return server(engine_id="vllm", engine_source="config", deployment=running, **more)


def test_a_check_of_the_server_is_open_until_somebody_looks() -> None:
    wanted = binding(declared={"reasoning": True})
    result = run(wanted, external())
    assert result.ok
    assert [(one.severity, one.code) for one in result.diagnostics] == [("warning", "check_unresolved")]
    assert result.runtime_plans == {}


def test_a_check_that_looking_did_not_settle_is_an_error() -> None:
    error = only_error(run(binding(declared={"reasoning": True}), external(facts=ServingFacts())))
    assert error.code == "check_unresolved"
    assert error.remedy == "Engine.verify_deployment: a server that reports its reasoning_parser"


def test_what_was_observed_settles_it() -> None:
    facts = ServingFacts(engine_version="0.11.0", reasoning_parser="qwen3")
    assert "reasoning" in run(binding(declared={"reasoning": True}), external(facts=facts)).runtime_plans["m"].available


def test_a_check_of_each_reply_does_not_wait_for_the_server() -> None:
    plan = run(binding(dialect="openai_completions", declared=SCORING), external()).runtime_plans["m"]
    assert {check.verifier for check in plan.request_checks} >= {
        "response.input_scores_complete",
        "response.token_text_present",
    }


def test_an_engine_of_which_nothing_is_known_keeps_its_name_and_is_told() -> None:
    result = run(binding(declared={"sampled_logprobs": True}), server(engine_id="vlm", engine_source="config"))
    assert (result.ok, codes(result)) == (True, ["engine_without_rules"])
    assert result.diagnostics[0].remedy == "if it is one of llama_cpp, sglang, vllm, name it so"
    assert result.runtime_plans["m"].engine_id == "vlm"
    assert codes(run(binding(), server())) == []


def test_what_nobody_asked_for_is_off_where_the_server_is_not_known_to_do_it() -> None:
    plan = run(binding(), external()).runtime_plans["m"]
    assert "function_tools" not in plan.available
    assert "tool_call_parser" in plan.unavailable["function_tools"]


def test_an_external_server_is_never_given_launch_parameters() -> None:
    wanted = binding(dialect="openai_completions", declared=SCORING, tasks={"t": TaskRequirements(min_top_logprobs=50)})
    assert run(wanted, external()).deployments["r"].launch_patch == {}


def test_an_ambiguous_route_is_an_error_that_names_the_services() -> None:
    running = Deployment(
        engine_id="unknown",
        engine_source="unknown",
        api_base="http://h",
        endpoints={"prefill": "http://p", "decode": "http://d"},
    )
    error = only_error(run(binding(), server(deployment=running)))
    assert error.code == "route_unresolved"
    assert "(decode, prefill)" in error.axes[0].verdict
    named = binding(route=RouteIntent(service_role="decode"))
    plan = run(named, server(deployment=running)).runtime_plans["m"]
    assert plan.route is not None
    assert (plan.route.endpoint, plan.route.connection_family) == ("http://d", "http_json")
