"""Faults around the tray: older and newer services, a flood of log entries, a full disk, closing at any time, kills."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from fixtures.catalog import SmallCatalog, path_of, small_files
from fixtures.fake_connection import FakeCall
from fixtures.fake_service import FakeService, model_row, short_folder
from fixtures.faulty_disks import fill, small_disk
from fixtures.mirror import Mirror, running_mirror
from fixtures.processes import alive, wait_until
from fixtures.service_process import ServiceProcess, running_service
from fixtures.tray_app import TrayApp
from synapse_app.pages import PAGES
from synapse_app.pages.activity import ActivityPage
from synapse_app.pages.playground import PlaygroundPage
from synapse_app.state import LOG_ENTRIES, LinkState
from synapse_app.tray import LONGEST_NAME, menu
from synapse_wire import results as r
from synapse_wire.errors import SynapseError
from synapse_wire.operations import CONTRACT

StartTray = Callable[..., TrayApp]


@pytest.fixture
def fake() -> Iterator[FakeService]:
    with short_folder() as folder, FakeService(folder / "run") as fake:
        fake.on("models.list", lambda call: r.ModelsList(module_generation=1, table_epoch=1, models=[], aliases=[]))
        fake.on("jobs.list", lambda call: r.JobsList(jobs=[]))
        fake.on("downloads.list", lambda call: r.DownloadsList(downloads=[]))
        fake.on("models.catalog", lambda call: r.ModelsCatalog(catalog_revision="t", models=[]))
        fake.on("lanes.list", lambda call: r.LanesList(module_generation=1, lanes=[]))
        yield fake


def hello(version: str, *extensions: str) -> Callable[[FakeCall], r.Hello]:
    contract = [row.name for row in CONTRACT.values() if row.served]
    return lambda call: r.Hello(
        server_version=version, protocol=1, module_generation=1, operations=contract, extensions=list(extensions)
    )


def visit_every_page(tray: TrayApp) -> None:
    for page in PAGES:
        tray.app.open(page.name)
        tray.turn()


# --- other versions ---


def test_an_older_service_is_used_for_what_it_can(fake: FakeService, start_tray: StartTray) -> None:
    def subscribe(call: FakeCall) -> r.Subscribed:
        unknown = sorted(set(call.params.topics) - {"service", "jobs"})
        if unknown:
            raise SynapseError("invalid_request", f"unknown topics {unknown}", details={"topics": unknown})
        return r.Subscribed(topics=call.params.topics)

    fake.on("service.hello", hello("0.0.1", "service.info", "events.subscribe", "jobs.list"))
    fake.on("events.subscribe", subscribe)
    tray = start_tray(fake.directory.parent)
    tray.until(lambda: tray.state.link is LinkState.CONNECTED and "models.list" in tray.state.read, "connected")
    visit_every_page(tray)
    assert "Service 0.0.1 is another version than this" in [entry.text for entry in menu(tray.state)]
    assert not {"pause", "resume"} & {entry.key for entry in menu(tray.state)}
    assert "lanes.list" not in fake.methods()


def test_a_newer_service_may_say_things_that_are_not_known_here(fake: FakeService, start_tray: StartTray) -> None:
    fake.on("service.hello", hello("9.9", "service.info", "events.subscribe", "jobs.list", "downloads.list", "weather"))
    strange = model_row("Größe 🚢", state="hibernating", engine="owned-tpu", task="dream")
    listing = r.ModelsList(module_generation=1, table_epoch=1, models=[strange], aliases=[])
    fake.on("models.list", lambda call: msgspec.to_builtins(listing) | {"mood": "fine"})
    tray = start_tray(fake.directory.parent)
    # All that is asked for at first: an empty list of jobs that came later would take back what the event says.
    tray.until(lambda: {"models.list", "jobs.list"} <= set(tray.state.read), "the listings are read")
    assert "Größe 🚢" in tray.state.lanes
    fake.event("weather", 1, "snapshot", {"sky": "blue"})
    row = {"job_id": "j", "kind": "dream.batch", "state": "dreaming", "items_total": 3, "items_done": 1}
    fake.event("jobs", 1, "snapshot", [row | {"module_generation": 1, "created_ms": 1, "colour": "green"}])
    tray.until(lambda: "j" in tray.state.jobs, "the job is known")
    visit_every_page(tray)
    assert tray.state.link is LinkState.CONNECTED


def test_a_service_that_speaks_another_protocol_is_said_to_be_incompatible(
    fake: FakeService, start_tray: StartTray
) -> None:
    def refused(call: FakeCall) -> r.Hello:
        raise SynapseError("invalid_request", "protocol: has to be 2", details={"field": "protocol"})

    fake.on("service.hello", refused)
    tray = start_tray(fake.directory.parent)
    tray.until(lambda: tray.state.link is LinkState.INCOMPATIBLE, "it is noticed", 5)
    visit_every_page(tray)
    assert tray.app.window.banner.isVisible()


# --- floods ---


def test_ten_thousand_log_entries_a_second_are_cut_counted_and_leave_the_window_alive(
    tray: TrayApp, service: ServiceProcess
) -> None:
    page = tray.page(ActivityPage)
    base = tray.state.log.last_seq
    seqs = itertools.count(base + 1)
    began = time.monotonic()
    slowest = 0.0
    for second_part in range(10):  # a service tells at most ten times a second
        entries = [
            r.LogEntry(
                seq=next(seqs), time_ms=1_700_000_000_000, level="info", event="flood", fields={"part": second_part}
            )
            for _ in range(1000)
        ]
        turn = time.monotonic()
        tray.app.store.apply(lambda state, entries=entries: _logged(state, entries))
        tray.app.store.announce()
        tray.turn()
        page.view.viewport().repaint()
        slowest = max(slowest, time.monotonic() - turn)
    assert slowest < 0.5
    assert time.monotonic() - began < 5
    assert len(tray.state.log.entries) == LOG_ENTRIES
    # A stream of changes is drawn a few times a second, so the last one may still have to be.
    tray.until(lambda: bool(page.model.rows) and page.model.rows[-1].seq == base + 10_000, "the last one is shown", 5)


def _logged(state: Any, entries: list[r.LogEntry]) -> Any:
    from synapse_app import reducers

    tail = msgspec.convert(
        {
            "entries": msgspec.to_builtins(entries),
            "dropped": 0,
            "next_seq": entries[-1].seq + 1,
            "last_seq": entries[-1].seq,
        },
        r.LogTail,
    )
    return reducers.logged(state, tail)


def test_names_of_any_length_and_direction_are_drawn_and_cut_in_the_menu(
    fake: FakeService, start_tray: StartTray
) -> None:
    names = ["x" * 400, "نموذج " * 40, "🚢" * 60, "a&b <i>", "\u202eevil", "z" + "\u0301" * 100]
    listing = r.ModelsList(
        module_generation=1, table_epoch=1, models=[model_row(name, state="ready") for name in names], aliases=[]
    )
    fake.on("models.list", lambda call: listing)
    fake.on("service.hello", hello("1", "service.info", "events.subscribe"))
    tray = start_tray(fake.directory.parent)
    tray.until(lambda: len(tray.state.lanes) == len(names), "the listing is read")
    for language in ("en", "ar"):
        tray.app.languages.use(language)
        visit_every_page(tray)
        texts = [action.text() for action in tray.app.tray.menu.actions()]
        assert max(map(len, texts)) < LONGEST_NAME + 60
        assert any("a&&b <i>" in text for text in texts)


# --- a full disk ---


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    with running_mirror() as mirror:
        yield mirror


def test_a_disk_that_fills_up_during_a_download_is_told_and_can_be_tried_again(
    tmp_path: Path, mirror: Mirror, start_tray: StartTray, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = SmallCatalog().add("big", small_files("big", 5 << 20))
    small.serve(mirror)
    hold = mirror.hold(path_of("big", "model"))
    with (
        small_disk(tmp_path / "disk", 64) as disk,
        running_service(
            disk / "home",
            environ={"SYNAPSE_HF_BASE_URL": mirror.base},
            arguments=("--cpu-lanes", "--catalog", str(small.write(tmp_path / "catalog"))),
        ) as service,
    ):
        tray = start_tray(service.home)
        tray.connected()
        shown: list[Any] = []
        monkeypatch.setattr(tray.app.notifier, "_show", shown.append)
        tray.run(tray.app.commands.download("big"))
        tray.until(lambda: any(row.bytes_done > 0 for row in tray.state.downloads.values()), "the download runs")
        filler = fill(disk, left=1 << 20)
        hold.set()
        tray.until(lambda: [row.state for row in tray.state.downloads.values()] == ["failed"], "it failed")
        tray.until(lambda: bool(shown), "there is a notice")
        assert (shown[0].title, shown[0].again) == ("Download failed", "big")
        assert tray.state.link is LinkState.CONNECTED
        filler.unlink()
        tray.run(tray.app.commands.download("big"))
        tray.until(lambda: "committed" in [row.state for row in tray.state.downloads.values()], "it is there now")


# --- closing at any time ---


OPERATIONS: dict[str, Callable[[TrayApp, Path], Any]] = {
    "download": lambda tray, folder: tray.app.tasks.spawn(tray.app.commands.download("gte-small")),
    "settings": lambda tray, folder: tray.app.tasks.spawn(tray.app.commands.change_settings({"cpu_lanes": False})),
    "diagnostics": lambda tray, folder: tray.page(ActivityPage).copy.click(),
    "pause": lambda tray, folder: tray.app.tray.chosen.emit("pause", "15"),
    "stop": lambda tray, folder: tray.app.tray.chosen.emit("stop", ""),
    "move": lambda tray, folder: tray.app.tasks.spawn(tray.app.commands.move_storage(str(folder), "move")),
    "folder": lambda tray, folder: _search(tray, folder),
    "language": lambda tray, folder: tray.app.languages.use("ar"),
}


def _search(tray: TrayApp, folder: Path) -> None:
    (folder / "a.txt").write_text("word " * 5000)
    panel = tray.page(PlaygroundPage).searching
    panel.lane.addItem("tiny", "tiny")
    panel.lane.setCurrentIndex(panel.lane.count() - 1)
    panel.take(str(folder))


@pytest.mark.parametrize("name", OPERATIONS)
def test_it_closes_at_once_in_the_middle_of_anything_while_the_service_hangs(
    service: ServiceProcess, start_tray: StartTray, tmp_path: Path, name: str
) -> None:
    tray = start_tray(service.home)
    tray.connected()
    visit_every_page(tray)
    os.kill(service.pid, signal.SIGSTOP)
    try:
        (tmp_path / "folder").mkdir()
        OPERATIONS[name](tray, tmp_path / "folder")
        tray.turn(0.03)
        began = time.monotonic()
        tray.run(tray.app.close(), 5)
        assert time.monotonic() - began < 2
        assert tray.app.tasks.idle
    finally:
        os.kill(service.pid, signal.SIGCONT)


# --- kills ---


_WITH_WORK = """
import sys
from synapse_app import application, main
start = application.Application.start
async def work(app):
    while not app.store.state.current:
        await application.portal.bus.asyncio.sleep(0.02)
    texts = [f"boat {number} left the harbour" for number in range(3000)]
    items = [{"id": str(at), "text": text} for at, text in enumerate(texts)]
    params = {"model": "tiny", "request_key": "k", "items": items}
    job = await app.commands.ask(lambda client: client.call("embed.batch", params))
    print(job.value["job"]["job_id"], flush=True)
def started(self):
    start(self)
    self.tasks.spawn(work(self))
application.Application.start = started
sys.exit(main.main(sys.argv[1:]))
"""


def test_killing_the_tray_leaves_the_service_and_its_work_alone(model_service: ServiceProcess) -> None:
    environ = model_service.environ | {"QT_QPA_PLATFORM": "offscreen"}
    command = [sys.executable, "-c", _WITH_WORK, "--home", str(model_service.home)]
    tray = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True)
    try:
        assert tray.stdout is not None
        job_id = tray.stdout.readline().strip()
    finally:
        tray.kill()
        tray.communicate()
    assert alive(psutil.Process(model_service.pid))
    with model_service.client() as client:
        wait_until(lambda: client.job_status(job_id).state == "done", "the job goes on to its end")
        assert client.job_status(job_id).items_done == 3000
        wait_until(lambda: client.info().connections == 1, "the tray's connections are gone")
