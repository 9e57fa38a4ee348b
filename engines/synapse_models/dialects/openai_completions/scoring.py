"""The scores of an input: where it ends in an echoed reply, and whether they are complete.

A score is returned whole or not at all. An echo counts as one when the usage says how many tokens the input has, the
reply has that many and the generated ones beside, only the first lacks a number, the echoed text is the input, and the
tokens spell it and nothing of the text that was generated.
``text_offset`` is not used: some servers shift it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from synapse_models.dialects.openai_completions.wire import WireLogprobs, WirePromptToken
from synapse_models.errors import OutputContractViolation, ProtocolViolation
from synapse_models.response import InputScoring, InputToken, TokenAlternative, TokenLogprob, Usage

_BYTES_PREFIX = "bytes:"
"""How OpenAI spells a token that is no whole character."""


class Echo(NamedTuple):
    """An echoed reply, taken apart."""

    scoring: InputScoring
    text: str
    generated: tuple[TokenLogprob, ...]


def incomplete(reason: str) -> OutputContractViolation:
    """The error for a score that isn't one."""
    return OutputContractViolation(f"the input's score is not complete: {reason}", channels=("input_scoring",))


def take_echo_apart(
    prompt: str,
    text: str,
    logprobs: WireLogprobs | None,
    usage: Usage | None,
    alternatives: int,
    *,
    alone: bool = False,
) -> Echo:
    """The score of ``prompt``, the generated text and its tokens.

    ``alone``: nothing was to be generated. Some servers generate a token nevertheless, count it and keep it to
    themselves.

    Raises:
        OutputContractViolation: the score is missing or not complete.
    """
    if logprobs is None or logprobs.tokens is None or logprobs.token_logprobs is None:
        raise incomplete("the reply has no scores of the echoed text")
    if usage is None or usage.input_tokens is None:
        raise incomplete("the reply doesn't say how many tokens the input has")
    if not text.startswith(prompt):
        raise incomplete("the echoed text isn't the input")
    boundary = usage.input_tokens
    total = len(logprobs.tokens)
    if total != len(logprobs.token_logprobs):
        raise incomplete(f"{total} tokens have {len(logprobs.token_logprobs)} scores")
    generated = 0 if alone and text == prompt and total == boundary else usage.output_tokens
    if total < boundary or (generated is not None and total != boundary + generated):
        raise incomplete(f"{total} scores for {boundary} tokens of input and {usage.output_tokens} of output")
    given, made = logprobs.tokens[:boundary], text[len(prompt) :]
    if made and total == boundary:
        raise incomplete("none of the scored tokens is of the text that was generated")
    spelled = _spelling(given, prompt)
    if spelled is None:
        raise incomplete("the scored tokens don't spell the input")
    pieces, beyond = spelled
    if beyond and made.startswith(beyond):
        raise incomplete("the scored tokens spell more than the input")
    tops = logprobs.top_logprobs or []
    scored = tuple(
        InputToken(
            token=token,
            logprob=logprobs.token_logprobs[at],
            token_bytes=pieces[at],
            alternatives=_alternatives(tops, at, alternatives),
        )
        for at, token in enumerate(given)
    )
    return Echo(checked(scored, boundary), made, sampled(logprobs, alternatives, start=boundary))


def score_by_parameter(
    prompt: str,
    wire: Sequence[dict[str, WirePromptToken] | None] | None,
    usage: Usage | None,
    alternatives: int,
) -> InputScoring:
    """The score of ``prompt`` in the shape of vLLM's ``prompt_logprobs``.

    Each entry maps token ids to scores, the prompt's own token first, whatever its rank, and then the most likely
    ones, of which it may be one. The first entry is null, so the text of the first token is what the others leave of
    the prompt.

    Raises:
        OutputContractViolation: the score is missing or not complete.
    """
    if wire is None:
        raise incomplete("the reply has no prompt_logprobs")
    if usage is None or usage.input_tokens is None:
        raise incomplete("the reply doesn't say how many tokens the input has")
    scored: list[InputToken] = []
    for entry in wire:
        if not entry:
            scored.append(InputToken(token="", logprob=None))
            continue
        own_id, own = next(iter(entry.items()))
        scored.append(
            InputToken(
                token=own.decoded_token or "",
                logprob=own.logprob,
                token_id=_token_id(own_id),
                rank=own.rank,
                alternatives=_most_likely(entry, alternatives),
            )
        )
    rest = "".join(token.token for token in scored[1:])
    if scored and rest and prompt.endswith(rest):
        scored[0] = InputToken(token=prompt.removesuffix(rest), logprob=scored[0].logprob)
    return checked(tuple(scored), usage.input_tokens)


def sampled(logprobs: WireLogprobs, alternatives: int, *, start: int = 0) -> tuple[TokenLogprob, ...]:
    """The generated tokens from position ``start`` on.

    Raises:
        ProtocolViolation: a list is shorter than another, or a generated token has no number.
    """
    tokens, scores = logprobs.tokens or [], logprobs.token_logprobs or []
    tops = logprobs.top_logprobs or []
    if len(tokens) != len(scores):
        raise ProtocolViolation(f"{len(tokens)} tokens have {len(scores)} log-probabilities")
    found = []
    for at in range(start, len(tokens)):
        score = scores[at]
        if score is None:
            raise ProtocolViolation("a generated token has no log-probability")
        found.append(TokenLogprob(token=tokens[at], logprob=score, alternatives=_alternatives(tops, at, alternatives)))
    return tuple(found)


def checked(tokens: tuple[InputToken, ...], expected: int) -> InputScoring:
    """The score, if it has ``expected`` tokens and a number for each but the first.

    Raises:
        OutputContractViolation: it isn't so.
    """
    if len(tokens) != expected or not tokens:
        raise incomplete(f"{len(tokens)} scores for {expected} tokens of input")
    for at, token in enumerate(tokens):
        if token.logprob is None:
            if at:
                raise incomplete(f"token {at} has no number, and only the first may lack it")
        elif not math.isfinite(token.logprob) or token.logprob > 0:
            raise incomplete(f"the number of token {at} is no log-probability")
    return InputScoring(tokens=tokens)


def _alternatives(tops: Sequence[dict[str, float] | None], at: int, alternatives: int) -> tuple[TokenAlternative, ...]:
    """The alternatives at a position, in the reply's order; none where none were asked for."""
    if not alternatives or at >= len(tops):
        return ()
    return tuple(TokenAlternative(token=token, logprob=score) for token, score in (tops[at] or {}).items())


def _most_likely(entry: Mapping[str, WirePromptToken], alternatives: int) -> tuple[TokenAlternative, ...]:
    """The entries that are among the most likely ones, by rank. One without a rank counts as that."""
    ranked = [(key, one) for key, one in entry.items() if one.rank is None or one.rank <= alternatives]
    ranked.sort(key=lambda found: found[1].rank or 0)
    return tuple(
        TokenAlternative(token=one.decoded_token or "", logprob=one.logprob, token_id=_token_id(key), rank=one.rank)
        for key, one in ranked
        if alternatives
    )


def _spelling(tokens: Sequence[str], prompt: str) -> tuple[Sequence[bytes | None], str] | None:
    """The bytes of each token that isn't its text's, and what the tokens spell after the prompt, like an end-of-text
    token. None when they don't spell the prompt.

    Not decidable, hence taken as spelling it, where a token is a piece of a character that its server doesn't spell.
    Some servers spell such a piece with one character a byte.
    """
    plain: list[bytes | None] = [None] * len(tokens)
    joined = "".join(tokens)
    if any(token.startswith(_BYTES_PREFIX) or "�" in token for token in tokens):
        return plain, ""
    if prompt in joined:
        return plain, joined[joined.find(prompt) + len(prompt) :]
    # What came before a begin-of-text token is nothing, so a spelling may begin at any token. At most two readings of
    # a token lead on from a place, so few places are open at once: each is kept with the readings that led to it.
    whole = prompt.encode()
    open_places: dict[int, _Read] = {}
    for last, token in enumerate(tokens):
        ahead: dict[int, _Read] = {}
        for at, before in {**open_places, 0: None}.items():
            for reading, piece in ((None, token.encode()), *_as_bytes(token)):
                if whole.startswith(piece, at):
                    ahead.setdefault(at + len(piece), (before, reading))
        if len(whole) in ahead:
            read: _Read = ahead[len(whole)]
            for place in range(last, -1, -1):
                if read is None:
                    break
                read, plain[place] = read
            return plain, "".join(tokens[last + 1 :])
        open_places = ahead
    return None


_Read: TypeAlias = "tuple[_Read, bytes | None] | None"
"""A reading of a token, after the readings of those before it."""


def _as_bytes(token: str) -> tuple[tuple[bytes, bytes], ...]:
    if token.isascii():
        return ()
    try:
        piece = token.encode("latin-1")
    except UnicodeEncodeError:
        return ()
    return ((piece, piece),)


def _token_id(key: str) -> int | None:
    return int(key) if key.isdecimal() else None
