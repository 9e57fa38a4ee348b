"""`synapse`: the command line. Says which commands there are; what they do is in ``commands/``.

A new family of commands is one module there and one name below.
"""

from __future__ import annotations

from typing import Annotated

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
from synapse_cli.options import program, start, version_option

app = program(
    "synapse",
    "Embeddings, reranking and small language models for the programs on this machine.",
    exits.EXPLAINED,
)

for family in (
    *(demo, serve, status, doctor, embed, rerank, jobs, models, lanes, plan, probe),
    *(settings, credentials, logs, call, pause, stop),
):
    family.register(app)


@app.callback()
def synapse(
    _version: Annotated[bool, version_option("synapse")] = False,
) -> None:
    """Embeddings, reranking and small language models for the programs on this machine."""


def run() -> None:
    """The entry point of `synapse`."""
    start(app)
