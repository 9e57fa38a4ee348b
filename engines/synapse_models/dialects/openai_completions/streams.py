"""Reading completions that come as chunks, up to ``[DONE]``.

A scored input arrives in pieces whose boundary only the last chunk's usage gives away, so such a stream is collected
and told at its end; it says nothing earlier that it might have to take back.
"""

from __future__ import annotations

from synapse_models.dialect import CallContext
from synapse_models.dialects.openai_completions.replies import refusal_of, response_of, sampled_tokens
from synapse_models.dialects.openai_completions.wire import DECODER, WireChoice, WireCompletion, WireLogprobs
from synapse_models.dialects.openai_wire import (
    DONE,
    NamesSoFar,
    WireUsage,
    data_of,
    finish_reason,
    read_chunk,
    usage,
)
from synapse_models.errors import StreamTruncated
from synapse_models.request import Request
from synapse_models.sse import SseEvent
from synapse_models.stream import (
    Finished,
    InputScored,
    LogprobsDelta,
    RefusalDelta,
    StreamEvent,
    TextDelta,
    UsageReported,
)


class CompletionStream:
    """One stream."""

    def __init__(self, request: Request, context: CallContext) -> None:
        self.ended = False
        self._request = request
        self._context = context
        self._names = NamesSoFar()
        self._collected = _Collected() if request.scoring.input_scoring else None

    def feed(self, event: SseEvent) -> list[StreamEvent]:
        """The events of one chunk.

        Raises:
            ModelError: the chunk reports a failure.
            ProtocolViolation: it isn't a chunk of a completion.
        """
        if self.ended:
            return []
        data = data_of(event)
        if data is None:
            return []
        if data == DONE:
            self.ended = True
            return []
        chunk = read_chunk(DECODER, data)
        found: list[StreamEvent] = []
        if (began := self._names.new(chunk)) is not None:
            found.append(began)
        if self._collected is not None:
            self._collected.add(chunk)
            return found
        for wire in chunk.choices or ():
            self._choice(wire, found)
        if chunk.usage is not None and (counts := usage(chunk.usage)) is not None:
            found.append(UsageReported(usage=counts))
        return found

    def end(self) -> list[StreamEvent]:
        """The bytes have ended: what was collected, told.

        Raises:
            StreamTruncated: before ``[DONE]``.
            OutputContractViolation: a score was asked for and isn't complete.
        """
        if not self.ended:
            raise StreamTruncated("the stream ended without [DONE]")
        if self._collected is None:
            return []
        response = response_of(self._collected.document(), self._request, self._context)
        found: list[StreamEvent] = []
        if response.input_scoring is not None:
            found.append(InputScored(scoring=response.input_scoring))
        for choice in response.choices:
            found.append(TextDelta(text=choice.text, choice=choice.index))
            if choice.logprobs is not None:
                found.append(LogprobsDelta(tokens=choice.logprobs, choice=choice.index))
            if choice.refusal is not None:
                found.append(
                    RefusalDelta(
                        refusal_kind=choice.refusal.kind, category=choice.refusal.category, choice=choice.index
                    )
                )
            found.append(Finished(choice=choice.index, reason=choice.finish_reason, raw=choice.finish_reason_raw))
        if response.usage is not None:
            found.append(UsageReported(usage=response.usage))
        return found

    def _choice(self, wire: WireChoice, found: list[StreamEvent]) -> None:
        index = wire.index or 0
        if wire.text is not None:
            found.append(TextDelta(text=wire.text, choice=index))
        if wire.logprobs is not None and (tokens := sampled_tokens(wire.logprobs, self._request)) is not None:
            found.append(LogprobsDelta(tokens=tokens, choice=index))
        if (refusal := refusal_of(wire)) is not None:
            found.append(RefusalDelta(refusal_kind=refusal.kind, category=refusal.category, choice=index))
        if wire.finish_reason:
            found.append(Finished(choice=index, reason=finish_reason(wire.finish_reason), raw=wire.finish_reason))


class _Collected:
    """The chunks of one scored choice, put together as the document that they would have been."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._logprobs: WireLogprobs | None = None
        self._prompt_logprobs = WireChoice().prompt_logprobs
        self._finish: str | None = None
        self._usage: WireUsage | None = None

    def add(self, chunk: WireCompletion) -> None:
        self._usage = chunk.usage or self._usage
        for wire in chunk.choices or ():
            self._text.append(wire.text or "")
            self._finish = wire.finish_reason or self._finish
            self._prompt_logprobs = wire.prompt_logprobs or self._prompt_logprobs
            if wire.logprobs is not None:
                self._logprobs = _joined(self._logprobs or WireLogprobs(), wire.logprobs)

    def document(self) -> WireCompletion:
        choice = WireChoice(
            index=0,
            text="".join(self._text),
            logprobs=self._logprobs,
            prompt_logprobs=self._prompt_logprobs,
            finish_reason=self._finish,
        )
        return WireCompletion(choices=[choice], usage=self._usage)


def _joined(known: WireLogprobs, more: WireLogprobs) -> WireLogprobs:
    return WireLogprobs(
        tokens=[*(known.tokens or ()), *(more.tokens or ())] if more.tokens is not None else known.tokens,
        token_logprobs=[*(known.token_logprobs or ()), *(more.token_logprobs or ())]
        if more.token_logprobs is not None
        else known.token_logprobs,
        top_logprobs=[*(known.top_logprobs or ()), *(more.top_logprobs or ())]
        if more.top_logprobs is not None
        else known.top_logprobs,
        content=more.content or known.content,
    )
