"""What importing the client costs: no asyncio, no NumPy, no part of the service. In a fresh interpreter each time."""

from __future__ import annotations

import subprocess
import sys

HEAVY = {"asyncio", "numpy", "concurrent.futures", "ssl", "rich", "typer", "synapse_service", "synapse_cli"}


def loaded_by(program: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\nimport sys\nprint(' '.join(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return set(done.stdout.split())


def test_importing_the_client_loads_nothing_heavy() -> None:
    modules = loaded_by("import synapse_client")
    assert "synapse_client.client" in modules
    assert HEAVY & modules == set()


def test_making_and_using_a_blocking_client_loads_nothing_heavy() -> None:
    program = """
import synapse_client
try:
    synapse_client.Client("/nowhere/service.sock").info()
except synapse_client.ServiceNotRunning:
    pass
"""
    assert HEAVY & loaded_by(program) == set()


def test_naming_the_asyncio_client_loads_it() -> None:
    modules = loaded_by("from synapse_client import AsyncClient, Event, EventStream")
    assert {"asyncio", "synapse_client.aio", "synapse_client.events"} <= modules
    assert "numpy" not in modules
