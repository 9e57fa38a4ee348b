"""Fixtures of the end-to-end tests: real services with real models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.model_files import tiny_model
from fixtures.service_process import ServiceProcess, load_and_probe, running_service


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ServiceProcess]:
    """A fresh service with CPU lanes on and no model."""
    with running_service(tmp_path / "home", arguments=("--cpu-lanes",)) as service:
        yield service


@pytest.fixture(scope="module")
def tiny_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    """A service that serves a certified tiny BERT as ``tiny``; shared by the tests of a module."""
    home = tmp_path_factory.mktemp("service") / "home"
    with running_service(home, arguments=("--cpu-lanes",)) as service:
        with service.client() as client:
            load_and_probe(client, "tiny", tiny_model("bert"))
        yield service
