"""Submissions in the database: what a request key is bound to, the attempts at it, and the pages that are committed.

A *submission* is one over-budget ``embed.batch``, however often it is sent. Its pages carry one continuing index;
every attempt (a job) reads and extends the same pages, so an attempt after a crash computes only what is missing.

====================  ===============================  ==============================================================
state of the key      latest attempt                   a request with the same digest
====================  ===============================  ==============================================================
unknown               (none)                           makes the submission and its first attempt
known                 queued, running, paused or done  joins that attempt; one that is paused goes on
known                 failed, needs_reauth_expired     starts a fresh attempt that continues after the committed pages
expired               done or failed                   forgets what was there, and is a first request
====================  ===============================  ==============================================================

Another digest, or pages that were made under another fingerprint, is ``idempotency_conflict``, unless the key has
expired. Each function runs inside one transaction of the store: of several clients that race with one key exactly one
makes the attempt. ``now_ms`` is the time on the clock that nobody sets, by which things expire.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec
from peewee import SQL

from synapse_service.aliases.pairs import reading
from synapse_service.jobs.pages import Page
from synapse_service.store.models import DATABASE, Job, ResultPage, Submission
from synapse_wire.errors import SynapseError, invalid_state
from synapse_wire.results import Provenance

_ENDED_WITHOUT_RESULT: Final = ("failed", "needs_reauth_expired")

# Written out, because composing it takes Peewee several times as long as SQLite takes to read half a megabyte.
_PAGE: Final = """
    SELECT job.state, submission.pages, submission.binding,
        result_page.payload, result_page.table_epoch, result_page.equivalent_to
    FROM job
    JOIN submission USING (submission_id)
    LEFT JOIN result_page ON result_page.submission_id = submission.submission_id AND result_page.page_index = ?
    WHERE job.job_id = ?
"""

# As text, like the one above: the models take longer to build a page's statements than the disk takes to flush it.
_ADD_PAGE: Final = """
    INSERT INTO result_page (submission_id, page_index, ordinals, payload, table_epoch, equivalent_to)
    VALUES (?, ?, ?, ?, ?, ?)
"""
_COUNT_PAGE: Final = "UPDATE submission SET pages = ?, items_done = ? WHERE submission_id = ?"
_COUNT_ITEMS: Final = "UPDATE job SET items_done = ? WHERE job_id = ?"


class Binding(msgspec.Struct, frozen=True, kw_only=True):
    """What a submission is: fixed when it is first accepted."""

    request_key: str | None
    digest: str
    model_id: str
    fingerprint: str
    dims: int
    provenance: Provenance
    encoding: Literal["json", "f32"]
    items_total: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """The job that serves a submission. ``fresh`` is False when the request joined one that exists.

    ``committed`` are the ordinals whose results are on disk, ``pages`` the number of pages that hold them.
    """

    job_id: str
    submission_id: str
    fresh: bool
    encoding: Literal["json", "f32"]
    committed: frozenset[int]
    pages: int


@dataclass(frozen=True, slots=True)
class StoredPage:
    """A page as a reader gets it.

    ``payload`` is None when there is no such page yet, and so are the two facts about equivalences.
    """

    binding: Binding
    job_id: str
    state: str
    payload: bytes | None
    pages: int
    table_epoch: int | None
    equivalent_to: list[str] | None


@dataclass(frozen=True, slots=True)
class Request:
    """What asks for an attempt, beside what it asks for. The ids are used if it gets one of its own."""

    job_id: str
    submission_id: str
    client: str | None
    generation: int
    created_ms: int


def accept(binding: Binding, request: Request, *, now_ms: int, refusal: SynapseError | None = None) -> Attempt:
    """Join or start the attempt for a binding.

    Raises ``idempotency_conflict``, and ``refusal`` if there is one and a fresh attempt would be needed.
    """
    known = _bound(binding.request_key, now_ms)
    if known is not None:
        first = msgspec.json.decode(known.binding, type=Binding)
        _check_binding(first, binding)
        latest = Job.select().where(Job.submission == known.submission_id).order_by(SQL("rowid").desc()).first()
        if latest.state not in _ENDED_WITHOUT_RESULT:
            return Attempt(latest.job_id, known.submission_id, False, first.encoding, frozenset(), known.pages)
    if refusal is not None:
        raise refusal
    if known is None:
        if binding.request_key is not None:
            _unbind(Submission.request_key == binding.request_key)
        Submission.create(
            submission_id=request.submission_id,
            request_key=binding.request_key,
            digest=binding.digest,
            binding=msgspec.json.encode(binding).decode(),
            pages=0,
            items_done=0,
            created_ms=request.created_ms,
        )
        _new_job(binding, request, request.submission_id, items_done=0)
        return Attempt(request.job_id, request.submission_id, True, binding.encoding, frozenset(), 0)
    _new_job(binding, request, known.submission_id, items_done=known.items_done)
    Submission.update(expires_ms=None).where(Submission.submission_id == known.submission_id).execute()
    committed = committed_ordinals(known.submission_id)
    return Attempt(request.job_id, known.submission_id, True, first.encoding, committed, known.pages)


def conflict(request_key: str, digest: str, now_ms: int) -> SynapseError | None:
    """The refusal of a key that is bound to other content; None when the key is free or bound to this digest."""
    known = _bound(request_key, now_ms)
    return None if known is None or known.digest == digest else _conflict(request_key, "other content")


def committed_ordinals(submission_id: str) -> frozenset[int]:
    """The items whose results are on disk."""
    found: set[int] = set()
    for row in ResultPage.select(ResultPage.ordinals).where(ResultPage.submission == submission_id):
        ordinals = array("I")
        ordinals.frombytes(row.ordinals)
        found.update(ordinals)
    return frozenset(found)


def commit_page(
    submission_id: str, job_id: str, page_index: int, page: Page, items_done: int, fingerprint: str
) -> None:
    """Make a page visible: its bytes, its place, the counters, and the equivalences as they are in this transaction."""
    now = reading(fingerprint)
    equivalents = msgspec.json.encode(now.equivalents).decode()
    added = (submission_id, page_index, page.ordinals.tobytes(), page.payload, now.epoch, equivalents)
    for statement, values in (
        (_ADD_PAGE, added),
        (_COUNT_PAGE, (page_index + 1, items_done, submission_id)),
        (_COUNT_ITEMS, (items_done, job_id)),
    ):
        DATABASE.execute_sql(statement, values)  # type: ignore[no-untyped-call]


def read_page(job_id: str, cursor: int) -> StoredPage:
    """The page at ``cursor`` of a job's submission; raises ``invalid_request`` for a job that has no pages."""
    row = DATABASE.execute_sql(_PAGE, (cursor, job_id)).fetchone()  # type: ignore[no-untyped-call]
    if row is None:
        raise invalid_state(f"no embedding job {job_id!r} is known; it may have expired", job_id=job_id)
    state, pages, binding, payload, table_epoch, equivalents = row
    if cursor > pages:
        raise invalid_state(
            f"the cursor {cursor} is beyond the {pages} pages that are available",
            field="cursor",
            cursor=cursor,
            pages_available=pages,
        )
    equivalent_to = None if equivalents is None else msgspec.json.decode(equivalents, type=list[str])
    return StoredPage(
        msgspec.json.decode(binding, type=Binding), job_id, state, payload, pages, table_epoch, equivalent_to
    )


def expire(now_ms: int, max_pages: int) -> bool:
    """Remove what has outlived its retention, at most ``max_pages`` pages at a time; True when more is left.

    Deleting a page frees half a megabyte of database; doing hundreds in one transaction would stall every writer. With
    the first of its pages a submission loses its key and its jobs, so that nobody ever finds half of one.
    """
    expired = Submission.expires_ms.is_null(False) & (Submission.expires_ms <= now_ms)
    for submission in Submission.select(Submission.submission_id).where(expired).limit(1):
        _unbind(Submission.submission_id == submission.submission_id)
        pages = [
            row.page_index
            for row in ResultPage.select(ResultPage.page_index)
            .where(ResultPage.submission == submission.submission_id)
            .limit(max_pages)
        ]
        if pages:
            ResultPage.delete().where(
                ResultPage.submission == submission.submission_id, ResultPage.page_index.in_(pages)
            ).execute()
            return True
        Submission.delete().where(Submission.submission_id == submission.submission_id).execute()
        return True
    Job.delete().where(Job.submission.is_null(), Job.expires_ms.is_null(False), Job.expires_ms <= now_ms).execute()
    return False


def _bound(request_key: str | None, now_ms: int) -> Submission | None:
    """The submission to which a key leads now."""
    if request_key is None:
        return None
    known = Submission.get_or_none(Submission.request_key == request_key)
    if known is None or (known.expires_ms is not None and known.expires_ms <= now_ms):
        return None
    return known


def _unbind(which: Any) -> None:
    """Make submissions unreachable: no key and no job leads to them any more."""
    found = [row.submission_id for row in Submission.select(Submission.submission_id).where(which)]
    Job.delete().where(Job.submission.in_(found)).execute()
    Submission.update(request_key=None).where(Submission.submission_id.in_(found)).execute()


def _check_binding(first: Binding, now: Binding) -> None:
    assert now.request_key is not None
    if first.digest != now.digest:
        raise _conflict(now.request_key, "other content")
    if first.fingerprint != now.fingerprint:
        raise _conflict(now.request_key, f"vectors of another fingerprint ({first.fingerprint})")


def _conflict(request_key: str, what: str) -> SynapseError:
    return SynapseError(
        "idempotency_conflict",
        f"the request key is bound to {what}; use a new key for this request",
        details={"request_key": request_key},
    )


def _new_job(binding: Binding, request: Request, submission_id: str, *, items_done: int) -> None:
    Job.create(
        job_id=request.job_id,
        kind="embed.batch",
        state="queued",
        model_id=binding.model_id,
        submission=submission_id,
        client_name=request.client,
        module_generation=request.generation,
        items_total=binding.items_total,
        items_done=items_done,
        created_ms=request.created_ms,
    )
