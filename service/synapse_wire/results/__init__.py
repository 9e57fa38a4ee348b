"""Result shapes of the operations.

A member that may be absent is unset, never null, unless its type says null.
"""

from synapse_wire.results.admission import AdmissionStatus, LaneAdmission, QueueDepths
from synapse_wire.results.aliases import AliasChanged, AliasRow, IndexChecked
from synapse_wire.results.base import Result
from synapse_wire.results.cache import BlobHolder, CacheCollected, CachePins, CacheUsage, KeptBlob, ModelPin, ModelUsage
from synapse_wire.results.catalog import (
    CatalogBackend,
    CatalogModel,
    CatalogUpstream,
    DownloadRow,
    DownloadsList,
    DownloadStatus,
    ModelRemoved,
    ModelsCatalog,
)
from synapse_wire.results.certify import CertifyObservations
from synapse_wire.results.credentials import CredentialRow, CredentialsList
from synapse_wire.results.inference import (
    Embedded,
    EmbedDiverted,
    EmbedPage,
    EmbedVector,
    EngineIdentity,
    Envelope,
    JobHandle,
    Observation,
    PageItem,
    PageTruncation,
    Provenance,
    Reranked,
    RerankedScore,
    TruncationDisclosure,
)
from synapse_wire.results.jobs import JobAccepted, JobRow, JobsList, JobStatus
from synapse_wire.results.lanes import DrainError, LaneRow, LanesList, Pause, PauseStatus
from synapse_wire.results.models import (
    ModelLoadAccepted,
    ModelRow,
    ModelsList,
    ModelUnloaded,
    RecommendedBatch,
    SelfCheckState,
)
from synapse_wire.results.probe import ProbeLane, ProbeReport
from synapse_wire.results.service import (
    Diagnostic,
    Diagnostics,
    Hello,
    Holder,
    LogEntry,
    LogTail,
    ServiceInfo,
    Setting,
    Settings,
    ShuttingDown,
    Subscribed,
)
from synapse_wire.results.storage import StorageMove, StorageStatus

__all__ = [
    "AdmissionStatus",
    "AliasChanged",
    "AliasRow",
    "BlobHolder",
    "CacheCollected",
    "CachePins",
    "CacheUsage",
    "CatalogBackend",
    "CatalogModel",
    "CatalogUpstream",
    "CertifyObservations",
    "CredentialRow",
    "CredentialsList",
    "Diagnostic",
    "Diagnostics",
    "DownloadRow",
    "DownloadStatus",
    "DownloadsList",
    "DrainError",
    "EmbedDiverted",
    "EmbedPage",
    "EmbedVector",
    "Embedded",
    "EngineIdentity",
    "Envelope",
    "Hello",
    "Holder",
    "IndexChecked",
    "JobAccepted",
    "JobHandle",
    "JobRow",
    "JobStatus",
    "JobsList",
    "KeptBlob",
    "LaneAdmission",
    "LaneRow",
    "LanesList",
    "LogEntry",
    "LogTail",
    "ModelLoadAccepted",
    "ModelPin",
    "ModelRemoved",
    "ModelRow",
    "ModelUnloaded",
    "ModelUsage",
    "ModelsCatalog",
    "ModelsList",
    "Observation",
    "PageItem",
    "PageTruncation",
    "Pause",
    "PauseStatus",
    "ProbeLane",
    "ProbeReport",
    "Provenance",
    "QueueDepths",
    "RecommendedBatch",
    "Reranked",
    "RerankedScore",
    "Result",
    "SelfCheckState",
    "ServiceInfo",
    "Setting",
    "Settings",
    "ShuttingDown",
    "StorageMove",
    "StorageStatus",
    "Subscribed",
    "TruncationDisclosure",
]
