"""What a lane answers when it can't do what was asked: faults of its worker and its own refusals, as wire errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from synapse_service.lanes.worker_faults import (
    WorkerCrashed,
    WorkerFault,
    WorkerHung,
    WorkerNotGone,
    WorkerRefused,
)
from synapse_wire.errors import SynapseError
from synapse_wire.results import Holder


def fault_reason(fault: WorkerFault) -> str:
    """One stable word for what ended a worker."""
    if isinstance(fault, WorkerCrashed):
        return "crash"
    return "hang" if isinstance(fault, WorkerHung) else "protocol_fault"


def crashed(lane_id: str, fault: WorkerFault) -> SynapseError:
    """A worker's fault as the transient error that its requests get."""
    details: dict[str, Any] = {"lane_id": lane_id, "reason": fault_reason(fault)}
    if isinstance(fault, WorkerCrashed) and fault.returncode is not None:
        details["exit"] = fault.returncode
    return SynapseError("engine_crashed", f"the engine of {lane_id} failed: {fault}", details=details)


def refused(lane_id: str, refusal: WorkerRefused) -> SynapseError:
    """Rows that a worker would not compute."""
    return SynapseError(
        "engine_crashed",
        f"the engine of {lane_id} refused the rows: {refusal.message}",
        details={"lane_id": lane_id, "reason": refusal.kind},
    )


def non_finite(item_id: str) -> SynapseError:
    """An item whose numbers are not finite; they never leave the service."""
    return SynapseError(
        "engine_crashed",
        f"the model gave numbers that are not finite for item {item_id!r}",
        details={"item_id": item_id, "reason": "non_finite"},
    )


def not_gone(lane_id: str, error: WorkerNotGone) -> SynapseError:
    """A worker that could not be ended, so that its memory is still taken."""
    return SynapseError(
        "engine_crashed", f"the engine of {lane_id}: {error}", details={"lane_id": lane_id, "reason": "not_gone"}
    )


def quarantined(lane_id: str, reason: str | None) -> SynapseError:
    """The refusal of a free-form lane after too many faults, of which ``reason`` is the last."""
    return SynapseError(
        "probe_required",
        f"{lane_id} failed repeatedly ({reason}) and is quarantined; run probe.start on it",
        details={"model_id": lane_id, "reason": "quarantined"},
    )


def in_use(model_id: str, holders: Sequence[Holder]) -> SynapseError:
    """The refusal of a change to a free-form model that somebody holds."""
    return SynapseError(
        "model_in_use",
        f"{model_id!r} is held by {len(holders)} holders; wait for them or unload it, and try again",
        details={"catalog_id": None, "holders": msgspec.to_builtins(holders)},
    )


def stopping() -> SynapseError:
    """The refusal of a lane that is closed for good."""
    return SynapseError(
        "overloaded", "the service is stopping; connect again once it is back", details={"reason": "stopping"}
    )
