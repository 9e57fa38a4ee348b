"""The run: from a claim about hardware to the record of it. Everything goes through the client.

1. before anything is started: the row is this machine, the figures are there, the mirror has the files they are about
2. the service's catalog is the checkout's, and declares the lane as one that can run: else ``catalog_differs`` or
   ``lane_not_runnable``
3. the model is downloaded from the mirror, and committed: else what the download failed with
4. each fixture is asked, of which the first one loads and checks the lane
5. the lane's self-check has passed, under exactly the catalog's pin
6. the observations are available, and account for what was asked

What is wrong in steps 4 to 6 is collected and told together as ``certification_failed``.

Only ``model_loading`` and ``shape_compiling`` are asked again, within one limit for the whole fixture, and such an
answer never counts as one. Anything else that isn't a result ends the run: there is no record of a half one.
"""

from __future__ import annotations

import importlib.metadata
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

import msgspec

from synapse_cli.certification import assets as assets_of
from synapse_cli.certification import checkout, judging, mirror, record, rows
from synapse_cli.certification.assets import EmbedFixture, Loaded, RerankFixture
from synapse_cli.certification.machine import GPU_DOMAIN, PLATFORM_DOMAIN, Machine
from synapse_cli.certification.own_service import NAME, own_service
from synapse_cli.certification.rows import Row
from synapse_cli.reporting import CommandError
from synapse_client import Client, SynapseError
from synapse_wire import __version__
from synapse_wire.results import CatalogBackend, CatalogModel

FIXTURE_S: Final = 900.0
"""How long one fixture may take, loading and checking the lane included."""
DOWNLOAD_S: Final = 3600.0

_AGAIN: Final = frozenset({"model_loading", "shape_compiling"})
_LIBRARIES: Final = ("openvino", "mlx", "coremltools", "tokenizers", "numpy")


class CertificationFailed(CommandError):
    """Something is not as it has to be; ``problems`` says all of it."""

    def __init__(self, problems: list[str]) -> None:
        shown = "; ".join(problems[:5]) + (f"; and {len(problems) - 5} more" if len(problems) > 5 else "")
        super().__init__("certification_failed", shown, "No record was written. Mend this, and run again.")
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for on the command line."""

    row: str
    catalog_id: str
    assets: Path
    checkout: Path
    mirror: Path
    catalog: Path | None = None
    work: Path | None = None


@dataclass(frozen=True, slots=True)
class Clocks:
    """The time of day in milliseconds, seconds for measuring, and how to wait."""

    wall_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


def certify(
    request: Request, machine: Machine, salt: bytes, say: Callable[[str], None], clocks: Clocks
) -> record.Record:
    """Run every step; returns the record. Raises CommandError, and what the service refused with."""
    row = rows.parse(request.row)
    rows.require(row, machine)
    loaded = assets_of.load(request.assets, request.catalog_id)
    tree, entries = checkout.read(request.checkout, request.catalog)
    entry = entries.get(request.catalog_id)
    if entry is None:
        raise CommandError(
            "unknown_model",
            f"the catalog has no {request.catalog_id}",
            f"It has {', '.join(sorted(entries))}.",
        )
    hf_repo, revision = entry["upstream"]["hf_repo"], entry["upstream"]["revision"]
    files = mirror.files_of(request.mirror, hf_repo, revision)
    assets_of.require_same_files(loaded.assets, revision, files)
    started_ms = clocks.wall_ms()
    with mirror.serving(request.mirror) as url:
        settings = {"certify_observation": True, "cpu_lanes": row.backend == "cpu", "hf_base_url": url}
        say("starting a service in a fresh home")
        with own_service(settings, request.catalog, request.work) as client:
            run = _Run(client, row, loaded, checkout.manifest_digest(entry), say, clocks)
            proven = run.prove()
    return record.Record(
        schema_version=record.SCHEMA,
        row=row.name,
        outcome="passed",
        started_at_ms=started_ms,
        finished_at_ms=clocks.wall_ms(),
        tool=record.Tool(name=NAME, version=__version__),
        # The mirror's port is of this run alone.
        service=record.Service(
            version=proven.version, protocol=1, settings={**settings, "hf_base_url": "http://127.0.0.1"}
        ),
        subject=proven.subject,
        checkout=tree,
        mirror=[record.File(path=file.path, size=file.size, sha256=file.sha256) for file in files],
        assets=record.AssetsUsed(sha256=loaded.sha256, source=loaded.assets.source, fixtures=len(loaded.fixtures)),
        self_check=proven.self_check,
        figures=proven.figures,
        fixtures=proven.fixtures,
        observations=proven.observations,
        machine=_machine(row, machine, salt, proven.profile),
        environment=record.Environment(python=platform.python_version(), libraries=_libraries()),
    )


@dataclass(frozen=True, slots=True)
class Proven:
    """What a run found out."""

    version: str
    subject: record.Subject
    self_check: record.SelfCheck
    figures: dict[str, float]
    fixtures: list[dict[str, Any]]
    observations: record.Observed
    profile: dict[str, Any]


class _Run:
    """One model on one row, with a service that was started for it."""

    def __init__(
        self,
        client: Client,
        row: Row,
        loaded: Loaded,
        manifest_digest: str,
        say: Callable[[str], None],
        clocks: Clocks,
    ) -> None:
        self._client = client
        self._row = row
        self._assets = loaded.assets
        self._fixtures = loaded.fixtures
        self._task = loaded.task
        self._lane_id = f"{loaded.assets.catalog_id}-{row.backend}"
        self._manifest_digest = manifest_digest
        self._say = say
        self._clocks = clocks
        self._waits = 0

    def prove(self) -> Proven:
        """Steps 2 to 6."""
        catalog_revision, model, backend = self._declared()
        self._install()
        dtype = self._listed()["dtype"]
        answered, problems = self._ask(backend.fingerprint, dtype)
        listed = self._listed()
        problems += self._pin_problems(listed, backend.fingerprint)
        observed = self._client.call("certify.observations")
        neural_engine = self._row.backend == "ane"
        problems += judging.judge_observations(
            observed, self._lane_id, len(self._fixtures), neural_engine=neural_engine
        )
        if problems:
            raise CertificationFailed(problems)
        first, *later = [float(each["ms"]) for each in answered]
        check = listed["self_check"]
        greeting = self._client.service
        return Proven(
            version="" if greeting is None else greeting.server_version,
            subject=record.Subject(
                catalog_id=model.id,
                lane_id=self._lane_id,
                backend=backend.backend,
                task=model.task,
                engine=listed["engine"],
                dtype=dtype,
                fingerprint=backend.fingerprint,
                catalog_revision=catalog_revision,
                manifest_digest=model.manifest_digest,
                hf_repo=model.upstream.hf_repo,
                revision=model.upstream.revision,
            ),
            self_check=record.SelfCheck(
                state=check["state"], check_id=check["check_id"], evidence=check.get("evidence", {})
            ),
            figures={
                **judging.worst(answered),
                "first_answer_ms": first,
                "median_ms": median(later or [first]),
                "answers_asked_again": float(self._waits),
            },
            fixtures=answered,
            observations=msgspec.convert(observed, record.Observed),
            profile=self._client.call("probe.report")["machine"],
        )

    def _declared(self) -> tuple[str, CatalogModel, CatalogBackend]:
        catalog = self._client.models_catalog()
        model = next((each for each in catalog.models if each.id == self._assets.catalog_id), None)
        if model is None or model.manifest_digest != self._manifest_digest:
            raise CommandError(
                "catalog_differs",
                f"the service has another entry for {self._assets.catalog_id} than the checkout",
                "Run the program that was installed from the checkout.",
            )
        if model.task != self._task:
            raise CommandError(
                "assets_damaged", f"the figures are for {self._task}, the model is for {model.task}", "Correct them."
            )
        backend = next((each for each in model.backends if each.backend == self._row.backend), None)
        if backend is None or not backend.runnable:
            declared = ", ".join(each.backend for each in model.backends) or "none"
            reason = f"the catalog declares {declared}" if backend is None else str(backend.reason).replace("_", " ")
            raise CommandError(
                "lane_not_runnable",
                f"{self._lane_id} can't be certified as {self._row.name} here: {reason}",
                "`synapse doctor` says what this machine can run, and why the rest can't.",
            )
        return catalog.catalog_revision, model, backend

    def _install(self) -> None:
        self._say(f"downloading {self._assets.catalog_id} from the mirror")
        job = self._client.models_download(self._assets.catalog_id)
        self._client.wait_download(job.job_id, timeout_s=DOWNLOAD_S)

    def _ask(self, fingerprint: str, dtype: str) -> tuple[list[dict[str, Any]], list[str]]:
        answered, problems = [], []
        for number, fixture in enumerate(self._fixtures, 1):
            self._say(f"fixture {number} of {len(self._fixtures)}: {fixture.id}")
            began = self._clocks.monotonic()
            answer = self._answer(fixture, began + FIXTURE_S)
            ms = (self._clocks.monotonic() - began) * 1000
            judged = judging.judge(self._assets, fixture, answer, fingerprint, dtype)
            answered.append({**judged.figures, "ms": round(ms, 1)})
            problems += judged.problems
        return answered, problems

    def _answer(self, fixture: EmbedFixture | RerankFixture, deadline: float) -> Mapping[str, Any]:
        method, params = _request(self._lane_id, fixture)
        while True:
            left_s = deadline - self._clocks.monotonic()
            asked = {**params, "deadline_ms": max(1, round(left_s * 1000))}
            try:
                answer: Mapping[str, Any] = self._client.call(method, asked, timeout_s=max(left_s, 0) + 10)
            except SynapseError as error:
                wait_s = (error.retry_after_ms or 250) / 1000
                if error.code not in _AGAIN or self._clocks.monotonic() + wait_s >= deadline:
                    raise
                self._waits += 1
                self._clocks.sleep(wait_s)
            else:
                return answer

    def _listed(self) -> dict[str, Any]:
        rows: list[dict[str, Any]] = self._client.call("models.list")["models"]
        for row in rows:
            if row["model_id"] == self._lane_id:
                return row
        raise CertificationFailed([f"models.list doesn't have {self._lane_id}"])

    def _pin_problems(self, listed: Mapping[str, Any], fingerprint: str) -> list[str]:
        problems = []
        state = listed["self_check"]["state"]
        if state != "passed":
            problems.append(f"the self-check of {self._lane_id} is {state}, not passed")
        if listed["fingerprint"] != fingerprint:
            problems.append(f"{self._lane_id} has the fingerprint {listed['fingerprint']}, not the catalog's pin")
        return problems


def _request(lane_id: str, fixture: EmbedFixture | RerankFixture) -> tuple[str, dict[str, Any]]:
    # An estimate of the wait, made before the lane has ever computed, must not refuse anything here.
    common = {"model": lane_id, "max_queue_ms": round(FIXTURE_S * 1000)}
    if isinstance(fixture, EmbedFixture):
        return "embed.query", {**common, "text": fixture.text}
    candidates = [{"id": each.id, "text": each.text} for each in fixture.candidates]
    return "rerank.score", {**common, "query": fixture.query, "candidates": candidates}


def _machine(row: Row, machine: Machine, salt: bytes, profile: dict[str, Any]) -> record.MachineUsed:
    index = rows.gpu_of(row, machine)
    gpu: record.GpuUsed | msgspec.UnsetType = msgspec.UNSET
    if index is not None:
        used = machine.gpus[index]
        gpu = record.GpuUsed(name=used.name, driver=used.driver, uuid_sha256=used.uuid.digest(GPU_DOMAIN, salt))
    uuid: str | msgspec.UnsetType = msgspec.UNSET
    if index is None and machine.uuid is not None:
        uuid = machine.uuid.digest(PLATFORM_DOMAIN, salt)
    return record.MachineUsed(profile=profile, platform_uuid_sha256=uuid, gpu=gpu)


def _libraries() -> dict[str, str]:
    found = {}
    for name in _LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
