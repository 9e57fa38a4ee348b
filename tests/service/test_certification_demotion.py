"""Losing a certification concerns what is asked from then on: what was given out, or accepted, under it stays good."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from fixtures.certifications import measured
from fixtures.durable_jobs import LANE, Room, rooms, vectors, words
from fixtures.embed_desk import refused
from synapse_service.certify.ledger import Certification, CertificationLedger, Conditions
from synapse_service.certify.records import StoredCertifications

TEXTS = words(300)


@pytest.fixture
async def enter(quick_dir: Path) -> AsyncIterator[Callable[..., Room]]:
    async with rooms(quick_dir / "synapse.db") as enter:
        yield enter


async def probed(room: Room, blocking: str | None) -> None:
    """A probe of the lane ends, and the room goes by its outcome."""
    records = StoredCertifications(room.store)
    ledger = CertificationLedger(
        records, "machine", {"embed": 1, "rerank": 1}, lambda model: Conditions(kernel="6.1", threads=None)
    )
    await ledger.record(
        Certification(
            fingerprint=room.lane.fingerprint,
            model_id=LANE,
            status="certified" if blocking is None else "uncertified",
            blocking_reason=blocking,
            evidence={},
            performance=measured(),
            fixture_revision=1,
            os_build="debian-12",
            module_generation=1,
            measured_ms=1,
        )
    )
    room.embed._choice._certifications = ledger


async def test_pages_stay_readable_and_new_batches_are_refused(enter: Callable[..., Room]) -> None:
    room = enter()
    await probed(room, None)
    job_id = await room.submit(TEXTS, "key")
    assert (await room.ended(job_id)).state == "done"
    await probed(room, "gate_missed:min_cosine")
    assert vectors(await room.items(job_id)) == await room.expected(TEXTS)
    error = await refused(room.batch(["more"]))
    assert (error.code, error.details) == ("not_certified", {"model_id": LANE, "reason": "gate_missed:min_cosine"})


async def test_a_job_that_was_accepted_runs_to_its_end(enter: Callable[..., Room]) -> None:
    room = enter()
    await probed(room, None)
    job_id = await room.hold(TEXTS)
    await probed(room, "gate_missed:min_cosine")
    room.loader.gate_open.set()
    assert (await room.ended(job_id)).state == "done"
    assert vectors(await room.items(job_id)) == await room.expected(TEXTS)


async def test_a_probe_that_passes_again_lets_the_lane_serve_again(enter: Callable[..., Room]) -> None:
    room = enter()
    await probed(room, "engine_crashed")
    assert (await refused(room.batch(["text"]))).code == "not_certified"
    await probed(room, None)
    assert len((await room.batch(["text"])).vectors) == 1
