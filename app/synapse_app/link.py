"""The one connection to the service: follows its events, reads its listings, and notices when it goes.

:class:`ServiceLink` runs as one task on the application's event loop and is the only writer of the picture beside
:mod:`synapse_app.commands`. It subscribes to every topic that the service has, reads again what an event made stale,
and asks for a sign of life every few seconds, because a stopped process keeps its socket open. What it finds is one of
the states in :mod:`synapse_app.state`; with growing pauses it looks again, at once when :meth:`ServiceLink.wake` is
called (the menu opened, the machine woke up, the user asked for a start).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import msgspec

from synapse_app import reducers
from synapse_app.problems import Problem, problem_of
from synapse_app.state import AppState, LinkState, StateStore
from synapse_client import AsyncClient
from synapse_client.errors import (
    ClientError,
    ConnectionLost,
    EndpointRefused,
    NoReply,
    ProtocolViolation,
    ServiceNotRunning,
)
from synapse_client.results import LIVE
from synapse_wire import __version__
from synapse_wire import results as r
from synapse_wire.errors import SynapseError

if TYPE_CHECKING:
    from synapse_client.events import EventStream

PULSE_S: Final = 5.0
"""How often the service is asked for a sign of life..."""
PULSE_LIMIT_S: Final = 4.0
"""...and how long it may take to give one before it counts as hung."""
START_LIMIT_S: Final = 20.0
"""How long a service that was started may take until it answers."""
READ_PAUSE_S: Final = 0.2
"""Least time between two readings of the listings, however many events made them stale."""
_MOST: Final = 1000
"""Rows that the service lists at a time, at most."""

T = TypeVar("T")
_log = logging.getLogger(__name__)


class Starter(Protocol):
    """Starts the service; :class:`synapse_app.service_process.ServiceProcess` does."""

    async def start(self) -> Problem | None:
        """Start a process without waiting until it answers. None, or why that wasn't possible."""

    def ended(self) -> Problem | None:
        """Why the started process ended without becoming the service; None while it may still become it."""


class _OtherService(Exception):
    """The connection came up again, with another start of the service behind it."""


def pauses() -> Iterator[float]:
    """Seconds between two looks for a service that isn't there."""
    pause = 0.2
    while True:
        yield pause
        pause = min(pause * 1.6, 5.0)


class ServiceLink:
    """See above. ``auto_start`` says whether a missing service is started by itself, once, at the beginning."""

    def __init__(
        self,
        store: StateStore,
        starter: Starter,
        address: str,
        *,
        auto_start: bool = True,
        pulse_s: float = PULSE_S,
        pulse_limit_s: float = PULSE_LIMIT_S,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.address = address
        self._store = store
        self._starter = starter
        self._start_wanted = auto_start
        self._starting_since: float | None = None
        self._pulse_s = pulse_s
        self._pulse_limit_s = pulse_limit_s
        self._sleep = sleep
        self._client: AsyncClient | None = None
        self._awake = asyncio.Event()
        self._stale: set[str] = set()
        self._to_read = asyncio.Event()
        self._pulse_now = asyncio.Event()

    # --- for commands ---

    @property
    def client(self) -> AsyncClient:
        """The client of the present connection; raises :class:`ServiceNotRunning` while there is none."""
        if self._client is None:
            raise ServiceNotRunning(self.address, "this application is not connected to it")
        return self._client

    def wake(self) -> None:
        """Look for the service now rather than after the present pause."""
        self._awake.set()

    def woke(self) -> None:
        """The machine slept: look at everything again, and for a sign of life at once."""
        self._store.apply(reducers.woke)
        self._store.announce()  # shown however soon it is over
        self._pulse_now.set()
        self.read_again()
        self.wake()

    def start_service(self) -> None:
        """Start the service if none answers; one that winds down is waited for first."""
        self._start_wanted = self._client is None or self._store.state.link is LinkState.STOPPING
        self.wake()

    def stopping(self) -> None:
        """The user asked the service to stop: its end is no surprise, and it isn't started again by itself."""
        self._start_wanted = False
        self._store.apply(partial(reducers.moved, link=LinkState.STOPPING))

    def not_stopping(self) -> None:
        """The stop was refused, or its process doesn't end."""
        if self._store.state.link is LinkState.STOPPING:
            link = LinkState.SEARCHING if self._client is None else LinkState.CONNECTED
            self._store.apply(partial(reducers.moved, link=link))
            self.wake()

    def stopped(self) -> None:
        """The process that was asked to stop has ended."""
        if self._store.state.link is LinkState.STOPPING:
            self._store.apply(partial(reducers.moved, link=LinkState.STOPPED))
            self.wake()  # a start may be wanted by now

    def read_again(self, *listings: str) -> None:
        """Read these listings soon, or all of them."""
        self._stale.update(listings or reducers.LISTINGS)
        self._to_read.set()

    # --- the task ---

    async def run(self) -> None:
        """Keep a connection until cancelled."""
        waits = pauses()
        while True:
            self._awake.clear()
            try:
                await self._session()
            except _OtherService:
                waits = pauses()
                continue
            except (ClientError, SynapseError) as error:
                if self._store.state.current:
                    waits = pauses()
                await self._lost(error)
            with suppress(TimeoutError):
                # Not wait_for: when the event comes just then, Python 3.11's forgets that it was cancelled.
                async with asyncio.timeout(next(waits)):
                    await self._awake.wait()
                waits = pauses()

    async def _lost(self, error: ClientError | SynapseError) -> None:
        link, problem = await self._found(error)
        self._store.apply(partial(reducers.moved, link=link, problem=problem))

    async def _found(self, error: ClientError | SynapseError) -> tuple[LinkState, Problem | None]:
        if self._store.state.link is LinkState.STOPPING:
            # Its socket goes before its process does, which `stopped` tells. Another one couldn't start until then.
            return LinkState.STOPPING, None
        problem = problem_of(error)
        if isinstance(error, EndpointRefused):
            return LinkState.REFUSED, problem
        if isinstance(error, NoReply):
            return LinkState.HUNG, problem
        if isinstance(error, ProtocolViolation | SynapseError) and problem.code != "overloaded":
            return LinkState.INCOMPATIBLE, problem
        if self._store.state.link is LinkState.STOPPED and not self._start_wanted:
            return LinkState.STOPPED, None
        if isinstance(error, ServiceNotRunning):
            return await self._started_or_down(problem)
        return LinkState.SEARCHING, problem

    async def _started_or_down(self, problem: Problem) -> tuple[LinkState, Problem | None]:
        """Nobody is there: start the service if that is wanted, or see what became of the one that was started."""
        now = asyncio.get_running_loop().time()
        if self._start_wanted:
            self._start_wanted = False
            if (failed := await self._starter.start()) is not None:
                return LinkState.DOWN, failed
            self._starting_since = now
        if self._starting_since is None:
            return LinkState.DOWN, problem
        if (ended := self._starter.ended()) is not None:
            self._starting_since = None
            return LinkState.DOWN, ended
        if now - self._starting_since > START_LIMIT_S:
            self._starting_since = None
            return LinkState.DOWN, Problem("start_failed", f"The service didn't answer within {START_LIMIT_S:g} s.")
        self._awake_soon()
        return LinkState.STARTING, None

    def _awake_soon(self) -> None:
        # A service that has just been started is worth looking for more often than one that isn't there.
        asyncio.get_running_loop().call_later(0.1, self._awake.set)

    async def _session(self) -> None:
        """One connection, until it ends. Always raises."""
        client = AsyncClient(self.address, name="synapse-tray", version=__version__, reconnect_s=0.0)
        try:
            await client.connect()
            assert client.service is not None
            hello = client.service
            await self._subscribed(client, hello, reducers.TOPICS)
        finally:
            self._client = None
            await client.close()

    async def _subscribed(self, client: AsyncClient, hello: r.Hello, topics: tuple[str, ...]) -> None:
        try:
            async with client.subscribe(*topics) as stream:
                self._client = client
                self._start_wanted = False  # it runs: whoever stops it from now on wants it stopped
                self._starting_since = None
                self._store.apply(partial(reducers.linked, hello=hello))
                self.read_again()
                await _first_failure(
                    self._follow(client, stream, hello), self._read_stale(client), self._feel_pulse(client)
                )
        except SynapseError as error:
            # An older service may lack a topic, and says which.
            absent = (error.details or {}).get("topics", ())
            if not set(topics).intersection(absent):
                raise
            await self._subscribed(client, hello, tuple(topic for topic in topics if topic not in absent))

    async def _follow(self, client: AsyncClient, stream: EventStream, hello: r.Hello) -> None:
        async for event in stream:
            if client.service is not None and client.service.module_generation != hello.module_generation:
                raise _OtherService
            stale = reducers.to_read(self._store.state, event)
            try:
                self._store.apply(partial(reducers.happened, event=event))
            except msgspec.ValidationError as error:
                raise ProtocolViolation(f"An event of topic {event.topic} has an unknown shape: {error}.") from error
            if stale:
                self.read_again(*stale)
        raise ConnectionLost("events.subscribe", "the stream ended", sent=True)

    async def _read_stale(self, client: AsyncClient) -> None:
        while True:
            await self._to_read.wait()
            self._to_read.clear()
            stale, self._stale = self._stale, set()
            for listing in reducers.LISTINGS:
                if listing in stale and listing in self._store.state.offers:
                    await self._read(client, listing)
            await self._sleep(READ_PAUSE_S)

    async def _read(self, client: AsyncClient, listing: str) -> None:
        reducer: Callable[..., AppState]
        ask, reducer = _READERS[listing]
        if listing in reducers.MOVING:
            reducer = partial(reducer, asked=self._store.state)
        try:
            answer = await ask(client)
        except NoReply:
            self.read_again(listing)  # the pulse says what this means
        except SynapseError as error:
            # A store that is away, or being moved, says so under its own topic and makes this be read again.
            away = error.code == "store_failure" and "reason" in (error.details or {})
            level = logging.INFO if away else logging.WARNING
            _log.log(level, "listing_refused", extra={"fields": {"listing": listing, "code": error.code}})
            self._store.apply(partial(reducers.trusted, listing=listing))
        else:
            self._store.apply(lambda state: reducer(state, answer))

    async def _feel_pulse(self, client: AsyncClient) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._pulse_s):
                    await self._pulse_now.wait()
            self._pulse_now.clear()
            try:
                info = msgspec.convert(await client.call("service.info", timeout_s=self._pulse_limit_s), r.ServiceInfo)
            except NoReply as error:
                if self._store.state.current:
                    self._store.apply(partial(reducers.moved, link=LinkState.HUNG, problem=problem_of(error)))
            else:
                if self._store.state.link is LinkState.HUNG:
                    self._store.apply(partial(reducers.moved, link=LinkState.CONNECTED))
                    self.read_again()
                self._store.apply(partial(reducers.info_read, info=info))


async def _jobs(client: AsyncClient) -> r.JobsList:
    """The newest jobs, and all that go on, which may be older."""
    # In this order: a job that is minted in between is among the newest, one that ends is seen as it ended.
    live = await client.jobs_list(LIVE, limit=_MOST)
    newest = await client.jobs_list(limit=reducers.NEWEST)
    seen = {row.job_id for row in newest.jobs}
    return r.JobsList(jobs=[*newest.jobs, *(row for row in live.jobs if row.job_id not in seen)])


async def _downloads(client: AsyncClient) -> r.DownloadsList:
    return await client.downloads_list(limit=_MOST)


_READERS: Final[dict[str, tuple[Callable[[AsyncClient], Awaitable[Any]], Callable[..., AppState]]]] = {
    reducers.MODELS: (AsyncClient.models_list, reducers.models_read),
    reducers.LANES: (AsyncClient.lanes_list, reducers.lanes_read),
    reducers.CATALOG: (AsyncClient.models_catalog, reducers.catalog_read),
    reducers.JOBS: (_jobs, reducers.jobs_read),
    reducers.DOWNLOADS: (_downloads, reducers.downloads_read),
    reducers.USAGE: (AsyncClient.cache_usage, reducers.usage_read),
}


async def _first_failure(*coroutines: Awaitable[None]) -> None:
    """Run these side by side until one of them raises; the others are cancelled and awaited."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
