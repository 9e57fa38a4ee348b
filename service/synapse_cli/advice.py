"""What to do next after an error: a sentence or two for a person at a terminal, from the error's stable code.

Every code of the error table has its own; a code from a newer service is judged by its class. Of the errors that the
client finds by itself, only those are here whose own remedy speaks to programmers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from synapse_cli.figures import duration
from synapse_client import ClientError
from synapse_wire.errors import SynapseError

_DEFECT: Final = "This is a defect; `synapse logs` shows what happened around it."
_NEW_SESSION: Final = "Open a new session."

_NEXT: Final[Mapping[str, str]] = {
    # The request or the connection.
    "invalid_request": "Correct what the message names; `--help` after a command shows what it takes.",
    "flow_scope_refused": "Use a connection that isn't bound to a flow.",
    "certify_observation_disabled": "Only the certification of a release needs this, and turns it on for itself.",
    "overloaded": "Ask for less at a time.",
    # Admission and time.
    "queue_full": "Other requests come first; allow a longer wait or ask for less at a time.",
    "deadline_exceeded": "Allow more time, with --deadline-ms where a command has that, or ask for less at a time.",
    "model_loading": "The model is being loaded.",
    "request_cancelled": "Somebody cancelled it. Sending the same work again takes up what had been done.",
    "lane_paused": "The lane is paused: `synapse lanes` shows which. It goes on by itself, or by `synapse resume`.",
    "shape_compiling": "The engine prepares for texts of this length.",
    # Models and their identity.
    "unknown_model": "`synapse models` shows the ids that exist.",
    "not_certified": "`synapse probe report` shows what the last probe found; `synapse probe start` repeats it.",
    "probe_required": "Run `synapse probe start` for this model first.",
    "substitution_rejected": "The model isn't the one that was demanded; `synapse models` shows its fingerprint.",
    "migration_required": "`synapse call aliases.check_index` tells whether an index made before is still valid.",
    "sequence_too_long": "Split or shorten the text, or load the model with `--overlength truncate`.",
    # Engines and artifacts.
    "engine_crashed": "If it happens again, `synapse logs` tells what the worker said.",
    "artifact_invalid": "The file isn't what it should be; get it again and load the model again.",
    "owned_cuda_unsupported": "`synapse doctor` shows what this machine can run; use a CPU lane meanwhile.",
    "backend_unavailable": "`synapse doctor` shows what this machine can run, and why the rest can't.",
    "self_check_failed": "Its numbers are wrong on this machine, so it doesn't serve. Get its files again, or use "
    "another model.",
    # Installation.
    "model_not_installed": "Get it with `synapse models download`, or wait for the one that the details name.",
    "model_in_use": "Let what holds it finish, then try again.",
    "download_failed": "Look at the network, at the proxy in `synapse settings get`, and at the disk with "
    "`synapse models usage`.",
    # Durable work and the store.
    "module_restarted": "The service was restarted meanwhile. The same work under the same request key goes on "
    "where it stopped; `synapse embed --file` does that when it is run again.",
    "idempotency_conflict": "The request key belongs to other texts or another model: use another key, or none.",
    "store_failure": "Look at disks, free space and permissions with `synapse doctor`.",
    # Remote providers.
    "op_not_supported_for_remote": "Use a local model for this operation.",
    "sentinel_calibration_refused": "The provider's vectors aren't steady enough to be identified; use a local model.",
    "declared_identity_not_accepted": "The provider only declares what it serves; accept that explicitly, or use a "
    "local model.",
    "remote_identity_drift": "The provider serves other numbers than before: vectors from now on need a new index.",
    "provider_unavailable": "The provider doesn't answer; look at its status page and your network.",
    "provider_protocol_violation": "The provider answered something that isn't its protocol; check its address.",
    "needs_reauth": "Renew the credential that the details name, then ask again.",
    "needs_reauth_expired": "Renew the credential, then send the same work again.",
    "remote_deployment_changed": "The provider's deployment was exchanged: register it again, with a new index.",
    "credential_config_invalid": "Correct the credential that the details name.",
    # Owned decode and its approvals.
    "grammar_disabled": "Leave the grammar out, or have the operator enable it.",
    "sampling_unsupported": "Ask without sampling.",
    "artifact_unapproved": "The operator has to approve this artifact first.",
    "artifact_disabled": "The operator has to enable this artifact again.",
    "artifact_revoked": "The operator took the approval back; use another artifact.",
    "artifact_mismatch": "The file isn't the approved one; get the approved one again.",
    "unsupported_machine": "Use another artifact: this one isn't certified for this kind of machine.",
    "invalid_context_ceiling": "Ask for a shorter context.",
    "insufficient_memory": "Unload what isn't needed with `synapse models unload`, or ask for a shorter context.",
    "incompatible_resident_artifact": "Unload the model that is in memory with `synapse models unload` first.",
    "invalid_kv_configuration": "Correct the cache settings that the message names.",
    "invalid_kv_alignment": "Correct the cache settings that the message names.",
    "retained_kv_unavailable": "What had been kept is gone; send the whole context again.",
    "owned_decode_unavailable": "`synapse doctor` shows what this machine can run.",
    "unknown_session": _NEW_SESSION,
    "unknown_request": "It has ended already, or never began.",
    "session_still_in_flight": "Wait for the answer that is under way, or cancel it.",
    "decode_scheduler_busy": "Wait until another answer has ended.",
    "worker_protocol_error": _DEFECT,
    "scheduler_boundary_error": _DEFECT,
    "routing_error": _NEW_SESSION,
    "operator_identity_unavailable": "Run the command as the user that owns the service.",
    "approval_migration_state_corrupt": "The record of approvals is damaged; `synapse doctor` shows where it is.",
    # Ours.
    "internal_error": "This is a defect in the service; `synapse logs` shows it under the reference in the details.",
    # What the client finds by itself.
    "batch_diverted": "The inline budgets of this service are small. `synapse jobs` shows the job, which goes on; "
    "`synapse embed --file` reads the vectors of any number of texts.",
}


def next_step(error: SynapseError | ClientError) -> str:
    """One or two sentences. A code without advice of its own is judged by its class."""
    advice = _NEXT.get(error.code, "")
    if isinstance(error, ClientError):
        return advice or error.remedy
    if error.class_ == "transient" and error.retry_after_ms is not None:
        retry = f"Try again in {duration(error.retry_after_ms)}."
        return f"{advice} {retry}".strip()
    if advice:
        return advice
    if error.class_ == "transient":
        return "Try again."
    return "The same request will be refused again; change it, or what it asks for."
