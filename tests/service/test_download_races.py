"""Downloads against cancellation, removal and collection: one of them wins, and what somebody needs is there.

``DOWNLOAD_RACES`` is how often each race is run.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fixtures.download_desk import DownloadDesk, download_desk
from fixtures.socket_server import until
from synapse_service.catalog.installs import InstalledManifest, erase_installs

RACES = int(os.environ.get("DOWNLOAD_RACES", "200"))


@pytest.fixture
async def desk(quick_dir: Path) -> AsyncIterator[DownloadDesk]:
    async with download_desk(quick_dir) as desk:
        yield desk


async def remove(desk: DownloadDesk, catalog_id: str) -> list[str]:
    """What ``models.remove`` does once it has found no holder."""

    def erase() -> tuple[list[InstalledManifest], list[str]]:
        erased = erase_installs(catalog_id)
        return erased, [sha256 for manifest in erased for sha256 in manifest.blobs]

    with desk.installs.withdrawn(catalog_id):
        erased, collected = await desk.collector.remove(erase)
        desk.installs.erased(erased)
    return list(collected.digests)


async def test_of_a_commit_and_a_cancellation_exactly_one_wins(desk: DownloadDesk) -> None:
    chance = random.Random(7)
    outcomes = set()
    for turn in range(RACES):
        job_id = (await desk.start("alpha")).job_id
        if turn % 2:
            # As close to the commit as can be: the files are being published.
            await until(lambda: desk.told[-1].state in ("verifying", "committed"))
            for _ in range(chance.randrange(300)):
                await asyncio.sleep(0)
        else:
            await asyncio.sleep(chance.uniform(0, 0.03))
        answer = await desk.downloads.cancel(job_id)
        ended = await desk.end(job_id)
        outcomes.add(ended.state)
        assert answer.state == ended.state
        assert desk.ended.count(job_id) == 1
        state = desk.installs.install_state(desk.entry("alpha"))
        if ended.state == "committed":
            assert (state, desk.stored()) == ("installed", desk.files("alpha"))
            await remove(desk, "alpha")
        else:
            assert (ended.state, state) == ("cancelled", "not_installed")
        assert (desk.stored(), desk.left_over(), desk.rows()["blobs"]) == (set(), [], [])
    assert desk.counters.minted == desk.counters.completed + desk.counters.failed == RACES
    assert "cancelled" in outcomes
    assert "committed" in outcomes or RACES < 50


async def test_a_shared_file_survives_the_removal_of_the_other_model_and_a_collection(desk: DownloadDesk) -> None:
    chance = random.Random(11)
    shared = desk.small.digests("alpha")["tokenizer"]
    for _ in range(RACES):
        assert (await desk.download("alpha")).state == "committed"
        job_id = (await desk.start("beta")).job_id
        for _ in range(chance.randrange(20)):
            await asyncio.sleep(0.0005)
        removed, (collected, _) = await asyncio.gather(remove(desk, "alpha"), desk.collector.collect())
        assert shared not in (*removed, *collected.digests)
        assert (await desk.end(job_id)).state == "committed"
        assert desk.stored() == desk.files("beta")
        assert desk.installs.complete(desk.entry("beta"))
        await remove(desk, "beta")
        assert (desk.stored(), desk.left_over()) == (set(), [])


async def test_a_model_that_is_removed_and_downloaded_at_once_is_whole_or_gone(desk: DownloadDesk) -> None:
    for turn in range(RACES):
        assert (await desk.download("alpha")).state == "committed"
        removal = asyncio.create_task(remove(desk, "alpha"))
        if turn % 2:
            await asyncio.sleep(0)
        status = await desk.start("alpha", f"again {turn}")
        await removal
        assert (await desk.end(status.job_id)).state == "committed"
        assert desk.installs.complete(desk.entry("alpha"))
        assert desk.stored() == desk.files("alpha")
    assert desk.left_over() == []
