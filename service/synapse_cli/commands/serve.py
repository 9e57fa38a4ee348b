"""`synapse serve`: become the service."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from synapse_cli.options import Home


def register(app: typer.Typer) -> None:
    app.command()(serve)


def serve(
    home: Home = None,
    cpu_lanes: Annotated[bool, typer.Option("--cpu-lanes", help="Offer lanes that compute on the processor.")] = False,
) -> None:
    """Run the service in the foreground until Ctrl-C or `synapse stop`.

    This process becomes the service: no parent stays behind, and signals reach it directly. Exits with 3 when the
    service already runs.
    """
    command = service_command()
    if home is not None:
        command += ["--home", str(home.expanduser().absolute())]
    if cpu_lanes:
        command.append("--cpu-lanes")
    sys.stdout.flush()
    sys.stderr.flush()
    if sys.platform == "win32":
        # There a process can't become another one: the shell would take its end for the end of the service.
        raise typer.Exit(subprocess.call(command))
    os.execv(command[0], command)


def service_command() -> list[str]:
    """How the service is started: its own program beside this Python, or this Python with its module."""
    name = "synapse-service.exe" if sys.platform == "win32" else "synapse-service"
    program = Path(sys.executable).with_name(name)
    return [str(program)] if program.is_file() else [sys.executable, "-m", "synapse_service"]
