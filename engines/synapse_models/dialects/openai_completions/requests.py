"""What completions do with each leaf of a request, and the body that follows from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from synapse_models.audit import LeafDecision, consumed, rejected
from synapse_models.capabilities import leaf_owner
from synapse_models.dialect import CallContext, Unsupported
from synapse_models.dialects.decisions import decide_option, refused_by_profile
from synapse_models.dialects.openai_wire import ENGINE_SPELLINGS, HEADER_OPTIONS, body_options
from synapse_models.leaves import LEAVES, OPTION_PREFIX
from synapse_models.request import CompletionInput, Request
from synapse_models.specs import DIALECT_SPECS

SPEC: Final = DIALECT_SPECS["openai_completions"]

_PROMPT_LOGPROBS_ENGINES: Final = frozenset({"vllm"})
"""Engines that score a prompt by a parameter of their own, without echoing it."""

_TOP_K_ENGINES: Final = frozenset({"vllm", "sglang", "llama_cpp"})
"""Engines whose completions take ``top_k`` beyond the protocol."""

_GENERATING_ENGINES: Final = frozenset({"sglang"})
"""Engines that refuse to generate nothing at all (sglang 0.5.23, entrypoints/openai/protocol.py)."""

_SAME_NAME: Final[Mapping[str, str]] = {
    "sampling.temperature": "temperature",
    "sampling.top_p": "top_p",
    "sampling.max_tokens": "max_tokens",
    "sampling.stop": "stop",
    "sampling.seed": "seed",
    "sampling.frequency_penalty": "frequency_penalty",
    "sampling.presence_penalty": "presence_penalty",
    "sampling.n": "n",
    "scheduling.stream": "stream",
}
"""Leaves that are one key of the body, value unchanged."""

RESERVED: Final = (
    frozenset(_SAME_NAME.values())
    | {
        "model",
        "prompt",
        "suffix",
        "top_k",
        "echo",
        "logprobs",
        "prompt_logprobs",
        "stream_options",
        "response_format",
        "best_of",
    }
    | ENGINE_SPELLINGS
)
"""Keys that a leaf, a capability or the binding owns, on OpenAI and on the engines that extend the protocol.

``best_of`` is among them: it draws answers that are paid for and never seen, beside ``sampling.n``.
"""

_Rule: TypeAlias = Callable[[Any, Request, CallContext], LeafDecision]


def decide(leaf: str, value: Any, request: Request, context: CallContext) -> LeafDecision:
    """The decision on one active leaf. Raises KeyError for a path that is no leaf."""
    if leaf.startswith(OPTION_PREFIX):
        return decide_option(leaf, request, context, RESERVED, HEADER_OPTIONS)
    if leaf in _RULES:
        decision = _RULES[leaf](value, request, context)
    elif leaf in _SAME_NAME:
        decision = consumed("/" + _SAME_NAME[leaf])
    else:
        decision = rejected(_REASONS[leaf])
    if decision.kind == "rejected":
        return decision
    return refused_by_profile(leaf, value, context) or decision


def encode(request: Request, context: CallContext) -> dict[str, Any]:
    """The body. Called for requests of which no leaf was rejected."""
    if not isinstance(request.input, CompletionInput):
        raise TypeError("a conversation was not refused before it was encoded")
    body: dict[str, Any] = {"model": context.model_id, "prompt": request.input.text}
    if request.input.suffix is not None:
        body["suffix"] = request.input.suffix
    sampling = request.sampling
    for leaf, key in _SAME_NAME.items():
        group, _, field = leaf.partition(".")
        value = getattr(getattr(request, group), field)
        if value is not None and value != () and value is not False and not (leaf == "sampling.n" and value == 1):
            body[key] = list(value) if isinstance(value, tuple) else value
    if sampling.top_k is not None:
        body["top_k"] = sampling.top_k
    if request.scheduling.stream:
        body["stream_options"] = {"include_usage": True}
    _scoring(request, context, body)
    body.update(body_options(request))
    return body


def scores_by_parameter(request: Request, context: CallContext) -> bool:
    """True where the prompt is scored by ``prompt_logprobs``, False where it is echoed.

    The parameter has no place in a stream, and engines that know it generate nothing only beside an echo.
    """
    wanted = context.engine_id in _PROMPT_LOGPROBS_ENGINES
    return wanted and not request.scheduling.stream and request.sampling.max_tokens != 0


def _scoring(request: Request, context: CallContext, body: dict[str, Any]) -> None:
    scoring = request.scoring
    alternatives = scoring.top_logprobs or 0
    if scoring.input_scoring and scores_by_parameter(request, context):
        body["prompt_logprobs"] = alternatives
    elif scoring.input_scoring:
        body["echo"] = True
        # At least one alternative: some servers take 0 for "no log-probabilities" and would echo without a score.
        body["logprobs"] = max(1, alternatives)
    if scoring.sampled_logprobs:
        body.setdefault("logprobs", alternatives)


def _input(value: Any, _request: Request, _context: CallContext) -> LeafDecision:
    if not isinstance(value, CompletionInput):
        return rejected("completions take a text to go on from, not a conversation")
    return consumed("/prompt")


def _suffix(_value: Any, request: Request, _context: CallContext) -> LeafDecision:
    if request.scoring.input_scoring:
        return rejected("an input that is filled in the middle can't be scored: where it ends isn't in the reply")
    return consumed("/suffix")


def _top_k(_value: Any, _request: Request, context: CallContext) -> LeafDecision:
    if context.engine_id in _TOP_K_ENGINES:
        return consumed("/top_k")
    return rejected("completions have no top_k; some engines add it, and this deployment names none of them")


def _input_scoring(_value: Any, request: Request, context: CallContext) -> LeafDecision:
    if isinstance(request.input, CompletionInput) and not request.input.text:
        return rejected("an empty text has nothing to score")
    return consumed("/prompt_logprobs" if scores_by_parameter(request, context) else "/echo")


def _top_logprobs(value: Any, request: Request, context: CallContext) -> LeafDecision:
    if not (request.scoring.sampled_logprobs or request.scoring.input_scoring):
        return rejected("it says nothing without sampled_logprobs or input_scoring")
    by_parameter = scores_by_parameter(request, context) and not request.scoring.sampled_logprobs
    return consumed("/prompt_logprobs" if by_parameter else "/logprobs")


def _max_tokens(value: Any, _request: Request, context: CallContext) -> LeafDecision:
    if value == 0 and context.engine_id in _GENERATING_ENGINES:
        return rejected(f"{context.engine_id} generates at least one token; ask for 1")
    return consumed("/max_tokens")


_RULES: Final[Mapping[str, _Rule]] = {
    "input": _input,
    "input.suffix": _suffix,
    "sampling.max_tokens": _max_tokens,
    "sampling.top_k": _top_k,
    "scoring.input_scoring": _input_scoring,
    "scoring.sampled_logprobs": lambda _value, _request, _context: consumed("/logprobs"),
    "scoring.top_logprobs": _top_logprobs,
}


def _reason(leaf: str) -> str:
    """Why completions have no place for a leaf: the description's reason for its capability, else that it is chat."""
    outcome = SPEC.designed.get(leaf_owner(leaf) or "")
    return outcome.reason if isinstance(outcome, Unsupported) else "completions take text; there are no messages"


_REASONS: Final[Mapping[str, str]] = {leaf: _reason(leaf) for leaf in LEAVES if leaf not in {*_SAME_NAME, *_RULES}}
