"""The texts that a probe computes: short and long, many scripts, and lengths around every boundary of an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import msgspec

import synapse_resources
from synapse_engines.composition import compose_pairs, truncate_pair
from synapse_engines.tokenizer import Encoding, SanitisedTokenizer
from synapse_service.lanes.model import LaneModel, Task, pair_form


class EmbedFixture(msgspec.Struct, frozen=True):
    """The fixture of embedding lanes.

    ``lengths`` are row lengths in tokens, made by cutting repetitions of ``filler``; those above a lane's limit are
    replaced by the limit itself.
    """

    revision: int
    texts: list[str]
    filler: str
    lengths: list[int]


class Pool(msgspec.Struct, frozen=True):
    """A query and its candidates, whose order is compared."""

    query: str
    candidates: list[str]


class RerankFixture(msgspec.Struct, frozen=True):
    """The fixture of reranking lanes; ``filler`` and ``lengths`` as above, each as a candidate of the first query."""

    revision: int
    pools: list[Pool]
    filler: str
    lengths: list[int]


@dataclass(frozen=True, slots=True)
class PairRow:
    """One row of the fixture of reranking lanes. ``pool`` is the index of its pool, None where only numbers count."""

    encoding: Encoding
    pool: int | None


@cache
def embed_fixture() -> EmbedFixture:
    """The fixture as it ships."""
    return msgspec.json.decode(synapse_resources.read("probe/embed.json"), type=EmbedFixture)


@cache
def rerank_fixture() -> RerankFixture:
    """The fixture as it ships."""
    return msgspec.json.decode(synapse_resources.read("probe/rerank.json"), type=RerankFixture)


def fixture_revisions() -> Mapping[Task, int]:
    """The revision of each task's fixture: an outcome of another one is stale."""
    return {"embed": embed_fixture().revision, "rerank": rerank_fixture().revision}


def fixture_rows(tokenizer: SanitisedTokenizer, max_tokens: int) -> list[Encoding]:
    """Every row of the fixture for a lane that takes up to ``max_tokens`` tokens, long and short ones mixed."""
    fixture = embed_fixture()
    rows = [tokenizer.truncate(row, max_tokens) for row in tokenizer.encode_many(fixture.texts)]
    lengths = _lengths(fixture.lengths, tokenizer.specials.count + 1, max_tokens)
    long = tokenizer.encode(_repeated(fixture.filler, max(lengths)))
    step = max(1, len(rows) // len(lengths))
    for position, length in enumerate(lengths):
        rows.insert(position * (step + 1), tokenizer.truncate(long, length))
    return rows


def pair_rows(tokenizer: SanitisedTokenizer, model: LaneModel) -> list[PairRow]:
    """Every row of the fixture for a lane that scores, long and short ones mixed; texts are cut to what it takes.

    A pool whose query leaves no room for a candidate is left out.
    """
    fixture, form, limit = rerank_fixture(), pair_form(model), model.max_tokens
    rows = []
    for index, pool in enumerate(fixture.pools):
        (bare,) = compose_pairs(tokenizer, form, pool.query, [""])
        if bare.real_tokens < limit:
            for row in compose_pairs(tokenizer, form, pool.query, pool.candidates):
                rows.append(PairRow(truncate_pair(form, row, limit), index))
    query = fixture.pools[0].query
    (bare,) = compose_pairs(tokenizer, form, query, [""])
    if bare.real_tokens < limit:
        lengths = _lengths(fixture.lengths, bare.real_tokens + 1, limit)
        (long,) = compose_pairs(tokenizer, form, query, [_repeated(fixture.filler, max(lengths))])
        step = max(1, len(rows) // len(lengths))
        for position, length in enumerate(lengths):
            rows.insert(position * (step + 1), PairRow(truncate_pair(form, long, length), None))
    return rows


def _lengths(wanted: Sequence[int], smallest: int, largest: int) -> list[int]:
    return sorted({max(smallest, min(length, largest)) for length in wanted})


def _repeated(filler: str, tokens: int) -> str:
    """Text that is certainly longer than so many tokens."""
    return filler * (2 + tokens * 8 // len(filler))
