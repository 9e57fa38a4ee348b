"""What the clients can do with a reranking model: score candidates against a query.

The methods of both clients, in one file beside each other; the two classes are bases of ``Client`` and
``AsyncClient``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from synapse_client import calls
from synapse_client.protocol import decode_result
from synapse_client.running import Asyncio, Blocking
from synapse_wire.results import EngineIdentity, Reranked, TruncationDisclosure

if TYPE_CHECKING:
    from typing import Unpack

    from synapse_client.options import Constraints


class Ranking(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to ``rerank``. ``ids``, ``scores`` and the token facts follow the order of the candidates.

    A score is what the model itself reads off, between 0 and 1, and nothing was done to it afterwards. Scores of two
    fingerprints can't be compared.
    """

    ids: list[str]
    scores: list[float]
    fingerprint: str
    table_epoch: int
    engine: EngineIdentity
    module_generation: int
    equivalent_to: list[str]
    token_counts: list[int]
    truncations: list[TruncationDisclosure]

    def by_id(self) -> dict[str, float]:
        """The scores under the ids that the request gave the candidates."""
        return dict(zip(self.ids, self.scores, strict=True))

    def best_first(self) -> list[tuple[str, float]]:
        """Ids and scores, the best first; candidates that score alike keep the order of the request."""
        return sorted(zip(self.ids, self.scores, strict=True), key=lambda scored: -scored[1])


def ranking(result: msgspec.Raw) -> Ranking:
    """Decode the answer to ``rerank.score``."""
    value = decode_result(result, Reranked)
    return Ranking(
        ids=[score.id for score in value.scores],
        scores=[score.score for score in value.scores],
        fingerprint=value.fingerprint,
        table_epoch=value.table_epoch,
        engine=value.provenance.engine,
        module_generation=value.module_generation,
        equivalent_to=value.equivalent_to,
        token_counts=value.real_token_counts,
        truncations=value.truncation_disclosures,
    )


class RerankMethods(Blocking):
    """Of the blocking client."""

    def rerank(
        self,
        model: str,
        query: str,
        texts: Sequence[str],
        *,
        ids: Sequence[str] | None = None,
        deadline_ms: int | None = None,
        **constraints: Unpack[Constraints],
    ) -> Ranking:
        """Score how well each text answers the query. ``ids`` name the texts, "0", "1", … without them.

        Up to 20 texts count as interactive work. What is over the service's inline token budget is refused with
        ``invalid_request``: send the texts in several calls, the score of one doesn't depend on the others.
        """
        return self._run(calls.rerank_score(model, query, texts, ids, deadline_ms, constraints, ranking))


class AsyncRerankMethods(Asyncio):
    """Of the asyncio client; what the method means is said at :class:`RerankMethods`."""

    async def rerank(
        self,
        model: str,
        query: str,
        texts: Sequence[str],
        *,
        ids: Sequence[str] | None = None,
        deadline_ms: int | None = None,
        **constraints: Unpack[Constraints],
    ) -> Ranking:
        return await self._run(calls.rerank_score(model, query, texts, ids, deadline_ms, constraints, ranking))
