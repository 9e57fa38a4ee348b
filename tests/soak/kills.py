"""``kill -9`` of the service at random points of a durable job, and the same batch again under the same key.

One cycle: start the service, look at what the attempts before left, send the batch, read pages as they come, and kill
the service at a moment drawn at random, from before the acceptance to after the end. A job that is complete is compared
with the vectors of an uninterrupted run, bit for bit, and the next one gets a new key.

What a client was told counts as acknowledged: a job id, a number of pages, a page that it read.
"""

from __future__ import annotations

import hashlib
import random
import shutil
import sqlite3
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from fixtures.durable_jobs import spelled
from fixtures.model_files import tiny_model
from fixtures.service_process import ServiceProcess, load_and_probe, running_service
from soak.tally import Tally
from synapse_client import Client, ClientError, SynapseError

COUNT = 6000
"""Items of a job: some eight pages."""

LOST_JOBS, LOST_PAGES, CHANGED_PAGES = "acknowledged jobs lost", "acknowledged pages lost", "pages changed"
TWICE, TORN, WRONG, INCOMPLETE = "duplicate items", "torn pages", "items that differ", "sets unequal to the input"
UNTYPED, BROKEN = "answers that were no typed error", "failed integrity checks"


class PageReply(msgspec.Struct):
    """What is read of ``embed.result``."""

    state: str
    items: msgspec.Raw
    pages_available: int
    next_cursor: int | None


@dataclass
class Work:
    """One key and what was acknowledged under it. ``pages`` are digests of the pages that were read, by index."""

    key: str
    job_ids: list[str] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)
    available: int = 0
    complete: bool = False


def batch(key: str) -> dict[str, Any]:
    """The batch of every job; only the key differs."""
    items = [{"id": f"item-{index}", "text": f"{spelled(index)} " + "the " * (index % 13)} for index in range(COUNT)]
    return {"model": "tiny", "items": items, "request_key": key}


def strike(cycles: int, chance: random.Random) -> Tally:
    """Kill ``cycles`` times and count."""
    tally = Tally()
    for kind in (LOST_JOBS, LOST_PAGES, CHANGED_PAGES, TWICE, TORN, WRONG, INCOMPLETE, UNTYPED, BROKEN):
        tally.damage[kind] = 0
    home = Path(tempfile.mkdtemp(prefix="synapse-soak-"))
    try:
        with running_service(home, arguments=("--cpu-lanes",)) as service:
            with service.client() as client:
                load_and_probe(client, "tiny", tiny_model("bert"), max_tokens=128)
            service.stop()
            service.start()  # So that the model has to be loaded, as after each kill.
            with service.client() as client:
                began = time.monotonic()
                expected = reference(client)
                whole_s = time.monotonic() - began
            tally.happened["items of a job"] = COUNT
            work = Work("key-0")
            for _ in range(cycles):
                # The draw reaches a little beyond a whole job, so that its end and what follows are struck as well.
                cycle(service, work, chance.uniform(0.0, 1.1 * whole_s), expected, tally)
                if work.complete:
                    work = Work(f"key-{tally.happened['jobs completed']}")
            with service.client() as client:
                inspect(client, work, expected, tally)
        with sqlite3.connect(home / "data" / "synapse.db") as database:
            tally.damage[BROKEN] += database.execute("PRAGMA integrity_check").fetchone() != ("ok",)
        database.close()
    finally:
        shutil.rmtree(home)
    return tally


def cycle(service: ServiceProcess, work: Work, delay_s: float, expected: dict[str, bytes], tally: Tally) -> None:
    """One kill, and the start after it."""
    with service.client() as client:
        killer = threading.Timer(delay_s, service.kill)
        killer.start()
        try:
            follow(client, work, tally)
        except SynapseError as error:
            # The next attempt tells what is wrong; a refusal that nobody foresaw must not go unnoticed.
            tally.damage[UNTYPED] += error.code == "internal_error"
            tally.happened[f"refused with {error.code}"] += 1
        except ClientError:
            tally.happened["clients cut off"] += 1
        killer.join()
    tally.happened["kills"] += 1
    service.start()
    with service.client() as client:
        inspect(client, work, expected, tally)


def follow(client: Client, work: Work, tally: Tally) -> None:
    """Send the batch and read pages for as long as the service lives."""
    job_id = client.call("embed.batch", batch(work.key))["job"]["job_id"]
    if job_id not in work.job_ids:
        work.job_ids.append(job_id)
        tally.happened["attempts"] += 1
    while True:
        page = read(client, job_id, len(work.pages))
        work.available = max(work.available, page.pages_available)
        if len(work.pages) < page.pages_available:
            work.pages.append(hashlib.sha256(page.items).hexdigest())
            tally.happened["pages read before a kill"] += 1
        elif page.next_cursor is None:
            return
        else:
            time.sleep(0.002)


def inspect(client: Client, work: Work, expected: dict[str, bytes], tally: Tally) -> None:
    """Compare what the service has now with what it acknowledged, and with the truth."""
    for job_id in work.job_ids:
        try:
            client.job_status(job_id)
        except SynapseError:
            tally.damage[LOST_JOBS] += 1
    if not work.job_ids:
        return
    found: dict[str, bytes] = {}
    digests: list[str] = []
    while True:
        page = read(client, work.job_ids[-1], len(digests))
        if len(digests) == page.pages_available:
            break
        digests.append(hashlib.sha256(page.items).hexdigest())
        try:
            items = msgspec.json.decode(page.items, type=list[dict[str, msgspec.Raw]])
        except msgspec.DecodeError:
            tally.damage[TORN] += 1
            continue
        tally.damage[TORN] += not items
        for item in items:
            name = msgspec.json.decode(item["id"], type=str)
            tally.damage[TWICE] += name in found
            found[name] = bytes(item["vector"])
            tally.damage[WRONG] += found[name] != expected.get(name)
    tally.damage[LOST_PAGES] += max(0, work.available - len(digests))
    tally.damage[CHANGED_PAGES] += sum(now != then for now, then in zip(digests, work.pages, strict=False))
    work.pages, work.available = digests, max(work.available, len(digests))
    status = client.job_status(work.job_ids[-1])
    tally.damage[INCOMPLETE] += status.items_done != len(found)
    if status.state == "done":
        tally.damage[INCOMPLETE] += found.keys() != expected.keys()
        tally.happened["jobs completed"] += 1
        work.complete = True
    elif status.state == "failed":
        assert isinstance(status.error, dict)
        tally.damage[UNTYPED] += status.error["code"] != "module_restarted"


def reference(client: Client) -> dict[str, bytes]:
    """The vectors of an uninterrupted run, as JSON text by id."""
    job_id = client.call("embed.batch", batch("reference"))["job"]["job_id"]
    client.wait_job(job_id, timeout_s=300)
    found: dict[str, bytes] = {}
    cursor: int | None = 0
    while cursor is not None:
        page = read(client, job_id, cursor)
        for item in msgspec.json.decode(page.items, type=list[dict[str, msgspec.Raw]]):
            found[msgspec.json.decode(item["id"], type=str)] = bytes(item["vector"])
        cursor = page.next_cursor
    assert len(found) == COUNT
    return found


def read(client: Client, job_id: str, cursor: int) -> PageReply:
    """One page."""
    return msgspec.json.decode(client.call_raw("embed.result", {"job_id": job_id, "cursor": cursor}), type=PageReply)
