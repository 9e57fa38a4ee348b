"""`synapse credentials`: secrets in the user's keyring, such as the token of a hub. They come by standard input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from synapse_cli.options import Home, Json

if TYPE_CHECKING:
    from synapse_cli.output import Output
    from synapse_wire.results import CredentialsList

CredentialName = Annotated[
    str, typer.Argument(metavar="NAME", help="Its name; `huggingface` for the token of Hugging Face.")
]


def register(app: typer.Typer) -> None:
    credentials = typer.Typer(help="Keep secrets in the keyring of this computer.", no_args_is_help=True)
    credentials.command("set")(put)
    credentials.command()(delete)
    credentials.command("list")(show)
    app.add_typer(credentials, name="credentials")


def put(
    name: CredentialName,
    origin: Annotated[
        str | None, typer.Option(help="The server that it is for; where models are fetched from if absent.")
    ] = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Keep a secret. It is asked for, or read from standard input; an argument would be seen by other programs."""
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    secret = _secret()
    with reporting(output, f"keep {name}"), open_client(home) as client:
        row = client.credentials_set(name, secret, origin=origin)
    if as_json:
        output.json(row)
    else:
        output.line(f"{name} is in the keyring, for {row.origin}.")


def delete(name: CredentialName, home: Home = None, as_json: Json = False) -> None:
    """Forget a secret."""
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    with reporting(output, f"forget {name}"), open_client(home) as client:
        left = client.credentials_delete(name)
    if as_json:
        output.json(left)
    else:
        output.line(f"{name} is forgotten.")


def show(home: Home = None, as_json: Json = False) -> None:
    """List the names, and whether their secrets can be had now."""
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    with reporting(output, "list the credentials"), open_client(home) as client:
        found = client.credentials_list()
    if as_json:
        output.json(found)
    else:
        _report(output, found)


def _secret() -> str:
    import sys

    if sys.stdin.isatty():
        import getpass

        return getpass.getpass("Secret: ").strip()
    secret = sys.stdin.readline().strip()
    if not secret:
        raise typer.BadParameter("give the secret on standard input")
    return secret


def _report(output: Output, found: CredentialsList) -> None:
    if not found.credentials:
        output.line("No credential is kept. `synapse credentials set huggingface` keeps one.")
        return
    output.table(["name", "for", "state"], [[row.name, row.origin, row.state] for row in found.credentials])
    for problem in dict.fromkeys(row.problem for row in found.credentials if isinstance(row.problem, str)):
        output.line(f"{problem[0].upper()}{problem[1:]}.")
