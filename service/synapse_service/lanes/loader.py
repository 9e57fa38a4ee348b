"""Bringing a lane up: proven files, a fresh worker, and numbers that agree with the reference.

The order matters. Every file is verified by digest before a worker may map it; the worker compares what its engine
really does with what the lane declares; then it computes a few rows and compares them with the values that the
float32 reference gave for the same weights. Those values are computed once per (fingerprint, artifact digest) and
kept in the database.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from synapse_engines.errors import ArtifactError
from synapse_engines.tokenizer import SanitisedTokenizer
from synapse_engines.worker.protocol import SELF_TEST_REVISION, BackendName, LoadSpec, Ready
from synapse_service.catalog.blobs import BlobStore, DigestMismatch
from synapse_service.catalog.refusals import digest_refusal
from synapse_service.clock import Clock
from synapse_service.lanes.registration import Registration, StoredFile, artifact_refusal
from synapse_service.lanes.worker_faults import WorkerRefused
from synapse_service.lanes.worker_launch import Launch
from synapse_service.lanes.worker_process import WorkerProcess
from synapse_service.logs import get_logger
from synapse_service.store.errors import StoreError
from synapse_wire.errors import SynapseError

_BACKENDS: Mapping[str, BackendName] = {"owned-cpu": "openvino", "owned-metal": "mlx", "owned-cuda": "mlx"}

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A worker that holds a proven model. ``load_ms`` counts from the first file check to readiness."""

    worker: WorkerProcess
    dims: int
    facts: Mapping[str, str]
    load_ms: float


class SelfTestValues(Protocol):
    """Where the reference's self-test values are kept, as base64 of float32."""

    async def get(self, fingerprint: str, artifact_digest: str) -> str | None: ...

    async def put(self, fingerprint: str, artifact_digest: str, values: str) -> None: ...


class Loader:
    """Loads registrations into workers. One for the process; it keeps no state of a lane."""

    def __init__(
        self,
        *,
        blobs: BlobStore,
        values: SelfTestValues,
        launch: Callable[[], Launch],
        clock: Clock,
        threads: Callable[[], int],
    ) -> None:
        self._blobs = blobs
        self._values = values
        self._launch = launch
        self._clock = clock
        self._threads = threads

    async def load(self, registration: Registration, fingerprint: str) -> Loaded:
        """A worker with the model, proven; raises ``artifact_invalid``, ``engine_crashed`` or WorkerFault."""
        began = self._clock.monotonic()
        worker, ready = await self.start(registration, fingerprint, _BACKENDS[registration.manifest.engine])
        load_ms = (self._clock.monotonic() - began) * 1000
        _log.info("lane_loaded", lane_id=registration.model_id, load_ms=round(load_ms), pid=worker.pid)
        return Loaded(worker, ready.dims, ready.facts, load_ms)

    async def start_reference(self, registration: Registration, fingerprint: str) -> WorkerProcess:
        """A worker that computes the same model with the float32 reference, for certification."""
        worker, _ = await self.start(registration, fingerprint, "reference")
        return worker

    async def start(
        self, registration: Registration, fingerprint: str, backend: BackendName
    ) -> tuple[WorkerProcess, Ready]:
        """A worker on any backend, and what it said when it was ready."""
        await self.verify(registration)
        artifact_digest = f"{SELF_TEST_REVISION}:{registration.model_digest}"
        known = await self._known_values(fingerprint, artifact_digest)
        worker = await WorkerProcess.start(self._launch(), clock=self._clock)
        try:
            ready = await worker.load(self._spec(registration, backend, known))
            if ready.self_test_values is not None:
                await self._keep_values(fingerprint, artifact_digest, ready.self_test_values)
        except WorkerRefused as refusal:
            await worker.close()
            raise _load_refusal(registration, fingerprint, refusal) from refusal
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

    async def verify(self, registration: Registration) -> None:
        """Prove every file of the model by its digest; a corrupt blob is taken out of the store."""
        await asyncio.to_thread(self._verify, registration)

    async def load_tokenizer(self, registration: Registration) -> SanitisedTokenizer:
        """The model's tokenizer, from a blob that is proven first; raises ``artifact_invalid``."""
        return await asyncio.to_thread(self._load_tokenizer, registration)

    def _verify(self, registration: Registration) -> None:
        for file in registration.files:
            self._verify_file(registration, file)

    def _verify_file(self, registration: Registration, file: StoredFile) -> Path:
        try:
            return self._blobs.verify(file.sha256, file.size, file.name)
        except DigestMismatch as error:
            self._blobs.quarantine(file.sha256)
            raise digest_refusal(error) from error
        except OSError as error:
            raise SynapseError(
                "artifact_invalid",
                f"{file.name} can't be read ({error.strerror}); look at the disk that holds the models",
                details={"model_id": registration.model_id, "file": file.name, "reason": "unreadable"},
            ) from error

    def _load_tokenizer(self, registration: Registration) -> SanitisedTokenizer:
        file = registration.file("tokenizer")
        path = self._verify_file(registration, file)
        try:
            return registration.load_tokenizer(path)
        except ArtifactError as error:
            # It was sound when the model was registered, by a release that read tokenizers in another way.
            raise artifact_refusal(registration.model_id, error, default_file=file.name) from error

    def _spec(self, registration: Registration, backend: BackendName, values: str | None) -> LoadSpec:
        return LoadSpec(
            backend=backend,
            model_path=str(self._blobs.path(registration.file("model").sha256)),
            config=registration.config,
            family=registration.family,
            pooling=registration.pooling,
            normalize=registration.normalize,
            max_tokens=registration.max_tokens,
            threads=self._threads() or os.cpu_count() or 1,
            self_test_values=values,
        )


def _load_refusal(registration: Registration, fingerprint: str, refusal: WorkerRefused) -> SynapseError:
    model_id = registration.model_id
    if refusal.kind == "artifact":
        return SynapseError(
            "artifact_invalid",
            refusal.message,
            details={
                "model_id": model_id,
                "file": refusal.details.get("file") or registration.file("model").name,
                "reason": str(refusal.details.get("reason", "unsupported")),
            },
        )
    if refusal.kind == "engine_mismatch":
        actual = registration.fingerprint(f"differs:{sorted(refusal.details.get('actual', {}).items())}")
        return SynapseError(
            "artifact_invalid",
            refusal.message,
            details={"model_id": model_id, "expected_fingerprint": fingerprint, "actual_fingerprint": actual},
        )
    return SynapseError(
        "engine_crashed",
        f"{model_id} did not pass its load: {refusal.message}",
        details={"lane_id": model_id, "reason": refusal.kind},
    )
