"""Who is told what goes on between the service and a worker: nobody, except while certification observes.

``process`` calls it; ``certify.observations`` listens.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol


class WorkerWatch(Protocol):
    """Told of one worker."""

    def ready(self, facts: Mapping[str, str]) -> None:
        """It answered its load."""

    def requested(self) -> None:
        """It is about to be asked to compute."""


class _Nobody:
    def ready(self, facts: Mapping[str, str]) -> None: ...

    def requested(self) -> None: ...


NOBODY: Final[WorkerWatch] = _Nobody()
