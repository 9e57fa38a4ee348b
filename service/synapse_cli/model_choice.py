"""Which model a command means when it may be left unsaid."""

from __future__ import annotations

from typing import Final

from synapse_cli.reporting import CommandError
from synapse_client import Client

_KINDS: Final = {"embed": "embedding", "rerank": "reranking"}


def choose_model(client: Client, wanted: str | None, task: str = "embed") -> tuple[str, str]:
    """A model to ask for and its fingerprint, by id or fingerprint; without a wish, the only one for the task.

    Raises :class:`CommandError` when there is none, or a choice. For a name that isn't listed it is left to the service
    to know it, and the name stands for the fingerprint.
    """
    rows = [row for row in client.models_list().models if row.task == task]
    if wanted is None:
        if len(rows) == 1:
            return rows[0].model_id, rows[0].fingerprint
        names = ", ".join(row.model_id for row in rows)
        raise CommandError(
            "model_not_named",
            f"There are {len(rows)} models to choose from: {names}."
            if rows
            else f"No {_KINDS[task]} model is registered.",
            "Name one with --model." if rows else "`synapse models load --help` shows how to load one.",
        )
    return wanted, next((row.fingerprint for row in rows if wanted in (row.model_id, row.fingerprint)), wanted)
