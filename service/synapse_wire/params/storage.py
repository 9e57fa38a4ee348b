"""Parameters of the operations on the folder of the models."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from synapse_wire.params.base import Params


class StorageMove(Params, frozen=True, kw_only=True):
    """``storage.move``: to ``path``, or to the usual folder when it is absent; ``move`` when ``mode`` is."""

    path: Annotated[str, Meta(max_length=4096)] | None = None
    mode: Literal["move", "adopt"] | None = None
