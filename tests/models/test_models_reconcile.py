"""Reconciliation of models: every line of the table of who wins over whom, and what each side can do."""

from __future__ import annotations

from typing import Any

import pytest

from fixtures.reconciling import (
    REMEDY_IS_NEEDLESS,
    binding,
    codes,
    fact,
    launched,
    only_error,
    run,
    server,
)
from synapse_models.capabilities import CAPABILITY_SPECS
from synapse_models.deployment import ServingFacts
from synapse_models.parts import JSONValue
from synapse_models.plans import (
    PlanDifference,
)
from synapse_models.reconciliation import ReconcileBatch
from synapse_models.requirements import TaskRequirements


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
