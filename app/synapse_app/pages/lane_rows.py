"""What the lanes page says about a lane, in its list and in its card: pure functions of the row and the time."""

from __future__ import annotations

from msgspec import UNSET

from synapse_app import figures, words
from synapse_app.i18n import tr
from synapse_app.widgets.delegate import Look
from synapse_app.widgets.details import Fact
from synapse_wire import results as r


def state_of(row: r.LaneRow) -> str:
    """The state that matters to people: quarantined before paused before what the worker does."""
    return "paused" if row.pause is not UNSET and row.state != "quarantined" else row.state


def counts_down(row: r.LaneRow) -> bool:
    """Whether something about it becomes different by the passing of time alone."""
    return (row.quarantine_until_ms, row.idle_unload_at_ms, row.pause) != (UNSET, UNSET, UNSET)


def spoken(row: r.LaneRow) -> str:
    parts = [row.lane_id, words.lane_state(state_of(row)), words.task(row.task)]
    if isinstance(row.rss_bytes, int):
        parts.append(figures.size(row.rss_bytes))
    return ", ".join(parts)


def look(row: r.LaneRow, now_ms: int) -> Look:
    """How the list paints it."""
    state = state_of(row)
    parts = [f"{words.task(row.task)}, {words.engine(row.engine)}"]
    if row.state == "quarantined":
        parts.append(_quarantine(row, now_ms))
    elif row.pause is not UNSET:
        parts.append(pause_line(row.pause, now_ms))
    else:
        parts.append(tr("requests: {count}", count=figures.count(row.requests_done)))
        if row.in_flight or row.waiting:
            parts.append(tr("waiting: {count}", count=figures.count(row.waiting)))
        if isinstance(row.p50_ms, float):
            parts.append(tr("usually {time}", time=figures.milliseconds(row.p50_ms)))
    return Look(
        title=row.lane_id,
        detail=" · ".join(parts),
        side=figures.size(row.rss_bytes) if isinstance(row.rss_bytes, int) else "",
        badge=words.lane_state(state),
        tone=words.lane_tone(state),
    )


def pause_line(pause: r.Pause, now_ms: int) -> str:
    """Until when a pause lasts, how long that still is, and why."""
    if pause.phase == "drain_failed":
        return tr("The pause waits: something doesn't end ({reason})", reason=pause.reason)
    if not isinstance(pause.paused_until_ms, int):
        return tr("paused until it is resumed ({reason})", reason=pause.reason)
    until = figures.moment(pause.paused_until_ms, now_ms)
    left = figures.duration(pause.paused_until_ms - now_ms)
    return tr("paused until {time}, {left} left ({reason})", time=until, left=left, reason=pause.reason)


def note(row: r.LaneRow, now_ms: int) -> tuple[str, bool]:
    """What has to be said first, and whether it is a problem."""
    if row.state == "quarantined":
        why = row.quarantine_reason if isinstance(row.quarantine_reason, str) else tr("unknown reason")
        text = tr("This lane failed twice in a row ({reason}) and takes no requests.", reason=why)
        if isinstance(row.quarantine_until_ms, int):
            return f"{text} {_quarantine(row, now_ms)}", True
        return f"{text} {tr('Probe it to release it.')}", True
    if row.self_check.state == "failed":
        return tr("It gave wrong results in its self-check on this machine, so it isn't used."), True
    if row.pause is not UNSET:
        return pause_line(row.pause, now_ms), False
    return "", False


def facts(row: r.LaneRow, now_ms: int) -> list[Fact]:
    """What is known about it, in the order in which people ask."""
    found = [
        Fact(tr("State"), words.lane_state(state_of(row))),
        Fact(tr("Memory"), figures.size(row.rss_bytes) if isinstance(row.rss_bytes, int) else tr("none")),
        Fact(tr("Requests"), _requests(row)),
    ]
    if isinstance(row.p50_ms, float) and isinstance(row.p95_ms, float):
        half = tr("{time} for half of the answers", time=figures.milliseconds(row.p50_ms))
        most = tr("{time} for 95 of 100", time=figures.milliseconds(row.p95_ms))
        found.append(Fact(tr("Answer time"), f"{half} · {most}"))
    found.append(Fact(tr("Used by"), ", ".join(row.users) if row.users else tr("nobody since it was loaded")))
    if isinstance(row.last_used_ms, int):
        found.append(Fact(tr("Last used"), figures.moment(row.last_used_ms, now_ms)))
    if (leaves := _leaves(row, now_ms)) is not None:
        found.append(Fact(tr("Stays loaded"), leaves))
    found.append(Fact(tr("Self-check"), words.self_check(row.self_check)))
    if row.pins:
        found.append(Fact(tr("Files kept for"), ", ".join(row.pins)))
    found.append(Fact(tr("Computes on"), words.engine(row.engine)))
    found.append(Fact(tr("Fingerprint"), row.fingerprint, copies=True))
    return found


def _requests(row: r.LaneRow) -> str:
    parts = [
        tr("answered: {count}", count=figures.count(row.requests_done)),
        tr("refused: {count}", count=figures.count(row.requests_refused)),
        tr("being computed: {count}", count=figures.count(row.in_flight)),
        tr("waiting: {count}", count=figures.count(row.waiting)),
    ]
    return " · ".join(parts)


def _leaves(row: r.LaneRow, now_ms: int) -> str | None:
    if row.keep_warm:
        return tr("always")
    if isinstance(row.idle_unload_at_ms, int):
        return tr("for another {time} if nobody uses it", time=figures.duration(row.idle_unload_at_ms - now_ms))
    return None


def _quarantine(row: r.LaneRow, now_ms: int) -> str:
    if not isinstance(row.quarantine_until_ms, int):
        return tr("until it is probed")
    return tr("It is tried again in {time}.", time=figures.duration(row.quarantine_until_ms - now_ms))
