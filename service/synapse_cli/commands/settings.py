"""`synapse settings`: read and change the settings of the running service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from synapse_cli.options import Home, Json

if TYPE_CHECKING:
    from synapse_cli.output import Output
    from synapse_wire.results import Settings


def register(app: typer.Typer) -> None:
    settings = typer.Typer(help="Read and change the settings of the running service.", no_args_is_help=True)
    settings.command("get")(get)
    settings.command("set")(set_values)
    app.add_typer(settings, name="settings")


def get(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Only these settings.")] = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Show settings, and where each value comes from."""
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    with reporting(output, "read the settings"), open_client(home) as client:
        _show(output, client.settings_get(names or None))


def set_values(
    assignments: Annotated[list[str], typer.Argument(metavar="NAME=VALUE", help="null goes back to the default.")],
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Change settings, all of them or none.

    A value is read as JSON where it is JSON (true, 5, null, "text"), and as plain text otherwise.
    """
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    values = dict(_parsed(assignment) for assignment in assignments)
    with reporting(output, "change the settings"), open_client(home) as client:
        changed = client.settings_set(values)
        _show(output, changed)
        waiting = [setting.name for setting in changed.settings if setting.needs_restart]
        if waiting:
            output.note(f"Restart the service for: {', '.join(waiting)}")


def _parsed(assignment: str) -> tuple[str, Any]:
    import msgspec

    name, equals, text = assignment.partition("=")
    if not equals or not name:
        raise typer.BadParameter(f"{assignment!r} is not NAME=VALUE")
    try:
        return name, msgspec.json.decode(text)
    except msgspec.DecodeError:
        return name, text


def _show(output: Output, settings: Settings) -> None:
    if output.as_json:
        output.json(settings)
        return
    output.table(
        ["setting", "value", "from", "default", "meaning"],
        [
            [
                setting.name,
                _written(setting.value),
                setting.source,
                _written(setting.default),
                setting.description + (" (restart needed)" if setting.needs_restart else ""),
            ]
            for setting in settings.settings
        ],
    )


def _written(value: Any) -> str:
    import msgspec

    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
