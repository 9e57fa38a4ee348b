"""`synapse models storage`: the folder of the models, moving it, and taking over one that is there."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from synapse_cli.options import Home, Json, Wait

if TYPE_CHECKING:
    from synapse_cli.output import Output
    from synapse_client import Client
    from synapse_wire.results import StorageMove, StorageStatus

ENDED = ("done", "failed", "cancelled")
LOOK_S = 0.2

Folder = Annotated[
    Path | None,
    typer.Argument(metavar="FOLDER", file_okay=False, help="The new folder; its parent has to exist."),
]


def register(models: typer.Typer) -> None:
    storage = typer.Typer(help="Show or change the folder of the models.", invoke_without_command=True)
    storage.callback()(default)
    storage.command()(move)
    storage.command()(adopt)
    storage.command()(cancel)
    models.add_typer(storage, name="storage")


def default(context: typer.Context, home: Home = None, as_json: Json = False) -> None:
    """Show or change the folder of the models. Without a subcommand: show it."""
    if context.invoked_subcommand is None:
        show(home, as_json)


def show(home: Home = None, as_json: Json = False) -> None:
    """Show where the models are, and whether they are there."""
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    with reporting(output, "look at the folder of the models"), open_client(home) as client:
        status = client.storage_status()
    if as_json:
        output.json(status)
    else:
        _report(output, status)


def move(
    folder: Folder = None,
    usual: Annotated[bool, typer.Option("--default", help="Back to the usual folder.")] = False,
    wait: Wait = True,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Move the models to another folder. Unload them first."""
    if (folder is None) != usual:
        raise typer.BadParameter("give a folder or --default, and not both")
    _change(folder, "move", wait, home, as_json)


def adopt(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", file_okay=False, help="A folder with models.")],
    wait: Wait = True,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Use the models that lie in a folder, once they are proven, and leave those of the present one where they are."""
    _change(folder, "adopt", wait, home, as_json)


def cancel(home: Home = None, as_json: Json = False) -> None:
    """Take a move back that is under way."""
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    with reporting(output, "cancel the move"), open_client(home) as client:
        ended = client.storage_cancel()
    if as_json:
        output.json(ended)
    else:
        output.line(f"The move is {ended.state}; the models are in {ended.from_path}.")


def _change(folder: Path | None, mode: str, wait: bool, home: Path | None, as_json: bool) -> None:
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    # The service may run in another folder than this command.
    path = None if folder is None else str(folder.expanduser().absolute())
    with reporting(output, f"{mode} the models"), open_client(home) as client:
        row = client.storage_move(path, mode=mode)
        if wait:
            row = _wait(client, output, row)
    if as_json:
        output.json(row)
    elif row.state == "done":
        output.line(f"The models are in {row.to_path} now.")
        _remarks(output, row)
    else:
        output.line(f"The move is {row.state}. `synapse models storage` shows how far it is.")


def _wait(client: Client, output: Output, row: StorageMove) -> StorageMove:
    """Wait for the end of a move; raises what it failed with."""
    import msgspec

    from synapse_cli import figures
    from synapse_wire.errors import SynapseError, WireError

    move_id = row.move_id
    try:
        with output.progress(
            "Moving the models" if row.mode == "move" else "Proving the files", unit=figures.BYTES
        ) as bar:
            while row.state not in ENDED:
                bar.to(row.bytes_done, row.bytes_total)
                time.sleep(LOOK_S)
                latest = client.storage_status().move
                if isinstance(latest, msgspec.UnsetType) or latest.move_id != move_id:
                    raise SynapseError("module_restarted", "the service was restarted; it goes on with the move")
                row = latest
            bar.to(row.bytes_done, row.bytes_total)
    except KeyboardInterrupt:
        output.note("It goes on in the service. `synapse models storage` shows how far it is;")
        output.note("`synapse models storage cancel` takes it back.")
        raise
    if row.state == "cancelled":
        raise SynapseError("request_cancelled", "the move was cancelled")
    if row.state == "failed" and isinstance(row.error, dict):
        raise SynapseError.from_wire(msgspec.convert(row.error, WireError), level="semantic")
    return row


def _remarks(output: Output, row: StorageMove) -> None:
    if isinstance(row.error, dict):
        output.line(f"Some files are left in {row.from_path}: {row.error.get('message')}")
    if row.corrupt:
        output.line(f"{len(row.corrupt)} files were damaged and put aside; `synapse models download` gets them again.")
    if row.missing:
        output.line(
            f"{len(row.missing)} files that models need are not there; `synapse models catalog` shows which to get."
        )


def _report(output: Output, status: StorageStatus) -> None:
    from msgspec import UnsetType

    from synapse_cli.figures import size

    output.line(f"Models in {status.path}: {status.state}")
    facts = []
    if status.path != status.default_path:
        facts.append(("usual folder", status.default_path))
    if isinstance(status.error, dict):
        facts.append(("problem", str(status.error.get("message"))))
    row = status.move
    if not isinstance(row, UnsetType):
        done = f"{size(row.bytes_done)} of {size(row.bytes_total)}"
        facts.append(("move", f"to {row.to_path}, {row.state}, {done}"))
    output.facts(facts)
