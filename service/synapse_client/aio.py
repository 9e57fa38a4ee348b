"""The asyncio client: the same operations as the blocking one, awaited, with any number of them in flight.

This module is imported only when :class:`AsyncClient` is first named. Cancelling a task that waits in a call cancels
the request in the service as well.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from synapse_client import calls
from synapse_client.aliases import AsyncAliasMethods
from synapse_client.backoff import BUSY_S, HELLO_S, RECONNECT_S, pauses
from synapse_client.catalog import AsyncCatalogMethods
from synapse_client.client import DEFAULT_TIMEOUT_S, default_address, program_name
from synapse_client.errors import Busy, ClientClosed, ConnectionLost, JobUnfinished, NoReply, ServiceNotRunning
from synapse_client.events import EventStream
from synapse_client.lanes import AsyncLaneMethods
from synapse_client.link import Link, Listener, open_link
from synapse_client.rerank import AsyncRerankMethods
from synapse_wire.errors import SynapseError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Unpack

    import msgspec

    from synapse_client.calls import Call
    from synapse_client.embed_all_aio import AsyncTexts
    from synapse_client.options import BulkOptions, Constraints, FileSource, ModelOptions, Task
    from synapse_client.results import Embedding, Item, Page, Progress
    from synapse_wire import results as r

T = TypeVar("T")


class AsyncClient(AsyncCatalogMethods, AsyncLaneMethods, AsyncRerankMethods, AsyncAliasMethods):
    """An asyncio connection to the service of this user; for use in one event loop.

    Arguments, errors and the rule about repeating requests are those of :class:`synapse_client.Client`. Requests are
    pipelined: start as many as you like, the client keeps as many in flight as the service accepts.
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
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.address = address if address is not None else default_address(home)
        self.service: r.Hello | None = None
        """What the service said when it was last greeted: its version, its generation, what it serves."""
        self._greeting = calls.hello(name or program_name(), version, scope)
        self._timeout_s = timeout_s
        self._connect_s = connect_s
        self._reconnect_s = reconnect_s
        self._sleep = sleep
        self._closed = False
        self._link: Link | None = None
        self._was_connected = False
        self._connecting = asyncio.Lock()

    async def __aenter__(self) -> AsyncClient:
        await self.connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def connect(self) -> r.Hello | None:
        """Connect and greet now rather than at the first call. Returns the greeting's answer."""
        await self._linked(self._now() + self._timeout_s, "service.hello")
        return self.service

    async def close(self) -> None:
        """Close the connection. Calls that still wait end with :class:`ConnectionLost`."""
        self._closed = True
        link, self._link = self._link, None
        if link is not None:
            await link.close()

    @asynccontextmanager
    async def subscribe(self, *topics: str) -> AsyncIterator[EventStream]:
        """The events of ``topics``, over a connection of their own that ends with the ``async with`` block."""
        stream = EventStream(topics, self._open_for_events)
        try:
            await stream.open()
            yield stream
        finally:
            await stream.close()

    # --- any operation ---

    async def call(self, method: str, params: Any = None, *, timeout_s: float | None = None) -> Any:
        """Any operation, by its name on the wire; returns plain dictionaries and lists."""
        return await self._run(calls.untyped(method, params, timeout_s=timeout_s))

    async def call_raw(self, method: str, params: Any = None, *, timeout_s: float | None = None) -> msgspec.Raw:
        """Like :meth:`call`, returning the result's JSON text untouched."""
        return await self._run(calls.raw(method, params, timeout_s=timeout_s))

    # --- inference ---

    async def embed_query(
        self,
        model: str,
        text: str,
        *,
        deadline_ms: int | None = None,
        target_fingerprint: str | None = None,
        **constraints: Unpack[Constraints],
    ) -> Embedding:
        """Embed one text, ahead of batches. ``deadline_ms`` bounds queue, loading and computing together."""
        return await self._run(calls.embed_query(model, text, deadline_ms, target_fingerprint, constraints))

    async def embed_batch(
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
        return await self._run(calls.embed_batch(model, texts, ids, deadline_ms, request_key, constraints))

    def embed_all(
        self,
        model: str,
        items: AsyncTexts,
        *,
        request_key: str,
        on_progress: Callable[[Progress], object] | None = None,
        **options: Unpack[BulkOptions],
    ) -> AsyncGenerator[Item, None]:
        """Embed any number of texts, as :meth:`synapse_client.Client.embed_all` does; ``items`` may be asynchronous.

        To stop early, close the iterator with ``aclose()``, or leave it to ``contextlib.aclosing``.
        """
        from synapse_client.embed_all import BulkEmbedding, count_of, source_of  # not every program needs it
        from synapse_client.embed_all_aio import drive

        total = count_of(items)
        bulk = BulkEmbedding(model, request_key, options, total=total, on_progress=on_progress, clock=self._now)
        return drive(bulk, source_of(items), run=self._run, sleep=self._sleep)

    async def embed_result(self, job_id: str, cursor: int = 0, *, max_page_bytes: int | None = None) -> Page:
        """One page of an embedding job, which may still be running."""
        return await self._run(calls.embed_result(job_id, cursor, max_page_bytes))

    # --- models and jobs ---

    async def model_load(
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
        return await self._run(calls.model_load(model_id, task, engine, files, options))

    async def model_status(self, model_id: str) -> r.ModelRow:
        """The state of one model."""
        return await self._run(calls.model_status(model_id))

    async def models_list(self) -> r.ModelsList:
        """All models that the service knows."""
        return await self._run(calls.models_list())

    async def model_unload(self, model_id: str) -> r.ModelUnloaded:
        """Take a model out of memory. It stays registered and loads again when it is needed."""
        return await self._run(calls.model_unload(model_id))

    async def job_status(self, job_id: str) -> r.JobStatus:
        """The state of one job."""
        return await self._run(calls.job_status(job_id))

    async def wait_job(
        self,
        job_id: str,
        on_progress: Callable[[r.JobStatus], object] | None = None,
        *,
        timeout_s: float | None = None,
    ) -> r.JobStatus:
        """Wait until a job is done. ``on_progress`` is called with every status that was read.

        Raises what the job failed with as :class:`SynapseError`, or :class:`JobUnfinished` after ``timeout_s``.
        """
        started = self._now()
        for pause in calls.poll_intervals():
            status = await self.job_status(job_id)
            if on_progress is not None:
                on_progress(status)
            finished = calls.outcome(status)
            if finished is not None:
                return finished
            waited = self._now() - started
            if timeout_s is not None and waited + pause > timeout_s:
                raise JobUnfinished(status, waited)
            await self._sleep(pause)
        raise AssertionError("poll intervals never end")

    async def job_resume(self, job_id: str) -> r.JobStatus:
        """Take up a job that paused for a credential."""
        return await self._run(calls.job_resume(job_id))

    async def jobs_list(self, states: Sequence[str] | None = None, *, limit: int | None = None) -> r.JobsList:
        """The jobs that are kept, newest first; all, or those in some states."""
        return await self._run(calls.jobs_list(states, limit))

    async def jobs_cancel(self, job_id: str) -> r.JobStatus:
        """End a job. The pages that it committed stay readable."""
        return await self._run(calls.jobs_cancel(job_id))

    async def admission_status(self) -> r.AdmissionStatus:
        """How busy the lanes are, and how jobs have fared since the service started."""
        return await self._run(calls.admission_status())

    async def probe_start(self, model_id: str) -> r.JobAccepted:
        """Measure and certify a model on this machine, as a job; a probe already under way is joined."""
        return await self._run(calls.probe_start(model_id))

    async def probe_status(self, job_id: str) -> r.JobStatus:
        """The state of one probe job."""
        return await self._run(calls.probe_status(job_id))

    async def probe_report(self, model_id: str | None = None) -> r.ProbeReport:
        """What probes found on this machine, for all models or one."""
        return await self._run(calls.probe_report(model_id))

    # --- the service itself ---

    async def info(self) -> r.ServiceInfo:
        """Version, process, address and state of the service."""
        return await self._run(calls.info())

    async def diagnostics(self) -> r.Diagnostics:
        """What the service finds when it examines itself."""
        return await self._run(calls.diagnostics())

    async def settings_get(self, names: Sequence[str] | None = None) -> r.Settings:
        """All settings, or those named, with where each value comes from."""
        return await self._run(calls.settings_get(names))

    async def settings_set(self, values: Mapping[str, Any]) -> r.Settings:
        """Change settings, all of them or none. None takes a setting back to its default."""
        return await self._run(calls.settings_set(values))

    async def logs_tail(self, after_seq: int = 0, *, level: str | None = None, limit: int = 200) -> r.LogTail:
        """Log entries after a sequence number, oldest first, of ``level`` and above."""
        return await self._run(calls.logs_tail(after_seq, level, limit))

    async def shutdown(self, *, drain_ms: int | None = None, force: bool = False) -> r.ShuttingDown:
        """Stop the service after at most ``drain_ms`` for running work; ``force`` although something is held."""
        return await self._run(calls.shutdown(drain_ms, force))

    # --- how a call is carried out ---

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    async def _run(self, call: Call[T]) -> T:
        expiry = self._now() + (self._timeout_s if call.wait_s is None else call.wait_s)
        repeated = False
        while True:
            link = await self._linked(expiry, call.method)
            try:
                return call.read(await link.request(call.method, call.params, expiry - self._now()))
            except ConnectionLost as error:
                if self._closed or repeated or (error.sent and not calls.may_repeat(call.method)):
                    raise
                repeated = True

    async def _linked(self, expiry: float, method: str) -> Link:
        link = self._link
        if link is not None and link.lost is None:
            return link
        started = self._now()
        try:
            async with asyncio.timeout_at(expiry):
                await self._connecting.acquire()
        except TimeoutError:
            raise NoReply(method, self._now() - started) from None
        try:
            if self._link is None or self._link.lost is not None:
                self._link = await self._connect(expiry)
            return self._link
        finally:
            self._connecting.release()

    async def _connect(self, expiry: float) -> Link:
        link = await self._open(self._reconnect_s if self._was_connected else self._connect_s, expiry, None)
        self._was_connected = True
        return link

    async def _open_for_events(self, listener: Listener, again: bool) -> Link:
        patience = self._reconnect_s if again else self._connect_s
        return await self._open(patience, self._now() + self._timeout_s, listener)

    async def _open(self, patience: float, expiry: float, listener: Listener | None) -> Link:
        started = self._now()
        for pause in pauses():
            if self._closed:
                raise ClientClosed
            try:
                return await self._greeted(expiry, listener)
            except (ServiceNotRunning, Busy, ConnectionLost, SynapseError) as error:
                if isinstance(error, SynapseError) and error.code != "overloaded":
                    raise
                allowed = max(patience, BUSY_S) if isinstance(error, Busy | SynapseError) else patience
                if self._now() + pause > min(expiry, started + allowed):
                    self._was_connected = False
                    if isinstance(error, Busy):
                        raise NoReply("service.hello", self._now() - started) from error
                    raise
            await self._sleep(pause)
        raise AssertionError("pauses never end")

    async def _greeted(self, expiry: float, listener: Listener | None) -> Link:
        link = await open_link(self.address, listener)
        try:
            limit = min(expiry - self._now(), HELLO_S)
            greeting = self._greeting
            self.service = greeting.read(await link.request(greeting.method, greeting.params, limit))
        except BaseException:
            await link.close("the greeting failed")
            raise
        return link
