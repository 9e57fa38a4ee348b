"""`synapse status`: does the service run, what has it loaded, and what is it working on?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from synapse_cli.options import Home, Json

if TYPE_CHECKING:
    from synapse_wire.results import ServiceInfo


def register(app: typer.Typer) -> None:
    app.command()(status)


def _pause(info: ServiceInfo) -> list[tuple[str, str]]:
    from datetime import datetime

    import msgspec

    pause = info.pause
    if isinstance(pause, msgspec.UnsetType):
        return []
    until_ms = pause.paused_until_ms
    until = "until `synapse resume`"
    if isinstance(until_ms, int):
        until = "until " + datetime.fromtimestamp(until_ms / 1000).isoformat(sep=" ", timespec="seconds")
    return [("paused", f"{pause.phase.replace('_', ' ')}, {until}: {pause.reason}")]


def status(home: Home = None, as_json: Json = False) -> None:
    """Show whether the service runs, and what it is doing. Exits with 3 when it doesn't run."""
    from synapse_cli import figures, jobs
    from synapse_cli.commands.jobs import NEWEST
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting
    from synapse_client.results import LIVE

    output = Output(as_json)
    with reporting(output, "ask the service"), open_client(home) as client:
        info = client.info()
        listing = client.models_list()
        live = client.jobs_list(LIVE, limit=NEWEST).jobs
        if as_json:
            output.json({"service": info, "models": listing.models, "jobs": live})
            return
        output.line(f"Synapse {info.server_version} is running ({info.state})")
        output.facts(
            [
                (
                    "process",
                    f"{info.pid}, up {figures.duration(info.uptime_ms)}, start number {info.module_generation}",
                ),
                ("socket", info.socket_path),
                ("home", info.home),
                ("connections", str(info.connections)),
                *_pause(info),
                ("models", ", ".join(f"{row.model_id} ({row.state})" for row in listing.models) or "none"),
                *([("jobs", "none at work")] if not live else []),
                *(("job", f"{row.job_id}: {jobs.brief(row)}") for row in live),
            ]
        )
