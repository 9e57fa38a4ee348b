"""A query and its candidates to rows of token ids for one lane: lengths checked, cuts disclosed.

Called by ``rerank``, in a thread when there is much to do. Blocks for as long as the texts are long;
the library lets go of the interpreter while it works on long ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from synapse_engines.composition import compose_pairs, truncate_pair
from synapse_engines.errors import InputError
from synapse_engines.tokenizer import SanitisedTokenizer
from synapse_service.lanes.model import LaneModel, pair_form
from synapse_service.operations.tokenizing import TokenizedRow
from synapse_wire.errors import SynapseError, invalid_state
from synapse_wire.params import RerankCandidate


def compose(
    model: LaneModel, query: str, candidates: Sequence[RerankCandidate], tokenizer: SanitisedTokenizer
) -> list[TokenizedRow]:
    """Every pair in order, under its candidate's id.

    Raises ``sequence_too_long`` for the first that the lane neither takes nor cuts, and ``invalid_request`` for a text
    that its tokenizer can't split.
    Only a candidate is ever cut. A query that leaves no room for one is refused, without the id of a candidate.
    """
    form = pair_form(model)
    try:
        composed = compose_pairs(tokenizer, form, query, [candidate.text for candidate in candidates])
    except InputError as error:
        raise _not_taken(error, candidates) from error
    pairs = []
    for candidate, full in zip(candidates, composed, strict=True):
        encoding = full
        if full.real_tokens > model.max_tokens:
            (bare,) = compose_pairs(tokenizer, form, query, [""])
            if bare.real_tokens >= model.max_tokens:
                raise _too_long("the query by itself", bare.real_tokens, model.max_tokens)
            if model.overlength != "truncate":
                raise _too_long(f"the pair of {candidate.id!r}", full.real_tokens, model.max_tokens, candidate.id)
            encoding = truncate_pair(form, full, model.max_tokens)
        pairs.append(TokenizedRow(candidate.id, encoding, full.real_tokens))
    return pairs


def _not_taken(error: InputError, candidates: Sequence[RerankCandidate]) -> SynapseError:
    if error.row is None:
        return invalid_state(f"{error.detail}; change it")
    item_id = candidates[error.row].id
    return invalid_state(f"candidate {item_id!r} is {error.detail}; change it or leave it out", item_id=item_id)


def _too_long(what: str, tokens: int, limit: int, item_id: str | None = None) -> SynapseError:
    details: dict[str, object] = {"tokens": tokens, "max_tokens": limit}
    if item_id is not None:
        details["item_id"] = item_id
    return SynapseError(
        "sequence_too_long", f"{what} has {tokens} tokens and the model takes {limit}; shorten it", details=details
    )
