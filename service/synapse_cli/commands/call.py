"""`synapse call`: any operation, as it is on the wire."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from synapse_cli import exits
from synapse_cli.options import Home, Json


def register(app: typer.Typer) -> None:
    app.command()(call)


def call(
    method: Annotated[str, typer.Argument(metavar="METHOD", help="The operation, such as models.list.")],
    params: Annotated[
        str, typer.Argument(metavar="JSON", help="Its parameters as a JSON object; - reads them from stdin.")
    ] = "{}",
    home: Home = None,
    as_json: Json = False,
    timeout: Annotated[float, typer.Option("--timeout", min=0, help="Seconds to wait for the answer.")] = 60.0,
) -> None:
    """Call an operation and print its result as JSON.

    The parameters reach the service as they are written. On any error the error goes to stderr as JSON, and the exit
    status is 1.
    """
    import msgspec

    from synapse_cli.output import Output
    from synapse_cli.reporting import CommandError, open_client, show
    from synapse_client import ClientError, SynapseError

    errors = Output(as_json=True)
    try:
        text = sys.stdin.read() if params == "-" else params
        try:
            # One line, and otherwise untouched: repeated members and the spelling of numbers are the service's affair.
            line = msgspec.Raw(msgspec.json.format(text, indent=-1).encode())
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise CommandError(
                "invalid_json", f"The parameters are not JSON: {error}.", "Quote the JSON for your shell."
            ) from error
        with open_client(home, greet=False) as client:
            Output(as_json).json(client.call_raw(method, line, timeout_s=timeout))
    except (SynapseError, ClientError, CommandError) as error:
        show(errors, f"call {method}", error)
        raise typer.Exit(exits.FAILED) from None
