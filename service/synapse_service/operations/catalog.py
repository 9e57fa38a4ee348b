"""``models.catalog``: the models that can be installed, whether they run here, and what is installed."""

from __future__ import annotations

from synapse_service.catalog.availability import Availability, LaneStatus
from synapse_service.catalog.compiled import Catalog, CatalogEntry
from synapse_service.catalog.install_states import InstallStates
from synapse_service.server.router import Call, Router
from synapse_wire import params as p
from synapse_wire import results as r


class CatalogOperations:
    """The operation that browses the catalog. It answers from memory, at once."""

    def __init__(self, *, catalog: Catalog, availability: Availability, installs: InstallStates) -> None:
        self._catalog = catalog
        self._availability = availability
        self._installs = installs
        self._searched = {
            entry.id: [text.casefold() for text in (entry.id, entry.spec.name, entry.spec.description)]
            for entry in catalog.entries
        }

    def register(self, router: Router) -> None:
        """Serve the operation."""
        router.add_inline("models.catalog", self.catalog)

    def catalog(self, call: Call, params: p.ModelsCatalog) -> r.ModelsCatalog:
        """The rows that pass every filter, ordered by id."""
        rows = [self._row(entry) for entry in self._catalog.entries if self._passes(entry, params)]
        return r.ModelsCatalog(catalog_revision=self._catalog.revision, models=rows)

    def _passes(self, entry: CatalogEntry, params: p.ModelsCatalog) -> bool:
        wanted = (params.query or "").strip().casefold()
        if not any(wanted in text for text in self._searched[entry.id]):
            return False
        if params.task is not None and params.task != entry.spec.task:
            return False
        if params.runnable_here is not None and params.runnable_here != self._availability.runnable(entry):
            return False
        installed = self._installs.install_state(entry) == "installed"
        return params.installed is None or params.installed == installed

    def _row(self, entry: CatalogEntry) -> r.CatalogModel:
        spec = entry.spec
        state = self._installs.install_state(entry)
        return r.CatalogModel(
            id=spec.id,
            task=spec.task,
            name=spec.name,
            description=spec.description,
            default_for_task=spec.default_for_task,
            upstream=r.CatalogUpstream(hf_repo=spec.upstream.hf_repo, revision=spec.upstream.revision),
            manifest_digest=entry.manifest_digest,
            download_bytes=sum(file.size for file in self._availability.files(entry)),
            install_state=state,
            backends=[self._backend(status, state == "installed") for status in self._availability.lanes(entry)],
        )

    def _backend(self, status: LaneStatus, installed: bool) -> r.CatalogBackend:
        return r.CatalogBackend(
            backend=status.lane.backend,
            lane_id=status.lane.lane_id,
            fingerprint=status.lane.fingerprint,
            runnable=status.runnable,
            reason=status.reason,
            installed=installed,
            self_check=self._installs.self_check(status.lane) if installed else None,
        )
