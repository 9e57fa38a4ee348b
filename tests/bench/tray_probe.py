"""The tray application with instruments, as a program: started by ``tray.py``, told what to do line by line.

Times are taken where the toolkit paints: the view of every list is given a ``paintEvent`` that notes how long the real
one took, and whether anything touched a socket meanwhile. Answers are JSON, a line each.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import threading
import time
from typing import Any

import psutil
from PySide6.QtCore import QTimer
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QApplication

from synapse_app import application, main
from synapse_app.pages import PAGES
from synapse_app.widgets.lists import RowsView

painting = False
paints: list[tuple[float, float]] = []
"""Of each painting: what it took of the processor, and by the clock."""
socket_calls: list[str] = []


def say(**facts: Any) -> None:
    print(json.dumps(facts), flush=True)


class Instruments:
    """Answers the orders of the parent process on the application's own loop."""

    def __init__(self, app: application.Application) -> None:
        self.app = app
        self._plain = RowsView.paintEvent
        self._seen = False
        # The screen has no panel; with one, closing the window hides it.
        app.tray._available = lambda: True
        app.tray.look()
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._listen, args=(loop,), daemon=True).start()

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        for line in sys.stdin:
            order, *arguments = line.split()
            loop.call_soon_threadsafe(self.app.tasks.spawn, getattr(self, order)(*arguments))

    def painted(self, view: RowsView) -> None:
        """Called after each painting of a list."""
        model = view.model()
        if not self._seen and self.app.store.state.current and model is not None and model.rowCount() > 0:
            self._seen = True
            say(painted=time.clock_gettime(time.CLOCK_MONOTONIC), rows=model.rowCount())

    async def uss(self) -> None:
        say(uss=_uss())

    async def visit(self, language: str) -> None:
        self.app.languages.use(language)
        for page in PAGES:
            self.app.open(page.name)
            await asyncio.sleep(0.1)
        self.app.open(PAGES[0].name)
        await asyncio.sleep(0.1)
        say(uss=_uss())

    async def show(self, page: str) -> None:
        self.app.open(page)
        await asyncio.sleep(0.3)
        say(rows=self._view().model().rowCount())

    async def watch(self, seconds: str) -> None:
        """What the process uses while nothing but events moves it."""
        paints.clear()
        process = psutil.Process()
        before, began = process.cpu_times(), time.perf_counter()
        await asyncio.sleep(float(seconds))
        after, took = process.cpu_times(), time.perf_counter() - began
        used = after.user + after.system - before.user - before.system
        say(share=used / took, paints=len(paints), socket_calls=len(socket_calls))

    async def scroll(self) -> None:
        """Through the whole list, a page at a time and then line by line, each position painted."""
        view = self._view()
        bar = view.verticalScrollBar()
        paints.clear()
        socket_calls.clear()
        for value in [
            *range(0, bar.maximum(), bar.pageStep()),
            *range(bar.maximum(), 0, -max(1, bar.maximum() // 300)),
        ]:
            bar.setValue(value)
            view.viewport().repaint()
            await asyncio.sleep(0)
        say(paints=paints, socket_calls=socket_calls)

    async def reopen(self, times: str) -> None:
        """Close and open the window again and again."""
        before = _uss()
        for _ in range(int(times)):
            self.app.window.close()
            await asyncio.sleep(0)
            self.app.open()
            await asyncio.sleep(0.005)
        await asyncio.sleep(0.3)
        say(grown=_uss() - before)

    async def quit(self) -> None:
        QTimer.singleShot(0, QApplication.quit)

    def _view(self) -> RowsView:
        return next(view for view in self.app.window.findChildren(RowsView) if view.isVisible())


def _uss() -> int:
    return int(psutil.Process().memory_full_info().uss)


def _instrument() -> None:
    held: list[Instruments] = []
    start = application.Application.start

    def started(self: application.Application) -> None:
        start(self)
        held.append(Instruments(self))

    def paint(self: RowsView, event: QPaintEvent) -> None:
        global painting
        painting, began, used = True, time.perf_counter(), time.thread_time()
        super(RowsView, self).paintEvent(event)
        painting = False
        paints.append((time.thread_time() - used, time.perf_counter() - began))
        if held:
            held[0].painted(self)

    application.Application.start = started  # type: ignore[method-assign]
    RowsView.paintEvent = paint  # type: ignore[method-assign]
    for name in ("send", "sendall", "recv", "recv_into", "connect"):
        _watch_socket(name)


def _watch_socket(name: str) -> None:
    plain = getattr(socket.socket, name)

    def watched(self: socket.socket, *arguments: Any) -> Any:
        if painting:
            socket_calls.append(name)
        return plain(self, *arguments)

    setattr(socket.socket, name, watched)


if __name__ == "__main__":
    _instrument()
    sys.exit(main.main(sys.argv[1:]))
