"""The store in good times: transactions, threads, other processes, shutting down, and what a restart does."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import peewee
import pytest

from fixtures import store_processes
from fixtures.clocks import FakeClock
from fixtures.store_processes import increment
from synapse_service.store import database
from synapse_service.store import models as models_module
from synapse_service.store.database import Store
from synapse_service.store.errors import StoreError
from synapse_service.store.models import DATABASE, Job, Model, ModelFile, Pin, SelfTestReference, State, ThreadDatabase

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="uses fork or POSIX file modes")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def path(quick_dir: Path) -> Path:
    return quick_dir / "synapse.db"


@pytest.fixture
def opened(path: Path, clock: FakeClock) -> Iterator[Callable[[], Store]]:
    """Opens the store, as often as asked, and closes what is open at the end."""
    stores: list[Store] = []

    def open_one() -> Store:
        stores.append(Store.open(path, clock))
        return stores[-1]

    yield open_one
    for store in stores:
        store.close_sync()


@pytest.fixture
def store(opened: Callable[[], Store]) -> Store:
    return opened()


def pin(name: str) -> Callable[[], Any]:
    return lambda: Pin.create(owner="test", sha256=name)


def fact(key: str, value: str) -> Callable[[], Any]:
    return lambda: State.create(key=key, value=value)


def pins() -> list[str]:
    return [row.sha256 for row in Pin.select().order_by(Pin.sha256)]


def run_process(*arguments: str) -> dict[str, Any]:
    command = [sys.executable, str(Path(store_processes.__file__)), *arguments]
    done = subprocess.run(command, check=True, capture_output=True, timeout=120, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_a_first_start_that_was_cut_off_left_no_damage(quick_dir: Path) -> None:
    path = quick_dir / "synapse.db"
    for name in ("synapse.db.new", "synapse.db.new-wal", "synapse.db-wal"):
        (quick_dir / name).write_bytes(b"half")
    store = Store.open(path, FakeClock())
    assert store.opening.state == "created"
    assert store.bump_generation() == 1
    store.close_sync()
    assert [each.name for each in quick_dir.iterdir()] == ["synapse.db"]


async def test_giving_room_back_below_rows_that_stay_needs_no_room_itself(store: Store) -> None:
    # Goes red when the log isn't merged meanwhile: all that stays is moved, and the log would hold it a second time.
    for number in range(40):
        row = {"fingerprint": "f", "artifact_digest": str(number), "values": bytes(2**19), "created_ms": number}
        large = partial(SelfTestReference.create, **row)
        await store.write(large)
    await store.write(lambda: SelfTestReference.delete().where(SelfTestReference.created_ms < 20).execute())
    log = store.path.with_name(store.path.name + "-wal")
    before = log.stat().st_size
    while await store.give_back(32):
        pass
    assert 10 * 2**20 < store.path.stat().st_size < 13 * 2**20
    assert log.stat().st_size < before + 2**20
    assert await store.read(lambda: SelfTestReference.select().count()) == 20


# --- transactions ---


async def test_a_write_is_seen_by_the_next_read(store: Store) -> None:
    assert await store.write(lambda: Pin.insert(owner="o", sha256="x").execute() and "stored") == "stored"
    assert await store.read(pins) == ["x"]


async def test_a_closure_that_raises_leaves_nothing(store: Store) -> None:
    def half() -> None:
        Pin.create(owner="o", sha256="x")
        raise LookupError("changed my mind")

    with pytest.raises(LookupError, match="changed my mind"):
        await store.write(half)
    assert await store.read(pins) == []


async def test_a_broken_constraint_is_the_callers_business(store: Store) -> None:
    await store.write(pin("x"))
    with pytest.raises(peewee.IntegrityError):
        await store.write(pin("x"))
    await store.write(pin("y"))
    assert await store.read(pins) == ["x", "y"]


async def test_an_inner_transaction_can_fail_alone(store: Store) -> None:
    def outer() -> None:
        Pin.create(owner="o", sha256="x")
        with contextlib.suppress(LookupError), DATABASE.atomic():
            Pin.create(owner="o", sha256="y")
            raise LookupError

    await store.write(outer)
    assert await store.read(pins) == ["x"]


async def test_a_read_cant_write(store: Store) -> None:
    with pytest.raises(StoreError, match="can't be written"):
        await store.read(pin("x"))
    assert await store.read(pins) == []


def test_models_are_useless_outside_the_store(store: Store) -> None:
    with pytest.raises(peewee.InterfaceError, match="connection not opened"):
        Pin.select().count()


def test_two_stores_in_one_process_keep_apart(quick_dir: Path, clock: FakeClock) -> None:
    one, two = (Store.open(quick_dir / name, clock) for name in ("one.db", "two.db"))
    try:
        one.write_sync(pin("1"))
        two.write_sync(pin("2"))
        assert (one.read_sync(pins), two.read_sync(pins)) == (["1"], ["2"])
    finally:
        one.close_sync()
        two.close_sync()


async def test_a_write_cancelled_in_the_queue_never_runs(store: Store) -> None:
    hold = threading.Event()
    first = asyncio.create_task(store.write(lambda: hold.wait(10)))
    queued = asyncio.create_task(store.write(pin("x")))
    await asyncio.sleep(0)
    queued.cancel()
    hold.set()
    await first
    with pytest.raises(asyncio.CancelledError):
        await queued
    assert await store.read(pins) == []


def test_removing_a_model_removes_its_files(store: Store) -> None:
    def register() -> None:
        Model.create(
            model_id="m",
            task="embed",
            engine="owned-cpu",
            manifest="{}",
            model_digest="d",
            tokenizer_digest="t",
            fingerprint="f",
            profile="{}",
            created_ms=1,
        )
        ModelFile.create(model_id="m", role="model", position=0, sha256="s", size=3, name="model.safetensors")

    store.write_sync(register)
    assert store.read_sync(lambda: [file.sha256 for file in Model.get_by_id("m").files]) == ["s"]
    store.write_sync(lambda: Model.delete_by_id("m"))
    assert store.read_sync(lambda: ModelFile.select().count()) == 0


def test_the_connections_are_durable_and_the_file_can_shrink(store: Store) -> None:
    names = ("journal_mode", "synchronous", "fullfsync", "checkpoint_fullfsync", "foreign_keys", "auto_vacuum")
    expected = {
        "journal_mode": "wal",
        "synchronous": 2,
        "fullfsync": 1,
        "checkpoint_fullfsync": 1,
        "foreign_keys": 1,
        "auto_vacuum": 2,
    }
    for run in (store.write_sync, store.read_sync):
        assert run(lambda: {name: DATABASE.pragma(name) for name in names}) == expected


@posix_only
def test_the_files_are_private(store: Store, path: Path) -> None:
    store.write_sync(pin("x"))
    assert {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {
        "synapse.db": 0o600,
        "synapse.db-wal": 0o600,
        "synapse.db-shm": 0o600,
    }


# --- many at once ---


def test_threads_a_long_reader_and_another_process_lose_nothing(path: Path, clock: FakeClock) -> None:
    """Goes red with a plain BEGIN in ``ConnectionThread``: writes that read first then fail as locked."""
    threads_count, times, others = 8, 200, 150
    store = Store.open(path, clock)
    failures: list[Exception] = []
    seen_by_reader: list[int] = []
    stop_reading = threading.Event()

    def counter() -> int:
        row = State.get_or_none(State.key == "counter")
        return int(row.value) if row is not None else 0

    def write_many() -> None:
        try:
            for _ in range(times):
                store.write_sync(increment)
        except (StoreError, peewee.PeeweeException) as error:
            failures.append(error)

    def read_long() -> None:
        seen_by_reader.append(counter())
        stop_reading.wait(60)
        seen_by_reader.append(counter())

    reader = threading.Thread(target=lambda: store.read_sync(read_long))
    writers = [threading.Thread(target=write_many) for _ in range(threads_count)]
    command = [sys.executable, str(Path(store_processes.__file__)), "compete", str(path), str(others)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
        for thread in (reader, *writers):
            thread.start()
        for thread in writers:
            thread.join()
        assert other.wait(60) == 0
    stop_reading.set()
    reader.join()
    assert failures == []
    assert seen_by_reader[0] == seen_by_reader[1]
    assert store.read_sync(counter) == threads_count * times + others
    store.close_sync()


def test_a_database_held_too_long_is_busy(store: Store, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models_module, "BUSY_TIMEOUT_S", 0.05)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError) as caught:
        store.write_sync(pin("x"))
    assert caught.value.reason == "busy"
    holder.execute("ROLLBACK")
    holder.close()
    store.write_sync(pin("x"))
    assert store.read_sync(pins) == ["x"]


@posix_only
def test_a_forked_child_cant_use_the_connections_of_its_parent(path: Path) -> None:
    assert run_process("forked_child", str(path)) == {"inherited": "closed", "value": 2}


# --- how often was written ---


async def test_settled_counts_writes_and_is_none_while_one_waits_or_runs(store: Store) -> None:
    before = store.settled
    assert before is not None
    go_on = threading.Event()
    running = asyncio.create_task(store.write(lambda: go_on.wait(10)))
    waiting = asyncio.create_task(store.write(pin("never")))
    await asyncio.sleep(0)
    assert store.settled is None
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert store.settled is None
    go_on.set()
    await running
    assert store.settled == before + 2
    with pytest.raises(ZeroDivisionError):
        await store.write(lambda: 1 // 0)
    assert store.settled == before + 3
    assert await store.read(pins) == []
    assert store.settled == before + 3


# --- the write-ahead log ---


def test_no_commit_waits_for_the_log_to_be_merged(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commit after which a merge is due is acknowledged while the merge still runs."""
    merging, go_on = threading.Event(), threading.Event()

    def merge() -> None:
        merging.set()
        assert go_on.wait(10)

    monkeypatch.setattr(database, "_merge_log", merge)
    for number in range(database.MERGED_COMMITS):
        assert not merging.is_set()
        store.write_sync(pin(str(number)))
    assert merging.wait(10)
    assert len(store.read_sync(pins)) == database.MERGED_COMMITS
    go_on.set()
    store.write_sync(pin("next"))


def test_the_log_stays_short(store: Store, path: Path) -> None:
    for number in range(5 * database.MERGED_COMMITS):
        store.write_sync(fact(str(number), "x" * 512 * 1024))
    written = 5 * database.MERGED_COMMITS * 512 * 1024
    assert path.with_name("synapse.db-wal").stat().st_size < written / 2
    assert path.stat().st_size > written / 2


def test_a_merge_that_fails_costs_nothing(store: Store, path: Path) -> None:
    """Somebody else looks at an old state all the time, so nothing newer may be merged."""
    onlooker = sqlite3.connect(path, isolation_level=None)
    onlooker.execute("BEGIN")
    onlooker.execute("SELECT count(*) FROM state").fetchone()
    for number in range(3 * database.MERGED_COMMITS):
        store.write_sync(pin(f"{number:02d}"))
    assert len(store.read_sync(pins)) == 3 * database.MERGED_COMMITS
    onlooker.close()


# --- shutting down ---

ROUNDS = 25


async def test_closing_finishes_what_is_queued(path: Path, clock: FakeClock) -> None:
    for round_number in range(ROUNDS):
        store = Store.open(path, clock)
        tasks = [asyncio.create_task(store.write(pin(f"{round_number:02d}-{number:02d}"))) for number in range(30)]
        await asyncio.sleep(0)
        await store.close()
        await asyncio.gather(*tasks)
    assert not path.with_name("synapse.db-wal").exists()
    store = Store.open(path, clock)
    assert len(await store.read(pins)) == ROUNDS * 30
    await store.close()


def test_closing_amid_writers_loses_no_acknowledged_write(path: Path, clock: FakeClock) -> None:
    acknowledged: list[str] = []
    refused: list[str] = []

    def write_until_closed(store: Store, name: str) -> None:
        for number in range(10_000):
            try:
                store.write_sync(pin(f"{name}-{number}"))
            except StoreError as error:
                refused.append(error.reason)
                return
            acknowledged.append(f"{name}-{number}")

    for round_number in range(ROUNDS):
        store = Store.open(path, clock)
        names = [f"{round_number}-{thread}" for thread in range(4)]
        threads = [threading.Thread(target=write_until_closed, args=(store, name)) for name in names]
        for thread in threads:
            thread.start()
        while len(refused) == 4 * round_number and len(acknowledged) < 8 * (round_number + 1):
            threading.Event().wait(0.001)
        store.close_sync()
        for thread in threads:
            thread.join()
    assert refused == ["closed"] * 4 * ROUNDS
    store = Store.open(path, clock)
    assert store.read_sync(pins) == sorted(acknowledged)
    store.close_sync()


def test_closing_has_patience_only_for_so_long(path: Path, clock: FakeClock) -> None:
    store = Store.open(path, clock)
    hold, begun = threading.Event(), threading.Event()

    def slow() -> None:
        Pin.create(owner="o", sha256="slow")
        begun.set()
        hold.wait(30)

    running = store._writer.submit(slow)
    queued = store._writer.submit(pin("queued"))
    begun.wait(30)
    store.close_sync(timeout_s=0.05)
    hold.set()
    running.result(30)
    with pytest.raises(StoreError) as caught:
        queued.result(30)
    assert caught.value.reason == "closed"
    store.close_sync()
    store = Store.open(path, clock)
    assert store.read_sync(pins) == ["slow"]
    store.close_sync()


def test_closing_stops_a_statement_that_takes_too_long(path: Path, clock: FakeClock) -> None:
    store = Store.open(path, clock)
    begun = threading.Event()

    def very_slow() -> None:
        begun.set()
        counting = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000000)"
        DATABASE.execute_sql(f"{counting} SELECT max(i) FROM n").fetchall()

    running = store._writer.submit(very_slow)
    begun.wait(30)
    store.close_sync(timeout_s=0.2)
    with pytest.raises(StoreError) as caught:
        running.result(30)
    assert caught.value.reason == "closed"
    store.close_sync()


async def test_a_closed_store_refuses(path: Path, clock: FakeClock) -> None:
    store = Store.open(path, clock)
    await store.close()
    await store.close()
    for refused in (store.write(pins), store.read(pins)):
        with pytest.raises(StoreError) as caught:
            await refused
        assert caught.value.reason == "closed"
        assert caught.value.details == {"reason": "closed", "path": str(path)}


def test_a_connection_stuck_in_a_transaction_is_replaced(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Goes red without the ``finally`` of ``ConnectionThread._run``: every later write would fail."""

    def broken(database: ThreadDatabase) -> None:
        raise peewee.OperationalError("disk I/O error")

    def fails() -> None:
        Pin.create(owner="o", sha256="x")
        raise LookupError

    monkeypatch.setattr(ThreadDatabase, "rollback", broken)
    with pytest.raises(peewee.OperationalError):
        store.write_sync(fails)
    monkeypatch.undo()
    store.write_sync(pin("y"))
    assert store.read_sync(pins) == ["y"]


# --- a restart ---


def test_each_start_gets_the_next_generation(opened: Callable[[], Store]) -> None:
    generations = []
    for _ in range(3):
        store = opened()
        generations.append(store.bump_generation())
        store.close_sync()
    assert generations == [1, 2, 3]


def add_job(job_id: str, state: str, generation: int, created_ms: int = 5) -> Callable[[], Any]:
    return lambda: Job.create(
        job_id=job_id, kind="model.load", state=state, module_generation=generation, created_ms=created_ms
    )


def test_jobs_of_earlier_generations_end_as_module_restarted(store: Store, clock: FakeClock) -> None:
    for job_id, state, created_ms in (("b", "running", 2), ("a", "queued", 3), ("p", "paused_needs_reauth", 1)):
        store.write_sync(add_job(job_id, state, 1, created_ms))
    store.write_sync(add_job("done", "done", 1))
    store.write_sync(add_job("mine", "running", 2))
    clock.advance(7)
    assert store.fail_orphaned_jobs(2, keep_ms=1000) == ["p", "b", "a"]
    rows = {row.job_id: row for row in store.read_sync(lambda: list(Job.select()))}
    assert {job_id: row.state for job_id, row in rows.items()} == {
        "a": "failed",
        "b": "failed",
        "p": "failed",
        "done": "done",
        "mine": "running",
    }
    assert json.loads(rows["a"].error) == {
        "code": "module_restarted",
        "class": "permanent",
        "safe_to_retry_same_request": False,
        "message": "the service was restarted while the job ran; submit it again",
    }
    assert (rows["a"].terminal_ms, rows["a"].expires_ms) == (clock.wall_ms(), clock.wall_ms() + 1000)
    assert (rows["done"].error, rows["done"].terminal_ms) == (None, None)
    assert store.fail_orphaned_jobs(2, keep_ms=1000) == []
