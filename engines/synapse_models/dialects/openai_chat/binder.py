"""The binder of chat completions: the one object that the registry knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from synapse_models.audit import LeafDecision
from synapse_models.contract import CHANNELS, Guarantee, OutputRule
from synapse_models.dialect import (
    CallContext,
    CapabilityOutcome,
    DialectBinder,
    DialectSpec,
    StreamDecoder,
    WireAuth,
    WireReply,
    WireRequest,
)
from synapse_models.dialects.openai_chat import requests
from synapse_models.dialects.openai_chat.replies import read_reply
from synapse_models.dialects.openai_chat.streams import ChatStream
from synapse_models.dialects.openai_wire import IDENTITY_HEADERS, option_headers
from synapse_models.request import Request
from synapse_models.response import Response

_NEVER: Final = {
    "input_scoring": "chat completions score no input",
    "grounding": "chat completions have no grounding",
    "session": "chat completions keep no state",
    "provider_items": "chat completions carry no provider state",
    "server_tool_uses": "chat completions show what a search found, not that it ran",
}
_BEST_EFFORT: Final = frozenset(
    {
        "usage",
        "system_fingerprint",
        "service_tier",
        "citations",
        "response_id",
        "response_model",
        "refusal_logprobs",
        "provenance",
    }
)


class ChatBinder:
    """Translates between requests and chat completions."""

    spec: DialectSpec = requests.SPEC
    auth = WireAuth.BEARER
    identity_headers = IDENTITY_HEADERS
    capabilities: Mapping[str, CapabilityOutcome] = requests.SPEC.designed
    reserved_options = requests.RESERVED
    output_rules: Mapping[str, OutputRule] = {
        name: OutputRule(guarantee=Guarantee.NEVER, reason=_NEVER[name])
        if name in _NEVER
        else OutputRule(guarantee=Guarantee.BEST_EFFORT if name in _BEST_EFFORT else Guarantee.PRESENT_OR_ERROR)
        for name in CHANNELS
    }

    def decide(self, leaf: str, value: Any, request: Request, context: CallContext) -> LeafDecision:
        return requests.decide(leaf, value, request, context)

    def encode(self, request: Request, context: CallContext) -> WireRequest:
        body = requests.encode(request, context)
        return WireRequest(method="POST", path="/chat/completions", headers=option_headers(request), body=body)

    def decode(self, reply: WireReply, _request: Request, _context: CallContext) -> Response:
        return read_reply(reply.body)

    def stream_decoder(self, _request: Request, _context: CallContext) -> StreamDecoder:
        return ChatStream()


BINDER: Final[DialectBinder] = ChatBinder()
