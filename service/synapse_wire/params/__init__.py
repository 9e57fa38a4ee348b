"""Parameter shapes of the operations, strict: an unknown member, a wrong type or a value out of range is refused.

``null`` on an optional member means absent, so every optional member is None when it was not given, and whoever serves
the operation applies the default. Where a class says so, unknown members are tolerated, because the contract does so
for that operation. Bounds that JSON types can't express are checked in ``__post_init__``; the
``ValueError`` it raises becomes a validation error with the member's path.
"""

from synapse_wire.params.aliases import MAX_EVIDENCE_BYTES, MAX_EVIDENCE_DEPTH, AliasChange, CheckIndex
from synapse_wire.params.base import (
    NO_CONTROL,
    SAFE_INT,
    Count,
    Label,
    Millis,
    Name,
    NoParams,
    Params,
    PositiveMillis,
    Sha256,
    Url,
)
from synapse_wire.params.catalog import CacheGc, CachePin, CatalogRef, DownloadsList, ModelsCatalog, ModelsDownload
from synapse_wire.params.credentials import CredentialRef, CredentialsSet
from synapse_wire.params.inference import (
    Constraints,
    EmbedBatch,
    EmbedItem,
    EmbedQuery,
    EmbedResult,
    RerankCandidate,
    RerankScore,
    VectorEncoding,
)
from synapse_wire.params.jobs import JobRef, JobsList, JobState
from synapse_wire.params.lanes import LaneRef, LanesKeepWarm, LanesPause, ServicePause
from synapse_wire.params.models import FileSpec, ModelFiles, ModelLoad, ModelRef, ModelStatus, ModelUnload, ProbeReport
from synapse_wire.params.service import (
    DEFAULT_DRAIN_MS,
    DEFAULT_TAIL_LIMIT,
    ClientInfo,
    EventsSubscribe,
    LogLevel,
    LogsTail,
    Scope,
    ServiceHello,
    ServiceShutdown,
    SettingsGet,
    SettingsSet,
    Topic,
)
from synapse_wire.params.storage import StorageMove

__all__ = [
    "DEFAULT_DRAIN_MS",
    "DEFAULT_TAIL_LIMIT",
    "MAX_EVIDENCE_BYTES",
    "MAX_EVIDENCE_DEPTH",
    "NO_CONTROL",
    "SAFE_INT",
    "AliasChange",
    "CacheGc",
    "CachePin",
    "CatalogRef",
    "CheckIndex",
    "ClientInfo",
    "Constraints",
    "Count",
    "CredentialRef",
    "CredentialsSet",
    "DownloadsList",
    "EmbedBatch",
    "EmbedItem",
    "EmbedQuery",
    "EmbedResult",
    "EventsSubscribe",
    "FileSpec",
    "JobRef",
    "JobState",
    "JobsList",
    "Label",
    "LaneRef",
    "LanesKeepWarm",
    "LanesPause",
    "LogLevel",
    "LogsTail",
    "Millis",
    "ModelFiles",
    "ModelLoad",
    "ModelRef",
    "ModelStatus",
    "ModelUnload",
    "ModelsCatalog",
    "ModelsDownload",
    "Name",
    "NoParams",
    "Params",
    "PositiveMillis",
    "ProbeReport",
    "RerankCandidate",
    "RerankScore",
    "Scope",
    "ServiceHello",
    "ServicePause",
    "ServiceShutdown",
    "SettingsGet",
    "SettingsSet",
    "Sha256",
    "StorageMove",
    "Topic",
    "Url",
    "VectorEncoding",
]
