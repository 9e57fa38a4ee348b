"""`synapse`: the command line. Says which commands there are; what they do is in ``commands/``.

A new family of commands is one module there and one name below.
"""

from __future__ import annotations

from typing import Annotated

import typer

from synapse_cli import exits
from synapse_cli.commands import (
    call,
    credentials,
    demo,
    doctor,
    embed,
    jobs,
    lanes,
    logs,
    models,
    pause,
    plan,
    probe,
    rerank,
    serve,
    settings,
    status,
    stop,
)
from synapse_wire import __version__

app = typer.Typer(
    name="synapse",
    help="Embeddings, reranking and small language models for the programs on this machine.",
    epilog=exits.EXPLAINED,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for family in (
    *(demo, serve, status, doctor, embed, rerank, jobs, models, lanes, plan, probe),
    *(settings, credentials, logs, call, pause, stop),
):
    family.register(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"synapse {__version__}")
        raise typer.Exit


@app.callback()
def synapse(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Embeddings, reranking and small language models for the programs on this machine."""


def run() -> None:
    """The entry point of `synapse`."""
    app()
