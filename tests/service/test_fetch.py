"""Bringing files in: what arrives is exactly what was pinned, or a typed failure and nothing left behind."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.expected_warnings import ExpectedWarnings
from fixtures.mirror import Mirror, running_mirror
from synapse_service.catalog.blobs import BlobStore
from synapse_service.catalog.fetch import Fetcher
from synapse_service.catalog.sources import Source
from synapse_wire.errors import SynapseError

BODY = bytes(range(256)) * 8000
SHA = hashlib.sha256(BODY).hexdigest()


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    with running_mirror() as mirror:
        mirror.files["/m"] = BODY
        yield mirror


@pytest.fixture
def store(tmp_path: Path) -> BlobStore:
    store = BlobStore(tmp_path / "cache")
    store.prepare()
    return store


@pytest.fixture
def fetcher(store: BlobStore) -> Fetcher:
    return Fetcher(store, proxy=lambda: None, ca_file=lambda: None, no_byte_timeout_s=0.3)


def source(mirror: Mirror, path: str = "/m", sha256: str = SHA) -> Source:
    return Source("model", "model.safetensors", sha256, url=mirror.base + path)


async def failure(fetcher: Fetcher, wanted: Source) -> SynapseError:
    with pytest.raises(SynapseError) as caught:
        await fetcher.fetch(wanted, lambda _: None)
    return caught.value


def left(store: BlobStore) -> list[str]:
    return [path.name for folder in (store.staging, store.blobs) for path in folder.iterdir()]


async def test_a_fetched_file_is_verified_and_stored(mirror: Mirror, fetcher: Fetcher, store: BlobStore) -> None:
    seen: list[int] = []
    blob = await fetcher.fetch(source(mirror), seen.append)
    assert (blob.sha256, blob.size, sum(seen)) == (SHA, len(BODY), len(BODY))
    assert store.path(SHA).read_bytes() == BODY
    ((_, headers),) = mirror.requests
    assert headers["Accept-Encoding"] == "identity"


async def test_a_stored_file_is_not_fetched_again(mirror: Mirror, fetcher: Fetcher) -> None:
    await fetcher.fetch(source(mirror), lambda _: None)
    await fetcher.fetch(source(mirror), lambda _: None)
    assert len(mirror.requests) == 1


async def test_a_damaged_stored_file_is_fetched_again(
    mirror: Mirror, fetcher: Fetcher, store: BlobStore, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("corrupt_blob")
    await fetcher.fetch(source(mirror), lambda _: None)
    store.path(SHA).write_bytes(BODY[:-1] + b"\x00")
    await fetcher.fetch(source(mirror), lambda _: None)
    assert store.path(SHA).read_bytes() == BODY
    assert len(mirror.requests) == 2


async def test_a_flipped_byte_is_artifact_invalid_with_both_digests(
    mirror: Mirror, fetcher: Fetcher, store: BlobStore
) -> None:
    mirror.fault = "flip"
    error = await failure(fetcher, source(mirror))
    flipped = BODY[: len(BODY) // 2] + bytes([BODY[len(BODY) // 2] ^ 1]) + BODY[len(BODY) // 2 + 1 :]
    assert error.code == "artifact_invalid"
    assert error.details == {
        "file": "model.safetensors",
        "expected_sha256": SHA,
        "actual_sha256": hashlib.sha256(flipped).hexdigest(),
        "expected_size": None,
        "actual_size": len(BODY),
        "recovery_op": "model.load",
    }
    assert left(store) == []
    mirror.fault = "none"
    await fetcher.fetch(source(mirror), lambda _: None)


async def test_an_empty_body_is_artifact_invalid_with_the_digest_of_nothing(mirror: Mirror, fetcher: Fetcher) -> None:
    mirror.fault = "empty"
    error = await failure(fetcher, source(mirror))
    assert error.details is not None
    assert error.details["actual_size"] == 0
    assert error.details["actual_sha256"] == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@pytest.mark.parametrize("fault", ["early_close", "stall", "gzip"])
async def test_a_broken_transfer_is_download_failed_network(
    mirror: Mirror, fetcher: Fetcher, store: BlobStore, fault: str
) -> None:
    mirror.fault = fault  # type: ignore[assignment]
    error = await failure(fetcher, source(mirror))
    assert error.code == "download_failed"
    assert error.details == {"file": "model.safetensors", "reason": "network", "http_status": None}
    assert error.retry_after_ms == 1000
    assert left(store) == []


@pytest.mark.parametrize("status", [403, 429, 503])
async def test_an_error_status_is_reported(mirror: Mirror, fetcher: Fetcher, status: int) -> None:
    mirror.status = status
    error = await failure(fetcher, source(mirror))
    assert error.details == {"file": "model.safetensors", "reason": "http_status", "http_status": status}


async def test_redirects_on_this_machine_are_followed(mirror: Mirror, fetcher: Fetcher) -> None:
    mirror.redirects = {"/a": "/b", "/b": f"{mirror.base}/m"}
    assert (await fetcher.fetch(source(mirror, "/a"), lambda _: None)).sha256 == SHA


@pytest.mark.parametrize("target", ["http://192.0.2.1/m", "ftp://127.0.0.1/m", "file:///etc/passwd"])
async def test_a_redirect_to_a_place_without_tls_is_refused_unvisited(
    mirror: Mirror, fetcher: Fetcher, target: str
) -> None:
    mirror.redirects = {"/a": target}
    error = await failure(fetcher, source(mirror, "/a"))
    assert error.details == {"file": "model.safetensors", "reason": "network", "http_status": None}
    assert "HTTPS" in error.message


async def test_a_redirect_loop_ends(mirror: Mirror, fetcher: Fetcher) -> None:
    mirror.redirects = {"/a": "/a"}
    error = await failure(fetcher, source(mirror, "/a"))
    assert "5 times" in error.message
    assert len(mirror.requests) == 6


async def test_nobody_listening_is_a_network_failure(fetcher: Fetcher) -> None:
    error = await failure(fetcher, Source("model", "m", SHA, url="http://127.0.0.1:9/m"))
    assert error.details == {"file": "m", "reason": "network", "http_status": None}


async def test_a_local_file_that_is_not_there_names_its_field(fetcher: Fetcher, tmp_path: Path) -> None:
    error = await failure(fetcher, Source("config", "config.json", None, path=tmp_path / "config.json"))
    assert (error.code, error.level, error.details) == ("invalid_request", "semantic", {"field": "files.config"})
    assert str(tmp_path / "config.json") in error.message


async def test_a_copy_from_disk_ends_when_nobody_waits_for_it_any_more(
    fetcher: Fetcher, store: BlobStore, tmp_path: Path
) -> None:
    (tmp_path / "big").write_bytes(b"x" * (4 << 20))
    copied: list[int] = []
    cancelled = threading.Event()
    loop = asyncio.get_running_loop()

    def on_bytes(size: int) -> None:
        copied.append(size)
        loop.call_soon_threadsafe(copying.cancel)
        cancelled.wait(5)  # A thread copies on by itself until it is told to stop.

    copying = asyncio.create_task(fetcher.fetch(Source("model", "big", None, path=tmp_path / "big"), on_bytes))
    await asyncio.gather(copying, return_exceptions=True)
    cancelled.set()
    await loop.shutdown_default_executor()
    assert copied == [1 << 20]
    assert left(store) == []
