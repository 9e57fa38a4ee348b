"""Reconciliation: pure, the same in any order, with every line of the table of who wins over whom."""

from __future__ import annotations

import builtins
import io
import os
import random
import socket
from collections.abc import Mapping
from typing import Any, NoReturn

import msgspec
import pytest
from msgspec import structs

from fixtures.parley_dialect import ParleyBinder
from synapse_models.capabilities import CAPABILITY_SPECS, Declared, parse_config
from synapse_models.deployment import Deployment, DeploymentPlanProjection, RouteIntent, ServingFacts
from synapse_models.diagnostics import Diagnostic
from synapse_models.dialect import WireAuth
from synapse_models.parts import JSONValue
from synapse_models.plans import (
    BindingCapabilityPlan,
    BindingReconcileInput,
    DeploymentReconcileInput,
    PlanDifference,
    ReconcileResult,
    RuntimeBindingPlan,
)
from synapse_models.profiles import ModelProfile, SupportFact
from synapse_models.reconciliation import ReconcileBatch, reconcile
from synapse_models.requirements import TaskRequirements, aggregate

REMEDY_IS_NEEDLESS = "input scores are complete with the cache, and other requests gain by it"
PLAN = DeploymentPlanProjection(fingerprint="sha256:0", engine_id="vllm")


def fact(support: Any, **more: Any) -> SupportFact:
    return SupportFact(support=support, source="a test", date="2026-11-30", **more)


def binding(
    name: str = "m",
    *,
    dialect: str = "openai_chat",
    root: str = "r",
    declared: Mapping[str, JSONValue] | None = None,
    tasks: Mapping[str, TaskRequirements] | None = None,
    profile: Mapping[str, SupportFact] | None = None,
    leaves: Mapping[str, SupportFact] | None = None,
    **more: Any,
) -> BindingReconcileInput:
    wishes: dict[str, Declared] = {key: parse_config(key, value) for key, value in (declared or {}).items()}
    return BindingReconcileInput(
        binding_id=name,
        root_key=root,
        dialect_id=dialect,
        model_id="checkpoint",
        profile=ModelProfile(model_id="checkpoint", capabilities=profile or {}, leaves=leaves or {}),
        declared=wishes,
        requirements=aggregate(tasks or {}),
        **more,
    )


def server(root: str = "r", **more: Any) -> DeploymentReconcileInput:
    return DeploymentReconcileInput(root_key=root, **more)


def launched(engine: str = "vllm", **more: Any) -> DeploymentReconcileInput:
    """A server that we start."""
    plan = DeploymentPlanProjection(fingerprint="sha256:0", engine_id=engine)
    return server(engine_id=engine, engine_source="deployment", plan=plan, **more)


def run(*inputs: BindingReconcileInput | DeploymentReconcileInput) -> ReconcileResult:
    servers = tuple(one for one in inputs if isinstance(one, DeploymentReconcileInput)) or (server(),)
    bindings = tuple(one for one in inputs if isinstance(one, BindingReconcileInput))
    return reconcile(ReconcileBatch(bindings=bindings, deployments=servers))


def codes(result: ReconcileResult) -> list[str]:
    return [finding.code for finding in result.diagnostics]


def only_error(result: ReconcileResult) -> Diagnostic:
    (error,) = result.errors
    return error


def test_a_model_of_which_nothing_is_asked_has_what_can_be_had() -> None:
    result = run(binding())
    assert result.ok
    plan = result.runtime_plans["m"]
    assert plan.available == (
        "sampled_logprobs",
        "top_logprobs",
        "reasoning",
        "function_tools",
        "structured_output",
    )
    assert plan.binding.intents == {}
    assert plan.binding.request_defaults == {}
    assert set(plan.available) | set(plan.unavailable) == set(CAPABILITY_SPECS)


# --- who wins over whom ---------------------------------------------------------------------------------------------


def test_a_task_and_an_explicit_no_are_an_error_that_names_the_tasks() -> None:
    tasks = {"b": TaskRequirements(sampled_logprobs=True), "a": TaskRequirements(min_top_logprobs=3)}
    error = only_error(run(binding(declared={"sampled_logprobs": False}, tasks=tasks)))
    assert error.code == "task_needs_disabled"
    assert error.axes[0].subject == "a, b"
    assert error.remedy == "remove 'sampled_logprobs: false', or run these tasks with another model"


def test_an_explicit_option_becomes_the_default_if_it_is_supported() -> None:
    plan = run(binding(declared={"reasoning": {"effort": "high"}, "function_tools": {"parallel": False}}))
    assert plan.runtime_plans["m"].binding.request_defaults == {"reasoning.effort": "high", "tools.parallel": False}


def test_an_explicit_option_that_the_dialect_cannot_say_is_an_error() -> None:
    error = only_error(run(binding(declared={"reasoning": {"budget_tokens": 5}})))
    assert error.axes[1].verdict == "budget_tokens: chat completions take an effort, not a number of tokens"
    assert error.remedy == "change the option, or remove 'reasoning'"


def test_an_explicit_option_that_the_model_does_not_take_is_an_error() -> None:
    limited = {"reasoning": fact("supported", limits={"effort": ("low", "high")})}
    assert run(binding(declared={"reasoning": {"effort": "low"}}, profile=limited)).ok
    error = only_error(run(binding(declared={"reasoning": {"effort": "max"}}, profile=limited)))
    assert error.axes[-1].verdict == "effort: takes low, high, not max"


def test_a_floor_above_what_the_model_gives_is_an_error() -> None:
    narrow = {"top_logprobs": fact("supported", maximum=20), "sampled_logprobs": fact("supported")}
    assert run(binding(tasks={"t": TaskRequirements(min_top_logprobs=20)}, profile=narrow)).ok
    error = only_error(run(binding(tasks={"t": TaskRequirements(min_top_logprobs=21)}, profile=narrow)))
    assert error.axes[-1].verdict == "minimum: at most 20, not 21"


def test_an_explicit_option_below_a_tasks_floor_is_an_error_and_is_not_raised() -> None:
    tasks = {"t": TaskRequirements(min_top_logprobs=100)}
    result = run(binding(declared={"top_logprobs": {"minimum": 5}}, tasks=tasks))
    assert only_error(result).code == "option_below_task"
    assert only_error(result).remedy == "declare minimum 100, or leave the option out"
    assert result.bindings == {}


@pytest.mark.parametrize(("declared", "floor"), [({"minimum": 100}, 100), ({"minimum": 150}, 150), (True, 100)])
def test_an_option_that_is_enough_or_absent_goes_with_a_tasks_floor(declared: JSONValue, floor: int) -> None:
    tasks = {"t": TaskRequirements(min_top_logprobs=100)}
    plan = run(binding(declared={"top_logprobs": declared}, tasks=tasks)).runtime_plans["m"]
    assert plan.minimums == {"top_logprobs": {"minimum": floor}}


def test_declared_modalities_that_lack_a_tasks_are_an_error() -> None:
    tasks = {"t": TaskRequirements(input_modalities=frozenset({"text", "audio"}))}
    profile = {"multimodal_input": fact("supported")}
    result = run(binding(declared={"multimodal_input": {"modalities": ["image"]}}, tasks=tasks, profile=profile))
    assert only_error(result).code == "option_below_task"
    undeclared = only_error(run(binding(tasks=tasks, profile=profile)))
    assert undeclared.axes[1].verdict == "modalities: 'audio' is not one of image"


def test_a_remedy_of_correctness_replaces_a_recipes_parameter() -> None:
    result = run(
        binding(dialect="openai_completions", declared={"input_scoring": True}),
        launched("sglang", planned_facts=ServingFacts(engine_version="0.5.9"), recipe={"disable_radix_cache": False}),
    )
    assert result.deployments["r"].launch_patch == {"disable_radix_cache": True}
    assert result.deployments["r"].launch_drops == ()


def test_a_remedy_never_leaves_a_flag_beside_its_opposite() -> None:
    result = run(
        binding(dialect="openai_completions", declared={"input_scoring": True}),
        launched(planned_facts=ServingFacts(engine_version="0.8.5"), recipe={"no_enable_prefix_caching": False}),
    )
    assert result.deployments["r"].launch_patch == {"enable_prefix_caching": False}
    assert result.deployments["r"].launch_drops == ("no_enable_prefix_caching",)


def test_a_users_parameter_that_satisfies_is_kept_and_nothing_is_added() -> None:
    result = run(
        binding(tasks={"t": TaskRequirements(min_top_logprobs=100)}),
        launched(planned_facts=ServingFacts(engine_version="0.11.0"), explicit={"max_logprobs": 200}),
    )
    assert result.ok
    assert result.deployments["r"].launch_patch == {}


def test_a_users_parameter_of_speed_wins_and_the_difference_is_recorded() -> None:
    result = run(
        binding(dialect="openai_completions", declared={"input_scoring": True}),
        launched(
            "sglang",
            planned_facts=ServingFacts(engine_version="0.5.23"),
            recipe={"mem_fraction": 0.9},
            explicit={"disable_radix_cache": True, "mem_fraction": 0.8},
        ),
    )
    assert result.ok
    assert result.deployments["r"].launch_patch == {}
    assert result.deployments["r"].differences == (
        PlanDifference(parameter="mem_fraction", user=0.8, plan=0.9, reason="the recipe has another value"),
        PlanDifference(parameter="disable_radix_cache", user=True, plan=False, reason=REMEDY_IS_NEEDLESS),
    )


def test_a_users_parameter_that_makes_answers_wrong_is_an_error_with_one_remedy() -> None:
    error = only_error(
        run(
            binding(dialect="openai_completions", declared={"input_scoring": True}),
            launched("sglang", explicit={"disable_radix_cache": False}),
        )
    )
    assert error.code == "serving_conflict"
    assert error.remedy == "set disable_radix_cache to True, or take input_scoring out"


@pytest.mark.parametrize(
    ("option", "leaf", "value"),
    [
        ({"effort": "high"}, "reasoning.effort", "low"),
        ({"effort": "high"}, "reasoning.budget_tokens", 5),
    ],
)
def test_one_thing_said_as_an_option_and_in_args_is_an_error(option: JSONValue, leaf: str, value: JSONValue) -> None:
    result = run(binding(declared={"reasoning": option}, args={leaf: value}))
    assert "said_twice" in codes(result)


def test_args_of_a_capability_that_is_off_are_an_error() -> None:
    result = run(binding(declared={"reasoning": False}, args={"reasoning.effort": "low"}))
    assert only_error(result).code == "default_of_disabled"


def test_args_that_use_a_capability_require_it() -> None:
    plan = run(binding(args={"reasoning.effort": "low"})).runtime_plans["m"]
    assert plan.binding.intents["reasoning"].sources == ("args.reasoning.effort",)
    assert plan.binding.request_defaults == {"reasoning.effort": "low"}
    error = only_error(run(binding(args={"reasoning.effort": "low"}, profile={"reasoning": fact("unsupported")})))
    assert error.code == "capability_unavailable"


def test_args_may_go_above_a_floor_which_the_server_must_allow_and_never_below() -> None:
    args = {"scoring.top_logprobs": 8, "scoring.sampled_logprobs": True}
    plan = run(binding(declared={"top_logprobs": {"minimum": 5}}, args=args)).runtime_plans["m"]
    assert plan.minimums == {"top_logprobs": {"minimum": 5}}  # so that a request may still ask for 6
    (breadth,) = [need for need in plan.binding.serving if need.name == "top_logprobs_breadth"]
    assert breadth.minimum == 8
    error = only_error(run(binding(declared={"top_logprobs": {"minimum": 9}}, args=args)))
    assert error.code == "default_below_minimum"


def test_args_that_the_model_does_not_take_are_an_error() -> None:
    refusing = {"sampling.temperature": fact("unsupported", reason="refuses any temperature")}
    result = run(binding(args={"sampling.temperature": 0.0}, leaves=refusing))
    error = result.errors[0]
    assert error.axes[0].verdict == "refuses any temperature"
    assert error.remedy == "remove sampling.temperature from args"


def test_args_that_the_dialect_cannot_send_are_an_error_before_any_call() -> None:
    result = run(binding(args={"sampling.top_k": 4}, options={"max_tokens": 3, "verbosity": "low"}))
    assert [error.summary for error in result.errors] == [
        "has a default that can't be sent: sampling.top_k",
        "has a default that can't be sent: dialect_options.max_tokens",
    ]
    assert result.bindings == {}
    assert result.runtime_plans == {}


def test_args_that_contradict_each_other_are_an_error() -> None:
    error = only_error(run(binding(args={"reasoning.effort": "low", "reasoning.budget_tokens": 5})))
    assert "either effort or budget_tokens" in error.axes[0].verdict


@pytest.mark.parametrize(
    "args",
    [{"scoring.top_logprobs": 5}, {"structured_output.strict": False}, {"tools.parallel": False}],
)
def test_args_that_say_how_something_is_done_need_not_ask_for_it(args: dict[str, Any]) -> None:
    assert run(binding(args=args)).runtime_plans["m"].binding.request_defaults == args


# --- support --------------------------------------------------------------------------------------------------------


def test_a_capability_that_the_dialect_lacks_names_the_dialects_that_have_it() -> None:
    error = only_error(run(binding(declared={"input_scoring": True})))
    assert error.axes[1].axis == "dialect"
    assert error.remedy == "use the dialect openai_completions, or remove 'input_scoring'"


def test_the_message_of_the_design_comes_out() -> None:
    profile = {"reasoning": fact("unsupported", reason="no reasoning_parser")}
    error = only_error(run(binding("qwen3-32b", declared={"reasoning": {}}, profile=profile)))
    assert [" ".join(line.split()) for line in error.lines()] == [
        "model 'qwen3-32b': capability 'reasoning' can't be enabled",
        "declaration reasoning asks for it ok",
        "dialect openai_chat can express it (reasoning.effort) ok",
        "model checkpoint no reasoning_parser fail",
        "remedy use another model, or remove 'reasoning'",
    ]


def test_an_unknown_model_is_only_used_where_a_reply_can_prove_it() -> None:
    plan = run(binding(declared={"reasoning": True})).runtime_plans["m"]
    assert "response.reasoning_present" in [check.verifier for check in plan.request_checks]
    error = only_error(run(binding(declared={"multimodal_input": True})))
    assert error.axes[-1].verdict == "isn't known to have it, and no reply could show it"
    assert error.remedy == (
        "say 'capabilities: {multimodal_input: supported}' in a profile of your own, or remove 'multimodal_input'"
    )


def test_a_known_model_needs_no_proof() -> None:
    plan = run(binding(declared={"function_tools": True}, profile={"function_tools": fact("supported")}))
    checks = plan.runtime_plans["m"].request_checks
    assert [check.reason for check in checks if check.capability == "function_tools"] == [
        "nothing is known of how unknown does this"
    ]


def test_what_nobody_asks_for_is_unavailable_instead_of_an_error() -> None:
    result = run(binding(profile={"reasoning": fact("unsupported", reason="is a base model")}))
    assert result.ok
    assert result.runtime_plans["m"].unavailable["reasoning"] == "checkpoint: is a base model"


def test_a_model_rule_requires_a_capability_and_a_no_contradicts_it() -> None:
    plan = run(binding(mandatory=("reasoning",), profile={"reasoning": fact("supported")}))
    assert plan.runtime_plans["m"].binding.required == ("reasoning",)
    error = only_error(run(binding(mandatory=("reasoning",), declared={"reasoning": False})))
    assert error.code == "mandatory_disabled"


def test_input_of_a_kind_that_the_dialect_does_not_take_is_an_error() -> None:
    tasks = {"t": TaskRequirements(input="completion"), "u": TaskRequirements(input="chat")}
    error = only_error(run(binding(tasks=tasks)))
    assert error.code == "input_not_expressible"
    assert [axis.subject for axis in error.axes] == ["t", "openai_chat"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"dialect": "openai_chatt"}, "unknown_dialect"),
        ({"dialect": "vllm_native"}, "dialect_not_implemented"),
        ({"wire_version": "v9"}, "unknown_wire_version"),
        ({"declared": {"stateful_session": True}}, "capability_reserved"),
    ],
)
def test_what_this_release_cannot_do_is_an_error_by_name(change: dict[str, Any], code: str) -> None:
    assert only_error(run(binding(**change))).code == code


def test_every_finding_is_reported_not_only_the_first() -> None:
    result = run(
        binding(
            declared={"fim": True, "prefill": True, "input_scoring": True, "reasoning": {"budget_tokens": 1}},
            tasks={"t": TaskRequirements(input="completion")},
        )
    )
    assert sorted(codes(result)) == [
        "capability_reserved",
        "capability_unavailable",
        "capability_unavailable",
        "capability_unavailable",
        "input_not_expressible",
    ]


def test_an_error_of_one_binding_leaves_the_others_their_plans() -> None:
    result = run(binding("bad", declared={"fim": True}), binding("good"))
    assert not result.ok
    assert list(result.runtime_plans) == ["good"]


def test_a_root_without_a_deployment_is_an_error() -> None:
    error = only_error(run(binding("m", root="gone"), server("other")))
    assert (error.code, error.model) == ("no_deployment", "gone")


def test_two_bindings_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two bindings are called 'm'"):
        ReconcileBatch(bindings=(binding(), binding()), deployments=())


# --- servers --------------------------------------------------------------------------------------------------------


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


SCORING = {"input_scoring": True}


def relaunch_case(facts: ServingFacts, **changed: Any) -> ReconcileResult:
    wanted = binding(dialect="openai_completions", declared=SCORING)
    before = launched(planned_facts=ServingFacts(engine_version="0.8.5"))
    frozen = run(wanted, before).deployments["r"]
    running = Deployment(engine_id="vllm", engine_source="deployment", api_base="http://h", plan=PLAN, facts=facts)
    return run(wanted, structs.replace(before, facts=facts, frozen=frozen, deployment=running, **changed))


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


# --- purity ---------------------------------------------------------------------------------------------------------


def big_batch(seed: int) -> ReconcileBatch:
    chance = random.Random(seed)
    bindings = []
    for index in range(30):
        declared = {
            "reasoning": {"effort": "high"} if index % 3 else False,
            "top_logprobs": {"minimum": index + 1},
            "multimodal_input": True,
        }
        items = list(declared.items())
        chance.shuffle(items)
        tasks = [
            ("a", TaskRequirements(min_top_logprobs=index % 7 + 1)),
            ("b", TaskRequirements(input="chat", input_modalities=frozenset({"text", "image"}))),
        ]
        chance.shuffle(tasks)
        profile = {"multimodal_input": fact("supported")} if index % 2 else {}
        bindings.append(
            binding(
                f"m{index}",
                root=f"r{index % 5}",
                declared=dict(items),
                tasks=dict(tasks),
                profile=profile,
                args={"sampling.seed": index},
            )
        )
    servers = [server(f"r{index}", engine_id="vllm", plan=PLAN) for index in range(5)]
    chance.shuffle(bindings)
    chance.shuffle(servers)
    return ReconcileBatch(bindings=tuple(bindings), deployments=tuple(servers))


def test_shuffling_the_batch_gives_the_same_bytes() -> None:
    first = reconcile(big_batch(1)).canonical()
    assert len(first) > 10_000
    assert all(reconcile(big_batch(seed)).canonical() == first for seed in (2, 3, 4))


def test_nothing_is_opened_and_nobody_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = big_batch(1)

    def forbidden(*args: object, **kwargs: object) -> NoReturn:
        raise AssertionError("reconciliation did I/O")

    for owner, name in (
        (builtins, "open"),
        (io, "open"),
        (os, "open"),
        (os, "getenv"),
        (socket, "socket"),
        (socket, "create_connection"),
        (socket, "getaddrinfo"),
    ):
        monkeypatch.setattr(owner, name, forbidden)
    result = reconcile(batch)
    canonical = result.canonical()
    monkeypatch.undo()
    assert len(canonical) > 10_000


def test_the_input_is_left_as_it_was() -> None:
    batch = big_batch(1)
    before = msgspec.json.encode(batch)
    reconcile(batch)
    assert msgspec.json.encode(batch) == before


def test_plans_survive_their_json() -> None:
    result = relaunch_case(ServingFacts(engine_version="0.8.5", prefix_cache_enabled=False))
    binding_plan = result.bindings["m"]
    runtime = result.runtime_plans["m"]
    assert msgspec.json.decode(msgspec.json.encode(binding_plan), type=BindingCapabilityPlan) == binding_plan
    again = msgspec.json.decode(msgspec.json.encode(runtime), type=RuntimeBindingPlan)
    assert again.fingerprint == runtime.fingerprint


def test_a_fingerprint_follows_what_is_bound() -> None:
    plain = run(binding()).runtime_plans["m"].fingerprint
    assert plain == run(binding()).runtime_plans["m"].fingerprint
    assert plain.startswith("sha256:")
    for changed in (
        binding(args={"sampling.seed": 0}),
        binding(declared={"reasoning": True}),
        binding(dialect="openai_completions"),
        binding(profile={"reasoning": fact("supported")}),
    ):
        assert run(changed).runtime_plans["m"].fingerprint != plain


def test_a_fingerprint_follows_the_wire_version_and_how_a_credential_is_presented() -> None:
    def parley(auth: WireAuth, version: str) -> str:
        binder = ParleyBinder()
        binder.auth = auth
        wanted = binding(dialect="parley", wire_version=version)
        batch = ReconcileBatch(bindings=(wanted,), deployments=(server(),))
        return reconcile(batch, binders={"parley": binder}).runtime_plans["m"].fingerprint

    found = {parley(auth, version) for auth in (WireAuth.BEARER, WireAuth.X_API_KEY) for version in ("1", "2")}
    assert len(found) == 4
