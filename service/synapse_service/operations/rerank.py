"""``rerank.score``: how well each candidate answers a query, as the model itself reads it off.

The order of checks is that of ``embed``: the lane, as ``choosing`` says; lengths and the token budget; the queue. A
request is always answered inline, in the order of its candidates: nothing here ranks, and nothing is applied to a
score. Up to :data:`INTERACTIVE_CANDIDATES` are interactive work, more are bulk work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

import msgspec

from synapse_service.admission.leases import LeaseBook
from synapse_service.admission.queue import PriorityClass
from synapse_service.aliases.table import AliasTable
from synapse_service.certify.observations import Observations
from synapse_service.clock import Clock
from synapse_service.lanes.lane import Lane
from synapse_service.lanes.serving import unpack_scores
from synapse_service.operations.choosing import LaneChoice
from synapse_service.operations.pairs import compose
from synapse_service.operations.tokenizing import TokenizedRow
from synapse_service.operations.waiting import InlineWork, QueuedRow
from synapse_service.server.router import Call, Router
from synapse_service.settings.declared import Settings
from synapse_wire import params as p
from synapse_wire import results as r
from synapse_wire.errors import SynapseError, invalid_state

INTERACTIVE_CANDIDATES: Final = 20
"""Most candidates of a request that counts as interactive."""

_SLICE_CHARS: Final = 256 * 1024
"""Characters that are tokenized in one go; between two slices a cancelled or late request ends."""

_COUNTED_CHARS: Final = 4 * 2**20
"""Characters after which a request that is over the budget isn't counted to its end. A template repeats the query for
every candidate, so that there can be far more of them than the request has."""


class RerankOperations:
    """The operation over the lanes of a service."""

    def __init__(
        self,
        *,
        choice: LaneChoice,
        leases: LeaseBook,
        settings: Callable[[], Settings],
        clock: Clock,
        module_generation: int,
        aliases: AliasTable,
        observations: Observations,
    ) -> None:
        self._choice = choice
        self._leases = leases
        self._settings = settings
        self._work = InlineWork(settings, clock)
        self._generation = module_generation
        self._aliases = aliases
        self._observations = observations

    def register(self, router: Router) -> None:
        """Serve the operation."""
        router.add("rerank.score", self.score)

    async def score(self, call: Call, params: p.RerankScore) -> r.Reranked:
        """Score every candidate."""
        lane = self._choice.choose(params.model, "rerank", params)
        deadline = self._work.deadline(call, params)
        class_: PriorityClass = "interactive" if len(params.candidates) <= INTERACTIVE_CANDIDATES else "bulk"
        with self._leases.holding(lane.lane_id), lane.use.request(call.received_at, call.client_name):
            pairs = await self._compose(lane, params, deadline)
            queued = [QueuedRow(pair.id, pair.encoding) for pair in pairs]
            rows = await self._work.compute(lane, params, queued, class_, "f32", deadline)
            self._choice.confirm(lane, params.model, params)
            return self._result(lane, pairs, rows)

    async def _compose(self, lane: Lane, params: p.RerankScore, deadline: float) -> list[TokenizedRow]:
        budget = self._settings().inline_max_tokens
        pairs: list[TokenizedRow] = []
        tokens = counted = seen = 0
        for chars, part in _slices(params.query, params.candidates):
            work = partial(compose, lane.model, params.query, part)
            composed = await self._work.tokenize(lane, len(part), chars, deadline, work)
            tokens += sum(pair.encoding.real_tokens for pair in composed)
            counted += chars
            seen += len(part)
            if tokens <= budget:
                pairs += composed
            elif counted >= _COUNTED_CHARS:
                break
        if tokens > budget:
            raise _over_budget(tokens, budget, all_counted=seen == len(params.candidates))
        return pairs

    def _result(self, lane: Lane, pairs: Sequence[TokenizedRow], rows: Sequence[bytes]) -> r.Reranked:
        return r.Reranked(
            fingerprint=lane.fingerprint,
            table_epoch=self._aliases.epoch,
            dims=lane.model.dims,
            provenance=lane.provenance,
            module_generation=self._generation,
            equivalent_to=self._aliases.equivalents(lane.fingerprint),
            scores=[
                r.RerankedScore(id=pair.id, score=unpack_scores(row)[0]) for pair, row in zip(pairs, rows, strict=True)
            ],
            real_token_counts=[pair.encoding.real_tokens for pair in pairs],
            truncation_disclosures=[pair.disclosure for pair in pairs],
            observation=self._observed(lane, pairs),
        )

    def _observed(self, lane: Lane, pairs: Sequence[TokenizedRow]) -> r.Observation | msgspec.UnsetType:
        if not self._observations.enabled:
            return msgspec.UNSET
        return self._observations.block([pair.encoding.ids.tolist() for pair in pairs], lane.model.readout)


def _slices(query: str, candidates: Sequence[p.RerankCandidate]) -> Iterator[tuple[int, Sequence[p.RerankCandidate]]]:
    """The candidates in parts, each with the characters that have to be tokenized for it."""
    start = chars = 0
    for index, candidate in enumerate(candidates):
        more = len(query) + len(candidate.text)
        if index > start and chars + more > _SLICE_CHARS:
            yield chars, candidates[start:index]
            start, chars = index, 0
        chars += more
    yield chars, candidates[start:]


def _over_budget(tokens: int, budget: int, *, all_counted: bool) -> SynapseError:
    amount = f"{tokens}" if all_counted else f"more than {tokens}"
    return invalid_state(
        f"the pairs have {amount} tokens and {budget} are computed inline; send the candidates in several requests",
        field="candidates",
        tokens=tokens,
        max_tokens=budget,
    )
