"""Result pages of a durable job: encoded once, stored as they will be sent, never encoded again."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Final

import msgspec

from synapse_service.jobs.batch import TokenizedBatch

PAGE_BYTES: Final = 512 * 1024
"""Size at which a page is closed. One item larger than this is a page of its own."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page. ``payload`` is the JSON array of its items; ``ordinals`` says which items those are."""

    ordinals: array[int]
    payload: bytes


class PageAssembler:
    """Collects encoded items into pages of at most ``limit`` bytes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._items: list[bytes] = []
        self._ordinals = array("I")
        self._size = 2

    def add(self, ordinal: int, item: bytes) -> Page | None:
        """Add an item; returns the page that was full before it, if it was."""
        full = self.flush() if self._items and self._size + len(item) + 1 > self._limit else None
        self._items.append(item)
        self._ordinals.append(ordinal)
        self._size += len(item) + 1
        return full

    def flush(self) -> Page | None:
        """Close the page that is being filled; None when there is nothing in it."""
        if not self._items:
            return None
        page = Page(self._ordinals, b"[" + b",".join(self._items) + b"]")
        self._items, self._ordinals, self._size = [], array("I"), 2
        return page


def encode_item(batch: TokenizedBatch, ordinal: int, vector: bytes) -> bytes:
    """One page item as JSON. ``vector`` is JSON itself: an array of numbers, or a base64 string."""
    tokens, submitted = batch.tokens(ordinal), batch.submitted_tokens(ordinal)
    truncated = b"true" if tokens < submitted else b"false"
    return b"".join(
        (
            b'{"id":',
            msgspec.json.encode(batch.item_ids[ordinal]),
            b',"vector":',
            vector,
            b',"content_sha256":"%b","submitted_sha256":"%b","real_token_count":%d,"truncation":'
            % (batch.content_sha256(ordinal).encode(), batch.submitted_sha256(ordinal).encode(), tokens),
            b'{"submitted_tokens":%d,"effective_tokens":%d,"truncated":%b}}' % (submitted, tokens, truncated),
        )
    )
