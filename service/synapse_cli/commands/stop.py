"""`synapse stop`: end the service, and say so only once it has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from synapse_cli import exits
from synapse_cli.options import Home, Json

if TYPE_CHECKING:
    from pathlib import Path

    from synapse_cli.output import Output
    from synapse_client import Client
    from synapse_wire.results import ServiceInfo

GRACE_S: Final = 10.0
"""How long the process may take to end after the drain: workers, database, log."""


def register(app: typer.Typer) -> None:
    app.command()(stop)


def stop(
    force: Annotated[bool, typer.Option("--force", help="Stop although models, jobs or requests are held.")] = False,
    drain: Annotated[float, typer.Option(min=0, max=600, help="Seconds that running requests may take.")] = 10.0,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Stop the service and wait until it has ended. Does nothing when none runs."""
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting
    from synapse_client import ServiceNotRunning

    output = Output(as_json)
    with reporting(output, "stop the service"):
        client = open_client(home)
        try:
            info = client.info()
        except ServiceNotRunning:
            _say(output, "not_running", "No service is running.")
            return
        _end(output, client, info, force, drain)


def _end(output: Output, client: Client, info: ServiceInfo, force: bool, drain_s: float) -> None:
    from synapse_cli.reporting import CommandError

    with client, output.progress("Stopping"):
        process = _Process(info.pid)
        stopping = client.shutdown(drain_ms=round(drain_s * 1000), force=force)
        for holder in stopping.holders:
            output.note(f"cut off: {_named(holder)}")
        client.close()
        if not process.ended(stopping.drain_ms / 1000 + GRACE_S):
            raise CommandError(
                "still_running", f"Process {info.pid} hasn't ended.", f"Look at `synapse logs`, or end process {info.pid}."
            )
    _say(output, "stopped", "The service has stopped.")
"""
"""
