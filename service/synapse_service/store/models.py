"""The tables, as Peewee models. The schema itself is in ``migrations``; a test holds the two together.

Models work only inside closures that a :class:`~synapse_service.store.database.Store` runs: elsewhere no connection
is open, and Peewee says so. Columns that end in ``_ms`` are wall-clock milliseconds; ``*_json`` hold JSON text.
"""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import peewee

BUSY_TIMEOUT_S: Final = 5.0
"""How long a transaction waits for another process to end its own."""

PRAGMAS: Final = (
    ("journal_mode", "wal"),
    # In WAL mode anything less than FULL can lose the last commits with the power, and a client was told of them.
    ("synchronous", "full"),
    # On macOS only this makes fsync reach the disk; elsewhere it means nothing.
    ("fullfsync", 1),
    ("checkpoint_fullfsync", 1),
    ("foreign_keys", 1),
    # ``database`` has the log merged between commits, so that none waits for it.
    ("wal_autocheckpoint", 0),
    # What a burst of commits made of it goes back to the file system when the log begins anew.
    ("journal_size_limit", 16 * 2**20),
)


def connect(path: Path) -> sqlite3.Connection:
    """A connection as this service wants them. Raises sqlite3.Error."""
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None)
    try:
        for name, value in PRAGMAS:
            connection.execute(f"PRAGMA {name} = {value}")
    except BaseException:
        connection.close()
        raise
    return connection


class ThreadDatabase(peewee.SqliteDatabase):
    """One database object for all models, though each thread opens a file of its own choice.

    Peewee binds a model to a database object for the whole process but keeps connections apart by thread. So two
    stores can live side by side (as in tests), and a model used outside a store's threads finds no connection.
    """

    def __init__(self) -> None:
        super().__init__("store", autoconnect=False)
        self._here = threading.local()

    def open_here(self, path: Path, *, writable: bool) -> sqlite3.Connection:
        """Connect this thread to ``path``, if it isn't, and return the connection."""
        self._here.path = path
        opened = self.connect(reuse_if_open=True)
        connection: sqlite3.Connection = self.connection()  # type: ignore[no-untyped-call]
        if opened and not writable:
            connection.execute("PRAGMA query_only = 1")
        return connection

    def _connect(self) -> sqlite3.Connection:
        return connect(self._here.path)


DATABASE: Final = ThreadDatabase()


class Table(peewee.Model):
    """Base of every table."""

    class Meta:
        database = DATABASE


class State(Table):
    """Single facts, such as the module generation."""

    key = peewee.TextField(primary_key=True)
    value = peewee.TextField()

    class Meta:
        table_name = "state"


class Model(Table):
    """A registered lane and its manifest; ``profile`` is the numeric profile behind the fingerprint. Both are JSON."""

    model_id = peewee.TextField(primary_key=True)
    task = peewee.TextField()
    engine = peewee.TextField()
    manifest = peewee.TextField()
    model_digest = peewee.TextField()
    tokenizer_digest = peewee.TextField()
    fingerprint = peewee.TextField(index=True)
    profile = peewee.TextField()
    dims = peewee.IntegerField(null=True)
    load_ms = peewee.FloatField(null=True)
    quarantined_reason = peewee.TextField(null=True)
    created_ms = peewee.IntegerField()

    class Meta:
        table_name = "model"


class ModelFile(Table):
    """One file of a model. ``sha256`` names its blob; files of one role are ordered by ``position``."""

    model = peewee.ForeignKeyField(Model, column_name="model_id", backref="files", on_delete="CASCADE", index=False)
    if TYPE_CHECKING:
        model_id: str
    role = peewee.TextField()
    position = peewee.IntegerField()
    sha256 = peewee.TextField(index=True)
    size = peewee.IntegerField()
    name = peewee.TextField()

    class Meta:
        table_name = "model_file"
        primary_key = peewee.CompositeKey("model", "role", "position")


class Submission(Table):
    """An over-budget ``embed.batch``, however often it is sent. ``binding`` is JSON, ``pages`` the number committed."""

    submission_id = peewee.TextField(primary_key=True)
    request_key = peewee.TextField(null=True, unique=True)
    digest = peewee.TextField()
    binding = peewee.TextField()
    pages = peewee.IntegerField()
    items_done = peewee.IntegerField()
    created_ms = peewee.IntegerField()
    expires_ms = peewee.IntegerField(null=True)

    class Meta:
        table_name = "submission"


class ResultPage(Table):
    """One committed page: ``payload`` is the JSON array that is sent, ``ordinals`` the items in it as uint32.

    ``table_epoch`` and ``equivalent_to`` (JSON) are what the table of equivalences said when it was committed.
    """

    submission = peewee.ForeignKeyField(Submission, column_name="submission_id", on_delete="CASCADE", index=False)
    page_index = peewee.IntegerField()
    ordinals = peewee.BlobField()
    payload = peewee.BlobField()
    table_epoch = peewee.IntegerField()
    equivalent_to = peewee.TextField()

    class Meta:
        table_name = "result_page"
        primary_key = peewee.CompositeKey("submission", "page_index")


class Job(Table):
    """Work that outlives its request. ``error`` is the wire error as JSON; ``state`` is one of ``JobState``."""

    job_id = peewee.TextField(primary_key=True)
    kind = peewee.TextField()
    state = peewee.TextField(index=True)
    model_id = peewee.TextField(null=True)
    submission = peewee.ForeignKeyField(Submission, column_name="submission_id", null=True, on_delete="CASCADE")
    if TYPE_CHECKING:
        submission_id: str | None
    client_name = peewee.TextField(null=True)
    module_generation = peewee.IntegerField()
    items_total = peewee.IntegerField(default=0)
    items_done = peewee.IntegerField(default=0)
    error = peewee.TextField(null=True)
    created_ms = peewee.IntegerField()
    started_ms = peewee.IntegerField(null=True)
    terminal_ms = peewee.IntegerField(null=True)
    expires_ms = peewee.IntegerField(null=True)

    class Meta:
        table_name = "job"


class Certification(Table):
    """The outcome of the latest probe of a lane on a machine. ``evidence`` is JSON."""

    machine_id = peewee.TextField()
    fingerprint = peewee.TextField()
    model_id = peewee.TextField()
    status = peewee.TextField()
    blocking_reason = peewee.TextField(null=True)
    evidence = peewee.TextField()
    os_build = peewee.TextField()
    module_generation = peewee.IntegerField()
    certified_ms = peewee.IntegerField()

    class Meta:
        table_name = "certification"
        primary_key = peewee.CompositeKey("machine_id", "fingerprint")


class Performance(Table):
    """The latest measured speed of a lane on a machine. ``figures`` is JSON."""

    machine_id = peewee.TextField()
    fingerprint = peewee.TextField()
    model_id = peewee.TextField()
    figures = peewee.TextField()
    os_build = peewee.TextField()
    module_generation = peewee.IntegerField()
    measured_ms = peewee.IntegerField()

    class Meta:
        table_name = "performance"
        primary_key = peewee.CompositeKey("machine_id", "fingerprint")


class SelfTestReference(Table):
    """What the reference implementation computed once for a lane; compared at each load."""

    fingerprint = peewee.TextField()
    artifact_digest = peewee.TextField()
    values = peewee.BlobField()
    created_ms = peewee.IntegerField()

    class Meta:
        table_name = "self_test_reference"
        primary_key = peewee.CompositeKey("fingerprint", "artifact_digest")


class SelfCheck(Table):
    """The outcome of a self-check, ``passed`` or ``failed``, under its key. ``evidence`` is JSON.

    ``catalog_id`` is the model of the catalog whose lane was checked, or the profile of a lane that a user registered.
    """

    check_id = peewee.TextField(primary_key=True)
    catalog_id = peewee.TextField(index=True)
    manifest_digest = peewee.TextField()
    backend = peewee.TextField()
    state = peewee.TextField()
    reason = peewee.TextField(null=True)
    evidence = peewee.TextField()
    checked_ms = peewee.IntegerField()

    class Meta:
        table_name = "self_check"


class Alias(Table):
    """Two fingerprints that were declared equivalent, in their order; live until it is retracted. Evidence is JSON."""

    first = peewee.TextField()
    second = peewee.TextField(index=True)
    declared_epoch = peewee.IntegerField()
    declared_ms = peewee.IntegerField()
    evidence = peewee.TextField()
    retracted_epoch = peewee.IntegerField(null=True)
    retracted_ms = peewee.IntegerField(null=True)
    retraction_evidence = peewee.TextField(null=True)

    class Meta:
        table_name = "alias"
        primary_key = peewee.CompositeKey("first", "second", "declared_epoch")


# Of a pair at most one row is live, whatever the code does.
Alias.add_index(Alias.first, Alias.second, unique=True, where=Alias.retracted_epoch.is_null())


class Pin(Table):
    """A blob that garbage collection must leave alone: who asked for that, and for which model (``subject``)."""

    owner = peewee.TextField()
    subject = peewee.TextField(default="")
    sha256 = peewee.TextField(index=True)

    class Meta:
        table_name = "pin"
        primary_key = peewee.CompositeKey("owner", "subject", "sha256")


class WarmLane(Table):
    """A lane that stays loaded when nobody uses it, because somebody wants that."""

    lane_id = peewee.TextField(primary_key=True)

    class Meta:
        table_name = "warm_lane"


class Install(Table):
    """One manifest of a catalog model whose files are all here. An earlier one stays until the model is removed."""

    manifest_digest = peewee.TextField(primary_key=True)
    catalog_id = peewee.TextField(index=True)
    installed_ms = peewee.IntegerField()

    class Meta:
        table_name = "install"


class InstallFile(Table):
    """One file of an installed manifest. ``sha256`` names its blob, ``name`` is its path upstream."""

    install = peewee.ForeignKeyField(
        Install, column_name="manifest_digest", backref="files", on_delete="CASCADE", index=False
    )
    if TYPE_CHECKING:
        manifest_digest: str
    role = peewee.TextField()
    sha256 = peewee.TextField(index=True)
    size = peewee.IntegerField()
    name = peewee.TextField()

    class Meta:
        table_name = "install_file"
        primary_key = peewee.CompositeKey("install", "role")


class DownloadKey(Table):
    """A request key of ``models.download``, bound to the content of ``digest`` and to the latest job for it."""

    request_key = peewee.TextField(primary_key=True)
    job = peewee.ForeignKeyField(Job, column_name="job_id", on_delete="CASCADE")
    digest = peewee.TextField()

    class Meta:
        table_name = "download_key"


class DownloadBlob(Table):
    """A blob that a download publishes and has not committed. It goes when the download ends in another way."""

    job = peewee.ForeignKeyField(Job, column_name="job_id", on_delete="CASCADE", index=False)
    sha256 = peewee.TextField()

    class Meta:
        table_name = "download_blob"
        primary_key = peewee.CompositeKey("job", "sha256")


class Credential(Table):
    """A name whose secret is in the keyring, and the origin that it is for."""

    name = peewee.TextField(primary_key=True)
    origin = peewee.TextField()
    changed_ms = peewee.IntegerField()

    class Meta:
        table_name = "credential"


TABLES: Final[tuple[Any, ...]] = (
    State,
    Model,
    ModelFile,
    Submission,
    ResultPage,
    Job,
    Certification,
    Performance,
    SelfTestReference,
    SelfCheck,
    Alias,
    Pin,
    WarmLane,
    Install,
    InstallFile,
    DownloadKey,
    DownloadBlob,
    Credential,
)

TERMINAL_DOWNLOAD_STATES: Final = frozenset({"committed", "failed", "cancelled"})
TERMINAL_JOB_STATES: Final = frozenset({"done", "failed", "needs_reauth_expired"}) | TERMINAL_DOWNLOAD_STATES
