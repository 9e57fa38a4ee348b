"""What a screen reader is told, over AT-SPI: every page can be reached, and everything that can be used has a name.

The application runs on a real screen (Xvfb) and a bus of its own; where a program is missing, this is skipped.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from jeepney import DBusAddress, MessageType, Properties, new_method_call
from jeepney.io.blocking import DBusConnection, open_dbus_connection

from fixtures.desktop_bus import private_bus
from fixtures.screen import screen
from fixtures.service_process import ServiceProcess
from synapse_app.pages import PAGES

LAUNCHER = Path("/usr/libexec/at-spi-bus-launcher")
ROOT = "/org/a11y/atspi/accessible/root"
USABLE = {
    "push button",
    "button",
    "check box",
    "combo box",
    "text",
    "entry",
    "list",
    "list item",
    "spin button",
    "page tab",
}
SHOWING = 25
"""The bit of AT-SPI's set of states."""


class Node:
    """One thing in the tree of accessible things."""

    def __init__(self, connection: DBusConnection, owner: str, path: str) -> None:
        self._connection = connection
        self.owner, self.path = owner, path

    def _ask(self, message: Any) -> tuple[Any, ...]:
        reply = self._connection.send_and_get_reply(message, timeout=10)
        assert reply.header.message_type is MessageType.method_return, reply.body
        return tuple(reply.body)

    def _call(self, method: str, signature: str | None = None, *values: Any, interface: str = "Accessible") -> Any:
        address = DBusAddress(self.path, bus_name=self.owner, interface=f"org.a11y.atspi.{interface}")
        return self._ask(new_method_call(address, method, signature, values))[0]

    @property
    def name(self) -> str:
        address = DBusAddress(self.path, bus_name=self.owner, interface="org.a11y.atspi.Accessible")
        return str(self._ask(Properties(address).get("Name"))[0][1])

    @property
    def role(self) -> str:
        return str(self._call("GetRoleName"))

    @property
    def showing(self) -> bool:
        return bool(self._call("GetState")[0] & (1 << SHOWING))

    def children(self) -> list[Node]:
        return [Node(self._connection, owner, path) for owner, path in self._call("GetChildren")]

    def select(self, child: int) -> bool:
        return bool(self._call("SelectChild", "i", child, interface="Selection"))

    def walk(self, depth: int = 0) -> Iterator[Node]:
        """This and everything below that is on the screen."""
        yield self
        if depth < 25:
            for child in self.children():
                if child.showing:
                    yield from child.walk(depth + 1)


@contextmanager
def running(command: list[str], environ: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture
def window(model_service: ServiceProcess, tmp_path: Path) -> Iterator[Node]:
    """The application's window, as a screen reader finds it."""
    if not LAUNCHER.exists():
        pytest.skip("needs at-spi2-core")
    try:
        display = screen()
        visible = display.__enter__()
    except LookupError as error:
        pytest.skip(str(error))
    try:
        with private_bus(tmp_path / "bus") as address:
            environ = (
                os.environ
                | visible
                | {
                    "DBUS_SESSION_BUS_ADDRESS": address,
                    "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1",
                    "HOME": str(tmp_path),
                    "XDG_RUNTIME_DIR": str(tmp_path),
                }
            )
            command = [sys.executable, "-m", "synapse_app.main", "--home", str(model_service.home)]
            with running([str(LAUNCHER), "--launch-immediately"], environ):
                connection = _accessibility_bus(address)
                with running(command, environ), connection:
                    yield _window(connection)
    finally:
        display.__exit__(None, None, None)


def _accessibility_bus(address: str) -> DBusConnection:
    with open_dbus_connection(bus=address) as session:
        bus = DBusAddress("/org/a11y/bus", bus_name="org.a11y.Bus", interface="org.a11y.Bus")
        deadline = time.monotonic() + 10
        while True:
            reply = session.send_and_get_reply(new_method_call(bus, "GetAddress"), timeout=10)
            if reply.header.message_type is MessageType.method_return and reply.body[0]:
                return open_dbus_connection(bus=reply.body[0])
            assert time.monotonic() < deadline, "there is no accessibility bus"
            time.sleep(0.05)


def _window(connection: DBusConnection) -> Node:
    registry = Node(connection, "org.a11y.atspi.Registry", ROOT)
    deadline = time.monotonic() + 20
    while True:
        for application in registry.children():
            for child in application.children():
                if child.name == "Synapse" and child.showing:
                    return child
        assert time.monotonic() < deadline, "the application didn't appear"
        time.sleep(0.1)


def test_every_page_is_reached_and_everything_that_can_be_used_has_a_name(window: Node) -> None:
    navigation = next(node for node in window.walk() if node.role == "list" and node.name == "Pages")
    assert [child.name for child in navigation.children()] == [page.label() for page in PAGES]
    for at, page in enumerate(PAGES):
        assert navigation.select(at)
        time.sleep(0.5)
        found = [(node.role, node.name) for node in window.walk()]
        assert ("label", page.label()) in found, page.name
        nameless = [(role, name) for role, name in found if role in USABLE and not name.strip()]
        assert nameless == [], page.name
        assert sum(role in USABLE for role, _ in found) > len(PAGES) + 1, page.name
