"""The binder of completions: the one object that the registry knows."""

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
from synapse_models.dialects.openai_completions import requests
from synapse_models.dialects.openai_completions.replies import read_reply
from synapse_models.dialects.openai_completions.streams import CompletionStream
from synapse_models.dialects.openai_wire import IDENTITY_HEADERS, option_headers
from synapse_models.request import Request
from synapse_models.response import Response

_PRESENT: Final = frozenset({"text", "input_scoring", "logprobs", "finish_reason", "refusal"})
_BEST_EFFORT: Final = frozenset(
    {"usage", "system_fingerprint", "service_tier", "response_id", "response_model", "provenance"}
)


class CompletionBinder:
    """Translates between requests and completions."""

    spec: DialectSpec = requests.SPEC
    auth = WireAuth.BEARER
    identity_headers = IDENTITY_HEADERS
    capabilities: Mapping[str, CapabilityOutcome] = requests.SPEC.designed
    reserved_options = requests.RESERVED
    output_rules: Mapping[str, OutputRule] = {
        name: OutputRule(guarantee=Guarantee.PRESENT_OR_ERROR)
        if name in _PRESENT
        else OutputRule(guarantee=Guarantee.BEST_EFFORT)
        if name in _BEST_EFFORT
        else OutputRule(guarantee=Guarantee.NEVER, reason="completions are text and scores")
        for name in CHANNELS
    }

    def decide(self, leaf: str, value: Any, request: Request, context: CallContext) -> LeafDecision:
        return requests.decide(leaf, value, request, context)

    def encode(self, request: Request, context: CallContext) -> WireRequest:
        body = requests.encode(request, context)
        return WireRequest(method="POST", path="/completions", headers=option_headers(request), body=body)

    def decode(self, reply: WireReply, request: Request, context: CallContext) -> Response:
        return read_reply(reply.body, request, context)

    def stream_decoder(self, request: Request, context: CallContext) -> StreamDecoder:
        return CompletionStream(request, context)


BINDER: Final[DialectBinder] = CompletionBinder()
