"""The operations as values: which method, which parameters, how the answer is read, how long to wait for it.

The blocking and the asyncio client have the same methods. What those methods mean is written once, here; each client
only sends a :class:`Call` and waits in its own way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import msgspec

from synapse_client import results
from synapse_client.errors import ProtocolViolation
from synapse_client.protocol import decode_result
from synapse_wire import results as r
from synapse_wire.errors import SynapseError, WireError, invalid_params

if TYPE_CHECKING:
    from synapse_client.options import Constraints, FileSource, ModelOptions, Task

DEADLINE_GRACE_S: Final = 2.0
"""How much longer than ``deadline_ms`` a caller waits, so that the service's own typed answer arrives first."""

REMOVAL_S: Final = 600.0
"""How long a caller waits while files are removed."""

LOAD_S: Final = 600.0
"""How long a caller waits for a lane that loads."""

T = TypeVar("T")


class Call(msgspec.Struct, Generic[T], frozen=True):
    """One operation to carry out. ``wait_s`` is how long to wait for the answer, or None for the client's default."""

    method: str
    params: Any
    read: Callable[[msgspec.Raw], T]
    wait_s: float | None = None

    def __repr__(self) -> str:
        return f"Call({self.method!r})"  # Parameters may hold a secret, and texts in any case.


def may_repeat(method: str) -> bool:
    """True for operations that only ask: carrying one out twice changes nothing."""
    from synapse_wire.operations import OPERATIONS  # only a lost connection needs the registry

    row = OPERATIONS.get(method)
    return row is not None and row.kind == "query"


def _given(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _shaped(method: str, shape: type[T], *, wait_s: float | None = None, **members: Any) -> Call[T]:
    return Call(method, _given(**members), lambda result: decode_result(result, shape), wait_s)


def _budget(deadline_ms: int | None) -> float | None:
    return None if deadline_ms is None else deadline_ms / 1000 + DEADLINE_GRACE_S


def raw(method: str, params: Any = None, *, timeout_s: float | None = None) -> Call[msgspec.Raw]:
    """Any method with any parameters; the answer is the result's JSON text."""
    return Call(method, {} if params is None else params, lambda result: result, timeout_s)


def untyped(method: str, params: Any = None, *, timeout_s: float | None = None) -> Call[Any]:
    """Any method with any parameters; the answer is plain dictionaries and lists."""
    return Call(method, {} if params is None else params, msgspec.json.decode, timeout_s)


def hello(name: str, version: str, scope: Mapping[str, str] | None) -> Call[r.Hello]:
    return _shaped("service.hello", r.Hello, client={"name": name, "version": version}, protocol=1, scope=scope)


def info() -> Call[r.ServiceInfo]:
    return _shaped("service.info", r.ServiceInfo)


def diagnostics() -> Call[r.Diagnostics]:
    return _shaped("service.diagnostics", r.Diagnostics)


def shutdown(drain_ms: int | None, force: bool) -> Call[r.ShuttingDown]:
    return _shaped("service.shutdown", r.ShuttingDown, drain_ms=drain_ms, force=force or None)


def embed_query(
    model: str, text: str, deadline_ms: int | None, target_fingerprint: str | None, constraints: Constraints
) -> Call[results.Embedding]:
    params = _given(
        model=model,
        text=text,
        vector_encoding="base64",
        deadline_ms=deadline_ms,
        target_fingerprint=target_fingerprint,
        **constraints,
    )
    return Call("embed.query", params, results.embedding, _budget(deadline_ms))


def embed_batch(
    model: str,
    texts: Sequence[str],
    ids: Sequence[str] | None,
    deadline_ms: int | None,
    request_key: str | None,
    constraints: Constraints,
) -> Call[results.Embedding]:
    params = _given(
        model=model,
        items=_named(texts, ids),
        vector_encoding="base64",
        deadline_ms=deadline_ms,
        request_key=request_key,
        **constraints,
    )
    return Call("embed.batch", params, results.inline_batch, _budget(deadline_ms))


def rerank_score(
    model: str,
    query: str,
    texts: Sequence[str],
    ids: Sequence[str] | None,
    deadline_ms: int | None,
    constraints: Constraints,
    read: Callable[[msgspec.Raw], T],
) -> Call[T]:
    candidates = _named(texts, ids)
    params = _given(model=model, query=query, candidates=candidates, deadline_ms=deadline_ms, **constraints)
    return Call("rerank.score", params, read, _budget(deadline_ms))


def _named(texts: Sequence[str], ids: Sequence[str] | None) -> list[dict[str, str]]:
    if isinstance(texts, str):
        raise invalid_params("texts is one string; give a list of them", "texts")
    names = [str(index) for index in range(len(texts))] if ids is None else ids
    if len(names) != len(texts):
        raise invalid_params(f"there are {len(names)} ids for {len(texts)} texts", "ids")
    return [{"id": name, "text": text} for name, text in zip(names, texts, strict=True)]


def submit_batch(params: msgspec.Raw, deadline_ms: int) -> Call[results.Embedding | str]:
    """A whole ``embed.batch`` that is encoded already; the answer is an embedding or the id of a job."""
    return Call("embed.batch", params, results.batch_answer, _budget(deadline_ms))


def embed_result(job_id: str, cursor: int, max_page_bytes: int | None) -> Call[results.Page]:
    params = _given(job_id=job_id, cursor=cursor, max_page_bytes=max_page_bytes)
    return Call("embed.result", params, results.page)


def model_load(
    model_id: str,
    task: Task,
    engine: str,
    files: Mapping[str, FileSource | Sequence[FileSource]],
    options: ModelOptions,
) -> Call[r.ModelLoadAccepted]:
    members: dict[str, Any] = {"source": "file", **options}
    return _shaped(
        "model.load", r.ModelLoadAccepted, model_id=model_id, task=task, engine=engine, files=dict(files), **members
    )


def model_status(model_id: str) -> Call[r.ModelRow]:
    return _shaped("model.status", r.ModelRow, model_id=model_id)


def job_status(job_id: str) -> Call[r.JobStatus]:
    return _shaped("model.status", r.JobStatus, job_id=job_id)


def models_list() -> Call[r.ModelsList]:
    return _shaped("models.list", r.ModelsList)


def model_unload(model_id: str) -> Call[r.ModelUnloaded]:
    return _shaped("model.unload", r.ModelUnloaded, model_id=model_id)


def job_resume(job_id: str) -> Call[r.JobStatus]:
    return _shaped("job.resume", r.JobStatus, job_id=job_id)


def jobs_list(states: Sequence[str] | None, limit: int | None) -> Call[r.JobsList]:
    return _shaped("jobs.list", r.JobsList, states=None if states is None else list(states), limit=limit)


def jobs_cancel(job_id: str) -> Call[r.JobStatus]:
    return _shaped("jobs.cancel", r.JobStatus, job_id=job_id)


def admission_status() -> Call[r.AdmissionStatus]:
    return _shaped("admission.status", r.AdmissionStatus)


def models_catalog(
    query: str | None, task: str | None, runnable_here: bool | None, installed: bool | None
) -> Call[r.ModelsCatalog]:
    return _shaped(
        "models.catalog", r.ModelsCatalog, query=query, task=task, runnable_here=runnable_here, installed=installed
    )


def models_download(catalog_id: str, request_key: str | None) -> Call[r.DownloadStatus]:
    return _shaped("models.download", r.DownloadStatus, catalog_id=catalog_id, request_key=request_key)


def models_download_cancel(job_id: str) -> Call[r.DownloadStatus]:
    return _shaped("models.download.cancel", r.DownloadStatus, job_id=job_id)


def download_status(job_id: str) -> Call[r.DownloadStatus]:
    return _shaped("model.status", r.DownloadStatus, job_id=job_id)


def downloads_list(limit: int | None) -> Call[r.DownloadsList]:
    return _shaped("downloads.list", r.DownloadsList, limit=limit)


def models_remove(catalog_id: str) -> Call[r.ModelRemoved]:
    return _shaped("models.remove", r.ModelRemoved, wait_s=REMOVAL_S, catalog_id=catalog_id)


def cache_pin(model_id: str | None, catalog_id: str | None, pinned: bool, owner: str | None) -> Call[r.CachePins]:
    return _shaped("cache.pin", r.CachePins, model_id=model_id, catalog_id=catalog_id, pinned=pinned, owner=owner)


def cache_gc(dry_run: bool) -> Call[r.CacheCollected]:
    # Looking for every file and removing gigabytes of them takes its time on a slow disk.
    return _shaped("cache.gc", r.CacheCollected, wait_s=REMOVAL_S, dry_run=dry_run)


def cache_usage() -> Call[r.CacheUsage]:
    return _shaped("cache.usage", r.CacheUsage)


def storage_status() -> Call[r.StorageStatus]:
    return _shaped("storage.status", r.StorageStatus)


def storage_move(path: str | None, mode: str | None) -> Call[r.StorageMove]:
    return _shaped("storage.move", r.StorageMove, path=path, mode=mode)


def storage_cancel() -> Call[r.StorageMove]:
    # What was copied is removed before the answer.
    return _shaped("storage.cancel", r.StorageMove, wait_s=REMOVAL_S)


def credentials_set(name: str, secret: str, origin: str | None) -> Call[r.CredentialRow]:
    return _shaped("credentials.set", r.CredentialRow, name=name, secret=secret, origin=origin)


def credentials_delete(name: str) -> Call[r.CredentialsList]:
    return _shaped("credentials.delete", r.CredentialsList, name=name)


def credentials_list() -> Call[r.CredentialsList]:
    return _shaped("credentials.list", r.CredentialsList)


def probe_start(model_id: str) -> Call[r.JobAccepted]:
    return _shaped("probe.start", r.JobAccepted, model_id=model_id)


def probe_status(job_id: str) -> Call[r.JobStatus]:
    return _shaped("probe.status", r.JobStatus, job_id=job_id)


def probe_report(model_id: str | None) -> Call[r.ProbeReport]:
    return _shaped("probe.report", r.ProbeReport, model_id=model_id)


def aliases_check_index(index_fingerprint: str, provenance_set: Sequence[str]) -> Call[r.IndexChecked]:
    return _shaped(
        "aliases.check_index",
        r.IndexChecked,
        index_fingerprint=index_fingerprint,
        provenance_set=list(provenance_set),
    )


def lanes_list() -> Call[r.LanesList]:
    return _shaped("lanes.list", r.LanesList)


def lanes_load(lane_id: str) -> Call[r.LaneRow]:
    return _shaped("lanes.load", r.LaneRow, wait_s=LOAD_S, lane_id=lane_id)


def lanes_keep_warm(lane_id: str, on: bool) -> Call[r.LaneRow]:
    return _shaped("lanes.keep_warm", r.LaneRow, lane_id=lane_id, on=on)


def lanes_pause(minutes: float, reason: str) -> Call[r.PauseStatus]:
    duration_ms = round(minutes * 60_000)
    return _shaped("lanes.pause", r.PauseStatus, scope="neural_engine", duration_ms=duration_ms, reason=reason)


def lanes_resume() -> Call[r.PauseStatus]:
    return _shaped("lanes.resume", r.PauseStatus)


def lanes_status() -> Call[r.PauseStatus]:
    return _shaped("lanes.status", r.PauseStatus)


def service_pause(minutes: float | None, reason: str) -> Call[r.PauseStatus]:
    open_end = True if minutes is None else None
    duration_ms = None if minutes is None else round(minutes * 60_000)
    return _shaped("service.pause", r.PauseStatus, duration_ms=duration_ms, until_resumed=open_end, reason=reason)


def service_resume() -> Call[r.PauseStatus]:
    return _shaped("service.resume", r.PauseStatus)


def settings_get(names: Sequence[str] | None) -> Call[r.Settings]:
    return _shaped("settings.get", r.Settings, names=None if names is None else list(names))


def settings_set(values: Mapping[str, Any]) -> Call[r.Settings]:
    # A None in here is meant: it takes a setting back to its default.
    return _shaped("settings.set", r.Settings, values=dict(values))


def logs_tail(after_seq: int, level: str | None, limit: int) -> Call[r.LogTail]:
    return _shaped("logs.tail", r.LogTail, after_seq=after_seq, level=level, limit=limit)


def subscribe(topics: Sequence[str]) -> Call[r.Subscribed]:
    return _shaped("events.subscribe", r.Subscribed, topics=list(topics))


def poll_intervals(first_s: float = 0.05, factor: float = 1.5, ceiling_s: float = 1.0) -> Iterator[float]:
    """How long to wait between two looks at a job: short at first, because many jobs are."""
    pause = first_s
    while True:
        yield pause
        pause = min(pause * factor, ceiling_s)


def outcome(status: r.JobStatus) -> r.JobStatus | None:
    """The status of a job that is done, or None while it goes on; raises what a failed job failed with."""
    if status.state not in results.ENDED:
        return None
    if status.state == "done":
        return status
    raise failure(status)


def failure(status: r.JobStatus) -> SynapseError:
    """What a failed job failed with; raises :class:`ProtocolViolation` when it doesn't say."""
    if status.error is msgspec.UNSET:
        raise ProtocolViolation(f"Job {status.job_id} ended as {status.state} without saying why.")
    try:
        wire = msgspec.convert(status.error, WireError)
    except msgspec.ValidationError as error:
        raise ProtocolViolation(f"Job {status.job_id} failed with an unreadable error: {error}.") from error
    reported = SynapseError.from_wire(wire, level="semantic")
    reported.add_note(f"reported by job {status.job_id} ({status.kind}), which ended as {status.state}")
    return reported
