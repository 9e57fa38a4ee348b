"""What both clients do with lanes and pauses: the parameters that go out, and the shapes that come back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from fixtures.fake_service import FakeService
from synapse_client import AsyncClient, Client

LANE: dict[str, Any] = {
    "lane_id": "mini",
    "model_id": "mini",
    "task": "embed",
    "engine": "owned-cpu",
    "fingerprint": "syn1-x",
    "state": "ready",
    "requests_done": 3,
    "requests_refused": 1,
    "in_flight": 0,
    "waiting": 0,
    "keep_warm": True,
    "self_check": {"state": "not_applicable"},
    "pause": {"phase": "draining", "reason": "a film"},
    "pins": ["user"],
    "users": ["editor"],
}
PAUSE = {"phase": "draining", "hardware_free": False, "lane_ids": ["mini"], "reason": "a film"}


@pytest.fixture(params=["blocking", "asyncio"])
def either(request: pytest.FixtureRequest, fake: FakeService) -> Iterator[Any]:
    """A client of each kind; the asyncio one's methods run to their ends."""
    fake.on("lanes.list", lambda _: {"module_generation": 2, "lanes": [LANE]})
    for method in ("lanes.load", "lanes.keep_warm"):
        fake.on(method, lambda _: LANE)
    for method in ("lanes.pause", "lanes.resume", "lanes.status", "service.pause", "service.resume"):
        fake.on(method, lambda _: PAUSE)
    if request.param == "blocking":
        with Client(fake.address) as client:
            yield client
        return
    loop = asyncio.new_event_loop()
    client = AsyncClient(fake.address)

    class Awaited:
        def __getattr__(self, name: str) -> Any:
            method = getattr(client, name)
            return lambda *args, **options: loop.run_until_complete(method(*args, **options))

    yield Awaited()
    loop.run_until_complete(client.close())
    loop.close()


def test_lanes_are_read_loaded_and_kept_warm(either: Any, fake: FakeService) -> None:
    (lane,) = either.lanes_list().lanes
    assert (lane.lane_id, lane.requests_done, lane.users, lane.pause.reason) == ("mini", 3, ["editor"], "a film")
    assert either.lanes_load("mini").state == "ready"
    assert either.lanes_keep_warm("mini").keep_warm is True
    either.lanes_keep_warm("mini", on=False)
    assert fake.received[1:] == [
        ("lanes.list", {}),
        ("lanes.load", {"lane_id": "mini"}),
        ("lanes.keep_warm", {"lane_id": "mini", "on": True}),
        ("lanes.keep_warm", {"lane_id": "mini", "on": False}),
    ]


def test_pauses_are_asked_for_in_minutes(either: Any, fake: FakeService) -> None:
    assert either.lanes_pause(45, reason="measuring").phase == "draining"
    assert either.lanes_status().hardware_free is False
    either.lanes_resume()
    either.service_pause(0.5, reason="a film")
    either.service_pause(reason="a film")
    either.service_resume()
    assert fake.received[1:] == [
        ("lanes.pause", {"scope": "neural_engine", "duration_ms": 2_700_000, "reason": "measuring"}),
        ("lanes.status", {}),
        ("lanes.resume", {}),
        ("service.pause", {"duration_ms": 30_000, "reason": "a film"}),
        ("service.pause", {"until_resumed": True, "reason": "a film"}),
        ("service.resume", {}),
    ]
