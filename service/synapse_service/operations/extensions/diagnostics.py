"""``service.diagnostics``: the findings that the command line's doctor and the tray show."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from synapse_service.diagnostics import Check, run_check
from synapse_service.server.router import Call, Router
from synapse_wire.params import NoParams
from synapse_wire.results import Diagnostics


def register(router: Router, checks: Sequence[Check], module_generation: Callable[[], int]) -> None:
    """Serve ``service.diagnostics`` with ``checks``, in their order. They run on a thread: disks may be slow."""

    async def diagnose(call: Call, params: NoParams) -> Diagnostics:
        found = [await asyncio.to_thread(run_check, check) for check in checks]
        return Diagnostics(module_generation=module_generation(), checks=found)

    router.add("service.diagnostics", diagnose)
