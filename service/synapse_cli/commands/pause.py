"""`synapse pause` and `synapse resume`: free this machine's memory and hardware for something else, and go on."""

from __future__ import annotations

from typing import Annotated

import typer

from synapse_cli.options import Home, Json


def register(app: typer.Typer) -> None:
    app.command()(pause)
    app.command()(resume)


def pause(
    minutes: Annotated[
        float | None, typer.Option(min=0.001, max=10_080, help="For how long; without it, until `synapse resume`.")
    ] = None,
    reason: Annotated[str, typer.Option(help="Why, for others to read.")] = "paused from the command line",
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Pause every local lane: what was accepted ends, then workers are unloaded and new work is refused."""
    from synapse_cli import pauses
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    with reporting(output, "pause the service"), open_client(home) as client:
        pauses.show(output, client.service_pause(minutes, reason=reason))


def resume(home: Home = None, as_json: Json = False) -> None:
    """End such a pause. Lanes load again when they are asked."""
    from synapse_cli import pauses
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    with reporting(output, "resume the service"), open_client(home) as client:
        pauses.show(output, client.service_resume())
