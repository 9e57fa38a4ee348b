"""The schema: what the steps build is what the models expect, and no step is taken without a copy of the file."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

import peewee
import pytest

from fixtures.clocks import FakeClock
from synapse_service.store.database import Store
from synapse_service.store.errors import StoreError
from synapse_service.store.migrations import MIGRATIONS, migrate
from synapse_service.store.models import TABLES, Pin
from synapse_service.store.opening import open_file

Columns = dict[str, tuple[str, bool, int]]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def path(quick_dir: Path, clock: FakeClock) -> Path:
    """A database of the first schema that holds one pin."""
    path = quick_dir / "synapse.db"
    store = Store.open(path, clock)
    store.write_sync(lambda: Pin.create(owner="o", sha256="x"))
    store.close_sync()
    return path


def query(path: Path, sql: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def add_note(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE pin ADD COLUMN note TEXT")


def add_and_fail(connection: sqlite3.Connection) -> None:
    add_note(connection)
    raise LookupError("a mistake in this step")


def shape(connection: Any) -> dict[str, tuple[Columns, list[tuple[bool, list[str]]]]]:
    """Of each table its columns (type, not null, place in the primary key) and its indexes (unique, columns)."""
    tables = {}
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        columns = {
            row[1]: (row[2], bool(row[3]), row[5])
            for row in connection.execute(f"PRAGMA table_info({name})").fetchall()
        }
        indexes = [
            (bool(index[2]), [row[2] for row in connection.execute(f"PRAGMA index_info({index[1]})").fetchall()])
            for index in connection.execute(f"PRAGMA index_list({name})").fetchall()
        ]
        tables[name] = (columns, sorted(indexes))
    return tables


def test_the_steps_build_what_the_models_expect() -> None:
    built = sqlite3.connect(":memory:", isolation_level=None)
    migrate(built, MIGRATIONS)
    expected = peewee.SqliteDatabase(":memory:")
    with expected.bind_ctx(TABLES), expected:
        expected.create_tables(TABLES, safe=False)
        assert shape(built) == shape(expected.connection())
    built.close()


def test_a_step_that_was_taken_is_not_taken_again() -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection, MIGRATIONS)
    migrate(connection, MIGRATIONS)
    assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    connection.close()


def test_migrating_copies_the_file_first(path: Path, clock: FakeClock) -> None:
    opening = open_file(path, clock, (*MIGRATIONS, add_note))
    kept = path.with_name("synapse.db.v1.bak")
    assert (opening.state, opening.kept, opening.may_lack_commits) == ("migrated", kept, False)
    assert query(path, "PRAGMA user_version") == [(2,)]
    assert query(path, "SELECT owner, sha256, note FROM pin") == [("o", "x", None)]
    assert query(kept, "PRAGMA user_version") == [(1,)]
    assert query(kept, "SELECT owner, sha256 FROM pin") == [("o", "x")]
    assert sorted(file.name for file in path.parent.iterdir()) == ["synapse.db", "synapse.db.v1.bak"]
    if os.name != "nt":
        assert kept.stat().st_mode & 0o777 == 0o600
    assert open_file(path, clock, (*MIGRATIONS, add_note)).state == "opened"


def test_the_copy_has_what_is_still_in_the_log(path: Path, clock: FakeClock) -> None:
    writer = sqlite3.connect(path)
    writer.execute("INSERT INTO pin VALUES ('o', '', 'in the log')")
    writer.commit()
    open_file(path, clock, (*MIGRATIONS, add_note))
    writer.close()
    assert query(path.with_name("synapse.db.v1.bak"), "SELECT sha256 FROM pin ORDER BY 1") == [("in the log",), ("x",)]


def test_a_step_that_fails_leaves_the_old_schema_and_the_copy(path: Path, clock: FakeClock) -> None:
    with pytest.raises(LookupError, match="a mistake in this step"):
        open_file(path, clock, (*MIGRATIONS, add_and_fail))
    assert query(path, "PRAGMA user_version") == [(1,)]
    assert query(path, "SELECT owner, sha256 FROM pin") == [("o", "x")]
    assert query(path.with_name("synapse.db.v1.bak"), "SELECT owner, sha256 FROM pin") == [("o", "x")]
    assert open_file(path, clock, MIGRATIONS).state == "opened"


def test_steps_before_the_one_that_fails_stay(path: Path, clock: FakeClock) -> None:
    with pytest.raises(sqlite3.OperationalError, match="duplicate column name: note"):
        open_file(path, clock, (*MIGRATIONS, add_note, add_note))
    assert query(path, "PRAGMA user_version") == [(2,)]


def test_without_a_copy_no_step_is_taken(path: Path, clock: FakeClock) -> None:
    blocker = path.with_name("synapse.db.v1.bak.tmp")
    blocker.mkdir()
    with pytest.raises(StoreError):
        open_file(path, clock, (*MIGRATIONS, add_note))
    assert query(path, "PRAGMA user_version") == [(1,)]


def test_a_file_that_was_created_and_never_filled_is_completed(tmp_path: Path, clock: FakeClock) -> None:
    path = tmp_path / "synapse.db"
    query(path, "PRAGMA journal_mode = wal")
    opening = open_file(path, clock, MIGRATIONS)
    assert (opening.state, opening.kept) == ("opened", None)
    assert query(path, "PRAGMA user_version") == [(1,)]
