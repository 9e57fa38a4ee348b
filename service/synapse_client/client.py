"""The blocking client.

It connects when it is first used, greets the service, and connects again when the connection has dropped. Threads may
share one client; their requests travel together over one connection.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from synapse_client import calls
from synapse_client.aliases import AliasMethods
from synapse_client.backoff import BUSY_S, HELLO_S, RECONNECT_S, pauses
from synapse_client.catalog import CatalogMethods
from synapse_client.connection import Connection, lock_timeout
from synapse_client.errors import Busy, ClientClosed, ConnectionLost, JobUnfinished, NoReply, ServiceNotRunning
from synapse_client.lanes import LaneMethods
from synapse_client.protocol import MAX_IN_FLIGHT
from synapse_client.rerank import RerankMethods
from synapse_wire.errors import SynapseError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Unpack

    import msgspec

    from synapse_client.calls import Call
    from synapse_client.embed_all import Texts
    from synapse_client.options import BulkOptions, Constraints, FileSource, ModelOptions, Task
    from synapse_client.results import Embedding, Item, Page, Progress
    from synapse_client.transport import Stream
    from synapse_wire import results as r

T = TypeVar("T")

__all__ = ["MAX_IN_FLIGHT", "Client", "default_address", "program_name"]

DEFAULT_TIMEOUT_S: Final = 60.0


def default_address(home: Path | str | None = None) -> str:
    """Where this user's service listens; ``home`` stands for ``SYNAPSE_HOME``."""
    from pathlib import Path

    from synapse_wire.endpoint import resolve_endpoint  # costs as much as all the rest, and only a first call needs it

    return resolve_endpoint(home=None if home is None else Path(home)).address


def program_name() -> str:
    """What to call this program in the greeting: the name of the file that was started."""
    name = os.path.basename(sys.argv[0]) if sys.argv else ""  # noqa: PTH119 - see default_address
    return "".join(char for char in name if char.isprintable())[:256] or "python"


class Client(CatalogMethods, LaneMethods, RerankMethods, AliasMethods):
    """A blocking connection to the service of this user.

    ``address`` is a socket path, by default the one that the service of this user takes; ``home`` is what the service
    was given as its home folder. ``name`` and ``version`` tell people who is calling. ``scope`` binds the connection
    (with ``flow_id`` only operations that ask are served). ``timeout_s`` bounds every call that has no bound of its
    own. ``connect_s`` is how long the first connection may be tried for, ``reconnect_s`` how long a later one.
    ``greet`` is False for tools that send ``service.hello`` by themselves.

    Every method may raise :class:`SynapseError` (the service refused), :class:`ServiceNotRunning`,
    :class:`EndpointRefused`, :class:`ConnectionLost`, :class:`NoReply` and :class:`ProtocolViolation`. When the
    connection drops under a request that only asks, it is repeated once; any other is reported as
    :class:`ConnectionLost`, because it may have been carried out.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        home: Path | str | None = None,
        name: str | None = None,
        version: str = "",
        scope: Mapping[str, str] | None = None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        connect_s: float = 0.0,
        reconnect_s: float = RECONNECT_S,
        greet: bool = True,
        open_stream: Callable[[str], Stream] | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.address = address if address is not None else default_address(home)
        self.service: r.Hello | None = None
        """What the service said when it was last greeted: its version, its generation, what it serves."""
        self._greeting = calls.hello(name or program_name(), version, scope) if greet else None
        self._timeout_s = timeout_s
        self._connect_s = connect_s
        self._reconnect_s = reconnect_s
        self._opener = open_stream
        self._clock = clock
        self._sleep = sleep
        self._closed = False
        self._connection: Connection | None = None
        self._was_connected = False
        self._connecting = threading.Lock()
        self._process = os.getpid()

    def __enter__(self) -> Client:
        self.connect()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def connect(self) -> r.Hello | None:
        """Connect and greet now rather than at the first call. Returns the greeting's answer."""
        self._connected("service.hello", self._clock() + self._timeout_s)
        return self.service

    def close(self) -> None:
        """Close the connection. Requests of other threads end with :class:`ConnectionLost`."""
        self._closed = True
        connection, self._connection = self._connection, None
        if connection is not None and self._process == os.getpid():
            connection.close()

    # --- any operation ---

    def call(self, method: str, params: Any = None, *, timeout_s: float | None = None) -> Any:
        """Any operation, by its name on the wire; returns plain dictionaries and lists."""
        return self._run(calls.untyped(method, params, timeout_s=timeout_s))

    def call_raw(self, method: str, params: Any = None, *, timeout_s: float | None = None) -> msgspec.Raw:
        """Like :meth:`call`, returning the result's JSON text untouched."""
        return self._run(calls.raw(method, params, timeout_s=timeout_s))

    # --- inference ---

    def embed_query(
        self,
        model: str,
        text: str,
        *,
        deadline_ms: int | None = None,
        target_fingerprint: str | None = None,
        **constraints: Unpack[Constraints],
    ) -> Embedding:
        """Embed one text, ahead of batches. ``deadline_ms`` bounds queue, loading and computing together."""
        return self._run(calls.embed_query(model, text, deadline_ms, target_fingerprint, constraints))

    def embed_batch(
        self,
        model: str,
        texts: Sequence[str],
        *,
        ids: Sequence[str] | None = None,
        deadline_ms: int | None = None,
        request_key: str | None = None,
        **constraints: Unpack[Constraints],
    ) -> Embedding:
        """Embed several texts. ``ids`` are unique names for them, by default ``"0"``, ``"1"``, and so on.

        Raises :class:`BatchDiverted` when they are too many to be answered at once and became a job.
        """
        return self._run(calls.embed_batch(model, texts, ids, deadline_ms, request_key, constraints))

    def embed_all(
        self,
        model: str,
        items: Texts,
        *,
        request_key: str,
        on_progress: Callable[[Progress], object] | None = None,
        **options: Unpack[BulkOptions],
    ) -> Generator[Item, None, None]:
        """Embed any number of texts, each known by its id, or by its place when it has none.

        ``items`` is consumed as the work goes on, so it can be a generator over a file of any size. Ids must be unique.
        Vectors come as they are ready, in no particular order, each once. Interrupting or closing the iterator leaves
        the jobs running, and the same call with the same texts, key and bounds takes up what is there.

        Raises, beside what every method raises, :class:`DivergedItem` and :class:`FingerprintChanged`.
        """
        from synapse_client.embed_all import BulkEmbedding, count_of, drive, source_of  # not every program needs it

        total = count_of(items)
        bulk = BulkEmbedding(model, request_key, options, total=total, on_progress=on_progress, clock=self._clock)
        return drive(bulk, source_of(items), run=self._run, sleep=self._sleep)

    def embed_result(self, job_id: str, cursor: int = 0, *, max_page_bytes: int | None = None) -> Page:
        """One page of an embedding job, which may still be running."""
        return self._run(calls.embed_result(job_id, cursor, max_page_bytes))

    # --- models and jobs ---

    def model_load(
        self,
        model_id: str,
        *,
        task: Task,
        engine: str,
        files: Mapping[str, FileSource | Sequence[FileSource]],
        **options: Unpack[ModelOptions],
    ) -> r.ModelLoadAccepted:
        """Register a model under ``model_id`` and fetch its files (``model``, ``tokenizer``, ``config``, ``extra``).

        ``source`` is ``"file"`` unless given. Wait for the job it returns with :meth:`wait_job`.
        """
        return self._run(calls.model_load(model_id, task, engine, files, options))

    def model_status(self, model_id: str) -> r.ModelRow:
        """The state of one model."""
        return self._run(calls.model_status(model_id))

    def models_list(self) -> r.ModelsList:
        """All models that the service knows."""
        return self._run(calls.models_list())

    def model_unload(self, model_id: str) -> r.ModelUnloaded:
        """Take a model out of memory. It stays registered and loads again when it is needed."""
        return self._run(calls.model_unload(model_id))

    def job_status(self, job_id: str) -> r.JobStatus:
        """The state of one job."""
        return self._run(calls.job_status(job_id))

    def wait_job(
        self,
        job_id: str,
        on_progress: Callable[[r.JobStatus], object] | None = None,
        *,
        timeout_s: float | None = None,
    ) -> r.JobStatus:
        """Wait until a job is done. ``on_progress`` is called with every status that was read.

        Raises what the job failed with as :class:`SynapseError`, or :class:`JobUnfinished` after ``timeout_s``.
        """
        started = self._clock()
        for pause in calls.poll_intervals():
            status = self.job_status(job_id)
            if on_progress is not None:
                on_progress(status)
            finished = calls.outcome(status)
            if finished is not None:
                return finished
            waited = self._clock() - started
            if timeout_s is not None and waited + pause > timeout_s:
                raise JobUnfinished(status, waited)
            self._sleep(pause)
        raise AssertionError("poll intervals never end")

    def job_resume(self, job_id: str) -> r.JobStatus:
        """Take up a job that paused for a credential."""
        return self._run(calls.job_resume(job_id))

    def jobs_list(self, states: Sequence[str] | None = None, *, limit: int | None = None) -> r.JobsList:
        """The jobs that are kept, newest first; all, or those in some states."""
        return self._run(calls.jobs_list(states, limit))

    def jobs_cancel(self, job_id: str) -> r.JobStatus:
        """End a job. The pages that it committed stay readable."""
        return self._run(calls.jobs_cancel(job_id))

    def admission_status(self) -> r.AdmissionStatus:
        """How busy the lanes are, and how jobs have fared since the service started."""
        return self._run(calls.admission_status())

    def probe_start(self, model_id: str) -> r.JobAccepted:
        """Measure and certify a model on this machine, as a job; a probe already under way is joined."""
        return self._run(calls.probe_start(model_id))

    def probe_status(self, job_id: str) -> r.JobStatus:
        """The state of one probe job."""
        return self._run(calls.probe_status(job_id))

    def probe_report(self, model_id: str | None = None) -> r.ProbeReport:
        """What probes found on this machine, for all models or one."""
        return self._run(calls.probe_report(model_id))

    # --- the service itself ---

    def info(self) -> r.ServiceInfo:
        """Version, process, address and state of the service."""
        return self._run(calls.info())

    def diagnostics(self) -> r.Diagnostics:
        """What the service finds when it examines itself."""
        return self._run(calls.diagnostics())

    def settings_get(self, names: Sequence[str] | None = None) -> r.Settings:
        """All settings, or those named, with where each value comes from."""
        return self._run(calls.settings_get(names))

    def settings_set(self, values: Mapping[str, Any]) -> r.Settings:
        """Change settings, all of them or none. None takes a setting back to its default."""
        return self._run(calls.settings_set(values))

    def logs_tail(self, after_seq: int = 0, *, level: str | None = None, limit: int = 200) -> r.LogTail:
        """Log entries after a sequence number, oldest first, of ``level`` and above."""
        return self._run(calls.logs_tail(after_seq, level, limit))

    def shutdown(self, *, drain_ms: int | None = None, force: bool = False) -> r.ShuttingDown:
        """Stop the service after at most ``drain_ms`` for running work; ``force`` although something is held."""
        return self._run(calls.shutdown(drain_ms, force))

    # --- how a call is carried out ---

    def _run(self, call: Call[T]) -> T:
        expiry = self._clock() + (self._timeout_s if call.wait_s is None else call.wait_s)
        repeated = False
        while True:
            connection = self._connected(call.method, expiry)
            try:
                return call.read(connection.request(call.method, call.params, expiry))
            except ConnectionLost as error:
                if self._closed or repeated or (error.sent and not calls.may_repeat(call.method)):
                    raise
                repeated = True

    def _connected(self, method: str, expiry: float) -> Connection:
        if self._process != os.getpid():
            self._start_over_after_fork()
        connection = self._connection
        if connection is not None and connection.lost is None:
            return connection
        started = self._clock()
        if not self._connecting.acquire(timeout=lock_timeout(expiry - started)):
            raise NoReply(method, self._clock() - started)
        try:
            connection = self._connection
            if connection is None or connection.lost is not None:
                connection = self._connection = self._connect(expiry)
            return connection
        finally:
            self._connecting.release()

    def _connect(self, expiry: float) -> Connection:
        started = self._clock()
        patience = self._reconnect_s if self._was_connected else self._connect_s
        for pause in pauses():
            if self._closed:
                raise ClientClosed
            try:
                connection = self._greeted(expiry)
            except (ServiceNotRunning, Busy, ConnectionLost, SynapseError) as error:
                if isinstance(error, SynapseError) and error.code != "overloaded":
                    raise
                allowed = max(patience, BUSY_S) if isinstance(error, Busy | SynapseError) else patience
                if self._clock() + pause > min(expiry, started + allowed):
                    self._was_connected = False
                    if isinstance(error, Busy):
                        raise NoReply("service.hello", self._clock() - started) from error
                    raise
                self._sleep(pause)
            else:
                self._was_connected = True
                return connection
        raise AssertionError("pauses never end")

    def _open_stream(self) -> Stream:
        if self._opener is None:
            from synapse_client.transport import open_stream  # which system's, is settled when it is needed

            self._opener = open_stream
        return self._opener(self.address)

    def _greeted(self, expiry: float) -> Connection:
        connection = Connection(self._open_stream(), self._clock)
        if self._greeting is None:
            return connection
        try:
            limit = min(expiry, self._clock() + HELLO_S)
            greeting = self._greeting
            self.service = greeting.read(connection.request(greeting.method, greeting.params, limit))
        except BaseException:
            connection.close("the greeting failed")
            raise
        return connection

    def _start_over_after_fork(self) -> None:
        # The parent goes on using the connection; two processes writing to it would mix their lines. Locks may be held
        # by threads that this process doesn't have.
        inherited, self._connection = self._connection, None
        self._connecting = threading.Lock()
        self._process = os.getpid()
        if inherited is not None:
            inherited.forget()
