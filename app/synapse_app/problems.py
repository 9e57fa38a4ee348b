"""What went wrong, as a value that a page can show: a code, the facts, and in the reader's language what to do next.

Refusals by the service and findings of the client become a :class:`Problem` in one place, :func:`problem_of`. Codes
that have a sentence here are shown in the reader's language; for all others the service's own English sentence is
shown, so that nothing is ever hidden behind "something went wrong".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from synapse_app.i18n import tr
from synapse_client.errors import ClientError
from synapse_wire.errors import SynapseError


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem. ``code`` is stable, ``message`` is English, ``details`` are the facts that came with it."""

    code: str
    message: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    transient: bool = False

    def text(self) -> str:
        """A sentence or two for people: what happened and what to do."""
        known = _TEXTS.get(self.code)
        return known() if known is not None else self.message or self.code


def problem_of(error: SynapseError | ClientError) -> Problem:
    """An exception of the client as a problem."""
    if isinstance(error, SynapseError):
        return Problem(error.code, error.message, dict(error.details or {}), error.class_ == "transient")
    return Problem(error.code, str(error), {}, error.transient)


_TEXTS: Final[Mapping[str, Callable[[], str]]] = {
    "service_not_running": lambda: tr("The service is not running. Start it from the tray menu."),
    "endpoint_refused": lambda: tr(
        "The service's socket belongs to somebody else or can't be opened. Run “synapse doctor” to see who owns it."
    ),
    "no_reply": lambda: tr("The service did not answer in time. It may be busy; try again, or restart it."),
    "connection_lost": lambda: tr("The connection to the service ended. Look at the state before you try again."),
    "protocol_violation": lambda: tr("Tray and service don't understand each other. Install both in one version."),
    "client_closed": lambda: tr("Synapse is closing."),
    "start_failed": lambda: tr("The service could not be started. Run “synapse doctor” to see what is wrong."),
    "still_running": lambda: tr("The service was asked to stop and still runs. Try again, or end its process."),
    "backend_unavailable": lambda: tr("This machine can't run that model."),
    "download_failed": lambda: tr("The download failed. Check the network and try again; what has arrived is kept."),
    "lane_paused": lambda: tr("This lane is paused. Resume it, or wait until the pause ends."),
    "model_in_use": lambda: tr("Something still uses this model. Unload it and let its work end first."),
    "self_check_failed": lambda: tr("This model failed its self-check on this machine, so it isn't used."),
    "artifact_invalid": lambda: tr("The files aren't what they should be. Get them again, and then try again."),
    "store_failure": lambda: tr("The service could not write to its disk. Make sure that the disk isn't full."),
    "module_restarted": lambda: tr("The service stopped while this was going on. Start it again."),
    "request_cancelled": lambda: tr("Cancelled."),
    "queue_full": lambda: tr("Too much is waiting for this lane. Try again shortly."),
    "overloaded": lambda: tr("The service is too busy at the moment. Try again shortly."),
}
