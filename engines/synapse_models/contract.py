"""What a response promises: every channel, whether it is indexed by choice, and how far a dialect guarantees it.

``CHANNELS`` is derived from the response's types, so that a new field is a new channel and breaks every dialect that
has no rule for it. ``model.py`` calls :func:`choice_conflicts` before a call, and :func:`missing_channels` and
:func:`partial_channels` after it. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Final, Literal

from msgspec import structs

from synapse_models.capabilities import CAPABILITY_SPECS, leaf_owner
from synapse_models.parts import Record
from synapse_models.response import Choice, Response, TokenLogprob, Usage

ChannelKind = Literal["per_choice", "singular", "core"]


class Channel(Record, frozen=True):
    """One place of a response.

    ``per_choice`` channels come once for each answer. ``singular`` ones come once for the call though they describe
    one answer, so they can't be asked for together with several. ``core`` ones describe the call itself.
    """

    name: str
    kind: ChannelKind
    capability: str | None


_CORE: Final = frozenset(
    {"usage", "response_id", "response_model", "system_fingerprint", "service_tier", "session", "provenance"}
)
_BOOKKEEPING: Final = frozenset({"choices", "record_version", "refusal", "index", "finish_reason_raw"})
"""Fields that are no channel of their own: containers, versions, and `Response.refusal`, the refusal channel's form
for a prompt that got no choice at all."""


def _channels() -> dict[str, Channel]:
    owners = {channel: spec.key for spec in CAPABILITY_SPECS.values() for channel in spec.channels}
    owners["refusal_logprobs"] = owners["logprobs"]
    found: dict[str, Channel] = {}
    for field in structs.fields(Choice):
        if field.name not in _BOOKKEEPING - {"refusal"}:
            found[field.name] = Channel(name=field.name, kind="per_choice", capability=owners.get(field.name))
    for field in structs.fields(Response):
        if field.name not in _BOOKKEEPING:
            kind: ChannelKind = "core" if field.name in _CORE else "singular"
            found[field.name] = Channel(name=field.name, kind=kind, capability=owners.get(field.name))
    return found


CHANNELS: Final[Mapping[str, Channel]] = _channels()


class Guarantee(Enum):
    """How far a dialect answers for a channel."""

    PRESENT_OR_ERROR = "present_or_error"
    """Asked for, it is there and valid, or the call fails."""
    BEST_EFFORT = "best_effort"
    """It may be there. It can't satisfy a requirement."""
    NEVER = "never"
    """It is never there, by contract."""


OutputValidator = Callable[[Any], str | None]
"""Takes a channel's value, returns what is wrong with it or None."""


def _anything(_value: Any) -> str | None:
    return None


class OutputRule(Record, frozen=True):
    """One dialect's guarantee for one channel. ``validator`` runs whenever the channel is present."""

    guarantee: Guarantee
    validator: OutputValidator = _anything
    reason: str | None = None


def requested_channels(active: Mapping[str, Any]) -> frozenset[str]:
    """The channels that a call with these active leaves asks for and must not miss.

    Tools and structured output are asked for by name. Reasoning is asked for by a ``summary`` other than ``none``
    only: effort and budget steer it without asking to see it. A function call can only be demanded by a choice that
    forces one.
    """
    asked: set[str] = set()
    if active.get("scoring.input_scoring"):
        asked.add("input_scoring")
    if active.get("scoring.sampled_logprobs"):
        asked.add("logprobs")
    if active.get("reasoning.summary", "none") != "none":
        asked.add("reasoning")
    if active.get("tools.choice", "auto") not in ("auto", "none"):
        asked.add("tool_calls")
    if active.get("structured_output.format") is not None:
        asked.add("structured_output")
    return frozenset(asked)


def choice_conflicts(active: Mapping[str, Any]) -> tuple[str, ...]:
    """The active leaves that ask for a singular channel while ``sampling.n`` asks for several answers."""
    if active.get("sampling.n", 1) == 1:
        return ()
    return tuple(path for path in active if any(CHANNELS[name].kind == "singular" for name in _channels_of(path)))


def _channels_of(path: str) -> tuple[str, ...]:
    owner = leaf_owner(path)
    return () if owner is None else CAPABILITY_SPECS[owner].channels


def missing_channels(
    required: frozenset[str], rules: Mapping[str, OutputRule], response: Response
) -> tuple[tuple[str, str], ...]:
    """(channel, what is wrong) for each required channel that is absent and each present one that is invalid.

    A refused choice is excused from its own channels, a blocked prompt from all of them, and a turn that calls tools
    from structured output: its answer is still to come.
    """
    wrong: list[tuple[str, str]] = []
    for name, channel in CHANNELS.items():
        rule = rules[name]
        for where, value, excused in _values(channel, response):
            if value is None:
                if name in required and not excused:
                    wrong.append((name, f"{where}asked for and not there"))
            elif rule.guarantee is Guarantee.NEVER:
                wrong.append((name, f"{where}there, though this dialect never has it"))
            elif (fault := rule.validator(value)) is not None:
                wrong.append((name, f"{where}{fault}"))
    if not response.choices and response.refusal is None and required:
        wrong.append(("text", "the reply has no choice at all"))
    return tuple(wrong)


def _values(channel: Channel, response: Response) -> list[tuple[str, Any, bool]]:
    if channel.kind != "per_choice":
        return [("", getattr(response, channel.name), response.refusal is not None)]
    return [
        (f"choice {choice.index}: ", _there(choice, channel.name), _is_excused(choice, channel.name))
        for choice in response.choices
    ]


def _there(choice: Choice, channel: str) -> Any:
    """What a choice has of a channel. An empty list of calls is no call."""
    value = getattr(choice, channel)
    return None if channel == "tool_calls" and value == () else value


def partial_channels(active: Mapping[str, Any], response: Response) -> tuple[tuple[str, str], ...]:
    """(channel, what is wrong) for each requested channel that evidently is a part of what it should be.

    Log-probabilities are, where their tokens are spelled as in the text and leave some of it out. Where they are
    spelled otherwise only the usage can tell, and it counts the token that ended the answer, which many servers leave
    out, what the answer was cut at, and on some thinking that isn't shown.
    """
    if not active.get("scoring.sampled_logprobs"):
        return ()
    usage = response.usage or Usage()
    counted = usage.output_tokens or 0
    scored = sum(len(choice.logprobs or ()) for choice in response.choices)
    if counted and scored >= counted:
        return ()
    plain = len(response.choices) == 1 and "sampling.stop" not in active and not usage.reasoning_tokens
    wrong: list[tuple[str, str]] = []
    for choice in response.choices:
        if choice.logprobs is None or choice.refusal is not None:
            continue
        # The text may begin with what the request had begun, of which there are no scores.
        whole = None if "input.prefill" in active else _is_whole(choice.logprobs, choice.text or "")
        if whole is False:
            wrong.append(
                (
                    "logprobs",
                    f"choice {choice.index}: {len(choice.logprobs)} tokens have one, and the text goes beyond them",
                )
            )
        elif whole is None and plain and not choice.tool_calls and choice.reasoning is None and scored < counted - 1:
            wrong.append(("logprobs", f"choice {choice.index}: {scored} tokens have one, and {counted} were generated"))
    return tuple(wrong)


def _is_whole(tokens: Sequence[TokenLogprob], text: str) -> bool | None:
    """Whether tokens make up a text, white space aside, which some servers cut from single tokens.

    None where that can't be told, because the tokens aren't found in the text: pieces of characters, spellings of a
    tokenizer's own, tokens that were taken out of the text.
    """
    # A text that was cut within a character ends in one that stands for it.
    whole = _dense(text.rstrip("\ufffd").encode())
    at = length = 0
    unclear = False
    for token in tokens:
        spelled = token.token.encode() if token.token_bytes is None else token.token_bytes
        piece = _dense(spelled)
        found = whole.find(piece, at)
        if not spelled or found < 0:
            unclear = True  # The end of an answer, say, which may have an entry and no text.
            continue
        at = found + len(piece)
        length += len(piece)
    if length == len(whole):
        return True
    return None if unclear else False


def _dense(text: bytes) -> bytes:
    return b"".join(text.split())


def _is_excused(choice: Choice, channel: str) -> bool:
    return choice.refusal is not None or (channel == "structured_output" and bool(choice.tool_calls))
