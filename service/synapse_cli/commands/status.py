"""`synapse status`: does the service run, and what has it loaded?"""

from __future__ import annotations

import typer

from synapse_cli.options import Home, Json


def register(app: typer.Typer) -> None:
    app.command()(status)


def status(home: Home = None, as_json: Json = False) -> None:
    """Show whether the service runs, where, and with which models. Exits with 3 when it doesn't run."""
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    with reporting(output, "ask the service"), open_client(home) as client:
        info = client.info()
        listing = client.models_list()
        if as_json:
            output.json({"service": info, "models": listing.models})
            return
        output.line(f"Synapse {info.server_version} is running ({info.state})")
        output.facts(
            [
                ("process", f"{info.pid}, up {uptime(info.uptime_ms)}, start number {info.module_generation}"),
                ("socket", info.socket_path),
                ("home", info.home),
                ("connections", str(info.connections)),
                ("models", ", ".join(f"{row.model_id} ({row.state})" for row in listing.models) or "none"),
            ]
        )


def uptime(milliseconds: int) -> str:
    """A duration in the two largest units that it has."""
    seconds = milliseconds // 1000
    days, hours, minutes = seconds // 86_400, seconds // 3600 % 24, seconds // 60 % 60
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds % 60} s" if minutes else f"{seconds} s"
