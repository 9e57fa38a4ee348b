"""What is installed: across restarts, across releases of the catalog, and after damage."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fixtures.catalog import SmallCatalog, small_files
from fixtures.download_desk import DownloadDesk, download_desk
from fixtures.expected_warnings import ExpectedWarnings
from synapse_service.catalog import installs as module
from synapse_service.catalog.blobs import DigestMismatch
from synapse_service.catalog.installs import Installs
from synapse_service.catalog.pins import pins_of, set_pins
from synapse_service.store.errors import StoreError
from synapse_wire.results import SelfCheckState


@pytest.fixture
async def desk(quick_dir: Path) -> AsyncIterator[DownloadDesk]:
    async with download_desk(quick_dir) as desk:
        yield desk


def restarted(desk: DownloadDesk) -> Installs:
    """What the next process finds."""
    installs = Installs(desk.store, desk.blobs, desk.detached, lambda _: SelfCheckState(state="pending"))
    installs.restore()
    return installs


async def find_corrupt(desk: DownloadDesk, sha256: str, size: int) -> None:
    """What the load of a lane does when it meets a damaged file."""
    with pytest.raises(DigestMismatch):
        desk.blobs.verify(sha256, size, "model.safetensors")
    await asyncio.to_thread(desk.blobs.quarantine, sha256)


async def test_an_install_survives_a_restart(desk: DownloadDesk) -> None:
    await desk.download("alpha")
    installs = restarted(desk)
    assert installs.install_state(desk.entry("alpha")) == "installed"
    assert installs.install_state(desk.entry("beta")) == "not_installed"


async def test_only_an_installed_lane_has_a_self_check(desk: DownloadDesk) -> None:
    lane = desk.entry("alpha").lanes[0]
    assert desk.installs.self_check(lane) is None
    await desk.download("alpha")
    assert desk.installs.self_check(lane) == SelfCheckState(state="pending")
    with desk.installs.withdrawn("alpha"):
        assert desk.installs.self_check(lane) is None


async def test_a_release_that_changes_an_entry_makes_it_stale_until_it_is_downloaded(desk: DownloadDesk) -> None:
    await desk.download("alpha")
    old = desk.entry("alpha")
    newer = SmallCatalog().add("alpha", {**desk.small.contents["alpha"], "config": small_files("newer")["config"]})
    newer.serve(desk.mirror)
    desk.small = newer
    desk.clock.advance(1)
    new = desk.entry("alpha")
    assert desk.installs.install_state(new) == "stale"
    assert desk.installs.self_check(new.lanes[0]) is None
    await desk.download("alpha")
    assert desk.installs.install_state(new) == "installed"
    manifests = [found.manifest_digest for found in restarted(desk).manifests("alpha")]
    assert manifests == [old.manifest_digest, new.manifest_digest]
    assert len(desk.stored()) == 4


async def test_a_missing_or_truncated_file_makes_an_entry_incomplete(desk: DownloadDesk) -> None:
    await desk.download("alpha")
    entry = desk.entry("alpha")
    assert desk.installs.complete(entry)
    desk.blobs.path(desk.small.digests("alpha")["config"]).write_bytes(b"x")
    assert not desk.installs.complete(entry)
    assert desk.installs.install_state(entry) == "installed"


async def test_a_corrupt_file_invalidates_every_install_and_pin_that_needs_it(desk: DownloadDesk) -> None:
    changed: list[str] = []
    desk.installs.on_change(changed.append)
    loop = asyncio.get_running_loop()
    desk.blobs.on_quarantine(lambda sha256: loop.call_soon_threadsafe(desk.installs.invalidate, sha256))
    await desk.download("alpha")
    await desk.download("beta")
    changed.clear()
    digests = desk.small.digests("alpha")
    shared, size = digests["tokenizer"], len(desk.small.contents["alpha"]["tokenizer"])

    def pin() -> None:
        set_pins("me", "alpha", digests.values())

    desk.store.write_sync(pin)
    desk.blobs.path(shared).write_bytes(bytes(size))
    await find_corrupt(desk, shared, size)
    await asyncio.sleep(0)
    assert sorted(changed) == ["alpha", "beta"]
    for catalog_id in ("alpha", "beta"):
        assert desk.installs.install_state(desk.entry(catalog_id)) == "not_installed"
    await desk.detached.close()
    assert restarted(desk).manifests("alpha") == []
    pinned = {pin.blob for pin in desk.store.read_sync(lambda: pins_of("alpha"))}
    assert pinned == set(digests.values()) - {shared}
    # The other files stay, so that the repair fetches this one alone.
    assert desk.stored() == desk.files("alpha", "beta") - {shared}
    desk.mirror.requests.clear()
    assert (await desk.download("alpha")).state == "committed"
    assert len(desk.mirror.requests) == 1


async def test_a_file_that_a_download_has_mended_meanwhile_invalidates_nothing(desk: DownloadDesk) -> None:
    await desk.download("alpha")
    desk.installs.invalidate(desk.small.digests("alpha")["model"])
    assert desk.installs.install_state(desk.entry("alpha")) == "installed"


async def test_an_invalidation_holds_although_the_disk_does_not_take_it(
    desk: DownloadDesk, monkeypatch: pytest.MonkeyPatch, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("install_not_invalidated")
    await desk.download("alpha")
    model = desk.small.digests("alpha")["model"]
    desk.blobs.path(model).unlink()

    def full(*_: object) -> None:
        raise StoreError("storage_full", desk.store.path)

    monkeypatch.setattr(module, "invalidate_blob", full)
    desk.installs.invalidate(model)
    await desk.detached.close()
    assert desk.installs.install_state(desk.entry("alpha")) == "not_installed"


async def test_while_it_is_withdrawn_an_entry_is_not_installed(desk: DownloadDesk) -> None:
    await desk.download("alpha")
    changed: list[str] = []
    desk.installs.on_change(changed.append)
    with desk.installs.withdrawn("alpha"):
        assert desk.installs.install_state(desk.entry("alpha")) == "not_installed"
    assert desk.installs.install_state(desk.entry("alpha")) == "installed"
    assert changed == ["alpha"]
