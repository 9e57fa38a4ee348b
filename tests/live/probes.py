"""The probes: each one request, on one model of :data:`MODELS`, and what must come of it.

The same table is run against the live server, which writes the evidence, and against the evidence, which shows that
the product still makes the same of it. What a probe ``expects`` is the name of an error, or a function that says what
is wrong with the response.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from synapse_models.continuation import continuation_score, scored_pair
from synapse_models.parts import ChatMessage, ImagePart, TextPart
from synapse_models.request import (
    ChatInput,
    CompletionInput,
    DialectOptions,
    FunctionTool,
    ReasoningParams,
    Request,
    SamplingParams,
    SchedulingParams,
    ScoringParams,
    StructuredOutputParams,
    ToolParams,
    chat,
)
from synapse_models.response import Response, StructuredOutput

REQUESTED = "the-name-that-we-ask-for"
"""The model's name in every request: not the name by which the server knows it."""

MODELS = """\
models:
  chat:
    dialect: openai_chat
    model: {model}
    api_base: {origin}/v1
    engine: {{id: {engine}}}
    credential: env:LIVE_KEY
  text:
    base: chat
    dialect: openai_completions
  keyless:
    dialect: openai_chat
    model: {model}
    api_base: {origin}/v1
  believed:
    dialect: openai_chat
    model: {model}
    api_base: {origin}/v1
    credential: env:LIVE_KEY
    profile: believed-to-have-everything
  believed-text:
    base: believed
    dialect: openai_completions
"""
"""``believed`` is declared with no engine and with a profile that claims what the model doesn't have, so that its
requests reach the server at all."""

PROFILES = """\
sources:
  claim: {where: a claim that the probes are there to test, date: "2026-11-30"}
profiles:
  - models: [believed-to-have-everything]
    dialects: [openai_chat, openai_completions]
    source: claim
    capabilities: {multimodal_input: supported, fim: supported, reasoning: supported, function_tools: supported}
"""

GREEDY: dict[str, Any] = {"temperature": 0.0, "seed": 7}
HELLO = chat(("system", "Answer in one word."), ("user", "What is the capital of France?"))
PROMPT = CompletionInput(text="The capital of France is")
FRANCE = scored_pair("The capital of France is", " Paris")
POINT = {
    "type": "object",
    "properties": {"city": {"type": "string", "enum": ["Paris", "Rome"]}, "sure": {"type": "boolean"}},
    "required": ["city", "sure"],
    "additionalProperties": False,
}
WEATHER = FunctionTool(
    name="weather",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
PIXEL = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de")

Check = Callable[[Response], str | None]


class Probe(NamedTuple):
    """One probe. ``model`` is a name of :data:`MODELS`."""

    name: str
    shows: str
    case: Literal["support", "absence"]
    model: str
    request: Request
    expects: str | Check


def request(source: ChatInput | CompletionInput = HELLO, tokens: int = 6, **groups: Any) -> Request:
    sampling = SamplingParams(max_tokens=tokens, **GREEDY, **groups.pop("sampling", {}))
    return Request(input=source, sampling=sampling, **groups)


STREAM = SchedulingParams(stream=True)


def answers(number: int = 1, *, finish: str = "length") -> Check:
    """``number`` choices with text that end so, a reported model that isn't the requested one, and whole usage."""

    def check(response: Response) -> str | None:
        found = [(choice.index, bool(choice.text), choice.finish_reason) for choice in response.choices]
        if found != [(index, True, finish) for index in range(number)]:
            return f"choices {found}"
        if response.response_model in (None, REQUESTED):
            return f"reported model {response.response_model!r}"
        usage = response.usage
        if usage is None or not usage.input_tokens or not usage.output_tokens:
            return f"usage {usage}"
        return None if usage.computed_total == usage.reported_total else "the totals differ"

    return check


def has_logprobs(breadth: int) -> Check:
    def check(response: Response) -> str | None:
        tokens = response.choices[0].logprobs or ()
        if "".join(token.token for token in tokens) != response.text:
            return "the tokens don't spell the text"
        if any(token.token_id is None or token.token_bytes is None for token in tokens):
            return "a token has no id or no bytes"
        return None if all(len(token.alternatives) == breadth for token in tokens) else "alternatives are missing"

    return check


def is_structured(response: Response) -> str | None:
    found = response.choices[0].structured_output
    return None if isinstance(found, StructuredOutput) and isinstance(found.value, dict) else f"{found}"


def stops_before(word: str) -> Check:
    def check(response: Response) -> str | None:
        (choice,) = response.choices
        return None if choice.finish_reason == "stop" and word not in choice.text else f"{choice}"

    return check


def as_if_nothing_followed(response: Response) -> str | None:
    """A suffix that was read would have been counted."""
    counted = response.usage.input_tokens if response.usage else None
    return None if counted == 7 else f"{counted} input tokens, and the prompt alone has 7"


def scores_france(response: Response) -> str | None:
    if response.input_scoring is None:
        return "no score"
    score = continuation_score(FRANCE, response.input_scoring)
    return None if (score.tokens, score.utf8_bytes) == (1, 6) and score.logprob < 0 else f"{score}"


def options(dialect_id: str, **values: Any) -> DialectOptions:
    return DialectOptions(dialect_id=dialect_id, values=values)


LIVE: tuple[Probe, ...] = (
    Probe("chat_text", "a conversation is answered, cut at its limit", "support", "chat", request(), answers()),
    Probe("chat_stream", "the same as a stream", "support", "chat", request(scheduling=STREAM), answers()),
    Probe(
        "chat_stop",
        "a stop text ends the answer and isn't in it",
        "support",
        "chat",
        request(chat(("user", "Count: one, two, three, four")), 24, sampling={"stop": (",", "\n", ".", " ")}),
        stops_before(","),
    ),
    Probe(
        "chat_two_answers",
        "two answers with their indexes",
        "support",
        "chat",
        request(sampling={"n": 2}),
        answers(2),
    ),
    Probe(
        "chat_two_answers_stream",
        "two answers in one stream",
        "support",
        "chat",
        request(sampling={"n": 2}, scheduling=STREAM),
        answers(2),
    ),
    Probe(
        "chat_logprobs",
        "log-probabilities with ids, bytes and alternatives",
        "support",
        "chat",
        request(scoring=ScoringParams(sampled_logprobs=True, top_logprobs=3)),
        has_logprobs(3),
    ),
    Probe(
        "chat_logprobs_stream",
        "the same as a stream",
        "support",
        "chat",
        request(scoring=ScoringParams(sampled_logprobs=True, top_logprobs=3), scheduling=STREAM),
        has_logprobs(3),
    ),
    Probe(
        "chat_top_k",
        "an engine's own key beyond the protocol is taken",
        "support",
        "chat",
        request(sampling={"top_k": 1}),
        answers(),
    ),
    Probe(
        "chat_json_schema",
        "an answer of the form of a schema",
        "support",
        "chat",
        request(HELLO, 48, structured_output=StructuredOutputParams(format="json_schema", schema=POINT, strict=True)),
        is_structured,
    ),
    Probe(
        "chat_json_schema_stream",
        "the same as a stream",
        "support",
        "chat",
        request(
            HELLO,
            48,
            structured_output=StructuredOutputParams(format="json_schema", schema=POINT),
            scheduling=STREAM,
        ),
        is_structured,
    ),
    Probe(
        "chat_json_schema_cut",
        "an answer that its limit cuts off is no structured answer",
        "absence",
        "chat",
        request(HELLO, 3, structured_output=StructuredOutputParams(format="json_schema", schema=POINT)),
        "output_contract",
    ),
    Probe(
        "chat_forced_tool",
        "a tool choice that is ignored: a success without a call",
        "absence",
        "chat",
        request(HELLO, 12, tools=ToolParams(functions=(WEATHER,), choice="required")),
        "output_contract",
    ),
    Probe(
        "chat_forced_tool_stream",
        "the same as a stream",
        "absence",
        "chat",
        request(HELLO, 12, tools=ToolParams(functions=(WEATHER,), choice="required"), scheduling=STREAM),
        "output_contract",
    ),
    Probe(
        "chat_reasoning",
        "an effort that is ignored: a success without visible thinking",
        "absence",
        "chat",
        request(reasoning=ReasoningParams(effort="high", summary="auto")),
        "output_contract",
    ),
    Probe(
        "chat_image",
        "an image for a model that sees none: a failure of the server, in words",
        "absence",
        "believed",
        request(
            ChatInput(
                messages=(
                    ChatMessage(
                        role="user",
                        content=(TextPart(text="See?"), ImagePart(data=PIXEL, media_type="image/png")),
                    ),
                )
            )
        ),
        "provider_failed",
    ),
    Probe(
        "chat_unknown_option",
        "a key that the server doesn't know is ignored: it is passed through, never called consumed",
        "absence",
        "chat",
        request(dialect_options=options("openai_chat", foo_bar=[0, None, ""])),
        answers(),
    ),
    Probe("chat_no_key", "a call without its credential", "absence", "keyless", request(), "authentication_failed"),
    Probe("text_plain", "a text is gone on with", "support", "text", request(PROMPT), answers()),
    Probe("text_stream", "the same as a stream", "support", "text", request(PROMPT, scheduling=STREAM), answers()),
    Probe(
        "text_logprobs",
        "log-probabilities, which come in the shape of chat",
        "support",
        "text",
        request(PROMPT, scoring=ScoringParams(sampled_logprobs=True, top_logprobs=2)),
        has_logprobs(2),
    ),
    Probe(
        "text_scores_none_generated",
        "an echo with scores and no generation is ignored: only generated tokens come back",
        "absence",
        "text",
        request(CompletionInput(text=FRANCE.joined), 0, scoring=ScoringParams(input_scoring=True)),
        "output_contract",
    ),
    Probe(
        "text_scores_one_generated",
        "the same with one generated token",
        "absence",
        "text",
        request(CompletionInput(text=FRANCE.joined), 1, scoring=ScoringParams(input_scoring=True, top_logprobs=2)),
        "output_contract",
    ),
    Probe(
        "text_scores_cached",
        "the same again, from the prefix cache",
        "absence",
        "text",
        request(CompletionInput(text=FRANCE.joined), 1, scoring=ScoringParams(input_scoring=True, top_logprobs=2)),
        "output_contract",
    ),
    Probe(
        "text_scores_stream",
        "the same as a stream",
        "absence",
        "text",
        request(CompletionInput(text=FRANCE.joined), 1, scoring=ScoringParams(input_scoring=True), scheduling=STREAM),
        "output_contract",
    ),
    Probe(
        "text_suffix",
        "a suffix is dropped: as many input tokens as without one",
        "absence",
        "believed-text",
        request(CompletionInput(text="def add(a, b):", suffix="\n    return c")),
        as_if_nothing_followed,
    ),
)
"""What a llama.cpp server can show."""


def _scoring(name: str, shows: str, tokens: int, **groups: Any) -> Probe:
    source = CompletionInput(text=FRANCE.joined)
    return Probe(name, shows, "support", "text", request(source, tokens, **groups), scores_france)


WHOLE = ScoringParams(input_scoring=True, top_logprobs=2)

SCORING: tuple[Probe, ...] = (
    _scoring("scores_none_generated", "scores of the whole input, nothing generated", 0, scoring=WHOLE),
    _scoring("scores_one_generated", "scores of the whole input beside a generated token", 1, scoring=WHOLE),
    _scoring("scores_cached", "the same again, when the input may be in the prefix cache", 1, scoring=WHOLE),
    _scoring("scores_stream", "the same as a stream", 1, scoring=WHOLE, scheduling=STREAM),
)
"""What only an engine that scores its input can show: SGLang by an echo, vLLM by a parameter of its own."""
