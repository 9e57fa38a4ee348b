"""Registrations, self-test values and the outcomes of self-checks in the database."""

from __future__ import annotations

import binascii
from collections.abc import Sequence

import msgspec

from synapse_service.clock import Clock
from synapse_service.lanes.profiles import ProfileCheckKey
from synapse_service.lanes.registration import Registration
from synapse_service.lanes.self_check import SelfCheckKey
from synapse_service.logs import get_logger
from synapse_service.store.database import Store
from synapse_service.store.models import Model, ModelFile, Pin, SelfCheck, SelfTestReference
from synapse_wire.results import SelfCheckState

_log = get_logger(__name__)


class StoredLanes:
    """Registrations as rows; implements ``registry.LaneRecords``."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def load_all(self) -> list[tuple[Registration, str | None, float | None]]:
        """Every registration with its quarantine reason and last load time. Blocks; for boot.

        One that this release can't read is left in the database, and the others come back without it.
        """
        rows = self._store.read_sync(
            lambda: [
                (row.model_id, row.profile, row.quarantined_reason, row.load_ms)
                for row in Model.select().order_by(Model.model_id)
            ]
        )
        found = []
        for model_id, profile, quarantined, load_ms in rows:
            try:
                found.append((msgspec.json.decode(profile, type=Registration), quarantined, load_ms))
            except msgspec.MsgspecError as error:
                _log.warning("registration_not_read", model_id=model_id, problem=str(error))
        return found

    def let_go(self, model_ids: Sequence[str]) -> None:
        """Take back what keeps the files of registrations that aren't served: pins, whoever set them, and roots.

        The rows of the models stay, as a record of what was registered. Blocks; for boot.
        """

        def step() -> None:
            Pin.delete().where(Pin.subject.in_(model_ids)).execute()
            ModelFile.delete().where(ModelFile.model.in_(model_ids)).execute()

        self._store.write_sync(step)

    async def save(
        self, registration: Registration, fingerprint: str, load_ms: float | None, quarantined: str | None
    ) -> None:
        """Write or replace one registration with its files, in one transaction."""
        await self._store.write(lambda: self._save(registration, fingerprint, load_ms, quarantined))

    async def set_quarantine(self, registration: Registration, reason: str | None) -> None:
        """Write down that a lane is quarantined, or that it no longer is.

        A registration that has been replaced meanwhile is left alone: the faults were not those of its successor.
        """
        profile = msgspec.json.encode(registration).decode()
        await self._store.write(
            lambda: (
                Model.update(quarantined_reason=reason)
                .where(Model.model_id == registration.model_id, Model.profile == profile)
                .execute()
            )
        )

    def _save(
        self, registration: Registration, fingerprint: str, load_ms: float | None, quarantined: str | None
    ) -> None:
        manifest = registration.manifest
        Model.insert(
            model_id=registration.model_id,
            task=manifest.task,
            engine=manifest.engine,
            manifest=manifest.encode().decode(),
            model_digest=registration.model_digest,
            tokenizer_digest=registration.tokenizer_digest,
            fingerprint=fingerprint,
            profile=msgspec.json.encode(registration).decode(),
            dims=registration.dims,
            load_ms=load_ms,
            quarantined_reason=quarantined,
            created_ms=self._clock.wall_ms(),
        ).on_conflict_replace().execute()
        ModelFile.delete().where(ModelFile.model == registration.model_id).execute()
        for position, file in enumerate(registration.files):
            ModelFile.create(
                model=registration.model_id,
                role=file.role,
                position=position,
                sha256=file.sha256,
                size=file.size,
                name=file.name,
            )


class StoredSelfTests:
    """Self-test values as rows; implements ``loader.SelfTestValues``."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def get(self, fingerprint: str, artifact_digest: str) -> str | None:
        """The values as base64, if they have been computed before."""
        row = await self._store.read(
            lambda: SelfTestReference.get_or_none(
                SelfTestReference.fingerprint == fingerprint, SelfTestReference.artifact_digest == artifact_digest
            )
        )
        return None if row is None else binascii.b2a_base64(row.values, newline=False).decode()

    async def put(self, fingerprint: str, artifact_digest: str, values: str) -> None:
        """Keep the values that the reference has just computed."""
        raw = binascii.a2b_base64(values)
        await self._store.write(
            lambda: (
                SelfTestReference.insert(
                    fingerprint=fingerprint,
                    artifact_digest=artifact_digest,
                    values=raw,
                    created_ms=self._clock.wall_ms(),
                )
                .on_conflict_replace()
                .execute()
            )
        )


class StoredSelfChecks:
    """Outcomes of self-checks as rows; implements ``self_check_runs.SelfCheckRecords``."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def load_all(self) -> dict[str, SelfCheckState]:
        """Every outcome by check id. Blocks; for boot."""
        return self._store.read_sync(
            lambda: {
                row.check_id: SelfCheckState(
                    state=row.state,
                    check_id=row.check_id,
                    reason=msgspec.UNSET if row.reason is None else row.reason,
                    evidence=msgspec.json.decode(row.evidence, type=dict[str, float]),
                )
                for row in SelfCheck.select()
            }
        )

    async def save(self, key: SelfCheckKey | ProfileCheckKey, outcome: SelfCheckState) -> None:
        """Write down how a check ended."""
        await self._store.write(
            lambda: (
                SelfCheck.insert(
                    check_id=key.check_id,
                    catalog_id=key.subject,
                    manifest_digest=key.manifest_digest,
                    backend=key.backend,
                    state=outcome.state,
                    reason=None if outcome.reason is msgspec.UNSET else outcome.reason,
                    evidence=msgspec.json.encode(outcome.evidence).decode(),
                    checked_ms=self._clock.wall_ms(),
                )
                .on_conflict_replace()
                .execute()
            )
        )


def erase_self_checks(catalog_id: str) -> None:
    """Erase the outcomes of an entry's lanes. Runs inside a closure of the store."""
    SelfCheck.delete().where(SelfCheck.catalog_id == catalog_id).execute()
