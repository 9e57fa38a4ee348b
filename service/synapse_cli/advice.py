"""What to do next after an error: a sentence for a person at a terminal, from the error's stable code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from synapse_wire.errors import SynapseError

_NEXT: Final[Mapping[str, str]] = {
    "invalid_request": "Correct what the message names; `--help` after a command shows what it takes.",
    "flow_scope_refused": "Use a connection that isn't bound to a flow.",
    "overloaded": "Ask for less at a time.",
    "queue_full": "Other requests come first; allow a longer wait or ask for less at a time.",
    "deadline_exceeded": "Allow more time with --deadline-ms, or ask for less at a time.",
    "model_loading": "The model is being loaded; try again shortly.",
    "unknown_model": "`synapse models` shows the ids that exist.",
    "not_certified": "`synapse probe report` shows what the last probe found; `synapse probe start` repeats it.",
    "probe_required": "Run `synapse probe start` for this model first.",
    "substitution_rejected": "The model isn't the one that was demanded; `synapse models` shows its fingerprint.",
    "sequence_too_long": "Split or shorten the text.",
    "engine_crashed": "If it happens again, `synapse logs` tells what the worker said.",
    "artifact_invalid": "The file isn't what it should be; get it again and load the model again.",
    "backend_unavailable": "`synapse doctor` shows what this machine can run, and why the rest can't.",
    "model_in_use": "Let what holds it finish, then try again.",
    "module_restarted": "The service was restarted meanwhile; start the job again.",
    "store_failure": "Look at free space and permissions with `synapse doctor`.",
    "internal_error": "This is a defect in the service; `synapse logs` shows it under the reference in the details.",
}


def next_step(error: SynapseError) -> str:
    """One or two sentences. A code without advice of its own is judged by its class."""
    advice = _NEXT.get(error.code, "")
    if error.class_ == "transient" and error.retry_after_ms is not None:
        retry = f"Try again in {_duration(error.retry_after_ms)}."
        return f"{advice} {retry}".strip()
    if advice:
        return advice
    if error.class_ == "transient":
        return "Try again."
    return "The same request will be refused again; change it, or what it asks for."


def _duration(milliseconds: int) -> str:
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    if milliseconds < 120_000:
        return f"{milliseconds / 1000:.0f} s"
    return f"{milliseconds / 60_000:.0f} min"
