"""``alias.declare``, ``alias.retract`` and ``aliases.check_index``: the equivalences, and whether an index may rely on
them.
"""

from __future__ import annotations

from collections.abc import Callable

from synapse_service.aliases.pairs import pair_of
from synapse_service.aliases.table import AliasTable, Change
from synapse_service.logs import get_logger
from synapse_service.server.router import Call, Router
from synapse_service.settings.declared import Settings
from synapse_wire import params as p
from synapse_wire import results as r
from synapse_wire.errors import SynapseError

_log = get_logger(__name__)


class AliasOperations:
    """The operations about equivalences."""

    def __init__(self, *, aliases: AliasTable, settings: Callable[[], Settings], module_generation: int) -> None:
        self._aliases = aliases
        self._settings = settings
        self._generation = module_generation

    def register(self, router: Router) -> None:
        """Serve the operations."""
        router.add("alias.declare", self.declare)
        router.add("alias.retract", self.retract)
        router.add_inline("aliases.check_index", self.check_index)

    async def declare(self, call: Call, params: p.AliasChange) -> r.AliasChanged:
        """Make a pair live."""
        self._require_administration()
        left, right = params.fingerprints
        return self._changed("alias_declared", params, await self._aliases.declare(pair_of(left, right), params.facts))

    async def retract(self, call: Call, params: p.AliasChange) -> r.AliasChanged:
        """End a pair, for what is asked from then on."""
        self._require_administration()
        left, right = params.fingerprints
        return self._changed("alias_retracted", params, await self._aliases.retract(pair_of(left, right), params.facts))

    def check_index(self, call: Call, params: p.CheckIndex) -> r.IndexChecked:
        """Whether every vector of an index may still stand beside the others."""
        broken = self._aliases.check_index(params.index_fingerprint, params.provenance_set)
        if broken is None:
            return r.IndexChecked(status="valid", table_epoch=self._aliases.epoch)
        return r.IndexChecked(
            status="migration_required",
            retracted_pair=list(broken.pair),
            rebuild_target=params.index_fingerprint,
            table_epoch=self._aliases.epoch,
        )

    def _changed(self, event: str, params: p.AliasChange, change: Change) -> r.AliasChanged:
        if change.changed:
            left, right = params.fingerprints
            _log.info(event, left=left, right=right, table_epoch=change.table_epoch)
        return r.AliasChanged(
            module_generation=self._generation, changed=change.changed, table_epoch=change.table_epoch
        )

    def _require_administration(self) -> None:
        if not self._settings().alias_administration:
            raise SynapseError(
                "substitution_rejected",
                "equivalences can't be changed while the setting alias_administration is off; turn it on first",
            )
