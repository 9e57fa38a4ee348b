"""The model ids that belong to the catalog, and so can't name a free-form model.

They are those of the catalog that ships. Each of its ids also reserves one derived id for every backend, whether or
not this machine, or this release, can run that backend.
"""

from __future__ import annotations

from typing import Final

from synapse_service.catalog.compiled import DERIVED_BACKENDS, shipped_catalog

__all__ = ["CATALOG_IDS", "DERIVED_BACKENDS", "RESERVED_IDS"]

CATALOG_IDS: Final = tuple(entry.id for entry in shipped_catalog().entries)
RESERVED_IDS: Final = shipped_catalog().reserved_ids
