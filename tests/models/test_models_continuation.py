"""Continuations scored under one rule, wherever the tokens happen to end."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synapse_models.continuation import ContinuationScore, continuation_score, scored_pair
from synapse_models.errors import OutputContractViolation
from synapse_models.response import InputScoring, InputToken


def scoring(*tokens: str | bytes) -> InputScoring:
    """Tokens with -1, -2, -4 … as numbers, the first without one; bytes are tokens that are no whole character."""
    return InputScoring(
        tokens=tuple(
            InputToken(
                token=token if isinstance(token, str) else "\ufffd",
                token_bytes=token if isinstance(token, bytes) else None,
                logprob=-float(2 ** (at - 1)) if at else None,
            )
            for at, token in enumerate(tokens)
        )
    )


@pytest.mark.parametrize(
    ("context", "continuation", "tokens", "score"),
    [
        ("The colour is gre", "en", ("The", " colour", " is", " green"), (-4.0, 1, 2, True)),
        ("The colour is gre", "en", ("The", " colour", " is", " gre", "en"), (-8.0, 1, 2, False)),
        ("Answer: ", "yes", ("Answer", ":", " yes"), (-2.0, 1, 4, False)),
        ("Answer:", " yes", ("Answer", ":", " yes"), (-2.0, 1, 4, False)),
        ("", "Hi", ("<s>", "Hi"), (-1.0, 1, 2, False)),
        ("日", "本語", ("<s>", b"\xe6\x97", b"\xa5\xe6\x9c", b"\xac\xe8\xaa\x9e"), (-6.0, 2, 6, True)),
        ("日", "本語", ("x日", "bytes:\\xe6\\x9c", "bytes:\\xac", "語"), (-7.0, 3, 6, False)),
        ("a\u0301", "b", ("a", "\u0301b"), (-1.0, 1, 1, True)),
        ("a\n\n", "b", ("a", "\n", "\n", "b"), (-7.0, 3, 3, False)),
    ],
)
def test_a_token_counts_if_any_byte_of_it_is_the_continuation_s(
    context: str, continuation: str, tokens: tuple[str | bytes, ...], score: tuple[float, int, int, bool]
) -> None:
    logprob, counted, utf8_bytes, spans = score
    assert continuation_score(scored_pair(context, continuation), scoring(*tokens)) == ContinuationScore(
        logprob=logprob, tokens=counted, utf8_bytes=utf8_bytes, spans=spans
    )


def test_white_space_moves_and_the_text_stays() -> None:
    pair = scored_pair("Answer: \n", "yes")
    assert (pair.context, pair.continuation, pair.joined) == ("Answer:", " \nyes", "Answer: \nyes")


def test_an_empty_continuation_is_an_error() -> None:
    with pytest.raises(ValueError, match="empty continuation"):
        scored_pair("x", "")


@pytest.mark.parametrize(
    ("context", "continuation", "tokens", "said"),
    [
        ("", "Hi", ("Hi",), "nothing precedes"),
        ("a", "b", ("a", "c"), "don't spell"),
        ("a", "b", (), "don't spell"),
        ("日", "本", ("\ufffd", "\ufffd"), "don't spell"),
    ],
)
def test_what_can_t_be_scored_says_so(context: str, continuation: str, tokens: tuple[str, ...], said: str) -> None:
    with pytest.raises(OutputContractViolation, match=said) as caught:
        continuation_score(scored_pair(context, continuation), scoring(*tokens))
    assert caught.value.channels == ("input_scoring",)


@settings(max_examples=100, deadline=None)
@given(st.text(min_size=1, max_size=12), st.text(min_size=1, max_size=12), st.data())
def test_every_continuation_has_a_token_however_bytes_are_cut(
    context: str, continuation: str, draw: st.DataObject
) -> None:
    pair = scored_pair(context, continuation)
    whole = pair.joined.encode()
    cuts = sorted(set(draw.draw(st.lists(st.integers(1, len(whole) - 1), max_size=6))))
    pieces = [whole[start:end] for start, end in zip((0, *cuts), (*cuts, len(whole)), strict=True)]
    found = continuation_score(pair, scoring("<s>", *pieces))
    boundary = len(pair.context.encode())
    ends = [*cuts, len(whole)]
    assert found.tokens == sum(end > boundary for end in ends) >= 1
    assert found.spans == (boundary not in (0, *ends))
