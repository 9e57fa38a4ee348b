"""A job of this process while it has not ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, Literal

from synapse_service.clock import Clock
from synapse_wire.errors import WireError

JobKind = Literal["model.load", "probe", "embed.batch"]
JobState = Literal["queued", "running", "paused_needs_reauth", "done", "failed", "needs_reauth_expired"]

TERMINAL: Final[frozenset[JobState]] = frozenset({"done", "failed", "needs_reauth_expired"})


@dataclass(slots=True)
class Pause:
    """A job waits for a credential to be renewed. ``resumed`` asks it to go on, ``over`` says that it waits no more."""

    logical_handle: str
    paused_at_ms: int
    resume_deadline_ms: int
    resumed: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)


class LiveJob:
    """What is known of a job beyond its row. Its work reports by :meth:`progress` and ends by returning or raising.

    ``accepted`` resolves when the job is on disk; before that no client may hear its id. ``digest`` tells what was
    asked for, to recognise a repeat. ``submission_id`` is set for jobs that have pages. ``ending`` is true once its
    work is over or was told to stop: what remains is to write its end, which nothing may interrupt. ``lifetime`` is
    the time limit under which the work runs, if it has one.
    """

    def __init__(
        self,
        job_id: str,
        kind: JobKind,
        model_id: str,
        *,
        digest: str = "",
        client: str | None = None,
        submission_id: str | None = None,
        clock: Clock,
        on_progress: Callable[[LiveJob], None],
    ) -> None:
        self.job_id = job_id
        self.kind: JobKind = kind
        self.model_id = model_id
        self.digest = digest
        self.client = client
        self.submission_id = submission_id
        self.created_ms = clock.wall_ms()
        self.state: JobState = "queued"
        self.ending = False
        self.items_total = 0
        self.items_done = 0
        self.pages_available = 0
        self.error: WireError | None = None
        self.pause: Pause | None = None
        self.lifetime: asyncio.Timeout | None = None
        self.accepted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._clock = clock
        self._on_progress = on_progress
        self._began: tuple[float, int] | None = None

    def progress(self, done: int, total: int) -> None:
        """How many of how many steps are done; what a step is depends on the kind."""
        self.items_done, self.items_total = done, total
        self._on_progress(self)

    @contextmanager
    def lifetime_stopped(self) -> Iterator[None]:
        """A ``with`` block during which the time limit stands still."""
        lifetime = self.lifetime
        until = None if lifetime is None else lifetime.when()
        if lifetime is None or until is None:
            yield
            return
        loop = asyncio.get_running_loop()
        left = until - loop.time()
        lifetime.reschedule(None)
        try:
            yield
        finally:
            lifetime.reschedule(loop.time() + left)

    def begin(self) -> None:
        """The work starts now: from here on its rate is measured."""
        self._began = (self._clock.monotonic(), self.items_done)

    @property
    def rate(self) -> float | None:
        """Items a second since the work started; None before there is anything to measure."""
        if self._began is None or self.state != "running":
            return None
        since, before = self._began
        elapsed = self._clock.monotonic() - since
        done = self.items_done - before
        return done / elapsed if done > 0 and elapsed > 0 else None

    @property
    def eta_ms(self) -> int | None:
        """Milliseconds until the end at the present rate; None while there is none."""
        rate = self.rate
        return None if rate is None else round(1000 * (self.items_total - self.items_done) / rate)
