"""What chat completions do with each leaf of a request, and the body that follows from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from msgspec import UNSET

from synapse_models.audit import LeafDecision, consumed, noop, rejected
from synapse_models.capabilities import leaf_owner
from synapse_models.dialect import CallContext, Unsupported
from synapse_models.dialects.decisions import decide_option, refused_by_profile
from synapse_models.dialects.openai_chat.messages import misnamed, misplaced, wire_messages, wire_places
from synapse_models.dialects.openai_wire import ENGINE_SPELLINGS, HEADER_OPTIONS, body_options
from synapse_models.leaves import OPTION_PREFIX
from synapse_models.parts import ImagePart, ToolCallPart, ToolResultPart
from synapse_models.request import ChatInput, NamedFunction, Request
from synapse_models.specs import DIALECT_SPECS
from synapse_models.stream import tool_call

SPEC: Final = DIALECT_SPECS["openai_chat"]

VISIBLE_REASONING: Final = "@control:visible_reasoning"
"""Chat completions show thinking unasked, or never. Asking for it makes its absence an error, and sends nothing."""

_TOP_K_ENGINES: Final = frozenset({"vllm", "sglang", "llama_cpp"})
"""Engines whose chat completions take ``top_k`` beyond the protocol."""

_SAME_NAME: Final[Mapping[str, str]] = {
    "sampling.temperature": "temperature",
    "sampling.top_p": "top_p",
    "sampling.stop": "stop",
    "sampling.seed": "seed",
    "sampling.frequency_penalty": "frequency_penalty",
    "sampling.presence_penalty": "presence_penalty",
    "sampling.n": "n",
    "scoring.sampled_logprobs": "logprobs",
    "scoring.top_logprobs": "top_logprobs",
    "reasoning.effort": "reasoning_effort",
    "scheduling.stream": "stream",
}
"""Leaves that are one key of the body, value unchanged."""

RESERVED: Final = (
    frozenset(_SAME_NAME.values())
    | {
        "model",
        "messages",
        "max_tokens",
        "max_completion_tokens",
        "top_k",
        "stream_options",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "functions",
        "function_call",
        "web_search_options",
        "response_format",
        "prompt_logprobs",
        "thinking_token_budget",
        "continue_final_message",
        "add_generation_prompt",
        "echo",
    }
    | ENGINE_SPELLINGS
)
"""Keys that a leaf, a capability or the binding owns, on OpenAI and on the engines that extend the protocol."""

_Rule: TypeAlias = Callable[[Any, Request, CallContext], LeafDecision]


def decide(leaf: str, value: Any, request: Request, context: CallContext) -> LeafDecision:
    """The decision on one active leaf. Raises KeyError for a path that is no leaf."""
    if leaf.startswith(OPTION_PREFIX):
        return decide_option(leaf, request, context, RESERVED, HEADER_OPTIONS)
    decision = consumed("/" + _SAME_NAME[leaf]) if leaf in _SAME_NAME else _RULES[leaf](value, request, context)
    if decision.kind == "rejected":
        return decision
    return refused_by_profile(leaf, value, context) or decision


def encode(request: Request, context: CallContext) -> dict[str, Any]:
    """The body. Called for requests of which no leaf was rejected."""
    if not isinstance(request.input, ChatInput):
        raise TypeError("a completion was not refused before it was encoded")
    body: dict[str, Any] = {"model": context.model_id, "messages": wire_messages(request.input)}
    for leaf, key in _SAME_NAME.items():
        group, _, field = leaf.partition(".")
        value = getattr(getattr(request, group), field)
        if value is not None and value != () and value is not False and not (leaf == "sampling.n" and value == 1):
            body[key] = list(value) if isinstance(value, tuple) else value
    sampling = request.sampling
    if sampling.max_tokens is not None:
        body[max_tokens_key(context)] = sampling.max_tokens
    if sampling.top_k is not None:
        body["top_k"] = sampling.top_k
    if request.scheduling.stream:
        body["stream_options"] = {"include_usage": True}
    _tools(request, body)
    if (form := _response_format(request)) is not None:
        body["response_format"] = form
    body.update(body_options(request))
    return body


def max_tokens_key(context: CallContext) -> str:
    """Which of the two spellings the model takes, by its profile.

    Without a fact it is ``max_tokens``: the models that reject it say so, while servers that don't know the newer
    spelling ignore it, and with it the limit.
    """
    return (
        "max_completion_tokens" if context.profile.fact("max_tokens_key") == "max_completion_tokens" else "max_tokens"
    )


def _tools(request: Request, body: dict[str, Any]) -> None:
    tools = request.tools
    if tools.functions:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    key: value
                    for key, value in (
                        ("name", tool.name),
                        ("description", tool.description),
                        ("parameters", tool.parameters),
                        ("strict", tool.strict),
                    )
                    if value is not None
                },
            }
            for tool in tools.functions
        ]
    if isinstance(tools.choice, NamedFunction):
        body["tool_choice"] = {"type": "function", "function": {"name": tools.choice.name}}
    elif tools.choice is not None:
        body["tool_choice"] = tools.choice
    if tools.parallel is not None:
        body["parallel_tool_calls"] = tools.parallel
    if tools.hosted:
        body["web_search_options"] = dict(tools.hosted[0].options)


def _response_format(request: Request) -> dict[str, Any] | None:
    form = request.structured_output
    if form.format is None:
        return None
    if form.format == "json_object":
        return {"type": "json_object"}
    schema: dict[str, Any] = {"name": DEFAULT_SCHEMA_NAME if form.name is None else form.name, "schema": form.schema}
    if form.strict is not None:
        schema["strict"] = form.strict
    return {"type": "json_schema", "json_schema": schema}


DEFAULT_SCHEMA_NAME: Final = "answer"
"""The protocol requires a name for a schema; this one stands in when the request has none."""


def _input(value: Any, _request: Request, _context: CallContext) -> LeafDecision:
    if not isinstance(value, ChatInput):
        return rejected("chat completions take a conversation, not a text to go on from")
    reason = misplaced(value, "input")
    return rejected(reason) if reason else consumed("/messages")


def _part_of(leaf: str, part_type: type, check: Callable[[Any], str | None]) -> _Rule:
    """The rule of a leaf that is a kind of part: at its first occurrence, if it stands where it may."""

    def rule(value: Any, request: Request, _context: CallContext) -> LeafDecision:
        if not isinstance(request.input, ChatInput):
            return rejected("chat completions take a conversation")
        reason = misplaced(request.input, leaf) or next(filter(None, map(check, value)), None)
        if reason:
            return rejected(reason)
        first = next(
            index
            for index, message in wire_places(request.input)
            if any(isinstance(p, part_type) for p in message.content)
        )
        return consumed(f"/messages/{first}")

    return rule


def _call_fault(call: ToolCallPart) -> str | None:
    if call.id is None:
        return "a call without an id can't be sent"
    if call.arguments is not UNSET and call.arguments != tool_call(call.name, call.arguments_text, None).arguments:
        return "the arguments of a call are sent as their text, and the two differ"
    return None


def _result_fault(result: ToolResultPart) -> str | None:
    return "a result that doesn't say which call it answers can't be sent" if result.call_id is None else None


def _names(_value: Any, request: Request, _context: CallContext) -> LeafDecision:
    if not isinstance(request.input, ChatInput):
        return rejected("chat completions take a conversation")
    named = [(index, message) for index, message in wire_places(request.input) if message.name is not None]
    if any(message.role == "tool" for _, message in named):
        return rejected("a tool message has no name")
    return consumed(f"/messages/{named[0][0]}/name")


def _result_names(_value: Any, request: Request, _context: CallContext) -> LeafDecision:
    if not isinstance(request.input, ChatInput):
        return rejected("chat completions take a conversation")
    reason = misnamed(request.input)
    return rejected(reason) if reason else noop("the call that a result answers has its name")


def _provider_items(value: Any, _request: Request, context: CallContext) -> LeafDecision:
    items = value[0]
    return rejected(
        f"they are of {items.dialect_id} {items.wire_version}, and the model is bound to {context.dialect_id} "
        f"{context.wire_version}, which carries no provider state"
    )


def _top_k(_value: Any, _request: Request, context: CallContext) -> LeafDecision:
    if context.engine_id in _TOP_K_ENGINES:
        return consumed("/top_k")
    return rejected("chat completions have no top_k; some engines add it, and this deployment names none of them")


def _summary(value: Any, _request: Request, _context: CallContext) -> LeafDecision:
    if value == "auto":
        return consumed(VISIBLE_REASONING)
    return rejected("chat completions can't say how thinking is shown; auto requires that it is there")


def _needs_functions(pointer: str) -> _Rule:
    def rule(value: Any, request: Request, _context: CallContext) -> LeafDecision:
        names = [tool.name for tool in request.tools.functions]
        if not names:
            return rejected("it says nothing without tools.functions")
        if isinstance(value, NamedFunction) and value.name not in names:
            return rejected(f"no function of the request is named {value.name!r}")
        return consumed(pointer)

    return rule


def _hosted(value: Any, request: Request, _context: CallContext) -> LeafDecision:
    if len(value) > 1 or value[0].tool != "web_search" or value[0].version is not None:
        return rejected("chat completions host web_search alone, without a version")
    return consumed("/web_search_options")


def _refused(reason: str) -> _Rule:
    return lambda _value, _request, _context: rejected(reason)


def _by_spec(leaf: str) -> _Rule:
    """Refuses a leaf with the reason that the protocol's description gives for its capability."""
    outcome = SPEC.designed[leaf_owner(leaf) or ""]
    if not isinstance(outcome, Unsupported):
        raise TypeError(f"{leaf} belongs to a capability that {SPEC.id} can say")
    return _refused(outcome.reason)


def _schema_part(pointer: str) -> _Rule:
    def rule(_value: Any, request: Request, _context: CallContext) -> LeafDecision:
        if request.structured_output.format != "json_schema":
            return rejected("it belongs to the format json_schema")
        return consumed(pointer)

    return rule


_RULES: Final[Mapping[str, _Rule]] = {
    "input": _input,
    "input.suffix": _by_spec("input.suffix"),
    "input.images": _part_of("input.images", ImagePart, lambda _image: None),
    "input.image_detail": lambda _value, _request, _context: consumed("/messages"),
    "input.image_types": lambda _value, _request, _context: noop("whoever fetches an image learns its type there"),
    "input.tool_calls": _part_of("input.tool_calls", ToolCallPart, _call_fault),
    "input.tool_results": _part_of("input.tool_results", ToolResultPart, _result_fault),
    "input.tool_result_images": _refused("a tool message holds text alone; send the image in a user message"),
    "input.tool_result_errors": _refused("a tool message can't be marked as a failure; say so in its text"),
    "input.tool_result_names": _result_names,
    "input.unknown_parts": _refused("a part of an unknown kind can't be translated"),
    "input.names": _names,
    "input.provider_items": _provider_items,
    "input.prefill": _by_spec("input.prefill"),
    "sampling.top_k": _top_k,
    "sampling.max_tokens": lambda _value, _request, context: consumed("/" + max_tokens_key(context)),
    "scoring.input_scoring": _by_spec("scoring.input_scoring"),
    "reasoning.budget_tokens": _refused("chat completions take an effort, not a number of tokens"),
    "reasoning.summary": _summary,
    "tools.functions": lambda _value, _request, _context: consumed("/tools"),
    "tools.choice": _needs_functions("/tool_choice"),
    "tools.parallel": _needs_functions("/parallel_tool_calls"),
    "tools.hosted": _hosted,
    "structured_output.format": lambda _value, _request, _context: consumed("/response_format/type"),
    "structured_output.schema": _schema_part("/response_format/json_schema/schema"),
    "structured_output.name": _schema_part("/response_format/json_schema/name"),
    "structured_output.strict": _schema_part("/response_format/json_schema/strict"),
    "session.previous_response_id": _by_spec("session.previous_response_id"),
}
