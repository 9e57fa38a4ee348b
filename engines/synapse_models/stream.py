"""What a streamed answer consists of, and how the pieces become the same response that would have come in one.

A dialect's decoder turns wire events into the events here; ``model.py`` hands them to the caller as they come and to a
:class:`Fold`, and ends with one :class:`Completed`. Everything that depends on a provider's habits (which fragment
belongs to which call, what a word means) is settled by the decoder: folding is plain joining, in order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, Struct, UnsetType

from synapse_models.parts import JSONValue, ProviderItems, ToolCallPart
from synapse_models.response import (
    Choice,
    Citation,
    FinishReason,
    Grounding,
    InputScoring,
    Reasoning,
    Refusal,
    RefusalKind,
    Response,
    ServerToolUse,
    SessionState,
    TokenLogprob,
    Usage,
)


class Event(Struct, frozen=True, kw_only=True, tag_field="kind", gc=False):
    """The base of all events. They are made by the thousand, hence without the collector's bookkeeping."""


class Began(Event, frozen=True, tag="began"):
    """The provider has named its response, the model that answers, its configuration or the class of service."""

    response_id: str | None = None
    response_model: str | None = None
    system_fingerprint: str | None = None
    service_tier: str | None = None


class TextDelta(Event, frozen=True, tag="text"):
    """Text that goes on where the choice's text ended."""

    text: str
    choice: int = 0


class ReasoningDelta(Event, frozen=True, tag="reasoning"):
    """Visible thinking; with ``summary``, a piece of the digest's part of that number."""

    text: str
    choice: int = 0
    summary: int | None = None


class RefusalDelta(Event, frozen=True, tag="refusal"):
    """A refusal, or more of its text. Without a choice, the whole prompt was refused."""

    refusal_kind: RefusalKind
    text: str | None = None
    category: str | None = None
    choice: int | None = None


class ToolCallDelta(Event, frozen=True, tag="tool_call"):
    """A call, or more of it. ``position`` is its place among the choice's calls, and settled: it never changes."""

    position: int
    choice: int = 0
    id: str | None = None
    name: str | None = None
    arguments: str = ""


class LogprobsDelta(Event, frozen=True, tag="logprobs"):
    """Log-probabilities of tokens of the text, or of the refusal's text with ``of_refusal``."""

    tokens: tuple[TokenLogprob, ...]
    choice: int = 0
    of_refusal: bool = False


class Finished(Event, frozen=True, tag="finished"):
    """A choice has ended. ``reason`` is None when the provider gave none; ``raw`` is its word."""

    choice: int = 0
    reason: FinishReason | None = None
    raw: str | None = None


class UsageReported(Event, frozen=True, tag="usage"):
    """Token counts so far. A later report replaces an earlier one."""

    usage: Usage


class InputScored(Event, frozen=True, tag="input_scoring"):
    """The complete score of the input."""

    scoring: InputScoring


class ServerToolUsed(Event, frozen=True, tag="server_tool_use"):
    """A tool that the provider ran."""

    use: ServerToolUse


class Cited(Event, frozen=True, tag="citation"):
    """A source of a span of the answer."""

    citation: Citation


class Grounded(Event, frozen=True, tag="grounding"):
    """Search evidence. A later report replaces an earlier one."""

    grounding: Grounding


class SessionNamed(Event, frozen=True, tag="session"):
    """What a next request may refer to."""

    session: SessionState


class ProviderItem(Event, frozen=True, tag="provider_item"):
    """One finished item of the provider's own record of a choice, as received."""

    dialect_id: str
    wire_version: str
    model_id: str
    item: str
    choice: int = 0


class Completed(Event, frozen=True, tag="completed"):
    """The last event: the whole response, checked, with its provenance."""

    response: Response


StreamEvent: TypeAlias = (
    Began
    | TextDelta
    | ReasoningDelta
    | RefusalDelta
    | ToolCallDelta
    | LogprobsDelta
    | Finished
    | UsageReported
    | InputScored
    | ServerToolUsed
    | Cited
    | Grounded
    | SessionNamed
    | ProviderItem
    | Completed
)


class _Call:
    __slots__ = ("arguments", "id", "name")

    def __init__(self) -> None:
        self.id: str | None = None
        self.name = ""
        self.arguments: list[str] = []


class _ChoiceFold:
    """The pieces of one choice."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self.summary: dict[int, list[str]] = {}
        self.refusal: RefusalDelta | None = None
        self.refusal_text: list[str] = []
        self.calls: dict[int, _Call] = {}
        self.logprobs: list[TokenLogprob] | None = None
        self.refusal_logprobs: list[TokenLogprob] | None = None
        self.items: list[ProviderItem] = []
        self.finished: Finished | None = None

    def choice(self, index: int) -> Choice:
        return Choice(
            index=index,
            text="".join(self.text),
            reasoning=self._reasoning(),
            refusal=_refusal(self.refusal, self.refusal_text),
            tool_calls=tuple(tool_call(c.name, "".join(c.arguments), c.id) for _, c in sorted(self.calls.items()))
            or None,
            logprobs=None if self.logprobs is None else tuple(self.logprobs),
            refusal_logprobs=None if self.refusal_logprobs is None else tuple(self.refusal_logprobs),
            provider_items=self._provider_items(),
            finish_reason=self.finished.reason if self.finished else None,
            finish_reason_raw=self.finished.raw if self.finished else None,
        )

    def _reasoning(self) -> Reasoning | None:
        if not self.reasoning and not self.summary:
            return None
        return Reasoning(
            text="".join(self.reasoning) if self.reasoning else None,
            summary=tuple("".join(pieces) for _, pieces in sorted(self.summary.items())),
        )

    def _provider_items(self) -> ProviderItems | None:
        if not self.items:
            return None
        first = self.items[0]
        return ProviderItems(
            dialect_id=first.dialect_id,
            wire_version=first.wire_version,
            model_id=first.model_id,
            items=tuple(event.item for event in self.items),
        )


class Fold:
    """Joins the events of one stream. Feed it all of them, then ask for the response."""

    def __init__(self) -> None:
        self._choices: dict[int, _ChoiceFold] = {}
        self._began = Began()
        self._usage: Usage | None = None
        self._scoring: InputScoring | None = None
        self._uses: list[ServerToolUse] = []
        self._citations: list[Citation] = []
        self._grounding: Grounding | None = None
        self._session: SessionState | None = None
        self._refusal: RefusalDelta | None = None
        self._refusal_text: list[str] = []

    def add(self, event: StreamEvent) -> None:
        """Takes the next event."""
        _ADD[type(event)](self, event)

    def response(self) -> Response:
        """What the events so far amount to."""
        return Response(
            choices=tuple(fold.choice(index) for index, fold in sorted(self._choices.items())),
            input_scoring=self._scoring,
            server_tool_uses=tuple(self._uses) or None,
            citations=tuple(self._citations) or None,
            grounding=self._grounding,
            refusal=_refusal(self._refusal, self._refusal_text),
            session=self._session,
            usage=self._usage,
            response_id=self._began.response_id,
            response_model=self._began.response_model,
            system_fingerprint=self._began.system_fingerprint,
            service_tier=self._began.service_tier,
        )

    def _of(self, choice: int) -> _ChoiceFold:
        fold = self._choices.get(choice)
        if fold is None:
            fold = self._choices[choice] = _ChoiceFold()
        return fold

    def _add_began(self, event: Began) -> None:
        known = self._began
        self._began = Began(
            response_id=_later(known.response_id, event.response_id),
            response_model=_later(known.response_model, event.response_model),
            system_fingerprint=_later(known.system_fingerprint, event.system_fingerprint),
            service_tier=_later(known.service_tier, event.service_tier),
        )

    def _add_text(self, event: TextDelta) -> None:
        self._of(event.choice).text.append(event.text)

    def _add_reasoning(self, event: ReasoningDelta) -> None:
        fold = self._of(event.choice)
        pieces = fold.reasoning if event.summary is None else fold.summary.setdefault(event.summary, [])
        pieces.append(event.text)

    def _add_refusal(self, event: RefusalDelta) -> None:
        if event.choice is None:
            self._refusal = _merged(self._refusal, event)
            texts = self._refusal_text
        else:
            fold = self._of(event.choice)
            fold.refusal = _merged(fold.refusal, event)
            texts = fold.refusal_text
        if event.text is not None:
            texts.append(event.text)

    def _add_call(self, event: ToolCallDelta) -> None:
        call = self._of(event.choice).calls.setdefault(event.position, _Call())
        if event.id is not None:
            call.id = event.id
        if event.name is not None:
            call.name += event.name
        call.arguments.append(event.arguments)

    def _add_logprobs(self, event: LogprobsDelta) -> None:
        fold = self._of(event.choice)
        if event.of_refusal:
            fold.refusal_logprobs = [*(fold.refusal_logprobs or ()), *event.tokens]
        elif fold.logprobs is None:
            fold.logprobs = list(event.tokens)
        else:
            fold.logprobs.extend(event.tokens)

    def _add_finished(self, event: Finished) -> None:
        self._of(event.choice).finished = event

    def _add_usage(self, event: UsageReported) -> None:
        self._usage = event.usage

    def _add_scoring(self, event: InputScored) -> None:
        self._scoring = event.scoring

    def _add_use(self, event: ServerToolUsed) -> None:
        self._uses.append(event.use)

    def _add_citation(self, event: Cited) -> None:
        self._citations.append(event.citation)

    def _add_grounding(self, event: Grounded) -> None:
        self._grounding = event.grounding

    def _add_session(self, event: SessionNamed) -> None:
        self._session = event.session

    def _add_item(self, event: ProviderItem) -> None:
        self._of(event.choice).items.append(event)

    def _add_completed(self, event: Completed) -> None:
        """The whole response repeats what came before it."""


_ADD: dict[type[Any], Any] = {
    Began: Fold._add_began,
    TextDelta: Fold._add_text,
    ReasoningDelta: Fold._add_reasoning,
    RefusalDelta: Fold._add_refusal,
    ToolCallDelta: Fold._add_call,
    LogprobsDelta: Fold._add_logprobs,
    Finished: Fold._add_finished,
    UsageReported: Fold._add_usage,
    InputScored: Fold._add_scoring,
    ServerToolUsed: Fold._add_use,
    Cited: Fold._add_citation,
    Grounded: Fold._add_grounding,
    SessionNamed: Fold._add_session,
    ProviderItem: Fold._add_item,
    Completed: Fold._add_completed,
}


def fold(events: Iterable[StreamEvent]) -> Response:
    """The response that these events amount to."""
    folding = Fold()
    for event in events:
        folding.add(event)
    return folding.response()


def tool_call(name: str, arguments_text: str, call_id: str | None) -> ToolCallPart:
    """A call from what was received. No arguments at all are an empty object; text that isn't JSON, or nested too
    deeply to be read, stays text."""
    return ToolCallPart(name=name, arguments_text=arguments_text, arguments=_parsed(arguments_text), id=call_id)


def _later(known: str | None, said: str | None) -> str | None:
    return known if said is None else said


def _parsed(text: str) -> JSONValue | UnsetType:
    if not text.strip():
        return {}
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return UNSET


def _merged(known: RefusalDelta | None, event: RefusalDelta) -> RefusalDelta:
    if known is None or (known.category is None and event.category is not None):
        return event
    return known


def _refusal(known: RefusalDelta | None, texts: list[str]) -> Refusal | None:
    if known is None:
        return None
    return Refusal(kind=known.refusal_kind, text="".join(texts) if texts else None, category=known.category)
