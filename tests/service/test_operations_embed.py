"""``embed.query`` and inline ``embed.batch``: the whole answer, the order of refusals, and every kind of waiting."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import time
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from fixtures.expected_warnings import ExpectedWarnings
from fixtures.lanes import StubLoader, ask, make_lane, paper_registration, until
from fixtures.workers import expected_raw, expected_text
from synapse_engines.tokenizer import SanitisedTokenizer
from synapse_service.admission.leases import LeaseBook
from synapse_service.certify.ledger import Certification, CertificationLedger
from synapse_service.clock import SystemClock
from synapse_service.config import Settings
from synapse_service.lanes.lane import Lane
from synapse_service.lanes.registration import Registration
from synapse_service.lanes.registry import LaneRegistry
from synapse_service.lanes.worker_faults import WorkerCrashed
from synapse_service.operations import embed
from synapse_service.operations.embed import EmbedOperations
from synapse_service.router import Call
from synapse_wire.errors import SynapseError
from synapse_wire.params import EmbedBatch, EmbedQuery

OTHER = "syn1-" + "0" * 64
TEXT = "a naïve café 東京"


class _NoRecords:
    async def save(self, *_: Any) -> None: ...

    async def set_quarantine(self, *_: Any) -> None: ...


class Desk:
    """The operations over certified lanes with stub workers: ``m`` refuses long texts, ``cuts`` truncates them."""

    def __init__(self) -> None:
        self.clock = SystemClock()
        self.leases = LeaseBook(lambda: "lease-1")
        self.loaders: dict[str, StubLoader] = {}
        self.settings = Settings(cpu_lanes=True)
        self.lanes = LaneRegistry(
            _NoRecords(), self._make, leases=self.leases, cpu_lanes=lambda: self.settings.cpu_lanes
        )
        self.lanes.restore(
            [
                (paper_registration("m", max_tokens=12), None, None),
                (paper_registration("cuts", max_tokens=8, overlength="truncate", pooling="cls"), None, None),
            ]
        )
        self.ledger = CertificationLedger(_NoRecords(), "machine", 1)
        self.certify("m", "cuts")
        self.diverted: list[tuple[Any, ...]] = []
        self.operations = EmbedOperations(
            lanes=self.lanes,
            certifications=self.ledger,
            leases=self.leases,
            embedding=SimpleNamespace(submit=self._submit, check_key=self._check_key),  # type: ignore[arg-type]
            settings=lambda: self.settings,
            clock=self.clock,
            module_generation=9,
            table_epoch=lambda: 0,
        )

    def _make(self, registration: Registration, quarantined: str | None) -> Lane:
        loader = self.loaders[registration.model_id] = StubLoader()
        return make_lane(loader, self.clock, registration, quarantined=quarantined)

    async def _submit(self, *arguments: Any) -> str:
        self.diverted.append(arguments)
        return "job-1"

    async def _check_key(self, *_: Any) -> None: ...

    def certify(self, *names: str, status: Any = "certified", reason: str | None = None) -> None:
        self.ledger.restore(
            [
                Certification(
                    fingerprint=self.lanes.get(name).fingerprint,
                    model_id=name,
                    status=status,
                    blocking_reason=reason,
                    evidence={},
                    performance=None,
                    fixture_revision=1,
                    os_build="x",
                    module_generation=1,
                    measured_ms=1,
                )
                for name in names
            ]
        )

    @property
    def lane(self) -> Lane:
        return self.lanes.get("m")

    @property
    def loader(self) -> StubLoader:
        return self.loaders["m"]

    def call(self, method: str = "embed.query", *, age_s: float = 0.0, line_bytes: int = 100) -> Call:
        connection: Any = SimpleNamespace(client=None, scope=None)
        return Call(method, 1, connection, self.clock.monotonic() - age_s, line_bytes)

    async def query(self, text: str = TEXT, *, age_s: float = 0.0, **changes: Any) -> dict[str, Any]:
        params = msgspec.convert({"model": "m", "text": text} | changes, EmbedQuery)
        return plain(await self.operations.query(self.call(age_s=age_s), params))

    async def batch(self, *texts: str, line_bytes: int = 100, **changes: Any) -> dict[str, Any]:
        items = [{"id": f"i{index}", "text": text} for index, text in enumerate(texts)]
        params = msgspec.convert({"model": "m", "items": items} | changes, EmbedBatch)
        return plain(await self.operations.batch(self.call("embed.batch", line_bytes=line_bytes), params))

    async def ids(self, text: str) -> list[int]:
        return (await self.tokenizer()).encode(text).ids.tolist()

    async def tokenizer(self) -> SanitisedTokenizer:
        return await StubLoader().load_tokenizer(self.lane.registration)

    def held(self) -> int:
        return len(self.leases.holders())


def plain(result: Any) -> dict[str, Any]:
    answer: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(result))
    return answer


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    desk = Desk()
    yield desk
    await desk.lanes.close()


async def refused(answer: Any) -> SynapseError:
    with pytest.raises(SynapseError) as caught:
        await answer
    return caught.value


# --- answers ---


async def test_the_answer_to_a_query_is_the_whole_envelope(desk: Desk) -> None:
    ids = await desk.ids(TEXT)
    digest = hashlib.sha256(TEXT.encode()).hexdigest()
    assert await desk.query() == {
        "fingerprint": desk.lane.fingerprint,
        "table_epoch": 0,
        "dims": 4,
        "provenance": {"engine": {"engine": "owned-cpu", "version": "build-1", "build_flags": {}}},
        "module_generation": 9,
        "equivalent_to": [],
        "vectors": [
            {
                "id": "0",
                "vector": msgspec.json.decode(expected_text(ids)),
                "content_sha256": digest,
                "submitted_sha256": digest,
            }
        ],
        "real_token_counts": [len(ids)],
        "truncation_disclosures": [
            {"id": "0", "submitted_tokens": len(ids), "effective_tokens": len(ids), "truncated": False}
        ],
    }


async def test_a_batch_answers_in_request_order_whatever_the_lengths(desk: Desk) -> None:
    texts = ["a b c d", "", "a", "東京", "a b", "a"]
    answer = await desk.batch(*texts)
    assert [vector["id"] for vector in answer["vectors"]] == ["i0", "i1", "i2", "i3", "i4", "i5"]
    for text, vector in zip(texts, answer["vectors"], strict=True):
        assert vector["vector"] == msgspec.json.decode(expected_text(await desk.ids(text)))
        assert vector["submitted_sha256"] == hashlib.sha256(text.encode()).hexdigest()
    assert answer["real_token_counts"] == [len(await desk.ids(text)) for text in texts]
    assert answer["real_token_counts"][1] == 2  # An empty text is its special tokens.
    assert [each["id"] for each in answer["truncation_disclosures"]] == ["i0", "i1", "i2", "i3", "i4", "i5"]


async def test_base64_is_the_same_vector_as_little_endian_float32(desk: Desk) -> None:
    (vector,) = (await desk.query(vector_encoding="base64"))["vectors"]
    assert base64.b64decode(vector["vector"]) == expected_raw(await desk.ids(TEXT))


async def test_the_fingerprint_of_a_lane_names_it_too(desk: Desk) -> None:
    fingerprint = desk.lane.fingerprint
    assert (await desk.query(model=fingerprint))["fingerprint"] == fingerprint
    constraints = {"required_fingerprint": fingerprint, "target_fingerprint": fingerprint, "required_epoch": 0}
    assert (await desk.query(**constraints))["fingerprint"] == fingerprint


# --- lengths ---


async def test_a_text_of_exactly_the_limit_is_served_and_one_more_token_is_refused(desk: Desk) -> None:
    assert (await desk.query("a " * 10))["real_token_counts"] == [12]
    error = await refused(desk.query("a " * 11))
    assert (error.code, error.class_, error.safe_to_retry_same_request) == ("sequence_too_long", "permanent", False)
    assert error.details == {"tokens": 13, "max_tokens": 12, "item_id": "0"}
    error = await refused(desk.batch("a", "a " * 20))
    assert error.details == {"tokens": 22, "max_tokens": 12, "item_id": "i1"}


async def test_a_lane_that_truncates_discloses_what_it_kept(desk: Desk) -> None:
    text = "a b a b a b a b a b"
    answer = await desk.query(text, model="cuts")
    tokenizer = await desk.tokenizer()
    kept = tokenizer.truncate(tokenizer.encode(text), 8)
    (vector,) = answer["vectors"]
    assert vector["vector"] == msgspec.json.decode(expected_text(kept.ids.tolist()))
    assert vector["submitted_sha256"] == hashlib.sha256(text.encode()).hexdigest()
    assert vector["content_sha256"] == hashlib.sha256(b"a b a b a b").hexdigest()
    assert answer["real_token_counts"] == [8]
    assert answer["truncation_disclosures"] == [
        {"id": "0", "submitted_tokens": 12, "effective_tokens": 8, "truncated": True}
    ]


async def test_a_text_that_fits_keeps_the_digest_of_its_own_bytes_although_its_tokens_decode_otherwise(
    desk: Desk,
) -> None:
    answer = await desk.query("A  B", model="cuts")  # The tokenizer lowers and strips.
    (vector,) = answer["vectors"]
    assert vector["content_sha256"] == vector["submitted_sha256"] == hashlib.sha256(b"A  B").hexdigest()


# --- refusals, in their order, before anything is loaded ---


@pytest.mark.parametrize(
    ("changes", "code", "details"),
    [
        ({"model": "absent", "required_epoch": 1}, "unknown_model", {"model_id": "absent"}),
        ({"model": OTHER}, "substitution_rejected", {"required_fingerprint": OTHER}),
        (
            {"required_epoch": 1, "required_fingerprint": OTHER},
            "migration_required",
            {"required_epoch": 1, "table_epoch": 0},
        ),
        (
            {"required_fingerprint": OTHER},
            "substitution_rejected",
            {"lane_id": "m", "required_fingerprint": OTHER},
        ),
        ({"target_fingerprint": OTHER}, "substitution_rejected", {"lane_id": "m", "required_fingerprint": OTHER}),
        (
            {"required_fingerprint": OTHER, "allow_equivalent": True},
            "substitution_rejected",
            {"lane_id": "m", "required_fingerprint": OTHER},
        ),
    ],
)
async def test_a_lane_that_is_not_what_was_asked_for_refuses_without_loading(
    desk: Desk, changes: dict[str, Any], code: str, details: dict[str, Any]
) -> None:
    desk.certify()  # Nothing is certified, and that comes last.
    error = await refused(desk.query("a " * 99, **changes))
    assert (error.code, error.level, error.details) == (code, "semantic", details)
    assert (desk.loader.loads, desk.loader.reads, desk.held()) == (0, 0, 0)


async def test_a_lane_that_was_never_probed_refuses(desk: Desk) -> None:
    desk.certify()
    error = await refused(desk.query("a " * 99))
    assert (error.code, error.details) == ("probe_required", {"model_id": "m"})
    assert desk.loader.reads == 0


async def test_a_lane_that_failed_its_probe_refuses(desk: Desk) -> None:
    desk.certify("m", status="uncertified", reason="gate_missed:min_cosine")
    error = await refused(desk.batch("a"))
    assert (error.code, error.details) == ("not_certified", {"model_id": "m", "reason": "gate_missed:min_cosine"})


async def test_a_quarantined_lane_refuses_although_it_is_certified(desk: Desk) -> None:
    desk.lane.quarantine.fault("crash")
    desk.lane.quarantine.fault("crash")
    error = await refused(desk.query())
    assert (error.code, error.class_) == ("probe_required", "permanent")
    assert error.details == {"model_id": "m", "reason": "quarantined"}


async def test_a_lane_that_is_quarantined_while_a_text_is_tokenized_refuses(desk: Desk) -> None:
    desk.loader.gate = asyncio.Event()
    asking = asyncio.create_task(desk.query())
    await until(lambda: desk.loader.reads)
    desk.lane.quarantine.fault("crash")
    desk.lane.quarantine.fault("crash")
    desk.loader.gate.set()
    error = await refused(asking)
    assert (error.code, error.details) == ("probe_required", {"model_id": "m", "reason": "quarantined"})
    assert desk.loader.loads == 0


async def test_a_lane_that_is_switched_off_is_unknown(desk: Desk) -> None:
    desk.settings = Settings(cpu_lanes=False)
    assert (await refused(desk.query())).code == "unknown_model"


# --- budgets ---


@pytest.mark.parametrize(
    ("settings", "texts", "line_bytes"),
    [
        ({"inline_max_items": 2}, ["a", "b", "c"], 100),
        ({"inline_max_bytes": 1024}, ["a", "é" * 600], 1300),
        ({"inline_max_tokens": 128}, ["a a a a a a a a"] * 13, 100),
    ],
)
async def test_a_batch_over_a_budget_becomes_a_job_and_computes_nothing_inline(
    desk: Desk, settings: dict[str, Any], texts: list[str], line_bytes: int
) -> None:
    desk.settings = Settings(cpu_lanes=True, **settings)
    model = "cuts" if line_bytes > 1000 else "m"
    assert await desk.batch(*texts, line_bytes=line_bytes, model=model) == {"job": {"job_id": "job-1"}}
    assert len(desk.diverted) == 1
    assert all(loader.loads == 0 for loader in desk.loaders.values())


async def test_a_batch_at_its_budgets_is_answered_inline(desk: Desk) -> None:
    desk.settings = Settings(cpu_lanes=True, inline_max_items=2, inline_max_bytes=1024, inline_max_tokens=128)
    assert len((await desk.batch("a", "b", line_bytes=2000))["vectors"]) == 2
    assert desk.diverted == []


# --- the queue ---


async def test_a_wait_that_is_too_long_is_refused_at_once_with_both_numbers(desk: Desk) -> None:
    await desk.lane.ensure_ready()
    desk.loader.worker.gate = asyncio.Event()
    desk.lane.pace.record(10, 1.0)  # A tenth of a second a token.
    running = ask(desk.lane, [5] * 10)
    await until(lambda: desk.loader.worker.calls)
    waiting = ask(desk.lane, [5] * 20)
    error = await refused(desk.query(max_queue_ms=1500))
    assert (error.code, error.class_, error.retry_after_ms) == ("queue_full", "transient", 250)
    assert error.details is not None
    assert error.details["max_queue_ms"] == 1500
    assert 2500 <= error.details["estimated_ms"] <= 3000
    assert (await refused(desk.query(max_queue_ms=0))).code == "queue_full"
    desk.loader.worker.gate.set()
    await running.done
    await waiting.done
    assert (await desk.query(max_queue_ms=0))["dims"] == 4


async def test_the_setting_bounds_the_wait_of_a_request_that_names_none(desk: Desk) -> None:
    await desk.lane.ensure_ready()
    desk.loader.worker.gate = asyncio.Event()
    desk.lane.pace.record(10, 1.0)
    ask(desk.lane, [5] * 10)
    ask(desk.lane, [5] * 10)
    desk.settings = Settings(cpu_lanes=True, default_max_queue_ms=100)
    error = await refused(desk.query())
    assert error.details is not None
    assert error.details["max_queue_ms"] == 100
    desk.loader.worker.gate.set()


async def test_a_full_queue_refuses_with_its_depth(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk.lane, "_queue_capacity", lambda: 1)
    desk.loader.hold = asyncio.Event()
    first = asyncio.create_task(desk.query())
    await until(lambda: desk.loader.loads)
    error = await refused(desk.query())
    assert (error.code, error.details) == ("queue_full", {"class": "interactive", "depth": 1})
    desk.loader.hold.set()
    await first
    assert desk.held() == 0


# --- deadlines ---


async def test_a_deadline_counts_from_the_receipt_of_the_line(desk: Desk) -> None:
    error = await refused(desk.query(age_s=1.0, deadline_ms=900))
    assert (error.code, error.class_, error.safe_to_retry_same_request) == ("deadline_exceeded", "transient", False)
    assert (error.retry_after_ms, error.details) == (None, None)
    assert desk.loader.loads == 0


async def test_the_setting_is_the_deadline_of_a_request_that_names_none(desk: Desk) -> None:
    desk.settings = Settings(cpu_lanes=True, default_deadline_ms=900)
    assert (await refused(desk.query(age_s=1.0))).code == "deadline_exceeded"


async def test_a_deadline_during_the_computing_is_answered_then_and_is_no_strike(desk: Desk) -> None:
    await desk.query()
    worker = desk.loader.worker
    worker.gate = asyncio.Event()
    began = time.monotonic()
    error = await refused(desk.query("late", deadline_ms=50))
    assert error.code == "deadline_exceeded"
    assert 0.04 <= time.monotonic() - began < 5  # It didn't wait for the worker, which is still at it.
    assert desk.lane.busy
    assert (desk.lane.quarantine.strikes, desk.held()) == (0, 0)
    # The next request gets its own vector, not that of the one that left.
    after = asyncio.create_task(desk.query("after"))
    await asyncio.sleep(0)
    worker.gate.set()
    (vector,) = (await after)["vectors"]
    assert vector["vector"] == msgspec.json.decode(expected_text(await desk.ids("after")))
    assert desk.loader.loads == 1


async def test_a_deadline_in_the_queue_is_answered_then_and_the_rows_are_never_computed(desk: Desk) -> None:
    await desk.lane.ensure_ready()
    worker = desk.loader.worker
    worker.gate = asyncio.Event()
    running = ask(desk.lane, [5] * 3)
    await until(lambda: worker.calls)
    assert (await refused(desk.query(deadline_ms=50))).code == "deadline_exceeded"
    worker.gate.set()
    await running.done
    await until(lambda: not desk.lane.busy)
    assert worker.calls == [[3]]


async def test_a_deadline_while_the_tokenizer_is_read_is_answered_then(desk: Desk) -> None:
    desk.loader.gate = asyncio.Event()
    assert (await refused(desk.query(deadline_ms=50))).code == "deadline_exceeded"
    assert (desk.loader.loads, desk.held()) == (0, 0)
    desk.loader.gate.set()
    assert (await desk.query())["dims"] == 4


# --- loading ---


@pytest.fixture
def short_load_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed, "LOAD_WAIT_S", 0.1)


@pytest.mark.usefixtures("short_load_wait")
async def test_a_load_that_takes_too_long_is_model_loading(desk: Desk) -> None:
    desk.loader.hold = asyncio.Event()
    error = await refused(desk.query())
    assert (error.code, error.class_, error.retry_after_ms) == ("model_loading", "transient", 250)
    assert (error.safe_to_retry_same_request, error.details) == (True, None)
    # The load goes on, and the retry finds the lane ready.
    desk.loader.hold.set()
    assert (await desk.query())["dims"] == 4
    assert desk.loader.loads == 1


@pytest.mark.usefixtures("short_load_wait")
async def test_a_deadline_before_the_end_of_the_load_wait_is_deadline_exceeded(desk: Desk) -> None:
    desk.loader.hold = asyncio.Event()
    assert (await refused(desk.query(deadline_ms=50))).code == "deadline_exceeded"


@pytest.mark.usefixtures("short_load_wait")
async def test_a_load_within_the_wait_is_waited_for(desk: Desk) -> None:
    desk.loader.hold = asyncio.Event()
    asking = asyncio.create_task(desk.query())
    await asyncio.sleep(0.03)
    desk.loader.hold.set()
    assert (await asking)["dims"] == 4


@pytest.mark.usefixtures("short_load_wait")
async def test_waiting_for_another_request_is_never_model_loading(desk: Desk) -> None:
    await desk.lane.ensure_ready()
    desk.loader.worker.gate = asyncio.Event()
    running = ask(desk.lane, [5] * 3)
    asking = asyncio.create_task(desk.query())
    await asyncio.sleep(0.35)
    assert not asking.done()
    desk.loader.worker.gate.set()
    assert (await asking)["dims"] == 4
    await running.done


@pytest.mark.usefixtures("short_load_wait")
async def test_a_lane_that_loses_its_worker_lets_those_who_wait_wait_no_longer_than_for_a_first_load(
    desk: Desk, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("worker_lost")
    await desk.lane.ensure_ready()
    worker = desk.loader.worker
    worker.gate = asyncio.Event()
    running = ask(desk.lane, [5] * 3)
    await until(lambda: worker.calls)
    asking = asyncio.create_task(desk.query())
    await asyncio.sleep(0.2)  # Longer than the wait for a load, but the lane was ready.
    desk.loader.hold = asyncio.Event()
    worker.faults.append(WorkerCrashed(-9, ""))
    worker.gate.set()
    assert (await refused(asking)).code == "model_loading"
    assert isinstance(running.done.exception(), SynapseError)
    desk.loader.hold.set()


# --- faults and those who leave ---


async def test_an_engine_that_crashes_is_reported_and_the_next_request_is_served(
    desk: Desk, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("worker_lost")
    await desk.lane.ensure_ready()
    desk.loader.worker.faults.append(WorkerCrashed(-11, ""))
    error = await refused(desk.query())
    assert (error.code, error.retry_after_ms) == ("engine_crashed", 250)
    assert error.details == {"lane_id": "m", "reason": "crash", "exit": -11}
    assert (await desk.query())["dims"] == 4
    assert desk.loader.loads == 2


async def test_an_item_that_is_not_finite_fails_its_batch_and_is_named(desk: Desk) -> None:
    await desk.lane.ensure_ready()
    desk.loader.worker.non_finite = (1,)
    error = await refused(desk.batch("one", "one two three", "one two"))
    assert (error.code, error.details) == ("engine_crashed", {"item_id": "i2", "reason": "non_finite"})
    assert desk.lane.quarantine.strikes == 1


async def test_a_request_holds_its_lane_until_it_is_answered(desk: Desk) -> None:
    desk.loader.hold = asyncio.Event()
    asking = asyncio.create_task(desk.query())
    await until(lambda: desk.loader.loads)
    assert msgspec.to_builtins(desk.leases.holders("m")) == [{"kind": "request", "lease_id": "lease-1"}]
    desk.loader.hold.set()
    await asking
    assert desk.held() == 0


async def test_a_request_that_is_cancelled_in_the_queue_never_runs_and_lets_go(desk: Desk) -> None:
    await desk.lane.ensure_ready()
    worker = desk.loader.worker
    worker.gate = asyncio.Event()
    running = ask(desk.lane, [5] * 3)
    await until(lambda: worker.calls)
    leaving = asyncio.create_task(desk.query())
    await until(lambda: desk.lane.queue.depth("interactive") == 1)
    leaving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)
    assert (desk.held(), desk.lane.queue.depth("interactive")) == (0, 0)
    worker.gate.set()
    await running.done
    await until(lambda: not desk.lane.busy)
    assert worker.calls == [[3]]
