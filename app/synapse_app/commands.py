"""What a person can ask the service to do, as coroutines that return how it ended and never raise a refusal.

A page calls one of these through its ``spawn`` and shows the :class:`Refused` of the outcome, if it is one. What was
changed is read again at once, so the picture doesn't wait for an event.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

from synapse_app import reducers
from synapse_app.link import ServiceLink
from synapse_app.problems import Problem, problem_of
from synapse_app.service_process import ServiceProcess
from synapse_app.state import StateStore
from synapse_client import AsyncClient
from synapse_client.errors import ClientError
from synapse_wire import results as r
from synapse_wire.errors import SynapseError

if TYPE_CHECKING:
    from synapse_client.options import FileSource, ModelOptions, Task

T = TypeVar("T")

STORAGE: Final = "storage_dir"
"""The setting that has an operation of its own."""
_LANES: Final = (reducers.MODELS, reducers.LANES)


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """It was carried out; ``value`` is what the service answered."""

    value: T


@dataclass(frozen=True, slots=True)
class Refused:
    """It was not, or nobody knows whether it was; ``problem`` says which and what to do."""

    problem: Problem


Outcome: TypeAlias = Done[T] | Refused


class Commands:
    """See above. One for the application."""

    def __init__(self, link: ServiceLink, store: StateStore, process: ServiceProcess) -> None:
        self._link = link
        self._store = store
        self._process = process

    async def ask(self, request: Callable[[AsyncClient], Awaitable[T]], *stale: str) -> Outcome[T]:
        """Any request; the listings named in ``stale`` are read again after it. For questions that only a page has."""
        try:
            value = await request(self._link.client)
        except (SynapseError, ClientError) as error:
            return Refused(problem_of(error))
        finally:
            if stale:
                self._link.read_again(*stale)
        return Done(value)

    async def call(self, method: str, params: Mapping[str, Any] | None = None, *stale: str) -> Outcome[Any]:
        """Any operation by its name, for those that the client has no method for; plain dictionaries."""
        return await self.ask(lambda client: client.call(method, params), *stale)

    # --- models ---

    async def download(self, catalog_id: str) -> Outcome[r.DownloadStatus]:
        return await self.ask(
            lambda client: client.models_download(catalog_id), reducers.DOWNLOADS, reducers.CATALOG, reducers.JOBS
        )

    async def cancel_download(self, job_id: str) -> Outcome[r.DownloadStatus]:
        return await self.ask(
            lambda client: client.models_download_cancel(job_id), reducers.DOWNLOADS, reducers.CATALOG, reducers.JOBS
        )

    async def remove(self, catalog_id: str) -> Outcome[r.ModelRemoved]:
        return await self.ask(
            lambda client: client.models_remove(catalog_id), reducers.CATALOG, reducers.MODELS, reducers.USAGE
        )

    async def add_model(
        self, model_id: str, task: Task, engine: str, files: Mapping[str, FileSource], options: ModelOptions
    ) -> Outcome[r.ModelLoadAccepted]:
        """Register a model of the user's own; its files are fetched by the job that is answered."""
        return await self.ask(
            lambda client: client.model_load(model_id, task=task, engine=engine, files=files, **options), reducers.JOBS
        )

    async def probe(self, model_id: str) -> Outcome[r.JobAccepted]:
        """Measure a model against the reference on this machine; joins a probe that is under way."""
        return await self.ask(lambda client: client.probe_start(model_id), reducers.JOBS)

    async def job_ended(self, job_id: str) -> Outcome[r.JobStatus]:
        """Wait until a job is done; refused with what it failed with."""
        return await self.ask(lambda client: client.wait_job(job_id), reducers.JOBS, *_LANES)

    async def probe_report(self, model_id: str) -> Outcome[r.ProbeReport]:
        return await self.ask(lambda client: client.probe_report(model_id))

    async def unload(self, lane_id: str) -> Outcome[r.ModelUnloaded]:
        return await self.ask(lambda client: client.model_unload(lane_id), *_LANES)

    # --- lanes ---

    async def load_lane(self, lane_id: str) -> Outcome[r.LaneRow]:
        """Load a lane; done when it is ready."""
        return await self.ask(lambda client: client.lanes_load(lane_id), *_LANES)

    async def keep_warm(self, lane_id: str, on: bool) -> Outcome[r.LaneRow]:
        return await self.ask(lambda client: client.lanes_keep_warm(lane_id, on), reducers.LANES)

    async def pause_lanes(self, minutes: float | None, reason: str) -> Outcome[r.PauseStatus]:
        """Take every local lane out of use; None means until they are resumed."""
        return await self.ask(lambda client: client.service_pause(minutes, reason=reason), *_LANES)

    async def resume_lanes(self) -> Outcome[r.PauseStatus]:
        return await self.ask(AsyncClient.service_resume, *_LANES)

    # --- jobs ---

    async def cancel_job(self, job_id: str) -> Outcome[r.JobStatus]:
        return await self.ask(lambda client: client.jobs_cancel(job_id), reducers.JOBS)

    # --- settings and the service ---

    async def change_settings(self, values: Mapping[str, Any]) -> Outcome[r.Settings]:
        """Change settings; None takes one back to its default. The folder of the models takes the models along."""
        if STORAGE in values:
            moving = await self.ask(lambda client: client.storage_move(values[STORAGE]))
            if isinstance(moving, Refused):
                return moving
            # The setting follows when the files are there; until then it reads as before.
            values = {name: value for name, value in values.items() if name != STORAGE}
            if not values:
                return await self.ask(lambda client: client.settings_get([STORAGE]))
        outcome = await self.ask(lambda client: client.settings_set(values))
        if isinstance(outcome, Done):
            self._store.apply(partial(reducers.settings_read, settings=outcome.value))
        return outcome

    async def move_storage(self, path: str, mode: str) -> Outcome[r.StorageMove]:
        """Change the folder of the models; an empty path is the usual one. Done when it has begun."""
        return await self.ask(lambda client: client.storage_move(path or None, mode=mode))

    async def cancel_storage_move(self) -> Outcome[r.StorageMove]:
        return await self.ask(AsyncClient.storage_cancel)

    async def diagnostics(self) -> Outcome[r.Diagnostics]:
        return await self.ask(AsyncClient.diagnostics)

    def start_service(self) -> None:
        self._link.start_service()

    async def stop_service(self, *, force: bool = False) -> Outcome[None]:
        """Ask the service to stop and wait until its process has ended. Only then it counts as stopped.

        Without ``force`` it is refused while something is held, with the ``holders`` in the problem's details.
        """
        info = self._store.state.service
        outcome = await self.ask(lambda client: client.shutdown(force=force))
        if isinstance(outcome, Refused):
            return outcome
        self._link.stopping()
        if info is not None and not await self._process.wait_ended(info.pid):
            self._link.not_stopping()
            return Refused(Problem("still_running", f"Process {info.pid} still runs.", {"pid": info.pid}))
        self._link.stopped()
        return Done(None)
