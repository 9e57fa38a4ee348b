"""``models.catalog`` on a real socket: rows to the letter, every filter, and what null means."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from fixtures.socket_server import RawClient, serving
from synapse_engines.devices import DeviceEvidence, Reason
from synapse_service.catalog.availability import Availability
from synapse_service.catalog.compiled import CatalogEntry, CatalogLane, shipped_catalog
from synapse_service.catalog.install_states import InstallState
from synapse_service.operations.catalog import CatalogOperations
from synapse_service.server.router import Router
from synapse_wire.results import SelfCheckState

CATALOG = shipped_catalog()
GTE, GTE_RERANKER, QWEN, QWEN_RERANKER = (entry.id for entry in CATALOG.entries)


class Machine:
    """What the service finds: devices, the setting, and what is installed. Changes count at once."""

    def __init__(self) -> None:
        self.metal: Reason | None = "not_supported_on_platform"
        self.cpu_lanes = False
        self.states: dict[str, InstallState] = {}
        self.checks: dict[str, SelfCheckState] = {}

    def install_state(self, entry: CatalogEntry) -> InstallState:
        return self.states.get(entry.id, "not_installed")

    def self_check(self, lane: CatalogLane) -> SelfCheckState | None:
        return self.checks.get(lane.lane_id)

    def router(self) -> Router:
        reasons = {"metal": self.metal, "cpu": None}
        available = Availability(
            CATALOG, lambda backend: DeviceEvidence(backend, reasons[backend]), cpu_lanes=lambda: self.cpu_lanes
        )
        router = Router()
        CatalogOperations(catalog=CATALOG, availability=available, installs=self).register(router)
        return router


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
async def client(machine: Machine) -> AsyncIterator[RawClient]:
    async with serving(machine.router()) as running:
        yield await running.connect()


async def ids(client: RawClient, **filters: Any) -> list[str]:
    found = await client.result("models.catalog", filters)
    return [row["id"] for row in found["models"]]


async def row(client: RawClient, catalog_id: str) -> dict[str, Any]:
    found: list[dict[str, Any]] = (await client.result("models.catalog", {"query": catalog_id}))["models"]
    return found[0]


def fingerprint(lane_id: str) -> str:
    lane = CATALOG.lane(lane_id)
    assert lane is not None
    return lane.fingerprint


async def test_on_linux_without_cpu_lanes_the_answer_is_the_contracts_to_the_letter(client: RawClient) -> None:
    found = await client.result("models.catalog")
    assert list(found) == ["catalog_revision", "models"]
    assert found["catalog_revision"] == "1"
    assert found["models"][0] == {
        "id": "gte-modernbert-base",
        "task": "embed",
        "name": "GTE ModernBERT base",
        "description": (
            "Turns English text and source code into vectors of 768 numbers, for search and for finding what is alike. "
            "Small and quick, and takes long passages whole."
        ),
        "default_for_task": True,
        "upstream": {
            "hf_repo": "Alibaba-NLP/gte-modernbert-base",
            "revision": "e7f32e3c00f91d699e8c43b53106206bcc72bb22",
        },
        "manifest_digest": "7b2e0232161143db18734bb44a9fcaefb7e0ed2eea27942c9510b92b50f255df",
        "download_bytes": 0,
        "install_state": "not_installed",
        "backends": [
            {
                "backend": "metal",
                "lane_id": "gte-modernbert-base-metal",
                "fingerprint": fingerprint("gte-modernbert-base-metal"),
                "runnable": False,
                "reason": "not_supported_on_platform",
                "installed": False,
                "self_check": None,
            }
        ],
    }
    last = found["models"][-1]
    assert (last["id"], last["backends"], last["download_bytes"]) == (QWEN_RERANKER, [], 0)
    assert last["default_for_task"] is False


async def test_rows_are_ordered_by_id(client: RawClient) -> None:
    assert await ids(client) == [GTE, GTE_RERANKER, QWEN, QWEN_RERANKER]


async def test_with_cpu_lanes_each_row_gains_a_last_backend_and_its_bytes(client: RawClient, machine: Machine) -> None:
    digest = (await row(client, QWEN_RERANKER))["manifest_digest"]
    machine.cpu_lanes = True
    found = await row(client, QWEN_RERANKER)
    assert found["backends"] == [
        {
            "backend": "cpu",
            "lane_id": "qwen3-reranker-0.6b-cpu",
            "fingerprint": fingerprint("qwen3-reranker-0.6b-cpu"),
            "runnable": True,
            "reason": None,
            "installed": False,
            "self_check": None,
        }
    ]
    assert found["download_bytes"] == 727 + 1_191_588_280 + 11_422_654
    assert found["manifest_digest"] == digest
    backends = [backend["backend"] for backend in (await row(client, GTE_RERANKER))["backends"]]
    assert backends == ["metal", "cpu"]


async def test_download_bytes_count_each_file_once_and_do_not_care_what_is_installed(machine: Machine) -> None:
    machine.metal, machine.cpu_lanes, machine.states = None, True, {GTE: "installed"}
    async with serving(machine.router()) as running:
        found = await row(await running.connect(), GTE)
    assert [backend["runnable"] for backend in found["backends"]] == [True, True]
    assert found["download_bytes"] == 1184 + 298_041_568 + 3_583_228


async def test_an_installed_entry_shows_the_self_check_of_each_lane(client: RawClient, machine: Machine) -> None:
    machine.cpu_lanes, machine.states = True, {GTE: "installed"}
    machine.checks = {
        "gte-modernbert-base-metal": SelfCheckState(state="pending", check_id="a" * 64),
        "gte-modernbert-base-cpu": SelfCheckState(state="failed", check_id="b" * 64, reason="cosine_too_low"),
    }
    found = await row(client, GTE)
    assert found["install_state"] == "installed"
    assert [(backend["installed"], backend["self_check"]) for backend in found["backends"]] == [
        (True, {"state": "pending", "check_id": "a" * 64}),
        (True, {"state": "failed", "check_id": "b" * 64, "reason": "cosine_too_low"}),
    ]


async def test_a_stale_entry_has_no_installed_lane_and_no_self_check(client: RawClient, machine: Machine) -> None:
    machine.cpu_lanes, machine.states = True, {GTE: "stale"}
    machine.checks = {"gte-modernbert-base-cpu": SelfCheckState(state="passed")}
    found = await row(client, GTE)
    assert found["install_state"] == "stale"
    assert [(backend["installed"], backend["self_check"]) for backend in found["backends"]] == [
        (False, None),
        (False, None),
    ]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("gte-reranker", [GTE_RERANKER]),
        ("QWEN3", [QWEN, QWEN_RERANKER]),
        ("  rerank\n", [GTE_RERANKER, QWEN_RERANKER]),
        ("GTE ModernBERT base", [GTE]),
        ("source code", [GTE]),
        ("many languages", [QWEN, QWEN_RERANKER]),
        ("   ", [GTE, GTE_RERANKER, QWEN, QWEN_RERANKER]),
        ("", [GTE, GTE_RERANKER, QWEN, QWEN_RERANKER]),
        ("base Turns", []),
        ("Apache", []),
    ],
)
async def test_a_query_is_found_in_id_name_or_description(client: RawClient, query: str, expected: list[str]) -> None:
    assert await ids(client, query=query) == expected


async def test_a_task_matches_exactly(client: RawClient) -> None:
    assert await ids(client, task="embed") == [GTE, QWEN]
    assert await ids(client, task="rerank") == [GTE_RERANKER, QWEN_RERANKER]
    assert await ids(client, task="generate") == []


async def test_runnable_here_follows_the_machine_and_the_setting(client: RawClient, machine: Machine) -> None:
    everything = [GTE, GTE_RERANKER, QWEN, QWEN_RERANKER]
    assert await ids(client, runnable_here=True) == []
    assert await ids(client, runnable_here=False) == everything
    machine.cpu_lanes = True
    assert await ids(client, runnable_here=True) == everything
    assert await ids(client, runnable_here=False) == []


async def test_not_installed_and_stale_are_both_not_installed(client: RawClient, machine: Machine) -> None:
    machine.states = {GTE: "installed", QWEN: "stale"}
    assert await ids(client, installed=True) == [GTE]
    assert await ids(client, installed=False) == [GTE_RERANKER, QWEN, QWEN_RERANKER]


async def test_filters_narrow_together_and_null_narrows_nothing(client: RawClient, machine: Machine) -> None:
    machine.states = {GTE: "installed", GTE_RERANKER: "installed"}
    assert await ids(client, query="gte", task="rerank", installed=True, runnable_here=False) == [GTE_RERANKER]
    assert await ids(client, query="qwen", installed=True) == []
    assert await ids(client, query=None, task=None, installed=None, runnable_here=None) == await ids(client)


async def test_an_unknown_parameter_is_a_channel_error(client: RawClient) -> None:
    error = await client.error("models.catalog", {"language": "en"})
    assert (error["code"], error["number"]) == ("invalid_request", -32602)
