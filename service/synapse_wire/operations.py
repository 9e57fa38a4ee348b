"""The registry of operations: the contract's own, and apart from them what this product adds.

A row says whether an operation only asks (*query*) or changes something (*mutate*), and which shapes it takes and
gives. On a connection bound to a flow only the contract's query operations serve. A row without shapes names an
operation of the contract that this version does not serve: it is absent from ``service.hello`` and answers like an
unknown method.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from synapse_wire import params as p
from synapse_wire import results as r

Kind = Literal["query", "mutate"]


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation. ``params`` and ``result`` are its msgspec types, or None while it is not served."""

    name: str
    kind: Kind
    params: type[Any] | None = None
    result: tuple[type[Any], ...] = ()

    @property
    def served(self) -> bool:
        return self.params is not None


def _table(*rows: Operation) -> Mapping[str, Operation]:
    return {row.name: row for row in rows}


CONTRACT: Final[Mapping[str, Operation]] = _table(
    Operation("embed.query", "query", p.EmbedQuery, (r.Embedded,)),
    Operation("embed.batch", "query", p.EmbedBatch, (r.Embedded, r.EmbedDiverted)),
    Operation("embed.result", "query", p.EmbedResult, (r.EmbedPage,)),
    Operation("job.resume", "mutate", p.JobRef, (r.JobStatus,)),
    Operation("rerank.score", "query", p.RerankScore, (r.Reranked,)),
    Operation("microllm.oneshot", "query"),
    Operation("owned_decode.admit_session", "mutate"),
    Operation("owned_decode.decode", "mutate"),
    Operation("owned_decode.snapshot", "mutate"),
    Operation("owned_decode.continue", "mutate"),
    Operation("owned_decode.abort", "mutate"),
    Operation("owned_decode.close", "mutate"),
    Operation("owned_decode.session_status", "query"),
    Operation("owned_decode.disable", "mutate"),
    Operation("owned_decode.revoke", "mutate"),
    Operation("model.load", "mutate", p.ModelLoad, (r.ModelLoadAccepted,)),
    Operation("model.status", "query", p.ModelStatus, (r.JobStatus, r.ModelRow, r.DownloadStatus)),
    Operation("model.unload", "mutate", p.ModelUnload, (r.ModelUnloaded,)),
    Operation("models.list", "query", p.NoParams, (r.ModelsList,)),
    Operation("models.catalog", "query", p.ModelsCatalog, (r.ModelsCatalog,)),
    Operation("models.download", "mutate", p.ModelsDownload, (r.DownloadStatus,)),
    Operation("models.download.cancel", "mutate", p.JobRef, (r.DownloadStatus,)),
    Operation("models.remove", "mutate", p.CatalogRef, (r.ModelRemoved,)),
    Operation("probe.start", "mutate", p.ModelRef, (r.JobAccepted,)),
    Operation("probe.status", "query", p.JobRef, (r.JobStatus,)),
    Operation("probe.report", "query", p.ProbeReport, (r.ProbeReport,)),
    Operation("aliases.check_index", "query", p.CheckIndex, (r.IndexChecked,)),
    Operation("alias.retract", "mutate", p.AliasChange, (r.AliasChanged,)),
    Operation("alias.declare", "mutate", p.AliasChange, (r.AliasChanged,)),
    Operation("cache.pin", "mutate", p.CachePin, (r.CachePins,)),
    Operation("cache.gc", "mutate", p.CacheGc, (r.CacheCollected,)),
    Operation("admission.status", "query", p.NoParams, (r.AdmissionStatus,)),
    Operation("approvals.migrate_owned_decode", "mutate"),
    Operation("approvals.enable", "mutate"),
    Operation("approvals.disable", "mutate"),
    Operation("approvals.emergency_rollback", "mutate"),
    Operation("certify.observations", "query", p.NoParams, (r.CertifyObservations,)),
    Operation("lanes.pause", "mutate", p.LanesPause, (r.PauseStatus,)),
    Operation("lanes.resume", "mutate", p.NoParams, (r.PauseStatus,)),
    Operation("lanes.status", "query", p.NoParams, (r.PauseStatus,)),
)
"""The contract's registry, in the contract's order."""

EXTENSIONS: Final[Mapping[str, Operation]] = _table(
    Operation("service.hello", "query", p.ServiceHello, (r.Hello,)),
    Operation("service.info", "query", p.NoParams, (r.ServiceInfo,)),
    Operation("service.diagnostics", "query", p.NoParams, (r.Diagnostics,)),
    Operation("service.shutdown", "mutate", p.ServiceShutdown, (r.ShuttingDown,)),
    Operation("service.pause", "mutate", p.ServicePause, (r.PauseStatus,)),
    Operation("service.resume", "mutate", p.NoParams, (r.PauseStatus,)),
    Operation("events.subscribe", "query", p.EventsSubscribe, (r.Subscribed,)),
    Operation("settings.get", "query", p.SettingsGet, (r.Settings,)),
    Operation("settings.set", "mutate", p.SettingsSet, (r.Settings,)),
    Operation("logs.tail", "query", p.LogsTail, (r.LogTail,)),
    Operation("jobs.list", "query", p.JobsList, (r.JobsList,)),
    Operation("jobs.cancel", "mutate", p.JobRef, (r.JobStatus,)),
    Operation("downloads.list", "query", p.DownloadsList, (r.DownloadsList,)),
    Operation("lanes.list", "query", p.NoParams, (r.LanesList,)),
    Operation("lanes.load", "mutate", p.LaneRef, (r.LaneRow,)),
    Operation("lanes.keep_warm", "mutate", p.LanesKeepWarm, (r.LaneRow,)),
    Operation("cache.usage", "query", p.NoParams, (r.CacheUsage,)),
    Operation("storage.status", "query", p.NoParams, (r.StorageStatus,)),
    Operation("storage.move", "mutate", p.StorageMove, (r.StorageMove,)),
    Operation("storage.cancel", "mutate", p.NoParams, (r.StorageMove,)),
    Operation("credentials.set", "mutate", p.CredentialsSet, (r.CredentialRow,)),
    Operation("credentials.delete", "mutate", p.CredentialRef, (r.CredentialsList,)),
    Operation("credentials.list", "query", p.NoParams, (r.CredentialsList,)),
)
"""What this product adds, documented in ``docs/extensions.md``."""

OPERATIONS: Final[Mapping[str, Operation]] = {**CONTRACT, **EXTENSIONS}

FLOW_ALLOWED_EXTENSIONS: Final = frozenset({"service.info"})
"""The only extension that a connection bound to a flow may call (after its ``service.hello``)."""


def allowed_in_flow(method: str) -> bool:
    """True when ``method`` may be served on a connection that is bound to a flow."""
    row = CONTRACT.get(method)
    if row is not None:
        return row.kind == "query"
    return method in FLOW_ALLOWED_EXTENSIONS
