"""Any number of texts to vectors, through durable jobs: what ``embed_all`` of both clients does, without their I/O.

:class:`BulkEmbedding` decides and a client carries out. Its :meth:`~BulkEmbedding.steps` is a generator of steps: a
``Call`` to make, a ``Pull`` of texts from the source, a ``Pause``, or a list of items to hand to the caller. The
blocking client drives it with :func:`drive`, the asyncio client with ``embed_all_aio.drive``; both send the outcome of
each step back into it.

======================================  ==============================================================================
what happens                            what follows
======================================  ==============================================================================
a batch is answered at once             its items are handed over
a batch becomes a job                   its pages are read as they appear, while further batches are submitted
the service is away                     the step is repeated until it is back, for ``patience_s``; but at the first
                                        batch that is raised at once
it refuses what is safe to repeat       the same, after the time that the refusal names
the job ends as ``module_restarted``    the same batch under the same key; reading goes on behind the last page
the job ends otherwise transiently      the same, after the time that its error names
the job is unknown (expired, lost)      the same batch again, from its first page; what came before is passed over
anything else                           is raised; what was accepted goes on in the service
======================================  ==============================================================================

Each item is handed over once. A batch that is refused while it is submitted ahead is submitted again in its turn, so
what was accepted before it is delivered before the error comes.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sized
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from synapse_client import calls
from synapse_client.batches import JOB_BYTES, JOB_ITEMS, Batch, Splitter
from synapse_client.calls import Call
from synapse_client.errors import ClientError, FingerprintChanged, ProtocolViolation
from synapse_client.results import Item, Page, Progress, items_of
from synapse_wire.errors import SynapseError, invalid_params

if TYPE_CHECKING:
    from synapse_client.options import BulkOptions

JOBS_AHEAD: Final = 2
"""Jobs submitted beyond the one that is being read: the lane always has its next work, memory stays bounded."""

INLINE_ITEMS: Final = 64
"""Batches up to this size are probably answered at once. Asking for one takes as long as computing it, behind all that
was submitted before, so nothing waits for it until its turn has come."""

DEADLINE_MS: Final = 600_000
PATIENCE_S: Final = 300.0
RETRY_S: Final = 0.25
"""Pause before a step is repeated for a reason that names none."""

PULL_ITEMS: Final = 256
_LONGEST_POLL_S: Final = 0.5

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pull:
    """Step: the next texts of the source, at most ``limit``. The driver sends them back as a list, empty at the end."""

    limit: int


@dataclass(frozen=True, slots=True)
class Pause:
    """Step: wait."""

    seconds: float


Steps = Generator["Call[Any] | Pull | Pause | list[Item]", Any, T]
Texts = Iterable[str] | Iterable[tuple[str, str]] | Mapping[str, str]
"""What ``embed_all`` takes: texts, which are then known by their places, or ids and texts."""


class BulkEmbedding:
    """One ``embed_all``. ``clock`` gives monotonic seconds, ``total`` is the number of texts if it is known.

    Raises ``invalid_request`` at once for options that can't be used.
    """

    def __init__(
        self,
        model: str,
        request_key: str,
        options: BulkOptions,
        *,
        total: int | None,
        on_progress: Callable[[Progress], object] | None,
        clock: Callable[[], float],
    ) -> None:
        given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
        max_items = given.pop("max_job_items", JOB_ITEMS)
        max_bytes = given.pop("max_job_bytes", JOB_BYTES)
        self._patience_s: float = given.pop("patience_s", PATIENCE_S)
        self._deadline_ms: int = given.pop("deadline_ms", DEADLINE_MS)
        members = {
            "model": model,
            "vector_encoding": "base64",
            "deadline_ms": self._deadline_ms,
            "max_queue_ms": self._deadline_ms,
            **given,
        }
        self._splitter = Splitter(members, request_key, max_items, max_bytes)
        self._total = total
        self._on_progress = on_progress
        self._clock = clock
        self._texts: deque[str | tuple[str, str]] = deque()
        self._exhausted = False
        self._batches: deque[Batch] = deque()
        self._fingerprint: str | None = None
        self._failing_since: float | None = None
        self._failed_at = 0.0
        self._received = self._submitted = self._jobs = 0

    def steps(self) -> Steps[None]:
        """What to do, step by step."""
        while True:
            if not self._batches:
                batch = yield from self._next_batch()
                if batch is None:
                    return
                self._batches.append(batch)
            yield from self._deliver(self._batches[0])
            self._batches.popleft()

    # --- one batch ---

    def _deliver(self, batch: Batch) -> Steps[None]:
        looks = calls.poll_intervals(ceiling_s=_LONGEST_POLL_S)
        while batch.waiting:
            if batch.job_id is None and batch.answer is None:
                self._accept(batch, (yield from self._ask(self._submission(batch))))
            if batch.answer is not None:
                items, batch.answer = self._take(batch, batch.answer), None
                self._report("done")
                yield items
                self._check_complete(batch)
                return
            page = yield from self._read(batch)
            if page is None:
                continue
            items = self._take(batch, page.items)
            self._report(page.state)
            if page.items:
                batch.cursor = page.page_index + 1
                looks = calls.poll_intervals(ceiling_s=_LONGEST_POLL_S)
                yield items
            yield from self._look_ahead()
            if page.ended and page.state == "done":
                self._check_complete(batch)
            elif page.ended and batch.waiting:
                yield from self._take_up(batch)
            elif not page.items:
                yield Pause(next(looks))

    def _read(self, batch: Batch) -> Steps[Page | None]:
        assert batch.job_id is not None
        try:
            page: Page = yield from self._ask(calls.embed_result(batch.job_id, batch.cursor, None))
        except SynapseError as error:
            if not (error.code == "invalid_request" and error.level == "semantic"):
                raise
            # The job has expired, or the database was lost. Reading starts over with the next one.
            yield self._pause_or_raise(error, RETRY_S)
            batch.job_id, batch.cursor = None, 0
            return None
        return page

    def _take_up(self, batch: Batch) -> Steps[None]:
        """Let the same batch be submitted again after its job failed, or raise what it failed with."""
        assert batch.job_id is not None
        status = yield from self._ask(calls.job_status(batch.job_id))
        error = calls.failure(status)
        restarted = error.code == "module_restarted"
        yield self._pause_or_raise(error, RETRY_S if restarted else self._pause_after(error))
        batch.job_id = None

    def _take(self, batch: Batch, items: list[Item]) -> list[Item]:
        for item in items[:1]:  # they come in one envelope
            if self._fingerprint is None:
                self._fingerprint = item.fingerprint
            if item.fingerprint != self._fingerprint:
                raise FingerprintChanged(self._fingerprint, item.fingerprint, batch.key)
        fresh = batch.take(items)
        self._received += len(fresh)
        if fresh:
            self._failing_since = None
        return fresh

    def _check_complete(self, batch: Batch) -> None:
        if batch.waiting:
            raise ProtocolViolation(f"The service ended {batch.key} without vectors for {batch.waiting} of its items.")

    # --- submitting ---

    def _submission(self, batch: Batch) -> Call[Any]:
        return calls.submit_batch(batch.params, self._deadline_ms)

    def _look_ahead(self) -> Steps[None]:
        """Take one more batch from the source and submit it, if there is room for one."""
        if self._exhausted or len(self._batches) > JOBS_AHEAD:
            return
        batch = yield from self._next_batch()
        if batch is None:
            return
        self._batches.append(batch)
        if len(batch) <= INLINE_ITEMS:
            return
        try:
            answer = yield self._submission(batch)
        except (SynapseError, ClientError):
            return  # it is submitted again, with patience, when its turn has come
        self._accept(batch, answer)

    def _accept(self, batch: Batch, answer: Any) -> None:
        if isinstance(answer, str):
            batch.job_id = answer
        else:
            batch.answer = items_of(answer)
        if not batch.accepted:
            batch.accepted = True
            self._submitted += len(batch)
            self._jobs += 1

    def _next_batch(self) -> Steps[Batch | None]:
        while True:
            while self._texts:
                full = self._splitter.add(self._texts.popleft())
                if full is not None:
                    return full
            if self._exhausted:
                return self._splitter.flush()
            self._texts.extend((yield Pull(PULL_ITEMS)))
            self._exhausted = not self._texts

    # --- failures ---

    def _ask(self, call: Call[T]) -> Steps[T]:
        """The answer to a call that is repeated as long as that makes sense."""
        while True:
            try:
                answer: T = yield call
            except (SynapseError, ClientError) as error:
                pause = self._pause_or_raise(error, self._pause_after(error))
            else:
                return answer
            yield pause

    def _pause_or_raise(self, error: SynapseError | ClientError, seconds: float | None) -> Pause:
        now = self._clock()
        if self._failing_since is None or now - self._failed_at > self._patience_s:
            self._failing_since = now
        self._failed_at = now
        if seconds is None or now + seconds - self._failing_since > self._patience_s:
            raise error
        return Pause(seconds)

    def _pause_after(self, error: SynapseError | ClientError) -> float | None:
        """How long to wait before the same request is sent again, or None when that would be wrong."""
        if isinstance(error, ClientError):
            # A service that has never been there has nothing of ours; the caller wants to hear of it at once.
            return RETRY_S if error.transient and self._jobs else None
        if error.class_ != "transient" or not error.safe_to_retry_same_request:
            return None
        if "item_id" in (error.details or {}):
            return None  # the item would fail again, and twice puts the lane in quarantine
        return RETRY_S if error.retry_after_ms is None else error.retry_after_ms / 1000

    def _report(self, state: str) -> None:
        if self._on_progress is not None:
            self._on_progress(
                Progress(
                    received=self._received,
                    submitted=self._submitted,
                    total=self._total,
                    jobs=self._jobs,
                    job_id=self._batches[0].job_id,
                    state=state,
                )
            )


def source_of(items: Any) -> Any:
    """``items`` as an iterable of texts or of pairs; raises ``invalid_request`` for a single text."""
    if isinstance(items, str):
        raise invalid_params("items is one string; give an iterable of texts, or use embed_query", "items")
    return items.items() if isinstance(items, Mapping) else items


def count_of(items: Any) -> int | None:
    """How many items there are, if that can be known without taking any."""
    return len(items) if isinstance(items, Sized) else None


def drive(
    bulk: BulkEmbedding,
    source: Iterable[str | tuple[str, str]],
    *,
    run: Callable[[Call[Any]], Any],
    sleep: Callable[[float], None],
) -> Generator[Item, None, None]:
    """Carry out the steps, blocking."""
    steps, texts = bulk.steps(), iter(source)
    outcome: Any = None
    failure: SynapseError | ClientError | None = None
    while True:
        try:
            step = steps.send(outcome) if failure is None else steps.throw(failure)
        except StopIteration:
            return
        outcome = failure = None
        if isinstance(step, Call):
            try:
                outcome = run(step)
            except (SynapseError, ClientError) as error:
                failure = error
        elif isinstance(step, Pull):
            outcome = list(itertools.islice(texts, step.limit))
        elif isinstance(step, Pause):
            sleep(step.seconds)
        else:
            yield from step
