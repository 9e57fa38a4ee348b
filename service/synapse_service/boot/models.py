"""The part of the composition root that puts together how models come in and are proven.

``assembly`` calls :func:`register_models` once, after the lanes; it returns what works through the preloads.
"""

from __future__ import annotations

from collections.abc import Callable

from synapse_service.admission.leases import LeaseBook
from synapse_service.aliases.table import AliasTable
from synapse_service.boot.catalog import CatalogParts
from synapse_service.boot.lanes import LaneParts
from synapse_service.catalog.fetch import Fetcher
from synapse_service.certify.ledger import CertificationLedger
from synapse_service.certify.machine import MachineProfile
from synapse_service.certify.probe import Probes
from synapse_service.clock import Clock
from synapse_service.jobs.book import JobBook
from synapse_service.lanes.device_gate import DeviceGate
from synapse_service.lanes.onboarding import Onboarding
from synapse_service.lanes.preloads import Preloads
from synapse_service.operations.models import ModelOperations
from synapse_service.operations.probe import ProbeOperations
from synapse_service.server.router import Router
from synapse_service.settings.declared import Settings


def register_models(
    router: Router,
    *,
    lanes: LaneParts,
    models: CatalogParts,
    jobs: JobBook,
    leases: LeaseBook,
    ledger: CertificationLedger,
    machine: MachineProfile,
    devices: DeviceGate,
    aliases: AliasTable,
    settings: Callable[[], Settings],
    clock: Clock,
    module_generation: int,
) -> Preloads:
    """Serve the operations on models and their probes."""
    onboarding = Onboarding(
        lanes=lanes.lanes,
        jobs=jobs,
        leases=leases,
        fetcher=Fetcher(models.blobs, models.bodies),
        blobs=models.blobs,
        hf_base_url=lambda: settings().hf_base_url,
    )
    probes = Probes(
        loader=lanes.loader,
        lanes=lanes.lanes,
        ledger=ledger,
        machine=machine,
        clock=clock,
        module_generation=module_generation,
    )
    ModelOperations(
        lanes=lanes.lanes,
        onboarding=onboarding,
        jobs=jobs,
        downloads=models.downloads,
        pins=models.pins,
        leases=leases,
        ledger=ledger,
        settings=settings,
        devices=devices,
        module_generation=module_generation,
        aliases=aliases,
    ).register(router)
    ProbeOperations(
        lanes=lanes.lanes,
        jobs=jobs,
        probes=probes,
        ledger=ledger,
        machine=machine,
        knob=lambda: settings().knob,
        module_generation=module_generation,
    ).register(router)
    return Preloads(
        settings().preload,
        devices=devices,
        onboarding=onboarding,
        jobs=jobs,
        reserved_ids=models.catalog.reserved_ids,
        cpu_lanes=lambda: settings().cpu_lanes,
    )
