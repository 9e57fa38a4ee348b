"""The documents of completions as servers send them, with every member optional that some server leaves out."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct

from synapse_models.dialects.openai_wire import WireDocument, WireToken


class WireLogprobs(Struct, frozen=True):
    """Parallel lists, one entry a token; or ``content``, the shape of chat, which some servers send here."""

    tokens: list[str] | None = None
    token_logprobs: list[float | None] | None = None
    top_logprobs: list[dict[str, float] | None] | None = None
    content: list[WireToken] | None = None


class WirePromptToken(Struct, frozen=True):
    """One entry of vLLM's prompt scores."""

    logprob: float
    rank: int | None = None
    decoded_token: str | None = None


class WireChoice(Struct, frozen=True):
    index: int | None = None
    text: str | None = None
    logprobs: WireLogprobs | None = None
    prompt_logprobs: list[dict[str, WirePromptToken] | None] | None = None
    finish_reason: str | None = None


class WireCompletion(WireDocument, frozen=True):
    """A document or a chunk."""

    choices: list[WireChoice] | None = None


DECODER: Final = msgspec.json.Decoder(WireCompletion)
