"""What the models page says: models of the catalog and of the user's own as rows, looks, facts, and which acts apply.

Everything here is a pure function of the picture.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

from msgspec import UNSET

import synapse_resources
from synapse_app import figures, words
from synapse_app.i18n import tr
from synapse_app.pages.lane_rows import state_of
from synapse_app.problems import Problem
from synapse_app.state import AppState
from synapse_app.widgets.delegate import Look, Tone
from synapse_app.widgets.details import Fact
from synapse_wire import results as r

LOW_BYTES: Final = 2 * 10**9
"""With less than this free, a usual model may not fit any more."""
RUNNING: Final = ("queued", "downloading", "verifying")

Filter = Literal["all", "installed", "runnable", "embed", "rerank", "own"]
FILTERS: Final[tuple[Filter, ...]] = ("all", "installed", "runnable", "embed", "rerank", "own")

_INSTALLED: Final[Mapping[str, Callable[[], str]]] = {
    "not_installed": lambda: tr("not installed"),
    "installed": lambda: tr("installed"),
    "stale": lambda: tr("outdated"),
}


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One row. A model of the catalog has a ``model``, one of the user's own doesn't. ``lanes`` are those there are."""

    key: str
    name: str
    task: str
    model: r.CatalogModel | None = None
    lanes: tuple[r.LaneRow, ...] = ()
    own: r.ModelRow | None = None
    download: r.DownloadRow | None = None
    usage: r.ModelUsage | None = None
    leaving: bool = False
    """Whether its removal was asked for and can still be undone."""

    @property
    def downloading(self) -> bool:
        return self.download is not None and self.download.state in RUNNING

    @property
    def here(self) -> bool:
        """Whether its files are on this machine."""
        return self.model is None or self.model.install_state == "installed"

    @property
    def runnable(self) -> bool:
        return self.model is None or any(backend.runnable for backend in self.model.backends)

    @property
    def lane(self) -> r.LaneRow | None:
        """The lane that buttons are about: the one that is loaded, else the one that comes first."""
        loaded = [lane for lane in self.lanes if lane.state != "unloaded"]
        return next(iter([*loaded, *self.lanes]), None)

    @property
    def fingerprint(self) -> str:
        if self.lane is not None:
            return self.lane.fingerprint
        usable = [] if self.model is None else [backend for backend in self.model.backends if backend.runnable]
        return usable[0].fingerprint if usable else ""


# --- rows ---


def entries(state: AppState, leaving: frozenset[str] = frozenset()) -> list[ModelEntry]:
    """All models: those of the catalog in its order, then the user's own."""
    newest: dict[str, r.DownloadRow] = {}
    for download in state.downloads.values():
        known = newest.get(download.catalog_id)
        if known is None or download.created_ms > known.created_ms:
            newest[download.catalog_id] = download
    usages = {} if state.usage is None else {row.catalog_id or row.model_id: row for row in state.usage.models}
    found = []
    of_catalog: set[str] = set()
    for model in state.catalog.values():
        ids = [backend.lane_id for backend in model.backends]
        of_catalog.update(ids)
        found.append(
            ModelEntry(
                key=model.id,
                name=model.name,
                task=model.task,
                model=model,
                lanes=tuple(state.work[lane_id] for lane_id in ids if lane_id in state.work),
                download=newest.get(model.id),
                usage=usages.get(model.id),
                leaving=model.id in leaving,
            )
        )
    for lane_id, own in state.lanes.items():
        row = state.work.get(lane_id)
        if lane_id not in of_catalog and (row is None or row.catalog_id is UNSET):
            lanes = () if row is None else (row,)
            found.append(ModelEntry(lane_id, lane_id, own.task, lanes=lanes, own=own, usage=usages.get(lane_id)))
    return found


def chosen(found: list[ModelEntry], text: str, which: Filter) -> list[ModelEntry]:
    """Those in which ``text`` occurs and that pass the filter."""
    needle = text.strip().casefold()
    return [entry for entry in found if _passes(entry, which) and needle in _searched(entry)]


def _passes(entry: ModelEntry, which: Filter) -> bool:
    match which:
        case "installed":
            return entry.here or entry.downloading
        case "runnable":
            return entry.runnable
        case "own":
            return entry.model is None
        case "embed" | "rerank":
            return entry.task == which
        case _:
            return True


def _searched(entry: ModelEntry) -> str:
    description = "" if entry.model is None else entry.model.description
    return f"{entry.key} {entry.name} {description}".casefold()


def state_word(entry: ModelEntry) -> str:
    """The state that matters most."""
    if entry.leaving:
        return tr("is being removed")
    if entry.downloading and entry.download is not None:
        return words.job_state(entry.download.state)
    if entry.lane is not None and entry.lane.self_check.state == "failed":
        return tr("self-check failed")
    if entry.here and entry.lane is not None and (entry.lane.state != "unloaded" or entry.lane.pause is not UNSET):
        return words.lane_state(state_of(entry.lane))
    if entry.own is not None:
        return tr("certified") if entry.own.certified is True else tr("not certified")
    if failed(entry) is not None:
        return tr("download failed")
    state = "" if entry.model is None else entry.model.install_state
    known = _INSTALLED.get(state)
    return state if known is None else known()


def tone(entry: ModelEntry) -> Tone:
    if entry.leaving or not entry.runnable:
        return "muted"
    if entry.downloading:
        return "accent"
    lane = entry.lane
    if failed(entry) is not None or (lane is not None and "failed" in (lane.self_check.state, lane.state)):
        return "bad"
    if entry.here and lane is not None and state_of(lane) != "unloaded":
        return words.lane_tone(state_of(lane))
    if entry.model is not None and entry.model.install_state == "stale":
        return "warning"
    return "good" if entry.here and (entry.own is None or entry.own.certified is True) else "plain"


def failed(entry: ModelEntry) -> Problem | None:
    """Why the latest download failed, if it did and the model isn't here."""
    download = entry.download
    if entry.here or download is None or download.state != "failed":
        return None
    return problem_in(download.error)


def problem_in(error: Mapping[str, Any] | Any) -> Problem:
    """A wire error that stands in a row."""
    if not isinstance(error, Mapping):
        return Problem("unknown", tr("unknown reason"))
    details = error.get("details")
    return Problem(
        str(error.get("code", "")), str(error.get("message", "")), details if isinstance(details, Mapping) else {}
    )


def spoken(entry: ModelEntry) -> str:
    return ", ".join([entry.name, state_word(entry), words.task(entry.task)])


def look(entry: ModelEntry) -> Look:
    """How the list paints it."""
    parts = [words.task(entry.task)]
    progress = None
    if entry.downloading and entry.download is not None:
        parts = [arrival(entry.download)]
        progress = entry.download.bytes_done / entry.download.bytes_total if entry.download.bytes_total else 0.0
    elif entry.model is None:
        parts.append(tr("your own model"))
    elif not entry.runnable:
        parts.append(tr("can't run on this machine"))
    elif entry.model.default_for_task:
        parts.append(tr("recommended"))
    return Look(
        title=entry.name,
        detail=" · ".join(parts),
        side=_size(entry),
        badge=state_word(entry),
        tone=tone(entry),
        progress=progress,
    )


def arrival(download: r.DownloadRow) -> str:
    """How far a download is, how fast, and how long it still takes."""
    if download.state == "queued":
        return tr("waits for its turn")
    if download.state == "verifying":
        return tr("everything is here and is being verified")
    done, total = figures.size(download.bytes_done), figures.size(download.bytes_total)
    parts = [tr("{done} of {total}", done=done, total=total)]
    if isinstance(download.rate, float):
        parts.append(figures.rate(download.rate))
    if isinstance(download.eta_ms, int):
        parts.append(tr("{time} left", time=figures.duration(download.eta_ms)))
    return " · ".join(parts)


def _size(entry: ModelEntry) -> str:
    if entry.model is not None:
        return figures.size(entry.model.download_bytes)
    return "" if entry.usage is None else figures.size(entry.usage.used_bytes)


# --- the card ---


def note(entry: ModelEntry, free_bytes: int | None) -> tuple[str, bool]:
    """What has to be said first about a model, and whether it is a problem."""
    problem = failed(entry)
    if problem is not None:
        return problem.text(), True
    lane = entry.lane
    if lane is not None and lane.self_check.state == "failed":
        text = tr("It gave wrong results in its self-check on this machine, so it isn't used.")
        return f"{text} {tr('Remove it and download it again, or use another model.')}", True
    model = entry.model
    if model is None:
        if entry.own is not None and entry.own.certified is not True:
            return tr("It takes requests once a probe on this machine has certified it."), False
        return "", False
    if not entry.runnable:
        return tr("Nothing on this machine can run it; the reasons are below."), True
    if free_bytes is not None and not entry.here and not entry.downloading and model.download_bytes > free_bytes:
        need, free = figures.size(model.download_bytes), figures.size(free_bytes)
        return tr("It needs {need}, and {free} are free on the disk of the models.", need=need, free=free), True
    return model.description, False


def facts(entry: ModelEntry) -> list[Fact]:
    """What is known about it, in the order in which people ask."""
    found = [Fact(tr("State"), state_word(entry)), Fact(tr("Made for"), words.task(entry.task))]
    model = entry.model
    if entry.downloading and entry.download is not None:
        found.append(Fact(tr("Download"), arrival(entry.download)))
    if model is not None:
        found.append(Fact(tr("Size"), figures.size(model.download_bytes)))
        found.append(Fact(tr("Licence"), licence(model) or tr("see its page at the source")))
        found.append(Fact(tr("Source"), f"{model.upstream.hf_repo} @ {model.upstream.revision[:12]}"))
        found.append(Fact(tr("Runs on"), "\n".join(map(_backend, model.backends)) or tr("nothing yet")))
    elif entry.lane is not None:
        found.append(Fact(tr("Computes on"), words.engine(entry.lane.engine)))
    if entry.own is not None:
        found.append(Fact(tr("Certificate"), tr("certified") if entry.own.certified is True else tr("not certified")))
        found.append(Fact(tr("Longest text"), tr("{count} tokens", count=figures.count(entry.own.max_tokens))))
    if entry.lane is not None and entry.model is not None:
        found.append(Fact(tr("Self-check"), words.self_check(entry.lane.self_check)))
    if entry.usage is not None and entry.usage.used_bytes:
        found.append(Fact(tr("On the disk"), _usage(entry.usage)))
    if entry.fingerprint:
        found.append(Fact(tr("Fingerprint"), entry.fingerprint, copies=True))
    return found


def _backend(backend: r.CatalogBackend) -> str:
    name = words.engine(backend.backend)
    if backend.runnable:
        return tr("{device}: yes", device=name)
    return tr("{device}: no, {reason}", device=name, reason=words.reason(backend.reason or ""))


def _usage(usage: r.ModelUsage) -> str:
    parts = [figures.size(usage.used_bytes)]
    if usage.shared_bytes:
        parts.append(tr("{size} of it shared with other models", size=figures.size(usage.shared_bytes)))
    if usage.pinned:
        parts.append(tr("kept by a pin"))
    return " · ".join(parts)


def licence(model: r.CatalogModel) -> str:
    """The licence of a model of this release's catalog; empty for any other."""
    return _licences().get((model.id, model.upstream.revision), "")


@cache
def _licences() -> dict[tuple[str, str], str]:
    catalog = json.loads(synapse_resources.read("catalog.json"))
    return {(entry["id"], entry["upstream"]["revision"]): entry["upstream"]["licence"] for entry in catalog["entries"]}


# --- the disk ---


def disk_line(usage: r.CacheUsage) -> str:
    """What models take, and what is free."""
    text = tr(
        "Models take {used} of {limit}; {free} are free on their disk.",
        used=figures.size(usage.used_bytes),
        limit=figures.size(usage.limit_bytes),
        free=figures.size(usage.free_bytes),
    )
    if usage.arriving_bytes:
        text += " " + tr("{size} are arriving.", size=figures.size(usage.arriving_bytes))
    return text


def disk_warning(usage: r.CacheUsage) -> str:
    """What to do about the disk; empty while there is nothing."""
    if usage.free_bytes < LOW_BYTES:
        return tr(
            "Only {free} are free on the disk of the models. Remove models, or move them to another folder.",
            free=figures.size(usage.free_bytes),
        )
    if usage.used_bytes > usage.limit_bytes:
        return tr("Models take more than the limit that is set. Remove models, or raise the limit in the settings.")
    return ""


# --- removal ---


def holders(entry: ModelEntry) -> list[str]:
    """Who is known to use a model now, as words; the service has the last word."""
    return [f"{words.lane_state(lane.state)}: {lane.lane_id}" for lane in entry.lanes if lane.state != "unloaded"]


def holders_text(problem: Problem) -> str:
    """Who holds a model, as the service said; empty when it named nobody."""
    named = problem.details.get("holders", ())
    return ", ".join(words.holder(holder) for holder in named if isinstance(holder, Mapping))
