"""`synapse stop`: end the service, and say so only once it has ended."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Final

import typer

from synapse_cli.options import Home, Json

if TYPE_CHECKING:
    import psutil

    from synapse_cli.output import Output
    from synapse_client import Client
    from synapse_wire.results import Holder

GRACE_S: Final = 10.0
"""How long the process may take to end after the drain: workers, database, log."""

_LOOK_S: Final = 0.1

HELD: Final = "Let what holds it finish, or use --force to cut it off."


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
    with reporting(output, "stop the service", advice={"invalid_request": HELD}):
        client = open_client(home)
        try:
            info = client.info()
        except ServiceNotRunning:
            _say(output, "not_running", "No service is running.")
            return
        with client:
            _end(output, client, info.pid, round(drain * 1000), force)
        _say(output, "stopped", "The service has stopped.")


def _end(output: Output, client: Client, pid: int, drain_ms: int, force: bool) -> None:
    import psutil

    from synapse_cli.reporting import CommandError

    try:
        # Looked up while it is alive, so that another process with its number can't be taken for it.
        process = psutil.Process(pid)
    except psutil.NoSuchProcess:
        process = None
    stopping = client.shutdown(drain_ms=drain_ms, force=force)
    for holder in stopping.holders:
        output.note(f"cut off: {holder_text(holder)}")
    if process is not None and not _ended(process, stopping.drain_ms / 1000 + GRACE_S):
        raise CommandError(
            "still_running", f"Process {pid} hasn't ended.", f"Look at `synapse logs`, or end process {pid}."
        )


def _ended(process: psutil.Process, limit_s: float) -> bool:
    """True once the process has ended, also when whoever started it hasn't asked for its exit status yet."""
    import psutil

    until = time.monotonic() + limit_s
    while True:
        try:
            process.wait(min(_LOOK_S, limit_s))
            return True
        except psutil.TimeoutExpired:
            pass
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        if time.monotonic() >= until:
            return False


def holder_text(holder: Holder) -> str:
    """What holds something, in words: its kind and whichever id it has."""
    ids = (holder.model_id, holder.job_id, holder.check_id, holder.lease_id)
    return " ".join([holder.kind, *(name for name in ids if isinstance(name, str))])


def _say(output: Output, state: str, text: str) -> None:
    if output.as_json:
        output.json({"state": state})
    else:
        output.line(text)
