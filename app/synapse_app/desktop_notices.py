"""Shows notices through the desktop's own service, org.freedesktop.Notifications, with buttons. Linux.

Elsewhere, and where nobody offers that service, a notice goes to ``fallback``: the tray icon's own message, which has
no buttons. A notice that follows an earlier one about the same thing takes its place. What a button does is what the
same choice in the window does.
"""

from __future__ import annotations

import asyncio
import html
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from typing import Any, Final

from PySide6.QtGui import QIcon, QImage

from synapse_app import bus
from synapse_app.i18n import tr
from synapse_app.notify import Notice

_NAME: Final = "org.freedesktop.Notifications"
_PATH: Final = "/org/freedesktop/Notifications"
_ICON: Final = 64
_KEPT: Final = 100
"""Notices whose buttons still do something; older ones have long left the screen."""

Chosen = Callable[[str, str], object]
"""Gets what to do and with what: ``page`` and its name, or ``download`` and the catalog id."""


class DesktopNotices:
    """See above. ``show`` may be called at any time; :meth:`run` does the work."""

    def __init__(self, fallback: Callable[[Notice], object], chosen: Chosen, icon: QIcon) -> None:
        self._fallback = fallback
        self._chosen = chosen
        self._icon = icon
        self._waiting: asyncio.Queue[Notice] = asyncio.Queue()
        self._shown: dict[int, Notice] = {}
        self._session: bus.Bus | None = None
        self._listener: asyncio.Task[None] | None = None
        self._capabilities: frozenset[str] = frozenset()

    def show(self, notice: Notice) -> None:
        self._waiting.put_nowait(notice)

    async def run(self) -> None:
        """Show what is handed over, until cancelled."""
        stack = AsyncExitStack()
        try:
            while True:
                notice = await self._waiting.get()
                # The bus may have been restarted since the last notice: one more try over a new connection.
                for _ in range(2):
                    try:
                        shown = sys.platform.startswith("linux") and await self._over_bus(stack, notice)
                        break
                    except bus.NoBus:
                        shown = False
                        await self._leave(stack)
                        stack = AsyncExitStack()
                if not shown:
                    self._fallback(notice)
        finally:
            await self._leave(stack)

    async def _over_bus(self, stack: AsyncExitStack, notice: Notice) -> bool:
        session = self._session or await self._connect(stack)
        answer = await session.call(_address(), "Notify", "susssasa{sv}i", self._message(notice))
        if answer is None:
            return False
        self._shown = {number: kept for number, kept in self._shown.items() if kept.key != notice.key}
        self._shown[int(answer[0])] = notice
        while len(self._shown) > _KEPT:
            del self._shown[next(iter(self._shown))]
        return True

    async def _connect(self, stack: AsyncExitStack) -> bus.Bus:
        from jeepney import MatchRule

        session = await stack.enter_async_context(bus.opened("SESSION"))
        signals = await session.listen(MatchRule(type="signal", interface=_NAME, path=_PATH))
        answer = await session.call(_address(), "GetCapabilities")
        self._capabilities = frozenset(answer[0]) if answer else frozenset()
        self._listener = asyncio.create_task(self._listen(signals))
        self._session = session
        return session

    async def _leave(self, stack: AsyncExitStack) -> None:
        if self._listener is not None:
            self._listener.cancel()
        self._listener = self._session = None
        self._shown = {}
        await stack.aclose()

    async def _listen(self, signals: bus.Signals) -> None:
        with suppress(bus.NoBus):
            while True:
                name, values = await signals.next()
                notice = self._shown.get(values[0]) if values else None
                if notice is None:
                    continue
                if name == "NotificationClosed":
                    del self._shown[values[0]]
                elif name == "ActionInvoked" and values[1] == "again" and notice.again:
                    self._chosen("download", notice.again)
                elif name == "ActionInvoked":
                    self._chosen("page", notice.page)

    def _message(self, notice: Notice) -> tuple[Any, ...]:
        replaces = next((number for number, shown in self._shown.items() if shown.key == notice.key), 0)
        text = html.escape(notice.text, quote=False) if "body-markup" in self._capabilities else notice.text
        actions = ["default", tr("Open Synapse")]
        if "actions" in self._capabilities:
            actions += ["show", tr("Show")]
            if notice.again:
                actions += ["again", tr("Try again")]
        hints = {
            "urgency": ("y", 2 if notice.urgent else 1),
            "desktop-entry": ("s", "org.synapse.Tray"),
            "image-data": ("(iiibiiay)", _pixels(self._icon)),
        }
        return ("Synapse", replaces, "", notice.title, text, actions, hints, -1)


def _address() -> Any:
    from jeepney import DBusAddress

    return DBusAddress(_PATH, _NAME, _NAME)


def _pixels(icon: QIcon) -> tuple[int, int, int, bool, int, int, bytes]:
    """The picture as the service takes it: width, height, bytes a line, alpha, bits, channels, RGBA."""
    image = icon.pixmap(_ICON, _ICON).toImage().convertToFormat(QImage.Format.Format_RGBA8888)
    return image.width(), image.height(), image.bytesPerLine(), True, 8, 4, bytes(image.constBits())
