"""The items of one durable submission, tokenized and kept compactly while its job runs.

A job may hold a hundred thousand texts for hours. What it needs of each is the token ids and two digests, so the
texts themselves are let go as soon as they are tokenized: four bytes a token and about 200 bytes an item remain.
An item's *ordinal* is its place in the submission; the request digest fixes ids and their order, so an ordinal means
the same item in every attempt.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Sequence
from typing import Final

import msgspec

from synapse_engines.tokenizer import Encoding

_DIGEST_BYTES: Final = 32


class TokenizedBatch:
    """Items by ordinal."""

    def __init__(self) -> None:
        self.item_ids: list[str] = []
        self._token_ids = array("i")
        self._ends = array("Q")
        self._submitted_tokens = array("I")
        self._submitted = bytearray()
        self._content = bytearray()

    def __len__(self) -> int:
        return len(self.item_ids)

    @property
    def total_tokens(self) -> int:
        return len(self._token_ids)

    def append(
        self, item_id: str, encoding: Encoding, submitted_tokens: int, submitted_sha256: bytes, content_sha256: bytes
    ) -> None:
        """Add an item. The digests are raw, 32 bytes each."""
        self.item_ids.append(item_id)
        self._token_ids.extend(encoding.ids)
        self._ends.append(len(self._token_ids))
        self._submitted_tokens.append(submitted_tokens)
        self._submitted += submitted_sha256
        self._content += content_sha256

    def tokens(self, ordinal: int) -> int:
        """Tokens that are computed for an item."""
        return self._ends[ordinal] - self._begin(ordinal)

    def token_ids(self, ordinal: int) -> bytes:
        """The item's token ids, little-endian int32."""
        return self._token_ids[self._begin(ordinal) : self._ends[ordinal]].tobytes()

    def submitted_tokens(self, ordinal: int) -> int:
        """Tokens that the item had before it was cut."""
        return self._submitted_tokens[ordinal]

    def submitted_sha256(self, ordinal: int) -> str:
        """Digest of the text as it came, in hex."""
        return _slice(self._submitted, ordinal)

    def content_sha256(self, ordinal: int) -> str:
        """Digest of the text that is embedded, in hex."""
        return _slice(self._content, ordinal)

    def by_length(self, without: frozenset[int]) -> list[int]:
        """The ordinals that are still to be computed, shortest first; equal lengths in order of submission."""
        return sorted((i for i in range(len(self)) if i not in without), key=self.tokens)

    def request_digest(self, model_id: str, constraints: dict[str, object]) -> str:
        """What a request key is bound to: SHA-256 of the canonical JSON of what was asked, in hex.

        Covers the operation, the lane, the constraints that shape the result, the ids in order and the digest of each
        text. Built piece by piece, because canonicalising a hundred thousand items at once takes a second.
        """
        digest = hashlib.sha256()
        digest.update(b'{"constraints":' + msgspec.json.encode(constraints, order="sorted") + b',"items":[')
        for ordinal, item_id in enumerate(self.item_ids):
            comma = b"," if ordinal else b""
            text = self.submitted_sha256(ordinal).encode()
            digest.update(comma + b'{"content_sha256":"' + text + b'","id":' + msgspec.json.encode(item_id) + b"}")
        digest.update(b'],"model":' + msgspec.json.encode(model_id) + b',"operation":"embed.batch"}')
        return digest.hexdigest()

    def _begin(self, ordinal: int) -> int:
        return self._ends[ordinal - 1] if ordinal else 0


def _slice(digests: bytearray, ordinal: int) -> str:
    return digests[ordinal * _DIGEST_BYTES : (ordinal + 1) * _DIGEST_BYTES].hex()


def chunks(batch: TokenizedBatch, ordinals: Sequence[int], max_tokens: int) -> list[list[int]]:
    """``ordinals`` in runs of at most ``max_tokens`` tokens; a longer item is a run of its own."""
    runs: list[list[int]] = []
    tokens = 0
    for ordinal in ordinals:
        size = batch.tokens(ordinal)
        if not runs or tokens + size > max_tokens:
            runs.append([])
            tokens = 0
        runs[-1].append(ordinal)
        tokens += size
    return runs
