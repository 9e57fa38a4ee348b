"""What a plan has to say to a person: which model, which capability, what each axis answers, and what to do.

``reconciliation.py`` makes them, `synapse plan` prints them. Every finding is reported, not only the first.
"""

from __future__ import annotations

from typing import Literal

from synapse_models.parts import Record

Severity = Literal["error", "warning", "note"]
Axis = Literal["declaration", "task", "dialect", "model", "engine", "deployment"]
Mark = Literal["ok", "fail", "unknown"]

_NAME_WIDTH = 22
_VERDICT_WIDTH = 60


class AxisVerdict(Record, frozen=True):
    """What one axis says: ``subject`` is who speaks (a dialect, a model, the tasks), ``verdict`` what it says."""

    axis: Axis
    subject: str
    verdict: str
    mark: Mark


class Diagnostic(Record, frozen=True):
    """One finding.

    Attributes:
        severity: errors prevent launch and binding; warnings name what is still open; notes say what was decided.
        code: the kind of finding, stable, in snake case.
        model: the binding's name, or the root's for findings about a deployment.
        capability: the capability concerned, if one is.
        summary: what is the matter, in one clause.
        axes: what each axis says of it.
        remedy: the one thing to do, if there is one.
    """

    severity: Severity
    code: str
    model: str
    summary: str
    capability: str | None = None
    axes: tuple[AxisVerdict, ...] = ()
    remedy: str | None = None

    def lines(self) -> list[str]:
        """The finding as lines of text, the first naming it."""
        what = "" if self.capability is None else f"capability '{self.capability}' "
        found = [f"model '{self.model}': {what}{self.summary}"]
        for axis in self.axes:
            found.append(
                f"  {axis.axis:<12} {axis.subject:<{_NAME_WIDTH}} {axis.verdict:<{_VERDICT_WIDTH}} {axis.mark}"
            )
        if self.remedy is not None:
            found.append(f"  {'remedy':<12} {self.remedy}")
        return found
