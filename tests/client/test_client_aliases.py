"""What both clients do with equivalences: asking about an index, and reading what answers and pages say of them."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from fixtures.fake_service import FINGERPRINT, FakeCall, FakeService, embedded
from synapse_client import AsyncClient, Client
from synapse_wire import results as r

OTHER = "syn1-" + "0" * 64
BROKEN = r.IndexChecked(
    status="migration_required", retracted_pair=[FINGERPRINT, OTHER], rebuild_target=FINGERPRINT, table_epoch=3
)


def test_both_clients_ask_whether_an_index_may_stay(fake: FakeService) -> None:
    fake.on("aliases.check_index", lambda call: BROKEN)

    async def ask() -> r.IndexChecked:
        async with AsyncClient(fake.address) as client:
            return await client.aliases_check_index(FINGERPRINT, {OTHER: None}.keys())  # type: ignore[arg-type]

    with Client(fake.address) as client:
        answers = [client.aliases_check_index(FINGERPRINT, (OTHER,)), asyncio.run(ask())]
    assert answers == [BROKEN, BROKEN]
    sent = [params for method, params in fake.received if method == "aliases.check_index"]
    assert sent == [{"index_fingerprint": FINGERPRINT, "provenance_set": [OTHER]}] * 2
    fake.on("aliases.check_index", lambda call: r.IndexChecked(status="valid", table_epoch=3))
    with Client(fake.address) as client:
        valid = client.aliases_check_index(FINGERPRINT, [])
    assert (valid.status, valid.retracted_pair, valid.table_epoch) == ("valid", msgspec.UNSET, 3)


def test_an_answer_and_a_page_say_what_is_equivalent(fake: FakeService) -> None:
    def query(call: FakeCall) -> Any:
        return msgspec.structs.replace(embedded(call, [("0", call.params.text)]), equivalent_to=[OTHER], table_epoch=7)

    fake.on("embed.query", query)
    page = {
        "fingerprint": FINGERPRINT,
        "table_epoch": 7,
        "dims": 2,
        "provenance": {"engine": {"engine": "owned-cpu", "version": "1", "build_flags": {}}},
        "module_generation": 1,
        "equivalent_to": [OTHER],
        "job_id": "j",
        "state": "running",
        "page_index": 0,
        "items": [],
        "pages_available": 0,
        "next_cursor": 0,
    }
    fake.on("embed.result", lambda call: page)
    with Client(fake.address) as client:
        answer, read = client.embed_query("mini", "x"), client.embed_result("j")
    assert (answer.table_epoch, answer.equivalent_to) == (7, [OTHER])
    assert (read.table_epoch, read.equivalent_to) == (7, [OTHER])
