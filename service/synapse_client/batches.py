"""Cuts a stream of texts into batches that each become one durable job. Values only, no I/O; used by ``embed_all``.

A batch keeps its request encoded, because it may have to be sent again after a restart, and a digest for each of its
ids, because every vector that comes back is checked against what was sent. Nothing else of a text stays in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from synapse_client.errors import DivergedItem, ProtocolViolation
from synapse_wire.errors import SynapseError, invalid_params
from synapse_wire.framing import MAX_LINE_BYTES
from synapse_wire.messages import ENCODER

if TYPE_CHECKING:
    from synapse_client.results import Item

JOB_ITEMS: Final = 10_000
JOB_BYTES: Final = 8 * 1024 * 1024
"""Default bounds of a job: large enough that accepting one costs little beside computing it, small enough that a few
of them are no burden in the memory of either side."""

MAX_ITEMS_BYTES: Final = MAX_LINE_BYTES - 64 * 1024
"""Most JSON that the items of one request may have; the rest of the line is for its other members."""

MAX_KEY_CHARS: Final = 240
"""Longest request key; the number of a batch is added to it."""


class Batch:
    """One request of ``embed_all`` and what has become of it.

    ``job_id`` is None while the service has no job for it, ``cursor`` is the next page to read, ``waiting`` the number
    of items without a vector. ``answer`` holds the vectors of a batch that was answered at once until they are
    delivered. ``accepted`` becomes True with the first acceptance and stays so.
    """

    def __init__(self, key: str, params: msgspec.Raw, digests: dict[str, bytes | None]) -> None:
        self.key = key
        self.params = params
        self.job_id: str | None = None
        self.cursor = 0
        self.accepted = False
        self.answer: list[Item] | None = None
        self.waiting = len(digests)
        self._digests = digests

    def __len__(self) -> int:
        return len(self._digests)

    def take(self, items: list[Item]) -> list[Item]:
        """Those of ``items`` that had not come before. Raises :class:`DivergedItem` for a text that isn't ours."""
        fresh = []
        for item in items:
            try:
                digest = self._digests[item.id]
            except KeyError:
                raise ProtocolViolation(f"The service sent an item {item.id!r} that {self.key} doesn't have.") from None
            if digest is None:
                continue
            if item.submitted_sha256 != digest.hex():
                raise DivergedItem(item.id, digest.hex(), item.submitted_sha256)
            self._digests[item.id] = None
            fresh.append(item)
        self.waiting -= len(fresh)
        return fresh


class Splitter:
    """Collects texts until a batch is full. The same texts and bounds always give the same batches."""

    def __init__(self, members: Mapping[str, Any], request_key: str, max_items: int, max_bytes: int) -> None:
        if not 1 <= len(request_key) <= MAX_KEY_CHARS:
            raise invalid_params(f"the request key needs 1 to {MAX_KEY_CHARS} characters", "request_key")
        if max_items < 1:
            raise invalid_params("a job needs at least one item", "max_job_items")
        if not 1 <= max_bytes <= MAX_ITEMS_BYTES:
            raise invalid_params(f"a job has 1 to {MAX_ITEMS_BYTES} bytes", "max_job_bytes")
        self._members = dict(members)
        self._request_key = request_key
        self._max_items = max_items
        self._max_bytes = max_bytes
        self._taken = 0
        self._batches = 0
        self._encoded = bytearray()
        self._digests: dict[str, bytes | None] = {}

    def add(self, item: str | tuple[str, str]) -> Batch | None:
        """Take a text, or an id and a text; returns the batch that was full before it, if it was.

        A text without an id is known by its place in the whole stream. Raises ``invalid_request`` for what isn't a
        text, and for an id that stands twice in one batch.
        """
        item_id, text = self._named(item)
        encoded, digest = _encode(item_id, text)
        full = None
        if self._digests and (
            len(self._digests) == self._max_items or len(self._encoded) + 1 + len(encoded) > self._max_bytes
        ):
            full = self.flush()
        if item_id in self._digests:
            raise invalid_params(f"the id {item_id[:64]!r} stands twice", "items", item_id=item_id)
        if self._digests:
            self._encoded += b","
        self._encoded += encoded
        self._digests[item_id] = digest
        return full

    def flush(self) -> Batch | None:
        """What has been collected, or None when there is nothing."""
        if not self._digests:
            return None
        key = f"{self._request_key}/{self._batches}"
        head = ENCODER.encode({**self._members, "request_key": key})
        params = msgspec.Raw(b"".join((head[:-1], b',"items":[', self._encoded, b"]}")))
        batch = Batch(key, params, self._digests)
        self._batches += 1
        self._encoded, self._digests = bytearray(), {}
        return batch

    def _named(self, item: Any) -> tuple[str, str]:
        place = self._taken
        self._taken += 1
        if isinstance(item, str):
            return str(place), item
        if isinstance(item, (tuple, list)) and len(item) == 2:
            item_id, text = item
            if isinstance(item_id, str) and isinstance(text, str):
                return item_id, text
        raise invalid_params(f"item {place} is neither a text nor an id and a text", "items", index=place)


def _encode(item_id: str, text: str) -> tuple[bytes, bytes]:
    try:
        encoded = ENCODER.encode({"id": item_id, "text": text})
        digest = hashlib.sha256(text.encode()).digest()
    except UnicodeEncodeError as error:
        raise invalid_params(f"item {item_id!r} is not valid Unicode: {error}", "items") from error
    if len(encoded) > MAX_ITEMS_BYTES:
        raise _too_large(item_id, len(encoded))
    return encoded, digest


def _too_large(item_id: str, size: int) -> SynapseError:
    return invalid_params(
        f"item {item_id!r} takes {size} bytes; the most that one request can carry is {MAX_ITEMS_BYTES}",
        "items",
        item_id=item_id,
        bytes=size,
        max_bytes=MAX_ITEMS_BYTES,
    )
