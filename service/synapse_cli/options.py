"""Options that many commands share, so that they read the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
