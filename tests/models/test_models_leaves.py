"""What a request says: which leaves are active, and that no opinion is mistaken for another."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import structs

from synapse_models.leaves import LEAVES, active_leaves, leaf
from synapse_models.parts import (
    ChatMessage,
    ImagePart,
    ProviderItems,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    UnknownPart,
    text_message,
)
from synapse_models.request import (
    ChatInput,
    CompletionInput,
    DialectOptions,
    FunctionTool,
    ReasoningParams,
    Request,
    SamplingParams,
    ScoringParams,
    StructuredOutputParams,
    ToolParams,
    chat,
)

HELLO = chat(("user", "Hello"))


def test_every_field_of_every_parameter_group_is_a_leaf() -> None:
    expected = {
        f"{group.name}.{field.name}"
        for group in structs.fields(Request)
        if isinstance(group.default, msgspec.Struct)
        for field in structs.fields(type(group.default))
    }
    assert len(expected) == 25
    assert expected == {path for path in LEAVES if not path.startswith("input")}


def test_a_request_that_says_nothing_has_only_its_input() -> None:
    assert active_leaves(Request(input=HELLO)) == {"input": HELLO}


@pytest.mark.parametrize(
    ("params", "path", "value"),
    [
        ({"sampling": SamplingParams(temperature=0.0)}, "sampling.temperature", 0.0),
        ({"sampling": SamplingParams(top_p=0.0)}, "sampling.top_p", 0.0),
        ({"sampling": SamplingParams(seed=0)}, "sampling.seed", 0),
        ({"sampling": SamplingParams(max_tokens=0)}, "sampling.max_tokens", 0),
        ({"sampling": SamplingParams(stop=("",))}, "sampling.stop", ("",)),
        ({"scoring": ScoringParams(top_logprobs=0)}, "scoring.top_logprobs", 0),
        ({"tools": ToolParams(parallel=False)}, "tools.parallel", False),
        ({"reasoning": ReasoningParams(budget_tokens=0)}, "reasoning.budget_tokens", 0),
        ({"reasoning": ReasoningParams(effort="none")}, "reasoning.effort", "none"),
        (
            {"structured_output": StructuredOutputParams(format="json_object", name="")},
            "structured_output.name",
            "",
        ),
    ],
)
def test_a_falsy_value_is_an_opinion(params: dict[str, Any], path: str, value: object) -> None:
    active = active_leaves(Request(input=HELLO, **params))
    assert active[path] == value
    assert type(active[path]) is type(value)


def test_each_option_of_a_dialect_is_a_leaf_even_when_it_is_null() -> None:
    options = DialectOptions(dialect_id="openai_chat", values={"b": None, "a": 1})
    active = active_leaves(Request(input=HELLO, dialect_options=options))
    assert {path: value for path, value in active.items() if path != "input"} == {
        "dialect_options.a": 1,
        "dialect_options.b": None,
    }
    assert leaf("dialect_options.a").capability is None
    with pytest.raises(KeyError):
        leaf("dialect_options.")


@pytest.mark.parametrize(
    ("source", "path"),
    [
        (CompletionInput(text="a", suffix=""), "input.suffix"),
        (ChatInput(messages=(ChatMessage(role="user", content=(ImagePart(url="http://x/y.png"),)),)), "input.images"),
        (
            ChatInput(messages=(ChatMessage(role="user", content=(ImagePart(url="http://x", detail="low"),)),)),
            "input.image_detail",
        ),
        (
            ChatInput(
                messages=(ChatMessage(role="user", content=(ImagePart(url="http://x", media_type="image/png"),)),)
            ),
            "input.image_types",
        ),
        (
            ChatInput(
                messages=(
                    ChatMessage(role="assistant", content=(ToolCallPart(name="f", arguments_text=""),)),
                    text_message("user", "x"),
                )
            ),
            "input.tool_calls",
        ),
        (
            ChatInput(messages=(ChatMessage(role="tool", content=(ToolResultPart(call_id="1", content=()),)),)),
            "input.tool_results",
        ),
        (
            ChatInput(
                messages=(
                    ChatMessage(
                        role="tool", content=(ToolResultPart(call_id="1", content=(ImagePart(url="http://x"),)),)
                    ),
                )
            ),
            "input.tool_result_images",
        ),
        (
            ChatInput(
                messages=(ChatMessage(role="tool", content=(ToolResultPart(call_id=None, content=(), is_error=True),)),)
            ),
            "input.tool_result_errors",
        ),
        (
            ChatInput(
                messages=(ChatMessage(role="tool", content=(ToolResultPart(call_id="1", content=(), name=""),)),)
            ),
            "input.tool_result_names",
        ),
        (
            ChatInput(messages=(ChatMessage(role="user", content=(UnknownPart(provider_kind="x", raw="{}"),)),)),
            "input.unknown_parts",
        ),
        (ChatInput(messages=(ChatMessage(role="user", content=(), name="Ann"),)), "input.names"),
        (chat(("user", "a"), ("assistant", "b")), "input.prefill"),
        (
            ChatInput(
                messages=(
                    ChatMessage(
                        role="assistant",
                        content=(),
                        provider_items=ProviderItems(dialect_id="d", wire_version="1", model_id="m", items=()),
                    ),
                    text_message("user", "x"),
                )
            ),
            "input.provider_items",
        ),
    ],
)
def test_what_a_conversation_contains_is_a_leaf(source: ChatInput | CompletionInput, path: str) -> None:
    assert path in active_leaves(Request(input=source))
    assert path not in active_leaves(Request(input=HELLO))


def test_the_type_of_bytes_is_part_of_the_image() -> None:
    image = ImagePart(data=b"x", media_type="image/png")
    assert "input.image_types" not in active_leaves(
        Request(input=ChatInput(messages=(ChatMessage(role="user", content=(image,)),)))
    )


def test_an_assistant_turn_that_is_answered_is_no_prefill() -> None:
    assert "input.prefill" not in active_leaves(Request(input=chat(("assistant", "a"), ("user", "b"))))


def test_each_leaf_that_asks_for_a_capability_names_it() -> None:
    assert LEAVES["reasoning.effort"].capability == "reasoning"
    assert LEAVES["input.images"].capability == "multimodal_input"
    assert LEAVES["sampling.temperature"].capability is None


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: ReasoningParams(effort="low", budget_tokens=1), "either effort or budget_tokens"),
        (lambda: SamplingParams(temperature=float("nan")), "must be finite"),
        (lambda: SamplingParams(n=0), "at least 1"),
        (lambda: SamplingParams(max_tokens=-1), "must not be negative"),
        (lambda: ScoringParams(top_logprobs=3), "needs sampled_logprobs or input_scoring"),
        (lambda: ScoringParams(top_logprobs=-1), "must not be negative"),
        (lambda: StructuredOutputParams(format="json_schema"), "comes with format json_schema"),
        (lambda: StructuredOutputParams(strict=True), "need a format"),
        (lambda: ToolParams(functions=(FunctionTool(name="f"), FunctionTool(name="f"))), "same name"),
        (lambda: ChatInput(messages=()), "at least one message"),
        (lambda: ImagePart(), "either a url or data"),
        (lambda: ImagePart(url="http://x", data=b"x", media_type="image/png"), "either a url or data"),
        (lambda: ImagePart(data=b"x"), "needs its media type"),
        (lambda: ImagePart(data=b"<svg/>", media_type="image/svg+xml"), "'image/svg\\+xml' is not one of"),
    ],
)
def test_what_no_provider_could_mean_is_refused_at_once(build: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


def test_a_common_misspelling_of_an_image_type_is_read_as_its_name() -> None:
    assert ImagePart(data=b"x", media_type="image/JPG").media_type == "image/jpeg"


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ('{"input": {"kind": "completion", "text": ""}, "max_token": 5}', "max_token"),
        ('{"input": {"kind": "completion", "text": ""}, "sampling": {"temprature": 1}}', "temprature"),
        ('{"input": {"kind": "completion", "text": "", "sufix": ""}}', "sufix"),
        ('{"input": {"kind": "chat", "messages": [{"role": "user", "content": [], "nmae": "x"}]}}', "nmae"),
    ],
)
def test_a_field_that_nobody_knows_is_refused_and_not_dropped(text: str, field: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=f"unknown field `{field}`"):
        msgspec.json.decode(text, type=Request)


def test_a_request_survives_its_json() -> None:
    message = ChatMessage(
        role="user",
        content=(
            TextPart(text=""),
            ImagePart(data=b"\x00\xff", media_type="image/png"),
            ToolResultPart(call_id="", content=(TextPart(text="r"),), is_error=True),
        ),
    )
    request = Request(input=ChatInput(messages=(message,)), sampling=SamplingParams(temperature=0.0))
    assert msgspec.json.decode(msgspec.json.encode(request), type=Request) == request
