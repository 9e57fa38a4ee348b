"""Reading completions that came as one document."""

from __future__ import annotations

from synapse_models.dialect import CallContext
from synapse_models.dialects.openai_completions import scoring
from synapse_models.dialects.openai_completions.requests import scores_by_parameter
from synapse_models.dialects.openai_completions.wire import DECODER, WireChoice, WireCompletion, WireLogprobs
from synapse_models.dialects.openai_wire import (
    finish_reason,
    read_document,
    token_logprobs,
    usage,
)
from synapse_models.errors import ProtocolViolation
from synapse_models.request import CompletionInput, Request
from synapse_models.response import Choice, InputScoring, Refusal, Response, TokenLogprob


def read_reply(body: bytes, request: Request, context: CallContext) -> Response:
    """The response of a whole document.

    Raises:
        ModelError: the document reports a failure.
        OutputContractViolation: a score was asked for and isn't complete.
        ProtocolViolation: it isn't a completion.
    """
    document = read_document(DECODER, body)
    return response_of(document, request, context)


def response_of(document: WireCompletion, request: Request, context: CallContext) -> Response:
    """The response of a document that has choices, however its pieces came.

    Raises:
        OutputContractViolation: a score was asked for and isn't complete.
        ProtocolViolation: two choices have the same index.
    """
    counts = usage(document.usage)
    wires: dict[int, WireChoice] = {}
    for place, wire in enumerate(document.choices or ()):
        index = place if wire.index is None else wire.index
        if index in wires:
            raise ProtocolViolation(f"two choices have the index {index}")
        wires[index] = wire
    prompt = request.input.text if isinstance(request.input, CompletionInput) else ""
    echoed = request.scoring.input_scoring and not scores_by_parameter(request, context)
    score: InputScoring | None = None
    choices: list[Choice] = []
    for index, wire in sorted(wires.items()):
        text = wire.text or ""
        if echoed:
            echo = scoring.take_echo_apart(
                prompt,
                text,
                wire.logprobs,
                counts,
                request.scoring.top_logprobs or 0,
                alone=request.sampling.max_tokens == 0,
            )
            score, text = echo.scoring, echo.text
            tokens = echo.generated if request.scoring.sampled_logprobs else None
        else:
            tokens = sampled_tokens(wire.logprobs, request)
            if request.scoring.input_scoring:
                score = scoring.score_by_parameter(
                    prompt, wire.prompt_logprobs, counts, request.scoring.top_logprobs or 0
                )
        choices.append(
            Choice(
                index=index,
                text=text,
                refusal=refusal_of(wire),
                logprobs=tokens,
                finish_reason=finish_reason(wire.finish_reason),
                finish_reason_raw=wire.finish_reason,
            )
        )
    return Response(
        choices=tuple(choices),
        input_scoring=score,
        usage=counts,
        response_id=document.id or None,
        response_model=document.model or None,
        system_fingerprint=document.system_fingerprint or None,
        service_tier=document.service_tier or None,
    )


def sampled_tokens(wire: WireLogprobs | None, request: Request) -> tuple[TokenLogprob, ...] | None:
    """The generated tokens of a choice without an echo, None when there are none or none were asked for."""
    if wire is None or not request.scoring.sampled_logprobs:
        return None
    if wire.content is not None:
        return token_logprobs(wire.content)
    return None if wire.tokens is None else scoring.sampled(wire, request.scoring.top_logprobs or 0)


def refusal_of(wire: WireChoice) -> Refusal | None:
    """A filtered choice is a refusal."""
    return Refusal(kind="filter", category="content_filter") if wire.finish_reason == "content_filter" else None
