"""How a pause reads in a terminal: whether the hardware is free, until when, and what is in the way."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from synapse_cli.output import Output
    from synapse_wire.results import PauseStatus

NOT_FREE = "Don't use the hardware yet; ask again until it is free."


def show(output: Output, status: PauseStatus) -> None:
    """The status, as JSON or for people."""
    if output.as_json:
        output.json(status)
        return
    if status.phase == "running":
        output.line("Nothing is paused.")
        return
    free = "the hardware is free" if status.hardware_free else "the hardware is NOT free"
    output.line(f"{status.phase.replace('_', ' ').capitalize()}: {free}")
    facts = [("reason", status.reason if isinstance(status.reason, str) else "-"), ("until", until(status))]
    facts.append(("lanes", ", ".join(status.lane_ids) or "none"))
    if not isinstance(status.drain_error, msgspec.UnsetType):
        error = status.drain_error
        facts.append(("in the way", f"{error.lane_id or 'the lock of the machine'} ({error.code}): {error.message}"))
    output.facts(facts)
    if not status.hardware_free:
        output.line(NOT_FREE)


def until(status: PauseStatus) -> str:
    """The end of a pause in this machine's own time."""
    if not isinstance(status.paused_until_ms, int):
        return "somebody resumes"
    return datetime.fromtimestamp(status.paused_until_ms / 1000).isoformat(sep=" ", timespec="seconds")
