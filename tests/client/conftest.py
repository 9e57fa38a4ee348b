"""A running fake service, in a home folder of its own, and a client of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.bulk import Pauses
from fixtures.fake_service import FakeService, model_row, short_folder
from synapse_client import Client


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in ("SYNAPSE_HOME", "SYNAPSE_RUNTIME_DIR", "SYNAPSE_SOCKET"):
        monkeypatch.delenv(name, raising=False)
    with short_folder() as path:
        yield path


@pytest.fixture
def fake(home: Path) -> Iterator[FakeService]:
    with FakeService(home / "run") as service:
        service.models["mini"] = model_row("mini")
        yield service


@pytest.fixture
def client(fake: FakeService) -> Iterator[Client]:
    """A blocking client of the fake service that doesn't really sleep."""
    with Client(fake.address, sleep=Pauses()) as opened:
        yield opened
