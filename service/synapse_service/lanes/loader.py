"""Bringing a lane up: proven files, a fresh worker, and numbers that agree with the reference.

The order matters. Every file is verified by digest before a worker may map it; the worker compares what its engine
really does with what the lane declares; then it computes a few rows and compares them with the values that the
float32 reference gave for the same weights. Those values are computed once per (fingerprint, artifact digest) and
kept in the database.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from synapse_engines.errors import ArtifactError
from synapse_engines.tokenizer import SanitisedTokenizer
from synapse_engines.worker.protocol import SELF_TEST_REVISION, BackendName, LoadSpec, Ready
from synapse_service.catalog.blobs import BlobStore, DigestMismatch
from synapse_service.catalog.refusals import digest_refusal
from synapse_service.catalog.store_marker import StorageUnavailable
from synapse_service.certify.observations import Observations
from synapse_service.clock import Clock
from synapse_service.lanes.model import LaneModel, StoredFile, artifact_refusal, read_config
from synapse_service.lanes.package_sets import package_files
from synapse_service.logs import get_logger
from synapse_service.store.errors import StoreError
from synapse_service.workers.faults import WorkerRefused
from synapse_service.workers.launch import Launch
from synapse_service.workers.process import WorkerProcess
from synapse_service.workers.watch import NOBODY, WorkerWatch
from synapse_wire.errors import SynapseError

_BACKENDS: Mapping[str, BackendName] = {
    "owned-cpu": "openvino",
    "owned-metal": "mlx",
    "owned-cuda": "mlx",
    "ane": "coreml",
}

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A worker that holds a proven model. ``load_ms`` counts from the first file check to readiness.

    ``threads`` is how many a lane on the processor computes with, None for other lanes.
    """

    worker: WorkerProcess
    dims: int
    facts: Mapping[str, str]
    load_ms: float
    threads: int | None = None


class SelfTestValues(Protocol):
    """Where the reference's self-test values are kept, as base64 of float32."""

    async def get(self, fingerprint: str, artifact_digest: str) -> str | None: ...

    async def put(self, fingerprint: str, artifact_digest: str, values: str) -> None: ...


class Loader:
    """Loads models into workers. One for the process; it keeps no state of a lane."""

    def __init__(
        self,
        *,
        blobs: BlobStore,
        values: SelfTestValues,
        launch: Callable[[BackendName], Launch],
        clock: Clock,
        threads: Callable[[LaneModel], int],
        observations: Observations,
    ) -> None:
        self._blobs = blobs
        self._values = values
        self._launch = launch
        self._clock = clock
        self._threads = threads
        self._observations = observations

    async def load(self, model: LaneModel) -> Loaded:
        """A worker with the model, proven; raises ``artifact_invalid``, ``engine_crashed`` or WorkerFault."""
        began = self._clock.monotonic()
        watch = self._observations.watch(model)
        threads = self._threads(model)
        worker, ready = await self.start(model, _BACKENDS[model.engine], watch, threads)
        self._observations.admitted(model)
        load_ms = (self._clock.monotonic() - began) * 1000
        _log.info("lane_loaded", lane_id=model.lane_id, load_ms=round(load_ms), pid=worker.pid)
        return Loaded(worker, ready.dims, ready.facts, load_ms, threads if model.engine == "owned-cpu" else None)

    async def start_reference(self, model: LaneModel) -> WorkerProcess:
        """A worker that computes the same model with the float32 reference, for certification."""
        worker, _ = await self.start(model, "reference")
        return worker

    async def start(
        self, model: LaneModel, backend: BackendName, watch: WorkerWatch = NOBODY, threads: int | None = None
    ) -> tuple[WorkerProcess, Ready]:
        """A worker on any backend, and what it said when it was ready."""
        with self._store_of(model):
            return await self._start(model, backend, watch, threads or self._threads(model))

    async def _start(
        self, model: LaneModel, backend: BackendName, watch: WorkerWatch, threads: int
    ) -> tuple[WorkerProcess, Ready]:
        config = await asyncio.to_thread(self._prove, model)
        artifact_digest = f"{SELF_TEST_REVISION}:{model.model_digest}"
        known = await self._known_values(model.fingerprint, artifact_digest)
        worker = await WorkerProcess.start(self._launch(backend), clock=self._clock, watch=watch)
        try:
            ready = await worker.load(self._spec(model, config, backend, known, threads))
            if ready.self_test_values is not None:
                await self._keep_values(model.fingerprint, artifact_digest, ready.self_test_values)
        except WorkerRefused as refusal:
            await worker.close()
            raise _load_refusal(model, refusal) from refusal
        except BaseException:
            await worker.close()
            raise
        return worker, ready

    # Self-test values only save time, so a database in trouble must not keep a lane from loading.

    async def _known_values(self, fingerprint: str, artifact_digest: str) -> str | None:
        try:
            return await self._values.get(fingerprint, artifact_digest)
        except StoreError as error:
            _log.warning("self_test_values_not_read", reason=error.reason)
            return None

    async def _keep_values(self, fingerprint: str, artifact_digest: str, values: str) -> None:
        try:
            await self._values.put(fingerprint, artifact_digest, values)
        except StoreError as error:
            _log.warning("self_test_values_not_kept", reason=error.reason)

    async def load_tokenizer(self, model: LaneModel) -> SanitisedTokenizer:
        """The model's tokenizer, from a blob that is proven first; raises ``artifact_invalid``."""
        with self._store_of(model):
            return await asyncio.to_thread(self._load_tokenizer, model)

    @contextmanager
    def _store_of(self, model: LaneModel) -> Iterator[None]:
        """A ``with`` block in which the model's files stay where they are; refuses when they are not there now."""
        try:
            with self._blobs.leases.using():
                yield
        except StorageUnavailable as unavailable:
            if unavailable.reason == "moving":
                raise SynapseError("model_loading", unavailable.message) from unavailable
            raise SynapseError(
                "artifact_invalid",
                unavailable.message,
                details={
                    "model_id": model.lane_id,
                    "file": model.file("model").name,
                    "reason": unavailable.reason,
                },
            ) from unavailable

    def _prove(self, model: LaneModel) -> dict[str, Any]:
        """Prove every file of the model by its digest; its configuration."""
        paths = {file.role: self._verify_file(model, file) for file in model.files}
        return read_config(model.lane_id, paths["config"])

    def _verify_file(self, model: LaneModel, file: StoredFile) -> Path:
        try:
            return self._blobs.verify(file.sha256, file.size, file.name)
        except DigestMismatch as error:
            # Takes it out of the store, and tells those who count on it. What the disk doesn't let go is found again.
            with suppress(OSError):
                self._blobs.quarantine(file.sha256)
            raise digest_refusal(error, model.recovery_op) from error
        except OSError as error:
            raise SynapseError(
                "artifact_invalid",
                f"{file.name} can't be read ({error.strerror}); look at the disk that holds the models",
                details={"model_id": model.lane_id, "file": file.name, "reason": "unreadable"},
            ) from error

    def _load_tokenizer(self, model: LaneModel) -> SanitisedTokenizer:
        file = model.file("tokenizer")
        path = self._verify_file(model, file)
        try:
            return model.load_tokenizer(path)
        except ArtifactError as error:
            # It was sound when the model was registered, by a release that read tokenizers in another way.
            raise artifact_refusal(model.lane_id, error, file=file.name) from error

    def _spec(
        self, model: LaneModel, config: dict[str, Any], backend: BackendName, values: str | None, threads: int
    ) -> LoadSpec:
        return LoadSpec(
            backend=backend,
            model_path=str(self._blobs.path(model.file("model").sha256)),
            config=config,
            family=model.family,
            pooling=model.profile.pooling,
            normalize=model.normalize,
            max_tokens=model.max_tokens,
            readout=model.readout,
            threads=threads,
            self_test_values=values,
            packages=package_files(model, self._blobs),
            package_root=str(self._blobs.packages) if model.ladder else None,
            dims=model.dims if model.ladder else 0,
        )


def _load_refusal(model: LaneModel, refusal: WorkerRefused) -> SynapseError:
    model_id = model.lane_id
    if refusal.kind == "artifact":
        return SynapseError(
            "artifact_invalid",
            refusal.message,
            details={
                "model_id": model_id,
                "file": refusal.details.get("file") or model.file("model").name,
                "reason": str(refusal.details.get("reason", "unsupported")),
            },
        )
    if refusal.kind == "engine_mismatch":
        actual = model.fingerprint_on(f"differs:{sorted(refusal.details.get('actual', {}).items())}")
        return SynapseError(
            "artifact_invalid",
            refusal.message,
            details={"model_id": model_id, "expected_fingerprint": model.fingerprint, "actual_fingerprint": actual},
        )
    return SynapseError(
        "engine_crashed",
        f"{model_id} did not pass its load: {refusal.message}",
        details={"lane_id": model_id, "reason": refusal.kind},
    )
