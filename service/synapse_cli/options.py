"""What the three programs and many commands share, so that they behave and read the same everywhere."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from synapse_cli import exits
from synapse_wire import __version__

Home = Annotated[
    Path | None,
    typer.Option(
        "--home",
        envvar="SYNAPSE_HOME",
        file_okay=False,
        help="The folder that holds settings, data, cache and socket of the service.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, errors included.")]
ModelId = Annotated[str, typer.Argument(metavar="MODEL_ID", help="The id of a model, as `synapse models` shows it.")]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until the job is done.")]


def program(name: str, about: str, exits: str) -> typer.Typer:
    """A program of ours without its commands; ``exits`` tells its exit statuses."""
    return typer.Typer(
        name=name,
        help=about,
        epilog=exits,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def start(app: typer.Typer) -> None:
    """Run a program. What can't be written to its streams ends it with status 1 and says why."""
    try:
        app()
    except OSError as error:  # not of a reader that has gone: that ends a program without a word
        if error.filename is not None:
            raise
        with suppress(OSError):
            sys.stderr.write(f"The output could not be written: {error.strerror}. Make room, or send it elsewhere.\n")
            sys.stderr.flush()
        # What is still in the buffers would fail once more at the very end.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            os.dup2(nowhere, stream.fileno())
        sys.exit(exits.FAILED)


def version_option(name: str) -> Any:
    """The option ``--version`` of a program."""

    def tell(wanted: bool) -> None:
        if wanted:
            typer.echo(f"{name} {__version__}")
            raise typer.Exit

    return typer.Option("--version", callback=tell, is_eager=True, help="Print the version.")
