"""The store in bad times: full and failing disks, kills, damaged and foreign files. Nothing acknowledged is lost."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fixtures import store_processes
from fixtures.clocks import FakeClock
from fixtures.expected_warnings import ExpectedWarnings
from synapse_service.store import opening
from synapse_service.store.database import Store
from synapse_service.store.errors import StoreError, store_error
from synapse_service.store.models import DATABASE, Pin, SelfTestReference

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="injects faults with POSIX tools")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def path(quick_dir: Path) -> Path:
    return quick_dir / "synapse.db"


def run_process(*arguments: str, tracer: tuple[str, ...] = ()) -> dict[str, Any]:
    command = [*tracer, sys.executable, str(Path(store_processes.__file__)), *arguments]
    done = subprocess.run(command, capture_output=True, timeout=120, text=True)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def blob(number: int, size: int = 65_536) -> Any:
    values = bytes([number % 256]) * size
    return SelfTestReference.create(fingerprint="f", artifact_digest=str(number), values=values, created_ms=number)


def blob_numbers() -> list[int]:
    return [row.created_ms for row in SelfTestReference.select().order_by(SelfTestReference.created_ms)]


def fill(store: Store) -> tuple[list[int], StoreError]:
    """Write blobs until one doesn't fit; returns those that were acknowledged, and the refusal."""
    acknowledged: list[int] = []
    while True:
        number = len(acknowledged)
        try:
            store.write_sync(lambda: blob(number))  # noqa: B023  Runs before the name is bound again.
        except StoreError as error:
            return acknowledged, error
        acknowledged.append(number)


def integrity(path: Path) -> str:
    connection = sqlite3.connect(path)
    (finding,) = connection.execute("PRAGMA integrity_check").fetchone()
    connection.close()
    return str(finding)


# --- a full disk ---


def test_a_full_database_is_storage_full_though_peewee_hides_it(path: Path, clock: FakeClock) -> None:
    store = Store.open(path, clock)
    store.write_sync(lambda: DATABASE.pragma("max_page_count", 60))
    acknowledged, error = fill(store)
    assert error.reason == "storage_full"
    assert error.details == {"reason": "storage_full", "path": str(path)}
    # What reaches the store is Peewee's failed rollback; the true cause is further down.
    assert str(error.__cause__) == "cannot rollback - no transaction is active"
    assert store.read_sync(blob_numbers) == acknowledged
    store.write_sync(lambda: DATABASE.pragma("max_page_count", 10_000))
    store.write_sync(lambda: blob(1000))
    assert store.read_sync(blob_numbers) == [*acknowledged, 1000]
    store.close_sync()


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A file system of 8 MiB."""
    folder = Path(tempfile.mkdtemp())
    try:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)], capture_output=True, text=True, timeout=30
        )
        if mounted.returncode != 0:
            pytest.skip(f"a small file system can't be mounted here: {mounted.stderr.strip()}")
        yield folder
        subprocess.run(["umount", "--lazy", str(folder)], check=True, timeout=30)
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    finally:
        folder.rmdir()


def test_a_full_disk_keeps_what_was_acknowledged_and_recovers(small_disk: Path, clock: FakeClock) -> None:
    path = small_disk / "synapse.db"
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(4 * 1024 * 1024))
    store = Store.open(path, clock)
    acknowledged, error = fill(store)
    assert error.reason == "storage_full"
    assert len(acknowledged) > 5
    assert store.read_sync(blob_numbers) == acknowledged
    ballast.unlink()
    store.write_sync(lambda: blob(1000))
    assert store.read_sync(blob_numbers) == [*acknowledged, 1000]
    store.close_sync()
    assert integrity(path) == "ok"
    store = Store.open(path, clock)
    assert (store.opening.state, store.read_sync(blob_numbers)) == ("opened", [*acknowledged, 1000])
    store.close_sync()


@pytest.mark.parametrize(("left", "then"), [(0, "created"), (131_072, "opened")])
def test_a_disk_too_full_to_create_the_database_is_storage_full(
    small_disk: Path, clock: FakeClock, left: int, then: str
) -> None:
    path, ballast = small_disk / "synapse.db", small_disk / "ballast"
    ballast.write_bytes(bytes(shutil.disk_usage(small_disk).free - left))
    with pytest.raises(StoreError) as caught:
        Store.open(path, clock)
    assert caught.value.reason == "storage_full"
    ballast.unlink()
    store = Store.open(path, clock)
    assert (store.opening.state, store.bump_generation()) == (then, 1)
    store.close_sync()


# --- a failing disk ---


def test_a_disk_error_is_an_io_error_and_loses_nothing_acknowledged(path: Path, clock: FakeClock) -> None:
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace, which injects the errors, is not installed")
    allowed = subprocess.run([strace, "-o", os.devnull, "true"], capture_output=True, timeout=30)
    if allowed.returncode != 0:
        pytest.skip("strace may not trace processes here")
    Store.open(path, clock).close_sync()
    calls = "fsync,fdatasync"
    inject = f"inject={calls}:error=EIO:when=5..7"
    tracer = (strace, "-f", "-qq", "-o", os.devnull, "-e", f"trace={calls}", "-e", inject)
    result = run_process("commit", str(path), "12", tracer=tracer)
    assert result["reasons"] == ["io_error"] * 3
    assert result["seen"]["a"] == result["seen"]["b"] == result["acknowledged"]
    assert len(result["acknowledged"]) == 9
    assert integrity(path) == "ok"
    store = Store.open(path, clock)
    assert store.read_sync(store_processes.pinned)["a"] == result["acknowledged"]
    store.close_sync()


# --- kills ---


def test_kills_lose_and_tear_nothing_that_was_acknowledged(path: Path) -> None:
    result = run_process("kill_loop", str(path), "15", "20250615")
    assert (result["lost"], result["torn"]) == (0, 0)
    assert result["total"] >= 15
    assert set(result["states"]) == {"opened"}
    assert integrity(path) == "ok"


# --- files that are not as they should be ---


@pytest.fixture
def used(path: Path, clock: FakeClock) -> Path:
    """A database with a generation of 3 and a pin, closed."""
    for _ in range(3):
        store = Store.open(path, clock)
        store.bump_generation()
        store.close_sync()
    store = Store.open(path, clock)
    store.write_sync(lambda: Pin.create(owner="o", sha256="x"))
    store.close_sync()
    return path


def overwrite_second_page(path: Path) -> None:
    with path.open("r+b") as stream:
        stream.seek(opening.PAGE_BYTES)
        stream.write(b"\xa5" * opening.PAGE_BYTES)


def overwrite_start(path: Path) -> None:
    with path.open("r+b") as stream:
        stream.write(b"\xa5" * 4096)


def overwrite_schema(path: Path) -> None:
    with path.open("r+b") as stream:
        stream.seek(100)
        stream.write(b"\xa5" * (opening.PAGE_BYTES - 100))


def cut_to_nothing(path: Path) -> None:
    os.truncate(path, 0)


def cut_in_half(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2 // opening.PAGE_BYTES * opening.PAGE_BYTES)


def replace_by_text(path: Path) -> None:
    path.write_text("SQLite format 4, no doubt")


@pytest.mark.parametrize(
    "damage",
    [overwrite_second_page, overwrite_start, overwrite_schema, cut_to_nothing, cut_in_half, replace_by_text],
    ids=lambda damage: damage.__name__,
)
def test_a_damaged_file_is_kept_aside_and_rebuilt(
    used: Path, clock: FakeClock, expected_warnings: ExpectedWarnings, damage: Any
) -> None:
    expected_warnings("store_rebuilt")
    damage(used)
    damaged = used.read_bytes()
    store = Store.open(used, clock)
    kept = used.with_name(f"synapse.db.corrupt-{clock.wall_ms()}")
    assert (store.opening.state, store.opening.path, store.opening.kept) == ("rebuilt", used, kept)
    assert store.opening.problem
    assert kept.read_bytes() == damaged
    fields = expected_warnings.fields("store_rebuilt")
    assert (fields["path"], fields["kept"], fields["problem"]) == (str(used), str(kept), store.opening.problem)
    assert store.read_sync(lambda: Pin.select().count()) == 0
    # Counting starts above every number that the lost file can have given out.
    assert store.bump_generation() == clock.wall_ms() // 1000
    store.close_sync()
    store = Store.open(used, clock)
    assert (store.opening.state, store.bump_generation()) == ("opened", clock.wall_ms() // 1000 + 1)
    store.close_sync()


def test_the_log_of_a_damaged_file_is_kept_with_it(
    used: Path, clock: FakeClock, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("store_rebuilt")
    used.with_name("synapse.db-wal").write_bytes(b"log")
    cut_to_nothing(used)
    store = Store.open(used, clock)
    store.close_sync()
    assert used.with_name(f"synapse.db.corrupt-{clock.wall_ms()}-wal").read_bytes() == b"log"
    assert not used.with_name("synapse.db-wal").exists()


def live_copy(store: Store, folder: Path, *suffixes: str) -> Path:
    """The files as a crash would leave them now, those with ``suffixes`` only."""
    folder.mkdir()
    for suffix in suffixes:
        shutil.copy(store.path.with_name(store.path.name + suffix), folder / f"synapse.db{suffix}")
    return folder / "synapse.db"


def test_a_removed_log_is_noticed_and_generations_do_not_repeat(
    used: Path, clock: FakeClock, tmp_path: Path, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("store_recovered")
    store = Store.open(used, clock)
    assert store.bump_generation() == 4
    copy = live_copy(store, tmp_path / "crash", "", "-shm")
    store.close_sync()
    store = Store.open(copy, clock)
    assert (store.opening.state, store.opening.path, store.opening.kept) == ("recovered", copy, None)
    assert store.read_sync(lambda: [row.sha256 for row in Pin.select()]) == ["x"]
    assert store.bump_generation() == clock.wall_ms() // 1000
    store.close_sync()


def test_after_a_crash_the_log_is_read(used: Path, clock: FakeClock, tmp_path: Path) -> None:
    store = Store.open(used, clock)
    assert store.bump_generation() == 4
    copy = live_copy(store, tmp_path / "crash", "", "-wal", "-shm")
    store.close_sync()
    store = Store.open(copy, clock)
    assert (store.opening.state, store.bump_generation()) == ("opened", 5)
    store.close_sync()


def test_a_log_left_by_a_deleted_database_is_not_replayed(used: Path, clock: FakeClock, tmp_path: Path) -> None:
    store = Store.open(used, clock)
    store.write_sync(lambda: Pin.create(owner="o", sha256="y"))
    copy = live_copy(store, tmp_path / "crash", "-wal", "-shm")
    store.close_sync()
    store = Store.open(copy, clock)
    assert (store.opening.state, store.read_sync(lambda: Pin.select().count())) == ("created", 0)
    store.close_sync()
    assert integrity(copy) == "ok"


def set_version(path: Path, version: int) -> None:
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()


def test_a_newer_schema_is_refused_and_the_file_left_alone(used: Path, clock: FakeClock) -> None:
    set_version(used, 2)
    connection = sqlite3.connect(used)
    connection.execute("PRAGMA journal_mode = delete")  # So that the mere attempt to set WAL would show.
    connection.close()
    before = used.read_bytes()
    with pytest.raises(StoreError, match="a newer version of Synapse has written the database") as caught:
        Store.open(used, clock)
    assert (caught.value.reason, caught.value.path) == ("newer_schema", used)
    assert used.read_bytes() == before
    assert [file.name for file in used.parent.iterdir()] == ["synapse.db"]


def test_a_newer_schema_that_is_still_in_the_log_is_refused(used: Path, clock: FakeClock, tmp_path: Path) -> None:
    newer = sqlite3.connect(used)
    newer.execute("PRAGMA user_version = 2")
    folder = tmp_path / "crash"
    folder.mkdir()
    for suffix in ("", "-wal"):
        shutil.copy(used.with_name(f"synapse.db{suffix}"), folder / f"synapse.db{suffix}")
    newer.close()
    with pytest.raises(StoreError) as caught:
        Store.open(folder / "synapse.db", clock)
    assert caught.value.reason == "newer_schema"


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A folder that also an unprivileged user can reach."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    yield folder
    folder.chmod(0o700)
    shutil.rmtree(folder)


@pytest.mark.parametrize(("file_mode", "folder_mode"), [(0o444, 0o777), (0o666, 0o555), (0o444, 0o555)])
def test_a_read_only_file_or_folder_is_named(
    open_to_all: Path, clock: FakeClock, file_mode: int, folder_mode: int
) -> None:
    path = open_to_all / "synapse.db"
    Store.open(path, clock).close_sync()
    before = path.read_bytes()
    path.chmod(file_mode)
    open_to_all.chmod(folder_mode)
    result = run_process("open_as_ordinary_user", str(path))
    assert result == {
        "reason": "read_only",
        "message": f"{path}: the database or its folder can't be written. "
        "Look at its permissions and at how its disk is mounted",
        "wire": {"reason": "read_only", "path": str(path)},
    }
    assert path.read_bytes() == before


def test_a_new_database_in_a_read_only_folder_is_refused(open_to_all: Path) -> None:
    open_to_all.chmod(0o555)
    result = run_process("open_as_ordinary_user", str(open_to_all / "synapse.db"))
    assert result["reason"] == "read_only"


def test_a_missing_folder_is_an_io_error(tmp_path: Path, clock: FakeClock) -> None:
    with pytest.raises(StoreError) as caught:
        Store.open(tmp_path / "missing" / "synapse.db", clock)
    assert caught.value.reason == "io_error"


def test_damage_met_while_running_is_named_and_looked_for_at_the_next_start(
    used: Path, clock: FakeClock, expected_warnings: ExpectedWarnings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "ALWAYS_CHECKED_BYTES", 0)
    store = Store.open(used, clock)
    with used.open("r+b") as stream:
        stream.seek(opening.PAGE_BYTES)
        stream.write(b"\xa5" * (used.stat().st_size - opening.PAGE_BYTES))
    with pytest.raises(StoreError, match="it is rebuilt at the next start") as caught:
        store.read_sync(lambda: list(Pin.select()))
    assert caught.value.reason == "corrupt"
    store.close_sync()
    expected_warnings("store_rebuilt")
    store = Store.open(used, clock)
    assert store.opening.state == "rebuilt"
    store.close_sync()
    assert not opening.suspect_mark(used).exists()


def test_a_large_file_is_not_searched_for_damage_at_each_start(
    used: Path, clock: FakeClock, expected_warnings: ExpectedWarnings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "ALWAYS_CHECKED_BYTES", opening.PAGE_BYTES)
    overwrite_second_page(used)
    store = Store.open(used, clock)
    assert store.opening.state == "opened"
    store.close_sync()
    opening.suspect_mark(used).touch()
    expected_warnings("store_rebuilt")
    store = Store.open(used, clock)
    assert store.opening.state == "rebuilt"
    store.close_sync()


def test_a_suspicion_that_proves_wrong_is_dropped(used: Path, clock: FakeClock) -> None:
    opening.suspect_mark(used).touch()
    store = Store.open(used, clock)
    assert store.opening.state == "opened"
    assert not opening.suspect_mark(used).exists()
    store.close_sync()


def test_errors_that_say_nothing_about_the_file_are_left_alone(path: Path) -> None:
    assert store_error(sqlite3.ProgrammingError("Cannot operate on a closed database."), path) is None
    assert store_error(LookupError("x"), path) is None
