"""The texts that a probe embeds: short and long, many scripts, and lengths around every boundary of an engine."""

from __future__ import annotations

from functools import cache

import msgspec

import synapse_resources
from synapse_engines.tokenizer import Encoding, SanitisedTokenizer


class EmbedFixture(msgspec.Struct, frozen=True):
    """The fixture of embedding lanes.

    ``lengths`` are row lengths in tokens, made by cutting repetitions of ``filler``; those above a lane's limit are
    replaced by the limit itself.
    """

    revision: int
    texts: list[str]
    filler: str
    lengths: list[int]


@cache
def embed_fixture() -> EmbedFixture:
    """The fixture as it ships."""
    return msgspec.json.decode(synapse_resources.read("probe/embed.json"), type=EmbedFixture)


def fixture_rows(tokenizer: SanitisedTokenizer, max_tokens: int) -> list[Encoding]:
    """Every row of the fixture for a lane that takes up to ``max_tokens`` tokens, long and short ones mixed."""
    fixture = embed_fixture()
    rows = [tokenizer.truncate(row, max_tokens) for row in tokenizer.encode_many(fixture.texts)]
    smallest = tokenizer.specials.count + 1
    lengths = sorted({max(smallest, min(length, max_tokens)) for length in fixture.lengths})
    repeats = 1 + max(lengths) * 8 // len(fixture.filler)
    long = tokenizer.encode(fixture.filler * (repeats + 1))
    step = max(1, len(rows) // len(lengths))
    for position, length in enumerate(lengths):
        rows.insert(position * (step + 1), tokenizer.truncate(long, length))
    return rows
