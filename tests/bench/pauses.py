"""A hundred pauses of the Neural Engine under load: nothing is lost, and a paused lane answers nobody.

The service, the lane, its worker and the lock of the machine are real; the predictor in the worker is a scripted
double, which takes a millisecond a row. Between two pauses the lane loads again and serves.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from bench.figures import Report
from fixtures.neural_engine import LANE, NeuralEngineService, neural_engine_service
from synapse_client import Client, SynapseError
from synapse_service.lanes.hardware_lock import HardwareLock, LockHeld

SECONDS = 60
PAUSES = 100
CLIENTS = 4
REFUSALS = frozenset({"lane_paused", "model_loading", "deadline_exceeded"})
"""What a request may be told around a pause, by the contract."""


@dataclass
class Load:
    """What the clients sent and got. ``answers`` are (sent, received) of good replies, in monotonic seconds."""

    sent: int = 0
    answers: list[tuple[float, float]] = field(default_factory=list)
    refused: dict[str, int] = field(default_factory=dict)
    odd: list[str] = field(default_factory=list)


def measure() -> Report:
    """Pause, look, take the hardware as a measurement would, give it back, and go on; a hundred times."""
    with tempfile.TemporaryDirectory() as folder, neural_engine_service(Path(folder), predict_s=0.001) as running:
        over = threading.Event()
        loads = [Load() for _ in range(CLIENTS)]
        threads = [threading.Thread(target=_ask, args=(running, load, over)) for load in loads]
        for thread in threads:
            thread.start()
        with running.service.client() as client:
            windows, drained, back, taken = _pauses(client, running, loads)
        over.set()
        for thread in threads:
            thread.join()
    good = [answer for load in loads for answer in load.answers]
    refused = sum(sum(load.refused.values()) for load in loads)
    sent = sum(load.sent for load in loads)
    within = sum(any(began < sent_at and received < ended for began, ended in windows) for sent_at, received in good)
    report = Report()
    report.at_most("pauses: requests without an answer", sent - len(good) - refused, "", 0)
    report.at_most("pauses: answers from a lane that was paused", within, "", 0)
    report.at_most("pauses: times that free hardware could not be taken", PAUSES - taken, "", 0)
    report.lines.append(
        f"{PAUSES} pauses under {CLIENTS} clients: {sent} requests, {len(good)} answered, {refused} refused "
        f"({', '.join(sorted({code for load in loads for code in load.refused}))})"
    )
    report.lines.append(f"hardware free {_times(drained)} after asking, first answer {_times(back)} after resuming")
    report.lines += [f"unexpected: {each}" for load in loads for each in load.odd]
    return report


def _times(seconds: list[float]) -> str:
    return f"{statistics.median(seconds) * 1000:.0f} ms (worst {max(seconds) * 1000:.0f} ms)"


def _pauses(
    client: Client, running: NeuralEngineService, loads: list[Load]
) -> tuple[list[tuple[float, float]], list[float], list[float], int]:
    windows, drained, back, taken = [], [], [], 0
    for _ in range(PAUSES):
        asked = time.monotonic()
        client.lanes_pause(1, reason="bench")
        while not client.lanes_status().hardware_free:
            time.sleep(0.002)
        free = time.monotonic()
        drained.append(free - asked)
        lock = HardwareLock(running.lock)
        try:
            lock.acquire()
            taken += 1
        except LockHeld:
            pass
        time.sleep(0.05)
        lock.release()
        windows.append((free, time.monotonic()))
        resumed = time.monotonic()
        client.lanes_resume()
        while not any(load.answers and load.answers[-1][1] > resumed for load in loads):
            time.sleep(0.002)
            if time.monotonic() - resumed > 30:
                raise AssertionError("the lane did not come back")
        back.append(time.monotonic() - resumed)
    return windows, drained, back, taken


def _ask(running: NeuralEngineService, load: Load, over: threading.Event) -> None:
    with running.service.client() as client:
        while not over.is_set():
            sent_at = time.monotonic()
            load.sent += 1
            try:
                client.embed_query(LANE, "hello world", deadline_ms=10_000)
            except SynapseError as error:
                load.refused[error.code] = load.refused.get(error.code, 0) + 1
                if error.code not in REFUSALS:
                    load.odd.append(str(error))
                time.sleep(0.002)
            else:
                load.answers.append((sent_at, time.monotonic()))
