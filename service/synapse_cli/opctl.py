"""`ck-synapse-opctl`: the operator's command. Says which commands there are; what they do is in ``operator``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from synapse_cli.operator import aliases, lanes, models, work
from synapse_cli.operator.session import EXPLAINED, Options
from synapse_cli.options import program, start, version_option

app = program(
    "ck-synapse-opctl",
    "Operate a running Synapse service.",
    EXPLAINED,
)

for family in (lanes, models, aliases, work):
    family.register(app)


@app.callback()
def opctl(
    context: typer.Context,
    home: Annotated[
        Path | None, typer.Option("--home", envvar="SYNAPSE_HOME", file_okay=False, help="The service's home folder.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, errors included.")] = False,
    timeout: Annotated[float, typer.Option("--timeout", min=0, help="Seconds to wait for one answer.")] = 60.0,
    _version: Annotated[bool, version_option("ck-synapse-opctl")] = False,
) -> None:
    """Operate a running Synapse service. Options stand before the command."""
    context.obj = Options(home, as_json, timeout)


def run() -> None:
    """The entry point of `ck-synapse-opctl`."""
    start(app)
