"""What a probe found on this machine, as facts to read: certified or why not, with each figure beside its gate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import UNSET

from synapse_app import figures
from synapse_app.i18n import tr
from synapse_app.widgets.details import Fact
from synapse_wire import results as r

_STATUS: Final[Mapping[str, Callable[[], str]]] = {
    "certified": lambda: tr("certified"),
    "uncertified": lambda: tr("not certified: its results differ too much"),
    "not_certified": lambda: tr("not certified: its results differ too much"),
    "stale": lambda: tr("out of date: probe it again"),
    "probe_required": lambda: tr("not probed yet"),
    "not_required": lambda: tr("needs none"),
}
_REASONS: Final[Mapping[str, Callable[[], str]]] = {
    "probe_required": lambda: tr("it was not probed on this machine"),
    "quarantined": lambda: tr("the lane is in quarantine"),
    "stale": lambda: tr("something changed since it was probed"),
}
_FIGURES: Final[Mapping[str, Callable[[], str]]] = {
    "mean_cosine": lambda: tr("Likeness, on average"),
    "min_cosine": lambda: tr("Likeness, at worst"),
    "worst_decile_overlap": lambda: tr("Same neighbours, worst tenth"),
    "max_score_error": lambda: tr("Largest error of a score"),
    "rows": lambda: tr("Texts compared"),
}


def status(word: str) -> str:
    known = _STATUS.get(word)
    return word if known is None else known()


def report_facts(report: r.ProbeReport, now_ms: int) -> list[Fact]:
    """The certificates of a report, one after the other."""
    return [fact for lane in report.lanes for fact in facts(lane, report.machine, now_ms)]


def facts(lane: r.ProbeLane, machine: Mapping[str, Any], now_ms: int) -> list[Fact]:
    """The certificate of one lane."""
    found = [Fact(tr("Certificate"), status(lane.certification_status))]
    if isinstance(lane.blocking_reason, str):
        why = lane.blocking_reason
        known = _REASONS.get(why) or _FIGURES.get(why)
        found.append(Fact(tr("Reason"), why if known is None else known()))
    certificate = {} if lane.certification is UNSET else lane.certification
    if isinstance(measured := certificate.get("measured_ms"), int):
        found.append(Fact(tr("Measured"), figures.moment(measured, now_ms)))
    place = " · ".join(str(machine[name]) for name in ("chip", "os_build") if machine.get(name))
    if place:
        found.append(Fact(tr("On"), place))
    evidence = certificate.get("evidence")
    if isinstance(evidence, Mapping):
        found += _evidence(evidence)
    if lane.performance is not UNSET and isinstance(speed := lane.performance.get("tokens_per_second"), int | float):
        found.append(Fact(tr("Speed"), tr("{count} tokens a second", count=figures.count(round(speed)))))
    return found


def _evidence(evidence: Mapping[str, Any]) -> list[Fact]:
    gates = evidence.get("gates")
    needed = gates if isinstance(gates, Mapping) else {}
    found = []
    for name, value in evidence.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        label = _FIGURES[name]() if name in _FIGURES else name
        text = figures.decimal(value)
        if isinstance(gate := needed.get(name), int | float):
            text = tr("{value} (limit {gate})", value=text, gate=figures.decimal(gate))
        found.append(Fact(label, text))
    return found
