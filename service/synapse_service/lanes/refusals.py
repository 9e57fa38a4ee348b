"""What a lane answers when it can't do what was asked: faults of its worker and its own refusals, as wire errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from synapse_service.lanes.quarantine import Quarantine
from synapse_service.workers.faults import (
    WorkerCrashed,
    WorkerFault,
    WorkerHung,
    WorkerNotGone,
    WorkerRefused,
)
from synapse_wire.errors import SynapseError
from synapse_wire.results import Holder

_LOST: Final = frozenset({"crash", "hang", "protocol_fault", "not_gone"})


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


def worker_lost(error: SynapseError) -> bool:
    """True for the fault of a worker that the lane replaces, so that the same work may succeed when it is repeated."""
    return error.code == "engine_crashed" and (error.details or {}).get("reason") in _LOST


def wrong_numbers(error: SynapseError) -> bool:
    """True for the failure of a load whose engine gave other numbers than the reference."""
    return error.code == "engine_crashed" and (error.details or {}).get("reason") == "self_test"


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


def quarantined(lane_id: str, quarantine: Quarantine) -> SynapseError:
    """The refusal of a lane after too many faults: a free-form one needs a probe, one of the catalog needs time."""
    failed = f"{lane_id} failed repeatedly ({quarantine.reason}) and is quarantined"
    remaining_ms = quarantine.retry_after_ms
    if remaining_ms is None:
        return SynapseError(
            "probe_required",
            f"{failed}; run probe.start on it",
            details={"model_id": lane_id, "reason": "quarantined"},
        )
    return SynapseError(
        "engine_crashed",
        f"{failed} for {math.ceil(remaining_ms / 1000)} s more; model.unload ends that at once",
        details={"lane_id": lane_id, "quarantined": True},
        retry_after_ms=remaining_ms,
    )


def still_compiling(lane_id: str, shape: int) -> SynapseError:
    """A deadline that expired because the engine compiled; the compile goes on without the request."""
    return SynapseError(
        "shape_compiling",
        f"{lane_id} compiles for texts of up to {shape} tokens, which takes about half a minute, and once; try again",
        details={"lane_id": lane_id, "shape": shape},
    )


def other_fingerprint(lane_id: str, fingerprint: str, wanted: str) -> SynapseError:
    """The refusal of a lane that isn't what was demanded."""
    return SynapseError(
        "substitution_rejected",
        f"{lane_id} has the fingerprint {fingerprint}, and nothing is served in its place",
        details={"lane_id": lane_id, "required_fingerprint": wanted},
    )


def in_use(model_id: str, holders: Sequence[Holder], catalog_id: str | None = None) -> SynapseError:
    """The refusal of a change to a lane that somebody holds; a free-form one has no catalog id."""
    return SynapseError(
        "model_in_use",
        f"{model_id!r} is held by {len(holders)} holders; wait for them or unload it, and try again",
        details={"catalog_id": catalog_id, "holders": msgspec.to_builtins(holders)},
    )


def stopping() -> SynapseError:
    """The refusal of a lane that is closed for good."""
    return SynapseError(
        "overloaded", "the service is stopping; connect again once it is back", details={"reason": "stopping"}
    )
