"""The schema, as the numbered steps that lead to it. ``PRAGMA user_version`` says how many a file has taken.

A step that has been released is never changed; a new one is added below it. Each runs in one transaction together
with its number, so a crash leaves a file at a whole step. ``opening`` copies the file before the first step.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Final

Migration = Callable[[sqlite3.Connection], None]


def _first_tables(connection: sqlite3.Connection) -> None:
    for statement in (
        "CREATE TABLE state (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL)",
        """CREATE TABLE model (
            model_id TEXT NOT NULL PRIMARY KEY,
            task TEXT NOT NULL,
            engine TEXT NOT NULL,
            manifest TEXT NOT NULL,
            model_digest TEXT NOT NULL,
            tokenizer_digest TEXT NOT NULL,
            fingerprint TEXT NOT NULL,
            profile TEXT NOT NULL,
            dims INTEGER,
            load_ms REAL,
            quarantined_reason TEXT,
            created_ms INTEGER NOT NULL)""",
        "CREATE INDEX model_fingerprint ON model (fingerprint)",
        """CREATE TABLE model_file (
            model_id TEXT NOT NULL REFERENCES model (model_id) ON DELETE CASCADE,
            role TEXT NOT NULL,
            position INTEGER NOT NULL,
            sha256 TEXT NOT NULL,
            size INTEGER NOT NULL,
            name TEXT NOT NULL,
            PRIMARY KEY (model_id, role, position))""",
        "CREATE INDEX model_file_sha256 ON model_file (sha256)",
        """CREATE TABLE submission (
            submission_id TEXT NOT NULL PRIMARY KEY,
            request_key TEXT UNIQUE,
            digest TEXT NOT NULL,
            binding TEXT NOT NULL,
            pages INTEGER NOT NULL,
            items_done INTEGER NOT NULL,
            created_ms INTEGER NOT NULL,
            expires_ms INTEGER)""",
        """CREATE TABLE result_page (
            submission_id TEXT NOT NULL REFERENCES submission (submission_id) ON DELETE CASCADE,
            page_index INTEGER NOT NULL,
            ordinals BLOB NOT NULL,
            payload BLOB NOT NULL,
            table_epoch INTEGER NOT NULL,
            equivalent_to TEXT NOT NULL,
            PRIMARY KEY (submission_id, page_index))""",
        """CREATE TABLE job (
            job_id TEXT NOT NULL PRIMARY KEY,
            kind TEXT NOT NULL,
            state TEXT NOT NULL,
            model_id TEXT,
            submission_id TEXT REFERENCES submission (submission_id) ON DELETE CASCADE,
            client_name TEXT,
            module_generation INTEGER NOT NULL,
            items_total INTEGER NOT NULL,
            items_done INTEGER NOT NULL,
            error TEXT,
            created_ms INTEGER NOT NULL,
            started_ms INTEGER,
            terminal_ms INTEGER,
            expires_ms INTEGER)""",
        "CREATE INDEX job_state ON job (state)",
        "CREATE INDEX job_submission_id ON job (submission_id)",
        """CREATE TABLE certification (
            machine_id TEXT NOT NULL,
            fingerprint TEXT NOT NULL,
            model_id TEXT NOT NULL,
            status TEXT NOT NULL,
            blocking_reason TEXT,
            evidence TEXT NOT NULL,
            os_build TEXT NOT NULL,
            module_generation INTEGER NOT NULL,
            certified_ms INTEGER NOT NULL,
            PRIMARY KEY (machine_id, fingerprint))""",
        """CREATE TABLE performance (
            machine_id TEXT NOT NULL,
            fingerprint TEXT NOT NULL,
            model_id TEXT NOT NULL,
            figures TEXT NOT NULL,
            os_build TEXT NOT NULL,
            module_generation INTEGER NOT NULL,
            measured_ms INTEGER NOT NULL,
            PRIMARY KEY (machine_id, fingerprint))""",
        """CREATE TABLE self_test_reference (
            fingerprint TEXT NOT NULL,
            artifact_digest TEXT NOT NULL,
            "values" BLOB NOT NULL,
            created_ms INTEGER NOT NULL,
            PRIMARY KEY (fingerprint, artifact_digest))""",
        """CREATE TABLE self_check (
            check_id TEXT NOT NULL PRIMARY KEY,
            catalog_id TEXT NOT NULL,
            manifest_digest TEXT NOT NULL,
            backend TEXT NOT NULL,
            state TEXT NOT NULL,
            reason TEXT,
            evidence TEXT NOT NULL,
            checked_ms INTEGER NOT NULL)""",
        "CREATE INDEX self_check_catalog_id ON self_check (catalog_id)",
        """CREATE TABLE alias (
            first TEXT NOT NULL,
            second TEXT NOT NULL,
            declared_epoch INTEGER NOT NULL,
            declared_ms INTEGER NOT NULL,
            evidence TEXT NOT NULL,
            retracted_epoch INTEGER,
            retracted_ms INTEGER,
            retraction_evidence TEXT,
            PRIMARY KEY (first, second, declared_epoch))""",
        "CREATE UNIQUE INDEX alias_live ON alias (first, second) WHERE retracted_epoch IS NULL",
        "CREATE INDEX alias_second ON alias (second)",
        """CREATE TABLE pin (
            owner TEXT NOT NULL,
            subject TEXT NOT NULL,
            sha256 TEXT NOT NULL,
            PRIMARY KEY (owner, subject, sha256))""",
        "CREATE INDEX pin_sha256 ON pin (sha256)",
        "CREATE TABLE warm_lane (lane_id TEXT NOT NULL PRIMARY KEY)",
        """CREATE TABLE install (
            manifest_digest TEXT NOT NULL PRIMARY KEY,
            catalog_id TEXT NOT NULL,
            installed_ms INTEGER NOT NULL)""",
        "CREATE INDEX install_catalog_id ON install (catalog_id)",
        """CREATE TABLE install_file (
            manifest_digest TEXT NOT NULL REFERENCES install (manifest_digest) ON DELETE CASCADE,
            role TEXT NOT NULL,
            sha256 TEXT NOT NULL,
            size INTEGER NOT NULL,
            name TEXT NOT NULL,
            PRIMARY KEY (manifest_digest, role))""",
        "CREATE INDEX install_file_sha256 ON install_file (sha256)",
        """CREATE TABLE download_key (
            request_key TEXT NOT NULL PRIMARY KEY,
            job_id TEXT NOT NULL REFERENCES job (job_id) ON DELETE CASCADE,
            digest TEXT NOT NULL)""",
        "CREATE INDEX download_key_job_id ON download_key (job_id)",
        """CREATE TABLE download_blob (
            job_id TEXT NOT NULL REFERENCES job (job_id) ON DELETE CASCADE,
            sha256 TEXT NOT NULL,
            PRIMARY KEY (job_id, sha256))""",
        """CREATE TABLE credential (
            name TEXT NOT NULL PRIMARY KEY,
            origin TEXT NOT NULL,
            changed_ms INTEGER NOT NULL)""",
    ):
        connection.execute(statement)


MIGRATIONS: Final[Sequence[Migration]] = (_first_tables,)


def migrate(connection: sqlite3.Connection, migrations: Sequence[Migration]) -> None:
    """Take the steps that the file lacks.

    Raises what SQLite raises; then the steps before stay taken, and closing the connection undoes the one that failed.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    for number, migration in enumerate(migrations[version:], version + 1):
        connection.execute("BEGIN IMMEDIATE")
        migration(connection)
        connection.execute(f"PRAGMA user_version = {number:d}")
        connection.execute("COMMIT")
