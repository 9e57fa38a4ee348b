"""Texts to token ids for one lane: lengths checked, cuts disclosed, digests taken of the very text that came.

Called by ``embed``, in a thread when there is much to do. What a row of ``rerank`` is made of is in ``pairs``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from synapse_engines.errors import InputError
from synapse_engines.tokenizer import Encoding, SanitisedTokenizer
from synapse_service.lanes.model import LaneModel
from synapse_wire import results as r
from synapse_wire.errors import SynapseError, invalid_state
from synapse_wire.params import EmbedItem


@dataclass(frozen=True, slots=True)
class TokenizedRow:
    """What a caller sent under ``id``, tokenized and cut to what its lane takes."""

    id: str
    encoding: Encoding
    submitted_tokens: int

    @property
    def disclosure(self) -> r.TruncationDisclosure:
        kept = self.encoding.real_tokens
        return r.TruncationDisclosure(
            id=self.id,
            submitted_tokens=self.submitted_tokens,
            effective_tokens=kept,
            truncated=kept < self.submitted_tokens,
        )


@dataclass(frozen=True, slots=True)
class TokenizedItem(TokenizedRow):
    """One item of an embedding. Digests are raw SHA-256."""

    submitted_sha256: bytes
    content_sha256: bytes


def tokenize(tokenizer: SanitisedTokenizer, model: LaneModel, items: Sequence[EmbedItem]) -> list[TokenizedItem]:
    """Every item in order.

    Raises ``sequence_too_long`` for the first that a refusing lane can't take whole, and ``invalid_request`` for one
    that its tokenizer can't split. Blocks for as long as the texts are long; the library lets go of the interpreter
    while it works on long ones.
    """
    limit = model.max_tokens
    truncates = model.overlength == "truncate"
    try:
        encodings = tokenizer.encode_many([item.text for item in items])
    except InputError as error:
        raise _not_taken(error, items[error.row or 0].id) from error
    tokenized = []
    for item, full in zip(items, encodings, strict=True):
        submitted = content = hashlib.sha256(item.text.encode()).digest()
        encoding = full
        if full.real_tokens > limit:
            if not truncates:
                raise SynapseError(
                    "sequence_too_long",
                    f"item {item.id!r} has {full.real_tokens} tokens and the model takes {limit}; split or trim it",
                    details={"tokens": full.real_tokens, "max_tokens": limit, "item_id": item.id},
                )
            encoding = tokenizer.truncate(full, limit)
            try:
                content = hashlib.sha256(tokenizer.kept_text(encoding).encode()).digest()
            except InputError as error:
                raise _not_taken(error, item.id) from error
        tokenized.append(TokenizedItem(item.id, encoding, full.real_tokens, submitted, content))
    return tokenized


def _not_taken(error: InputError, item_id: str) -> SynapseError:
    return invalid_state(f"item {item_id!r} is {error.detail}; change it or leave it out", item_id=item_id)
