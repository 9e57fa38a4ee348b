"""Which function serves which operation, and the checks between a decoded message and that function.

``boot`` lets each operation family register its handlers here; ``connection`` asks for the route of each message.
The order of refusals is: unparsable, malformed, flow scope, unknown method, parameters, too many in flight. A flow is
told first what it may never do. The full connection comes last, because the others can never succeed when repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from synapse_wire.errors import METHOD_NOT_FOUND, SynapseError
from synapse_wire.operations import CONTRACT, EXTENSIONS, OPERATIONS, allowed_in_flow

if TYPE_CHECKING:
    from synapse_service.server.connection import Connection

P = TypeVar("P")
R = TypeVar("R")


class Call(msgspec.Struct, frozen=True):
    """One request as its handler sees it, beside the parameters.

    ``received_at`` is the monotonic time, in seconds, at which the last byte of the line had arrived: deadlines count
    from it. ``line_bytes`` is the length of the line without its newline.
    """

    method: str
    request_id: int | str
    connection: Connection
    received_at: float
    line_bytes: int

    @property
    def client_name(self) -> str | None:
        """The name that the caller gave in ``service.hello``."""
        client = self.connection.client
        return None if client is None else client.name


@dataclass(frozen=True, slots=True)
class Route:
    """The handler of one operation. An ``inline`` handler answers at once; the other kind is run as a task."""

    params: type[Any]
    handler: Callable[[Call, Any], Any]
    inline: bool


class Router:
    """The handlers of this service, by method."""

    def __init__(self) -> None:
        self._routes: dict[str, Route] = {}
        self.find = self._routes.get
        """The route of a method, or None; enough on a connection without a flow, and without a call in between."""

    def add_inline(self, method: str, handler: Callable[[Call, P], R]) -> None:
        """Serve ``method`` with a plain function, which must return within about a millisecond."""
        self._add(method, handler, inline=True)

    def add(self, method: str, handler: Callable[[Call, P], Coroutine[Any, Any, R]]) -> None:
        """Serve ``method`` with a coroutine function. Its task is cancelled by ``$/cancel`` and when the peer goes."""
        self._add(method, handler, inline=False)

    def served(self) -> tuple[list[str], list[str]]:
        """The operations of the contract and the extensions that have a handler, each in the registry's order."""
        contract = [name for name in CONTRACT if name in self._routes]
        return contract, [name for name in EXTENSIONS if name in self._routes]

    def resolve(self, method: str, flow_id: str | None) -> Route:
        """The route of ``method`` on a connection bound to ``flow_id``, or to none.

        Raises ``flow_scope_refused``, or ``invalid_request`` with the number of an unknown method.
        """
        if flow_id is not None and not allowed_in_flow(method):
            raise SynapseError(
                "flow_scope_refused",
                f"{method} is not served on a connection that is bound to the flow {flow_id}",
                details={"method": method, "flow_id": flow_id},
            )
        route = self._routes.get(method)
        if route is None:
            raise SynapseError(
                "invalid_request", f"there is no method {method!r}", level="channel", number=METHOD_NOT_FOUND
            )
        return route

    def _add(self, method: str, handler: Callable[..., Any], *, inline: bool) -> None:
        operation = OPERATIONS[method]
        if operation.params is None:
            raise ValueError(f"the registry has no shapes for {method}")
        if method in self._routes:
            raise ValueError(f"{method} already has a handler")
        self._routes[method] = Route(operation.params, handler, inline)
