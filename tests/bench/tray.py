"""The tray application on a real screen (Xvfb) over a real service: start, memory, the cost of events and scrolling."""

from __future__ import annotations

import http.server
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.figures import Report
from fixtures.catalog import SmallCatalog, path_of, small_files, some_bytes
from fixtures.screen import screen
from fixtures.service_process import ServiceProcess, running_service

SECONDS = 150
STARTS = 10
WATCH_S = 60
ROWS = 2000
REOPENS = 200
MB = 1e6
PROBE = Path(__file__).with_name("tray_probe.py")


class Probe:
    """One application with instruments; see ``tray_probe.py``."""

    def __init__(self, environ: dict[str, str], home: Path) -> None:
        preferences = home / "config" / "tray.ini"
        if not preferences.exists():  # a new user would be welcomed first
            preferences.parent.mkdir(mode=0o700, exist_ok=True)
            preferences.write_text("[General]\nfirst_run_done=yes\n")
        self.began = time.clock_gettime(time.CLOCK_MONOTONIC)
        self._process = subprocess.Popen(
            [sys.executable, str(PROBE), "--home", str(home)],
            env=os.environ | environ | {"DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        found: dict[str, Any] = json.loads(self._process.stdout.readline())
        return found

    def ask(self, *order: str) -> dict[str, Any]:
        self.tell(*order)
        return self.answer()

    def tell(self, *order: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(" ".join(order) + "\n")
        self._process.stdin.flush()

    def end(self) -> None:
        self.tell("quit")
        self._process.communicate(timeout=20)


@contextmanager
def probe(environ: dict[str, str], home: Path) -> Iterator[Probe]:
    """An application for a ``with`` block, painted with live rows; ``began`` is when it was started."""
    running = Probe(environ, home)
    running.painted = running.answer()  # type: ignore[attr-defined]
    try:
        yield running
    finally:
        running.end()


def measure() -> Report:
    """All figures of the tray."""
    report = Report()
    with screen() as environ, tempfile.TemporaryDirectory(prefix="synapse-bench-") as name:
        folder = Path(name)
        with running_service(folder / "usual", arguments=("--cpu-lanes",)) as service:
            _start(report, environ, service)
            _memory(report, environ, service)
        small = SmallCatalog().add("drip", {**small_files("drip", 64), "model": some_bytes("drip", 64_000_000)})
        files = {path_of("drip", role): body for role, body in small.contents["drip"].items()}
        with (
            dripping_mirror(files) as base,
            running_service(
                folder / "events",
                environ={"SYNAPSE_HF_BASE_URL": base},
                arguments=("--cpu-lanes", "--catalog", str(small.write(folder / "small"))),
            ) as service,
        ):
            _events(report, environ, service)
        many = SmallCatalog()
        for number in range(ROWS):
            many.add(f"model-{number:04}", small_files(f"model-{number:04}", 64))
        with running_service(
            folder / "many", arguments=("--cpu-lanes", "--catalog", str(many.write(folder / "catalog")))
        ) as service:
            _scrolling(report, environ, service)
    return report


def _start(report: Report, environ: dict[str, str], service: ServiceProcess) -> None:
    taken = []
    for round_ in range(STARTS + 1):
        with probe(environ, service.home) as running:
            if round_ > 0:  # the first fills the caches
                taken.append(running.painted["painted"] - running.began)  # type: ignore[attr-defined]
    report.at_most(
        "tray: from exec to the painted models page with live rows",
        statistics.median(taken),
        "s",
        1.2,
        f"{min(taken):.2f} to {max(taken):.2f}",
    )


def _memory(report: Report, environ: dict[str, str], service: ServiceProcess) -> None:
    with probe(environ, service.home) as running:
        fresh = running.ask("uss")["uss"]
        running.ask("visit", "en")
        visited = running.ask("visit", "ar")["uss"]
        report.at_most(
            "tray: memory of its own after every page in two languages",
            visited / MB,
            "MB",
            120,
            f"{fresh / MB:.0f} MB when started",
        )
        running.ask("reopen", "20")  # what is made once is made
        grown = running.ask("reopen", str(REOPENS))["grown"]
        report.at_most(f"tray: memory grown by closing and opening the window {REOPENS} times", grown / MB, "MB", 5)


def _events(report: Report, environ: dict[str, str], service: ServiceProcess) -> None:
    with probe(environ, service.home) as running, service.client() as client:
        running.ask("show", "models")
        job_id = client.models_download("drip").job_id
        time.sleep(1)
        seen = running.ask("watch", str(WATCH_S))
        assert client.download_status(job_id).state == "downloading", "the download ended before the measurement"
        rate = seen["paints"] / WATCH_S
        report.at_most(
            f"tray: a core's share for progress events over {WATCH_S} s",
            100 * seen["share"],
            "%",
            3,
            f"{rate:.1f} paintings a second",
        )
        client.models_download_cancel(job_id)


def _scrolling(report: Report, environ: dict[str, str], service: ServiceProcess) -> None:
    with probe(environ, service.home) as running:
        rows = running.ask("show", "models")["rows"]
        assert rows == ROWS, rows
        found = running.ask("scroll")
        used, clock = (sorted(1000 * took[kind] for took in found["paints"]) for kind in (0, 1))
        last = int(len(used) * 0.99)
        report.at_most(
            f"tray: processor time of painting while scrolling {ROWS} rows, 99th percentile",
            used[last],
            "ms",
            8,
            f"median {statistics.median(used):.1f}; by the clock {clock[last]:.1f}, {statistics.median(clock):.1f}",
        )
        report.at_most("tray: socket calls while painting", len(found["socket_calls"]), "", 0)


@contextmanager
def dripping_mirror(files: dict[str, bytes]) -> Iterator[str]:
    """A mirror that sends large files in eighty seconds, a piece twenty times a second."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = files[self.path]
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            piece = max(4096, len(body) // (20 * 80))
            try:
                for begin in range(0, len(body), piece):
                    self.wfile.write(body[begin : begin + piece])
                    time.sleep(0.05)
            except OSError:
                return  # the download was cancelled

        def log_message(self, format: str, *arguments: object) -> None:
            """Quiet."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
