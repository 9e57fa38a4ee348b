"""How likely a text goes on with another one: the pair that is sent, and the score that is read from it.

Tokens don't end where texts do. One rule settles it: white space at the end of the context belongs to the continuation,
and a token counts for the continuation if any byte of it lies there. So every continuation has at least one counted
token, and a token that spans the boundary is counted in full, as it is what the model said.

Callers send ``joined`` of :func:`scored_pair` with ``scoring.input_scoring`` and hand the score to
:func:`continuation_score`. Pure.
"""

from __future__ import annotations

import re
from typing import Final

from synapse_models.errors import OutputContractViolation
from synapse_models.parts import Record
from synapse_models.response import InputScoring, InputToken

_BYTES: Final = re.compile(r"bytes:((?:\\x[0-9a-fA-F]{2})+)")
"""How OpenAI spells a token that is no whole character."""


class ScoredPair(Record, frozen=True):
    """A context and its continuation after the white space was moved."""

    context: str
    continuation: str

    @property
    def joined(self) -> str:
        """The text to score."""
        return self.context + self.continuation


class ContinuationScore(Record, frozen=True):
    """The natural log-probability of a continuation.

    ``tokens`` is how many were counted, ``utf8_bytes`` the continuation's length for bits per byte, ``spans`` whether
    the first counted token begins in the context.
    """

    logprob: float
    tokens: int
    utf8_bytes: int
    spans: bool


def scored_pair(context: str, continuation: str) -> ScoredPair:
    """The pair as it is scored.

    Raises:
        ValueError: an empty continuation has no score, and 0 would look like one.
    """
    if not continuation:
        raise ValueError("an empty continuation has no score")
    kept = context.rstrip()
    return ScoredPair(context=kept, continuation=context[len(kept) :] + continuation)


def continuation_score(pair: ScoredPair, scoring: InputScoring) -> ContinuationScore:
    """The score of the continuation, from the score of the whole.

    Raises:
        OutputContractViolation: the tokens don't spell the pair, or the first counted one has no number because
            nothing precedes it.
    """
    pieces = [_spelled(token) for token in scoring.tokens]
    whole = pair.joined.encode()
    # A begin-of-text token spells itself and precedes the text.
    begins = b"".join(pieces).find(whole)
    if begins < 0:
        raise _unscored("the scored tokens don't spell the context and its continuation")
    boundary = begins + len(pair.context.encode())
    counted: list[float] = []
    spans = False
    at = 0
    for token, piece in zip(scoring.tokens, pieces, strict=True):
        ends = at + len(piece)
        if ends > boundary and at < begins + len(whole):
            if token.logprob is None:
                raise _unscored("nothing precedes the continuation's first token, so it has no number")
            spans = spans or at < boundary
            counted.append(token.logprob)
        at = ends
    return ContinuationScore(
        logprob=sum(counted), tokens=len(counted), utf8_bytes=len(pair.continuation.encode()), spans=spans
    )


def _spelled(token: InputToken) -> bytes:
    if token.token_bytes is not None:
        return token.token_bytes
    if written := _BYTES.fullmatch(token.token):
        return bytes.fromhex(written[1].replace("\\x", ""))
    return token.token.encode()


def _unscored(reason: str) -> OutputContractViolation:
    return OutputContractViolation(f"the continuation can't be scored: {reason}", channels=("input_scoring",))
