"""The checks of a reply that stand in for what nobody could establish before: named in plans, run on every call.

One runs without being named: what is known of a model and its server says that they can give alternatives, and not
that a reply has any. How many there are is counted only where a plan names that: what a server may give fewer for, such
as candidates that are spelled alike under a name each, is not to be told from what it kept back.

Each takes the call's active leaves, the floors of its plan and the response, and returns what is wrong or None. A
check that doesn't concern the call returns None. A refusal excuses the choice that it is in. Pure; ``model.py`` runs
them through :func:`run_checks`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from synapse_models.parts import JSONValue
from synapse_models.plans import DeferredCheck
from synapse_models.response import Choice, InputToken, Response, TokenAlternative, TokenLogprob

Floors: TypeAlias = Mapping[str, Mapping[str, JSONValue]]
Check: TypeAlias = Callable[[Mapping[str, Any], Floors, Response], str | None]

_ROUNDED: Final = 1e-4
"""How far probabilities may be off in sum, having come as rounded logarithms."""


def _answers(response: Response) -> Iterable[Choice]:
    return (choice for choice in response.choices if choice.refusal is None)


def input_scores_complete(active: Mapping[str, Any], floors: Floors, response: Response) -> str | None:
    """As many scores as the provider counted input tokens, and only the first without a number."""
    if not active.get("scoring.input_scoring"):
        return None
    if response.refusal is not None:
        return None
    if response.input_scoring is None or not response.input_scoring.tokens:
        return "the reply has no scores of the input"
    tokens = response.input_scoring.tokens
    counted = None if response.usage is None else response.usage.input_tokens
    if counted is None:
        return "the reply doesn't say how many input tokens there were, so the scores can't be known to be complete"
    if len(tokens) != counted:
        return f"{len(tokens)} scores for {counted} input tokens"
    holes = [index for index, token in enumerate(tokens) if token.logprob is None and index > 0]
    return f"no score at input token {holes[0]}" if holes else None


def top_logprobs_breadth(active: Mapping[str, Any], floors: Floors, response: Response) -> str | None:
    """At each scored position at least as many alternatives as the floor, or as asked for where there is none.

    Fewer are enough where they have all of the probability among them: then there are no more candidates, because a
    grammar or a narrowed sampling left no others.
    """
    asked = active.get("scoring.top_logprobs")
    return _too_few(response, floors.get("top_logprobs", {}).get("minimum") or asked) if asked else None


def top_logprobs_present(active: Mapping[str, Any], floors: Floors, response: Response) -> str | None:
    """At each scored position an alternative, if any were asked for."""
    return _too_few(response, 1) if active.get("scoring.top_logprobs") else None


def _too_few(response: Response, floor: Any) -> str | None:
    positions: list[tuple[str, TokenLogprob | InputToken]] = [
        (f"choice {choice.index}, token {index}", token)
        for choice in _answers(response)
        for index, token in enumerate(choice.logprobs or ())
    ]
    if response.input_scoring is not None:
        # The first input token has no distribution to take alternatives from.
        scored = enumerate(response.input_scoring.tokens)
        positions += [(f"input token {index}", token) for index, token in scored if token.logprob is not None]
    for where, token in positions:
        if len(token.alternatives) < floor and not _are_all(token.alternatives):
            return f"{where} has {len(token.alternatives)} alternatives, and {floor} are needed"
    return None


def _are_all(alternatives: Iterable[TokenAlternative]) -> bool:
    return abs(sum(math.exp(min(other.logprob, 0.0)) for other in alternatives) - 1.0) < _ROUNDED


def logprobs_present(active: Mapping[str, Any], floors: Floors, response: Response) -> str | None:
    if active.get("scoring.sampled_logprobs"):
        for choice in _answers(response):
            if choice.logprobs is None:
                return f"choice {choice.index} has no log-probabilities"
    return None


def reasoning_present(active: Mapping[str, Any], floors: Floors, response: Response) -> str | None:
    """Thinking was asked for, so it shows: as text, as a summary, or as counted tokens."""
    wanted = active.get("reasoning.effort", "none") != "none" or (active.get("reasoning.budget_tokens") or 0) > 0
    shown = active.get("reasoning.summary", "none") != "none"
    if not wanted and not shown:
        return None
    counted = response.usage is not None and (response.usage.reasoning_tokens or 0) > 0
    for choice in _answers(response):
        if choice.reasoning is None and (shown or not counted):
            return f"choice {choice.index} shows no reasoning, though it was asked for"
    return None


def tool_calls_present(active: Mapping[str, Any], floors: Floors, response: Response) -> str | None:
    """A forced tool choice gives at least one call in every answer."""
    if active.get("tools.choice", "auto") not in ("auto", "none"):
        for choice in _answers(response):
            if not choice.tool_calls:
                return f"choice {choice.index} has no tool call, though one was required"
    return None


def structured_output_present(active: Mapping[str, Any], floors: Floors, response: Response) -> str | None:
    if active.get("structured_output.format") is not None:
        for choice in _answers(response):
            if choice.structured_output is None and not choice.tool_calls:
                return f"choice {choice.index} has no structured output"
    return None


def session_present(active: Mapping[str, Any], floors: Floors, response: Response) -> str | None:
    if "session.previous_response_id" in active and (response.session is None or not response.session.response_id):
        return "the reply has no id to go on from"
    return None


def continuation_accepted(active: Mapping[str, Any], floors: Floors, response: Response) -> str | None:
    """Provider state that doesn't belong to the model is refused by the provider, so a reply is the proof."""
    return None


def token_text_present(active: Mapping[str, Any], floors: Floors, response: Response) -> str | None:
    """Tokens come with their text: a server without its tokenizer returns ids alone."""
    tokens: list[TokenLogprob | InputToken] = [
        token for choice in _answers(response) for token in choice.logprobs or ()
    ]
    if response.input_scoring is not None:
        tokens += response.input_scoring.tokens
    if len(tokens) > 1 and not any(token.token or token.token_bytes for token in tokens):
        return "the tokens come without their text"
    return None


CHECKS: Final[Mapping[str, Check]] = {
    "response.input_scores_complete": input_scores_complete,
    "response.top_logprobs_breadth": top_logprobs_breadth,
    "response.logprobs_present": logprobs_present,
    "response.reasoning_present": reasoning_present,
    "response.tool_calls_present": tool_calls_present,
    "response.structured_output_present": structured_output_present,
    "response.session_present": session_present,
    "response.continuation_accepted": continuation_accepted,
    "response.token_text_present": token_text_present,
}
"""Every verifier of stage ``request`` that a plan may name."""

MODEL_VERIFIERS: Final[Mapping[str, str]] = {
    "input_scoring": "response.input_scores_complete",
    "sampled_logprobs": "response.logprobs_present",
    "top_logprobs": "response.top_logprobs_breadth",
    "reasoning": "response.reasoning_present",
    "function_tools": "response.tool_calls_present",
    "structured_output": "response.structured_output_present",
    "stateful_session": "response.session_present",
    "opaque_continuation": "response.continuation_accepted",
}
"""Capability → the check that answers for it when nothing is known of the model. The others leave no trace in a
reply by which they could be told from being ignored, so for them a profile must speak."""


def run_checks(
    checks: Iterable[DeferredCheck], active: Mapping[str, Any], floors: Floors, response: Response
) -> tuple[tuple[str, str], ...]:
    """(capability, what is wrong) of every failing check, each verifier once."""
    capabilities: dict[str, str] = {}
    for check in checks:
        if check.stage == "request":
            capabilities.setdefault(check.verifier, check.capability)
    found = [(capability, CHECKS[verifier](active, floors, response)) for verifier, capability in capabilities.items()]
    if "response.top_logprobs_breadth" not in capabilities:
        found.append(("top_logprobs", top_logprobs_present(active, floors, response)))
    return tuple((capability, fault) for capability, fault in found if fault is not None)
