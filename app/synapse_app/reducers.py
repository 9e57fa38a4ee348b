"""How the picture changes: pure functions from what the service sent and the old picture to the new one.

Listings and events travel on two connections, so an older listing may arrive after a newer event. Rows that only move
forward (jobs, downloads) are therefore merged: an end is never taken back, and progress never falls. What can't be
merged that way (models, the catalog) is read again after every event that differs, which :func:`to_read` decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

import msgspec

from synapse_app.problems import Problem
from synapse_app.state import LOG_ENTRIES, AppState, LinkState, LogPicture
from synapse_client.events import Event
from synapse_wire import results as r

TOPICS: Final = ("service", "settings", "log", "jobs", "downloads", "lanes", "models", "storage")

MODELS, CATALOG, JOBS, DOWNLOADS, USAGE = "models.list", "models.catalog", "jobs.list", "downloads.list", "cache.usage"
LANES: Final = "lanes.list"
LISTINGS: Final = (MODELS, LANES, CATALOG, JOBS, DOWNLOADS, USAGE)
MOVING: Final = (JOBS, DOWNLOADS)
"""The listings whose rows only move forward. Their reducers also take the picture that they were asked for in."""
NEWEST: Final = 100
"""Jobs that are read, beside those that go on."""

_OF_TOPIC: Final[Mapping[str, tuple[str, ...]]] = {
    "jobs": (JOBS,),
    "downloads": (DOWNLOADS,),
    "lanes": (MODELS, LANES),
    "models": (MODELS, LANES, CATALOG, USAGE),
    "storage": (CATALOG, USAGE),
}

Row = TypeVar("Row", r.JobRow, r.DownloadRow)
T = TypeVar("T")


# --- the link ---


def linked(state: AppState, hello: r.Hello) -> AppState:
    """Greeted. Listings of an earlier connection stay on the screen until they are read again."""
    return replace(
        state,
        link=LinkState.CONNECTED,
        problem=None,
        version=hello.server_version,
        offers=frozenset(hello.operations) | frozenset(hello.extensions),
        log=state.log if state.service and state.service.module_generation == hello.module_generation else LogPicture(),
        read=frozenset(),
        doubted=frozenset(),
    )


def moved(state: AppState, link: LinkState, problem: Problem | None = None) -> AppState:
    """The link changed its state."""
    if (state.link, state.problem) == (link, problem):
        return state
    return replace(state, link=link, problem=problem)


def woke(state: AppState) -> AppState:
    """The machine slept: what was said before is looked at again."""
    return replace(state, doubted=state.read & frozenset(LISTINGS))


def trusted(state: AppState, listing: str) -> AppState:
    """``listing`` was read again, or can't be."""
    return replace(state, doubted=state.doubted - {listing}) if listing in state.doubted else state


# --- listings ---


def models_read(state: AppState, listing: r.ModelsList) -> AppState:
    lanes = {row.model_id: _as_it_works(row, state.work.get(row.model_id)) for row in listing.models}
    return _noted(replace(state, lanes=lanes), MODELS)


def lanes_read(state: AppState, listing: r.LanesList) -> AppState:
    return _noted(_working(state, listing.lanes, whole=True), LANES)


def catalog_read(state: AppState, listing: r.ModelsCatalog) -> AppState:
    return _noted(replace(state, catalog={model.id: model for model in listing.models}), CATALOG)


def jobs_read(state: AppState, listing: r.JobsList, asked: AppState | None = None) -> AppState:
    """``listing`` holds :data:`NEWEST` jobs at most, and then older ones that go on."""
    jobs = _merged(state.jobs, listing.jobs, state.jobs if asked is None else asked.jobs)
    return _noted(replace(state, jobs=jobs, jobs_cut=len(listing.jobs) >= NEWEST), JOBS)


def downloads_read(state: AppState, listing: r.DownloadsList, asked: AppState | None = None) -> AppState:
    downloads = _merged(state.downloads, listing.downloads, state.downloads if asked is None else asked.downloads)
    return _noted(replace(state, downloads=downloads), DOWNLOADS)


def usage_read(state: AppState, usage: r.CacheUsage) -> AppState:
    return _noted(replace(state, usage=usage), USAGE)


def settings_read(state: AppState, settings: r.Settings) -> AppState:
    """All settings, or some of them as ``settings.set`` answers."""
    return replace(state, settings={**state.settings, **{setting.name: setting for setting in settings.settings}})


def storage_read(state: AppState, storage: r.StorageStatus) -> AppState:
    return replace(state, storage=storage)


def info_read(state: AppState, info: r.ServiceInfo) -> AppState:
    return replace(state, service=info)


def _noted(state: AppState, listing: str) -> AppState:
    state = trusted(state, listing)
    return state if listing in state.read else replace(state, read=state.read | {listing})


# --- events ---


def happened(state: AppState, event: Event) -> AppState:
    """One event. A topic of a newer service that isn't known here changes nothing."""
    match event.topic:
        case "service":
            return info_read(state, msgspec.convert(event.data, r.ServiceInfo))
        case "settings":
            return settings_read(state, msgspec.convert(event.data, r.Settings))
        case "storage":
            return storage_read(state, msgspec.convert(event.data, r.StorageStatus))
        case "log":
            return logged(
                state, msgspec.convert(event.data, r.LogTail), missed=0 if event.kind == "snapshot" else event.missed
            )
        case "jobs":
            rows = msgspec.convert(_rows(event), list[r.JobRow])
            return replace(state, jobs=_updated(state.jobs, rows))
        case "downloads":
            arrived = msgspec.convert(_rows(event), list[r.DownloadRow])
            return replace(state, downloads=_updated(state.downloads, arrived))
        case "lanes":
            return _working(state, msgspec.convert(_rows(event), list[r.LaneRow]), whole=event.kind == "snapshot")
        case "models":
            return _summarised(state, _rows(event))
        case _:
            return state


def to_read(state: AppState, event: Event) -> frozenset[str]:
    """The listings that ``event`` makes stale. ``state`` is the picture before it.

    A snapshot is the beginning or the repair of a gap: snapshots of jobs and downloads leave out what has ended, so
    their listings are read too.
    """
    listings = frozenset(_OF_TOPIC.get(event.topic, ()))
    if event.kind == "snapshot" or event.missed:
        return listings
    if event.topic == "storage":
        return listings if state.storage is None or event.data["state"] != state.storage.state else frozenset()
    if event.topic == "models":
        return listings if _summarised(state, _rows(event)) is not state else frozenset()
    if event.topic == "lanes":
        # Counts rise with every request and are all in the row; only a lane that became another makes reading worth it.
        rows = msgspec.convert(_rows(event), list[r.LaneRow])
        return (
            listings if any(_standing(row) != _standing(state.work.get(row.lane_id)) for row in rows) else frozenset()
        )
    return frozenset()


def logged(state: AppState, tail: r.LogTail, missed: int = 0) -> AppState:
    """New log entries; what is here already is not taken twice."""
    log = state.log
    fresh = [entry for entry in tail.entries if entry.seq > log.last_seq]
    lost = tail.dropped if log.entries else 0
    if not fresh and not missed:
        return state
    entries = (*log.entries, *fresh)
    over = max(0, len(entries) - LOG_ENTRIES)
    return replace(state, log=LogPicture(entries[over:], log.dropped + lost + missed))


def _rows(event: Event) -> list[Any]:
    return list(event.data) if event.kind == "snapshot" else [event.data]


def _standing(row: r.LaneRow | None) -> tuple[object, ...]:
    return () if row is None else (row.state, row.fingerprint, row.self_check.state, row.pause)


def _working(state: AppState, rows: Iterable[r.LaneRow], *, whole: bool) -> AppState:
    """What lanes do, and the state of each as people are told it. ``whole`` when there are no others."""
    fresh = {row.lane_id: row for row in rows}
    work = fresh if whole else {**state.work, **fresh}
    if work == state.work:
        return state
    lanes = {name: _as_it_works(lane, work.get(name)) for name, lane in state.lanes.items()}
    return replace(state, work=work, lanes=state.lanes if lanes == state.lanes else lanes)


def _as_it_works(lane: r.ModelRow, row: r.LaneRow | None) -> r.ModelRow:
    """``lane`` in the state that matters to people: quarantined before paused before what its worker does."""
    if row is None:
        return lane
    state = "paused" if row.pause is not msgspec.UNSET and row.state != "quarantined" else row.state
    return lane if lane.state == state else msgspec.structs.replace(lane, state=state)


def _summarised(state: AppState, summaries: Iterable[Mapping[str, Any]]) -> AppState:
    """The same picture when the summaries tell nothing new, so that progress alone makes nobody read the catalog."""
    lanes, catalog, told = dict(state.lanes), dict(state.catalog), dict(state.told)
    for summary in summaries:
        if (lane_id := summary.get("lane_id")) is not None:
            told[lane_id] = summary
            if (lane := lanes.get(lane_id)) is not None:
                now = "quarantined" if summary.get("quarantined") else summary["state"]
                lanes[lane_id] = msgspec.structs.replace(lane, state=now)
        elif (model := catalog.get(summary.get("catalog_id", ""))) is not None:
            catalog[model.id] = msgspec.structs.replace(model, install_state=summary["install_state"])
    if (lanes, catalog, told) == (state.lanes, state.catalog, state.told):
        return state
    return replace(state, lanes=lanes, catalog=catalog, told=told)


# --- rows that only move forward ---


def _updated(rows: Mapping[str, Row], fresh: Iterable[Row]) -> Mapping[str, Row]:
    """``rows`` with ``fresh`` ones in front, or in the place of those that they follow."""
    known = dict(rows)
    added: dict[str, Row] = {}
    for row in fresh:
        old = known.get(row.job_id)
        if old is None:
            added[row.job_id] = row
        else:
            known[row.job_id] = _later(old, row)
    return {**added, **known} if added else known


def _merged(rows: Mapping[str, Row], listing: Iterable[Row], asked: Mapping[str, Row]) -> Mapping[str, Row]:
    """The listing, in its order, but no row behind what an event has told already.

    In front are the rows that came after it was ``asked`` for: the service may have looked before it had them.
    """
    listed = {row.job_id: row if (old := rows.get(row.job_id)) is None else _later(old, row) for row in listing}
    return {name: row for name, row in rows.items() if name not in asked and name not in listed} | listed


def _later(old: Row, new: Row) -> Row:
    if old.terminal_ms is not msgspec.UNSET and new.terminal_ms is msgspec.UNSET:
        return old
    if new.terminal_ms is msgspec.UNSET and _progress(new) < _progress(old):
        return old
    return new


def _progress(row: r.JobRow | r.DownloadRow) -> int:
    return row.items_done if isinstance(row, r.JobRow) else row.bytes_done
