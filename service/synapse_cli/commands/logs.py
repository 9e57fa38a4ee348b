"""`synapse logs`: what the service has been writing to its log."""

from __future__ import annotations

import time
from collections import deque
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

import typer

from synapse_cli.options import Home, Json

if TYPE_CHECKING:
    from synapse_cli.output import Output
    from synapse_client import Client
    from synapse_wire.results import LogEntry

PAGE: Final = 1000
"""Entries asked for at a time; the service allows no more."""

POLL_S: Final = 0.5


class Level(StrEnum):
    debug = "debug"
    info = "info"
    warning = "warning"
    error = "error"


def register(app: typer.Typer) -> None:
    app.command()(logs)


def logs(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on printing what comes.")] = False,
    level: Annotated[Level | None, typer.Option(help="Only this level and worse.")] = None,
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, help="How many of the latest entries.")] = 100,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Show the latest log entries, oldest first. With --json, one object a line."""
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    with reporting(output, "read the log"), open_client(home) as client:
        wanted = None if level is None else level.value
        entries, last = newer(client, 0, wanted)
        for entry in deque(entries, maxlen=lines):
            _print(output, entry)
        generation = client.service and client.service.module_generation
        while follow:
            time.sleep(POLL_S)
            entries, last = newer(client, last, wanted)
            current = client.service and client.service.module_generation
            if current != generation:
                # Another process numbers its entries from the beginning.
                generation = current
                entries, last = newer(client, 0, wanted)
            for entry in entries:
                _print(output, entry)


def newer(client: Client, after: int, level: str | None) -> tuple[list[LogEntry], int]:
    """All entries after a number that the service still has, and the number of the last of them."""
    entries: list[LogEntry] = []
    while True:
        page = client.logs_tail(after, level=level, limit=PAGE)
        entries += page.entries
        if page.entries:
            after = page.entries[-1].seq
        if len(page.entries) < PAGE:
            return entries, after


def _print(output: Output, entry: LogEntry) -> None:
    if output.as_json:
        import msgspec

        typer.echo(msgspec.json.encode(entry).decode())
        return
    when = datetime.fromtimestamp(entry.time_ms / 1000).isoformat(sep=" ", timespec="milliseconds")
    fields = " ".join(f"{name}={value}" for name, value in entry.fields.items())
    output.line(f"{when} {entry.level:7} {entry.event} {fields}".rstrip())
