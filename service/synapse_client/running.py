"""What the classes of methods stand on: each client says how one of its calls is run, and every method uses that."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from synapse_client.calls import Call

T = TypeVar("T")


class Blocking(ABC):
    """Base of the blocking client's methods."""

    @abstractmethod
    def _run(self, call: Call[T]) -> T:
        """Send a call and wait for what its answer means. Raises SynapseError and ClientError."""


class Asyncio(ABC):
    """Base of the asyncio client's methods."""

    @abstractmethod
    async def _run(self, call: Call[T]) -> T:
        """Send a call and wait for what its answer means. Raises SynapseError and ClientError."""
