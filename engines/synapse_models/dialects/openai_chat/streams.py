"""Reading a chat completion that comes as chunks, up to ``[DONE]``."""

from __future__ import annotations

from synapse_models.dialects.openai_chat.fragments import ToolCallFragments
from synapse_models.dialects.openai_chat.wire import (
    DECODER,
    WireChoice,
    WireLogprobs,
    WireMessage,
    arguments_of,
    calls_of,
    citation_of,
    reasoning_of,
    texts,
)
from synapse_models.dialects.openai_wire import (
    DONE,
    NamesSoFar,
    data_of,
    finish_reason,
    read_chunk,
    token_logprobs,
    usage,
)
from synapse_models.errors import ProtocolViolation, StreamTruncated
from synapse_models.sse import SseEvent
from synapse_models.stream import (
    Cited,
    Finished,
    LogprobsDelta,
    ReasoningDelta,
    RefusalDelta,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
    UsageReported,
)

_EMPTY = WireMessage()


class ChatStream:
    """One stream. Members that a chunk leaves out mean nothing new; empty pieces are passed over."""

    def __init__(self) -> None:
        self.ended = False
        self._names = NamesSoFar()
        self._calls: dict[int, ToolCallFragments] = {}
        self._refused: set[int] = set()

    def feed(self, event: SseEvent) -> list[StreamEvent]:
        """The events of one chunk.

        Raises:
            ModelError: the chunk reports a failure.
            ProtocolViolation: it isn't a chunk of a chat completion.
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
        for choice in chunk.choices or ():
            self._choice(choice, found)
        if chunk.usage is not None and (counts := usage(chunk.usage)) is not None:
            found.append(UsageReported(usage=counts))
        return found

    def end(self) -> list[StreamEvent]:
        """The bytes have ended.

        Raises:
            StreamTruncated: before ``[DONE]``.
            ProtocolViolation: a tool call never got a name.
        """
        if not self.ended:
            raise StreamTruncated("the stream ended without [DONE]")
        if any(call.name is None for fragments in self._calls.values() for call in fragments.calls):
            raise ProtocolViolation("a tool call names no function")
        return []

    def _choice(self, wire: WireChoice, found: list[StreamEvent]) -> None:
        index = wire.index or 0
        delta = wire.delta or wire.message or _EMPTY
        if thinking := reasoning_of(delta):
            found.append(ReasoningDelta(text=thinking, choice=index))
        content = delta.content
        if isinstance(content, str):
            # An empty piece is kept: it says that the choice exists.
            found.append(TextDelta(text=content, choice=index))
        elif content is not None:
            for kind, piece in texts(content):
                found.append((TextDelta if kind == "text" else ReasoningDelta)(text=piece, choice=index))
        if delta.refusal:
            self._refused.add(index)
            found.append(RefusalDelta(refusal_kind="model", text=delta.refusal, choice=index))
        if delta.tool_calls or delta.function_call:
            self._tool_calls(delta, index, found)
        if delta.annotations:
            found.extend(Cited(citation=citation_of(raw, index)) for raw in delta.annotations)
        if wire.logprobs is not None:
            _logprobs(wire.logprobs, index, found)
        if wire.finish_reason:
            if wire.finish_reason == "content_filter" and index not in self._refused:
                found.append(RefusalDelta(refusal_kind="filter", category="content_filter", choice=index))
            found.append(Finished(choice=index, reason=finish_reason(wire.finish_reason), raw=wire.finish_reason))

    def _tool_calls(self, delta: WireMessage, index: int, found: list[StreamEvent]) -> None:
        fragments = self._calls.get(index)
        if fragments is None:
            fragments = self._calls[index] = ToolCallFragments()
        fragments.begin_chunk()
        for wire in calls_of(delta):
            function = wire.function
            arguments = arguments_of(function) if function is not None else ""
            name = function.name if function is not None else None
            call, piece = fragments.assign(wire.index, wire.id, name, arguments)
            found.append(
                ToolCallDelta(choice=index, position=call.position, id=call.id, name=piece, arguments=arguments)
            )


def _logprobs(wire: WireLogprobs, index: int, found: list[StreamEvent]) -> None:
    if wire.content is not None:
        found.append(LogprobsDelta(tokens=token_logprobs(wire.content), choice=index))
    if wire.refusal is not None:
        found.append(LogprobsDelta(tokens=token_logprobs(wire.refusal), choice=index, of_refusal=True))
