"""`synapse doctor`: what is wrong, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from synapse_cli import exits
from synapse_cli.options import Home, Json

if TYPE_CHECKING:
    from pathlib import Path

    from synapse_wire.results import Diagnostic


def register(app: typer.Typer) -> None:
    app.command()(doctor)


def doctor(home: Home = None, as_json: Json = False) -> None:
    """Examine the installation. Exits with 1 when a check finds an error; warnings don't count.

    A running service examines itself. Without one, everything is checked that can be known from outside.
    """
    from synapse_cli.output import Output
    from synapse_cli.reporting import reporting

    output = Output(as_json)
    with reporting(output, "examine the installation"):
        running, checks = _checks(home)
    if as_json:
        output.json({"running": running, "checks": checks})
    else:
        for check in checks:
            output.line(f"{check.status:8} {check.check}: {check.summary}")
            if isinstance(check.remedy, str) and check.status != "ok":
                output.line(f"{'':8} → {check.remedy}")
    if any(check.status == "error" for check in checks):
        raise typer.Exit(exits.FAILED)


def _checks(home: Path | None) -> tuple[bool, list[Diagnostic]]:
    from synapse_cli.reporting import open_client
    from synapse_client import ConnectionLost, EndpointRefused, NoReply, ServiceNotRunning

    try:
        with open_client(home) as client:
            return True, client.diagnostics().checks
    except (ServiceNotRunning, EndpointRefused, NoReply, ConnectionLost) as failure:
        from synapse_cli.local_checks import examine
        from synapse_wire.endpoint import resolve_endpoint

        return False, examine(resolve_endpoint(home=home), home, failure)
