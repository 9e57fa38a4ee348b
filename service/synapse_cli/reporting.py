"""Errors at the edge of a command: what failed, the stable code, what to do next, and the exit status."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import typer

from synapse_cli import exits
from synapse_cli.output import Output, printable
from synapse_client import Client, ClientError, ServiceNotRunning, SynapseError
from synapse_wire.errors import WireError

CLIENT_NAME = "synapse-cli"


class CommandError(Exception):
    """Something that a command finds out by itself. ``code`` names it for programs, ``remedy`` says what to do."""

    def __init__(self, code: str, message: str, remedy: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.remedy = remedy


def open_client(home: Path | None, *, greet: bool = True) -> Client:
    """A client for the service of ``home``; connects when it is first used."""
    return Client(home=home, name=CLIENT_NAME, greet=greet)


@contextmanager
def reporting(output: Output, failing: str, *, advice: Mapping[str, str] | None = None) -> Iterator[None]:
    """Turns errors of the block into a message and an exit status. ``failing`` completes "Could not …".

    ``advice`` replaces what is usually said about a code where the command knows better.
    """
    try:
        yield
    except (SynapseError, ClientError, CommandError) as error:
        show(output, failing, error, advice)
        raise typer.Exit(exits.NOT_RUNNING if isinstance(error, ServiceNotRunning) else exits.FAILED) from None


def show(
    output: Output,
    failing: str,
    error: SynapseError | ClientError | CommandError,
    advice: Mapping[str, str] | None = None,
) -> None:
    """Print an error to stderr; with ``--json`` as the wire writes it."""
    wire = as_wire(error)
    if output.as_json:
        typer.echo(msgspec.json.encode(wire).decode(), err=True)
        return
    output.note(f"Could not {failing}: {error.message}")
    output.note(f"  code: {wire.code}")
    for name, value in _shown_details(error):
        output.note(f"  {name}: {value}")
    for note in getattr(error, "__notes__", ()):
        output.note(f"  {note}")
    output.note(f"  next: {(advice or {}).get(wire.code) or _next(error)}")


def as_wire(error: SynapseError | ClientError | CommandError) -> WireError:
    """Any error in the shape of a wire error; one of our own carries its remedy in the details."""
    if isinstance(error, SynapseError):
        return error.to_wire()
    transient = isinstance(error, ClientError) and error.transient
    return WireError(
        code=error.code,
        class_="transient" if transient else "permanent",
        safe_to_retry_same_request=isinstance(error, ServiceNotRunning),
        message=error.message,
        details={"remedy": error.remedy},
    )


def _shown_details(error: SynapseError | ClientError | CommandError) -> list[tuple[str, str]]:
    if not isinstance(error, SynapseError) or not error.details:
        return []
    return [(printable(str(name)), _brief(value)) for name, value in error.details.items()]


def _brief(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _next(error: SynapseError | ClientError | CommandError) -> str:
    if isinstance(error, CommandError):
        return error.remedy
    from synapse_cli.advice import next_step

    return next_step(error)
