"""A connection to the desktop's message bus, for whoever asks the desktop something. Linux only.

Its absence is normal (no session bus, a container, another system) and is one exception, :class:`NoBus`, however it
shows itself: when connecting, in a call, or while waiting for a signal.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from jeepney import DBusAddress, MatchRule, Message
    from jeepney.io.asyncio import DBusConnection

REPLY_LIMIT_S: Final = 5.0

Which = Literal["SESSION", "SYSTEM"]


class NoBus(Exception):
    """Nobody answers there, or not any more."""


class Signals:
    """The signals that one rule lets through, in order."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Message | None] = asyncio.Queue()

    async def next(self) -> tuple[str, tuple[Any, ...]]:
        """Name and values of the next one. Raises :class:`NoBus` when none can come any more."""
        from jeepney import HeaderFields

        message = await self._queue.get()
        if message is None:
            self.put(None)  # for whoever asks again
            raise NoBus("the bus has gone")
        return message.header.fields[HeaderFields.member], tuple(message.body)

    def put(self, message: Message | None) -> None:
        self._queue.put_nowait(message)


class Bus:
    """One connection. jeepney's own router leaks the socket of a bus that ends, and doesn't tell those who wait."""

    def __init__(self, connection: DBusConnection) -> None:
        self._connection = connection
        self._waiting: dict[int, asyncio.Future[Message | None]] = {}
        self._listening: list[tuple[MatchRule, Signals]] = []
        self._reading = asyncio.create_task(self._read())

    async def call(
        self, address: DBusAddress, method: str, signature: str | None = None, body: tuple[Any, ...] = ()
    ) -> tuple[Any, ...] | None:
        """The reply's values; None when it was refused or didn't come in time. Raises :class:`NoBus`."""
        from jeepney import MessageType, new_method_call

        if self._reading.done():
            raise NoBus("the bus has gone")
        serial = next(self._connection.outgoing_serial)
        reply = self._waiting[serial] = asyncio.get_running_loop().create_future()
        try:
            message = new_method_call(address, method, signature, body)
            await self._connection.send(message, serial=serial)
            async with asyncio.timeout(REPLY_LIMIT_S):
                answer = await reply
        except TimeoutError:
            return None
        except OSError as error:
            raise NoBus(str(error)) from error
        finally:
            self._waiting.pop(serial, None)
        if answer is None:
            raise NoBus("the bus has gone")
        return None if answer.header.message_type is MessageType.error else tuple(answer.body)

    async def listen(self, rule: MatchRule) -> Signals:
        """Ask the bus to pass on the signals that ``rule`` describes."""
        from jeepney import message_bus

        signals = Signals()
        self._listening.append((rule, signals))
        await self.call(message_bus, "AddMatch", "s", (rule.serialise(),))
        return signals

    async def close(self) -> None:
        self._reading.cancel()
        with suppress(asyncio.CancelledError):
            await self._reading
        with suppress(OSError):
            await self._connection.close()

    async def _read(self) -> None:
        from jeepney import HeaderFields

        try:
            while True:
                message = await self._connection.receive()
                waiting = self._waiting.get(message.header.fields.get(HeaderFields.reply_serial, 0))
                if waiting is not None and not waiting.done():
                    waiting.set_result(message)
                for rule, signals in self._listening:
                    if rule.matches(message):
                        signals.put(message)
        except (OSError, EOFError):
            pass
        finally:
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_result(None)
            for _, signals in self._listening:
                signals.put(None)


@asynccontextmanager
async def opened(which: Which) -> AsyncIterator[Bus]:
    """The connection, for the length of a block. Raises :class:`NoBus`."""
    from jeepney.auth import AuthenticationError
    from jeepney.io.asyncio import open_dbus_connection

    try:
        connection = await open_dbus_connection(which)
    except (OSError, EOFError, KeyError, ValueError, RuntimeError, TimeoutError, AuthenticationError) as error:
        raise NoBus(str(error)) from error
    bus = Bus(connection)
    try:
        yield bus
    finally:
        await bus.close()
