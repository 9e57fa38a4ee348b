"""The seven dialects' descriptions: connection family, wire versions, and what each protocol has words for.

Symbol space only: whether a dialect can be executed is in ``registry.py``, whether a model has a capability is in
``profiles/``. Binders take their outcomes from here, so that a protocol is described once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from synapse_models.dialect import CapabilityOutcome, DialectSpec, Supported, Unsupported

HTTP_JSON: Final = "http_json"
"""The one connection family that ships: JSON over HTTP, with server-sent events."""

_YES: Final = Supported()
_EFFORT_WORDS: Final = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


def _table(**outcomes: CapabilityOutcome | str) -> Mapping[str, CapabilityOutcome]:
    """Outcomes by capability; a text is the reason of a refusal."""
    return {
        key: Unsupported(reason=outcome) if isinstance(outcome, str) else outcome for key, outcome in outcomes.items()
    }


_SPECS: Final = (
    DialectSpec(
        id="openai_chat",
        title="OpenAI chat completions",
        connection_family=HTTP_JSON,
        wire_versions=("v1",),
        inputs=("chat",),
        designed=_table(
            input_scoring="chat completions return no log-probabilities of the prompt",
            sampled_logprobs=_YES,
            top_logprobs=_YES,
            reasoning=Supported(
                # Nothing on the wire asks for visible thinking; "auto" requires of the reply that it is there.
                options={"effort": _EFFORT_WORDS, "summary": ("auto",)},
                unsupported_options={"budget_tokens": "chat completions take an effort, not a number of tokens"},
            ),
            function_tools=_YES,
            hosted_tools=Supported(options={"kinds": ("web_search",)}),
            structured_output=Supported(options={"formats": ("json_object", "json_schema")}),
            stateful_session="chat completions keep no state between calls",
            opaque_continuation="chat completions carry no provider state in their messages",
            multimodal_input=Supported(options={"modalities": ("image",)}),
            prefill="chat completions start a new turn after an assistant message",
            fim="chat completions have no suffix",
        ),
    ),
    DialectSpec(
        id="openai_completions",
        title="OpenAI completions",
        connection_family=HTTP_JSON,
        wire_versions=("v1",),
        inputs=("completion",),
        designed=_table(
            input_scoring=_YES,
            sampled_logprobs=_YES,
            top_logprobs=_YES,
            reasoning="completions have no reasoning channel",
            function_tools="completions take text, not tools",
            hosted_tools="completions take text, not tools",
            structured_output="completions have no response format",
            stateful_session="completions keep no state between calls",
            opaque_continuation="completions carry no provider state",
            multimodal_input="a prompt is text",
            prefill="a prompt has no turns; write the start of the answer at its end",
            fim=_YES,
        ),
    ),
    DialectSpec(
        id="openai_responses",
        title="OpenAI Responses",
        connection_family=HTTP_JSON,
        wire_versions=("v1",),
        inputs=("chat",),
        designed=_table(
            input_scoring="responses return no log-probabilities of the input",
            sampled_logprobs=_YES,
            top_logprobs=_YES,
            reasoning=Supported(
                options={"effort": _EFFORT_WORDS, "summary": ("auto", "concise", "detailed", "none")},
                unsupported_options={"budget_tokens": "responses take an effort, not a number of tokens"},
            ),
            function_tools=_YES,
            hosted_tools=Supported(
                options={
                    "kinds": (
                        "web_search",
                        "file_search",
                        "code_interpreter",
                        "image_generation",
                        "mcp",
                        "computer_use",
                        "shell",
                        "apply_patch",
                    )
                }
            ),
            structured_output=Supported(options={"formats": ("json_object", "json_schema")}),
            stateful_session=_YES,
            opaque_continuation=_YES,
            multimodal_input=Supported(options={"modalities": ("image",)}),
            prefill="responses start a new message after an assistant message",
            fim="responses have no suffix",
        ),
    ),
    DialectSpec(
        id="anthropic_messages",
        title="Anthropic Messages",
        connection_family=HTTP_JSON,
        wire_versions=("2026-10-21", "2023-06-01"),
        inputs=("chat",),
        designed=_table(
            input_scoring="messages return no log-probabilities",
            sampled_logprobs="messages return no log-probabilities",
            top_logprobs="messages return no log-probabilities",
            reasoning=Supported(
                options={"effort": ("low", "medium", "high", "xhigh", "max"), "summary": ("auto", "none")}
            ),
            function_tools=_YES,
            hosted_tools=Supported(
                options={
                    "kinds": (
                        "web_search",
                        "web_fetch",
                        "code_execution",
                        "tool_search",
                        "memory",
                        "bash",
                        "text_editor",
                    )
                }
            ),
            structured_output=Supported(options={"formats": ("json_schema",)}),
            stateful_session="messages keep no state between calls",
            opaque_continuation=_YES,
            multimodal_input=Supported(options={"modalities": ("image",)}),
            prefill=_YES,
            fim="messages have no suffix",
        ),
    ),
    DialectSpec(
        id="google_genai",
        title="Google Gen AI",
        connection_family=HTTP_JSON,
        wire_versions=("v1", "v1beta"),
        inputs=("chat",),
        designed=_table(
            input_scoring="generateContent returns no log-probabilities of the input",
            sampled_logprobs=_YES,
            top_logprobs=_YES,
            reasoning=Supported(
                options={"effort": ("minimal", "low", "medium", "high", "xhigh"), "summary": ("auto", "none")}
            ),
            function_tools=Supported(unsupported_options={"parallel": "generateContent can't forbid parallel calls"}),
            hosted_tools=Supported(
                options={
                    "kinds": (
                        "web_search",
                        "url_context",
                        "code_execution",
                        "maps",
                        "file_search",
                        "computer_use",
                    )
                }
            ),
            structured_output=Supported(options={"formats": ("json_object", "json_schema")}),
            stateful_session="generateContent keeps no state between calls",
            opaque_continuation=_YES,
            multimodal_input=Supported(options={"modalities": ("image",)}),
            prefill=_YES,
            fim="generateContent has no suffix",
        ),
    ),
    DialectSpec(
        id="sglang_native",
        title="SGLang /generate",
        connection_family=HTTP_JSON,
        wire_versions=("v1",),
        inputs=("completion",),
        designed=_table(
            input_scoring=_YES,
            sampled_logprobs=_YES,
            top_logprobs=_YES,
            reasoning="/generate returns the thinking inside the text, in no channel of its own",
            function_tools="/generate takes text, not tools",
            hosted_tools="/generate takes text, not tools",
            structured_output=Supported(options={"formats": ("json_object", "json_schema")}),
            stateful_session="/generate returns no response id to go on from",
            opaque_continuation="/generate carries no provider state",
            multimodal_input=Supported(options={"modalities": ("image",)}),
            prefill=_YES,
            fim="/generate has no suffix",
        ),
    ),
    DialectSpec(
        id="vllm_native",
        title="vLLM /inference/v1/generate",
        connection_family=HTTP_JSON,
        wire_versions=("v1",),
        inputs=("completion",),
        designed=_table(
            input_scoring=_YES,
            sampled_logprobs=_YES,
            top_logprobs=_YES,
            reasoning="token ids come back without a reasoning channel",
            function_tools="the endpoint takes token ids, not tools",
            hosted_tools="the endpoint takes token ids, not tools",
            structured_output=Supported(options={"formats": ("json_object", "json_schema")}),
            stateful_session="the endpoint returns no response id to go on from",
            opaque_continuation="the endpoint carries no provider state",
            multimodal_input="the endpoint takes token ids",
            prefill="the endpoint has no turns",
            fim="the endpoint has no suffix",
        ),
    ),
)

DIALECT_SPECS: Final[Mapping[str, DialectSpec]] = {spec.id: spec for spec in _SPECS}
"""All seven, by id."""
