"""The model ids that belong to the catalog, and so can't name a free-form model.

The four ids are frozen by the wire contract. Each of them also reserves one derived id for every backend, whether or
not this machine, or this release, can run that backend.
"""

from __future__ import annotations

from typing import Final

CATALOG_IDS: Final = (
    "gte-modernbert-base",
    "gte-reranker-modernbert-base",
    "qwen3-embedding-0.6b",
    "qwen3-reranker-0.6b",
)
DERIVED_BACKENDS: Final = ("metal", "ane", "cuda", "vulkan", "cpu")

RESERVED_IDS: Final = frozenset(CATALOG_IDS) | {
    f"{catalog_id}-{backend}" for catalog_id in CATALOG_IDS for backend in DERIVED_BACKENDS
}
