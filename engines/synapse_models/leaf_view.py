"""What would become of each leaf of a request, before there is one: what `synapse plan` shows of the audit.

A decision depends on the value. For a leaf with a request default it is the decision on that; for any other, the one on
an example, which is shown with it. Pure; nothing is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import structs

from synapse_models.audit import DecisionKind
from synapse_models.dialect import DialectBinder, InputKind
from synapse_models.leaves import LEAVES, OPTION_PREFIX, active_leaves, leaf_type
from synapse_models.parts import (
    ChatMessage,
    ContentPart,
    ImagePart,
    JSONValue,
    ProviderItems,
    Record,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    UnknownPart,
    text_message,
)
from synapse_models.plans import BindingCapabilityPlan, lacks
from synapse_models.request import (
    ChatInput,
    CompletionInput,
    DialectOptions,
    FunctionTool,
    HostedTool,
    ModelInput,
    ReasoningParams,
    Request,
    SamplingParams,
    SchedulingParams,
    ScoringParams,
    SessionParams,
    StructuredOutputParams,
    ToolParams,
    chat,
)


class LeafView(Record, frozen=True):
    """One leaf of one model.

    ``example`` is the value that was decided on, as JSON; ``is_default`` whether it is a request default of the plan.
    Either ``wire_path`` says where it would go, or ``reason`` why it would not, or why that makes no difference.
    """

    leaf: str
    example: JSONValue
    is_default: bool
    decision: DecisionKind
    wire_path: str | None = None
    reason: str | None = None


def leaf_views(
    plan: BindingCapabilityPlan,
    unavailable: Mapping[str, str],
    engine_id: str,
    binder: DialectBinder,
) -> tuple[LeafView, ...]:
    """Every leaf in the catalogue's order, then the options among the defaults. ``unavailable`` is the plan's word on
    the server that the model is on: capability → why it can't be used there."""
    context = plan.call_context(engine_id)
    kind: InputKind = "chat" if "chat" in binder.spec.inputs else "completion"
    options = {OPTION_PREFIX + key: value for key, value in sorted(plan.option_defaults.items())}
    found = []
    for path in (*LEAVES, *options):
        default = options.get(path, plan.request_defaults.get(path))
        is_default = path in options or path in plan.request_defaults
        request = _with_default(path, default, kind, plan.dialect_id) if is_default else example(path, kind)
        value = active_leaves(request).get(path, default)
        capability = LEAVES[path].capability if path in LEAVES else None
        shown = msgspec.json.decode(msgspec.json.encode(value))
        if capability is not None and capability in unavailable:
            why = lacks(capability, unavailable[capability])
            found.append(LeafView(leaf=path, example=shown, is_default=is_default, decision="rejected", reason=why))
            continue
        decision = binder.decide(path, value, request, context)
        found.append(
            LeafView(
                leaf=path,
                example=shown,
                is_default=is_default,
                decision=decision.kind,
                wire_path=decision.wire_path,
                reason=decision.reason,
            )
        )
    return tuple(found)


def example(path: str, kind: InputKind) -> Request:
    """A request of that kind of input in which the leaf ``path`` is active. Raises KeyError for one of no catalogue."""
    plain: ModelInput = chat(("user", "Hello")) if kind == "chat" else CompletionInput(text="Hello")
    return structs.replace(Request(input=plain), **_EXAMPLES[path])


def _with_default(path: str, value: JSONValue, kind: InputKind, dialect_id: str) -> Request:
    if path.startswith(OPTION_PREFIX):
        options = DialectOptions(dialect_id=dialect_id, values={path.removeprefix(OPTION_PREFIX): value})
        return structs.replace(example("input", kind), dialect_options=options)
    request = example(path, kind)
    group, _, name = path.partition(".")
    changed = structs.replace(getattr(request, group), **{name: msgspec.convert(value, type=leaf_type(path))})
    return structs.replace(request, **{group: changed})


def _turns(*messages: ChatMessage) -> dict[str, Any]:
    return {"input": ChatInput(messages=(*messages, text_message("user", "Go on")))}


def _user(part: ContentPart) -> dict[str, Any]:
    return _turns(ChatMessage(role="user", content=(part,)))


def _result(**more: Any) -> dict[str, Any]:
    part = ToolResultPart(**{"call_id": "call-1", "content": (TextPart(text="4 degrees"),), **more})
    return _turns(ChatMessage(role="tool", content=(part,)))


_IMAGE: Final = ImagePart(url="https://example.invalid/a.png", detail="low")
_CALL: Final = ToolCallPart(id="call-1", name="weather", arguments_text="{}", arguments={})
_ITEMS: Final = ProviderItems(dialect_id="another", wire_version="v1", model_id="m", items=("{}",))
_WEATHER: Final = FunctionTool(name="weather", parameters={"type": "object"})
_OBJECT: Final[Mapping[str, Any]] = {"format": "json_schema", "schema": {"type": "object"}}

_EXAMPLES: Final[Mapping[str, Mapping[str, Any]]] = {
    "input": {},
    "input.suffix": {"input": CompletionInput(text="Hello", suffix="!")},
    "input.images": _user(_IMAGE),
    "input.image_detail": _user(_IMAGE),
    "input.image_types": _user(ImagePart(url="https://example.invalid/a", media_type="image/png")),
    "input.tool_calls": _turns(ChatMessage(role="assistant", content=(_CALL,))),
    "input.tool_results": _result(),
    "input.tool_result_images": _result(content=(_IMAGE,)),
    "input.tool_result_errors": _result(is_error=True),
    "input.tool_result_names": _turns(
        ChatMessage(role="assistant", content=(_CALL,)),
        ChatMessage(role="tool", content=(ToolResultPart(call_id="call-1", content=(), name="weather"),)),
    ),
    "input.unknown_parts": _user(UnknownPart(provider_kind="audio", raw="{}")),
    "input.names": _turns(ChatMessage(role="user", name="ann", content=(TextPart(text="Hello"),))),
    "input.provider_items": _turns(ChatMessage(role="assistant", content=(), provider_items=_ITEMS)),
    "input.prefill": {"input": chat(("user", "Hello"), ("assistant", "Dear"))},
    "sampling.temperature": {"sampling": SamplingParams(temperature=0.0)},
    "sampling.top_p": {"sampling": SamplingParams(top_p=0.9)},
    "sampling.top_k": {"sampling": SamplingParams(top_k=40)},
    "sampling.max_tokens": {"sampling": SamplingParams(max_tokens=100)},
    "sampling.stop": {"sampling": SamplingParams(stop=("END",))},
    "sampling.seed": {"sampling": SamplingParams(seed=0)},
    "sampling.frequency_penalty": {"sampling": SamplingParams(frequency_penalty=0.5)},
    "sampling.presence_penalty": {"sampling": SamplingParams(presence_penalty=0.5)},
    "sampling.n": {"sampling": SamplingParams(n=2)},
    "scoring.input_scoring": {"scoring": ScoringParams(input_scoring=True)},
    "scoring.sampled_logprobs": {"scoring": ScoringParams(sampled_logprobs=True)},
    "scoring.top_logprobs": {"scoring": ScoringParams(sampled_logprobs=True, top_logprobs=5)},
    "reasoning.effort": {"reasoning": ReasoningParams(effort="high")},
    "reasoning.budget_tokens": {"reasoning": ReasoningParams(budget_tokens=1024)},
    "reasoning.summary": {"reasoning": ReasoningParams(summary="auto")},
    "tools.functions": {"tools": ToolParams(functions=(_WEATHER,))},
    "tools.choice": {"tools": ToolParams(functions=(_WEATHER,), choice="required")},
    "tools.parallel": {"tools": ToolParams(functions=(_WEATHER,), parallel=False)},
    "tools.hosted": {"tools": ToolParams(hosted=(HostedTool(tool="web_search"),))},
    "structured_output.format": {"structured_output": StructuredOutputParams(format="json_object")},
    "structured_output.schema": {"structured_output": StructuredOutputParams(**_OBJECT)},
    "structured_output.name": {"structured_output": StructuredOutputParams(**_OBJECT, name="answer")},
    "structured_output.strict": {"structured_output": StructuredOutputParams(**_OBJECT, strict=True)},
    "session.previous_response_id": {"session": SessionParams(previous_response_id="response-1")},
    "scheduling.stream": {"scheduling": SchedulingParams(stream=True)},
}
"""Leaf → the parts of a request that make it active. A new leaf needs one."""
