"""Whether the device that an engine computes on is here: asked before a lane causes I/O, and before it has a worker.

``model.load`` and preloads ask about the engine that a manifest names; boot asks about each lane that it brings back,
because what a lane was proven on may be gone since. What `devices` finds is asked for once in the life of the process.

=======================================================  ==========================
evidence                                                 refusal
=======================================================  ==========================
CUDA could be here: no usable device, or below a floor   ``owned_cuda_unsupported``
anything else that keeps an engine from running here     ``backend_unavailable``
=======================================================  ==========================
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

from synapse_engines.devices import Device, DeviceEvidence
from synapse_service.catalog.compiled import ENGINES
from synapse_wire.errors import SynapseError

BACKENDS: Final[Mapping[str, Device]] = {engine: backend for backend, engine in ENGINES.items()}
"""The kind of device behind each engine of ours."""

_CUDA_UNUSABLE: Final = frozenset({"device_missing", "device_below_floor"})


class DeviceGate:
    """Answers for this machine. ``evidence`` may block for seconds when it is first asked about CUDA."""

    def __init__(self, evidence: Callable[[Device], DeviceEvidence]) -> None:
        self._evidence = evidence

    def refusal(self, engine: str, lane_id: str | None = None) -> SynapseError | None:
        """Why an engine can't run here, for a lane that exists or for one that is to be; None if it can. May block."""
        evidence = self._evidence(BACKENDS[engine])
        if evidence.reason is None:
            return None
        if evidence.backend == "cuda" and evidence.reason in _CUDA_UNUSABLE:
            return _cuda_unsupported(evidence)
        return SynapseError(
            "backend_unavailable",
            f"the engine {engine} can't run on this machine: {evidence.reason.replace('_', ' ')}; use another engine, "
            "or another machine",
            details={
                "catalog_id": None,
                "lane_id": lane_id,
                "backends": [{"backend": evidence.backend, "reason": evidence.reason}],
            },
        )

    async def require(self, engine: str) -> None:
        """Let an engine pass that can run here; raises ``backend_unavailable`` or ``owned_cuda_unsupported``."""
        refusal = await asyncio.to_thread(self.refusal, engine)
        if refusal is not None:
            raise refusal


def _cuda_unsupported(evidence: DeviceEvidence) -> SynapseError:
    details: dict[str, Any] = {"reason": evidence.reason}
    found = []
    if "driver_api" in evidence.facts:
        details["driver_api"] = int(evidence.facts["driver_api"])
        found.append(f"driver API {details['driver_api']}")
    if "compute_capability" in evidence.facts:
        details["compute_capability"] = evidence.facts["compute_capability"]
        found.append(f"compute capability {details['compute_capability']}")
    return SynapseError(
        "owned_cuda_unsupported",
        f"no usable CUDA device ({', '.join(found) or evidence.facts.get('driver', 'none found')}): a driver API of "
        "12040 and a compute capability of 7.5 are needed; use another engine, or change driver or device and start "
        "the service again",
        details=details,
    )
