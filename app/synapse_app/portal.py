"""What the desktop prefers, asked over D-Bus: light or dark, and whether to keep still. Linux only.

Qt's own answer depends on a plugin for each desktop and is often "unknown"; the portal's is the same everywhere. Its
absence (no session bus, no portal, another system) is normal and leaves Qt's answer in force.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

_NAME: Final = "org.freedesktop.portal.Desktop"
_PATH: Final = "/org/freedesktop/portal/desktop"
_INTERFACE: Final = "org.freedesktop.portal.Settings"
APPEARANCE: Final = "org.freedesktop.appearance"
COLOUR_SCHEME: Final = "color-scheme"
REDUCED_MOTION: Final = "reduced-motion"
_LIMIT_S: Final = 5.0

Listener = Callable[[str, int], None]
"""Gets a key of the appearance and its number: for ``color-scheme`` 0 no wish, 1 dark, 2 light."""


async def follow(heard: Listener) -> None:
    """Tell ``heard`` what the portal says now, and each change, until cancelled. Returns where there is no portal."""
    if not sys.platform.startswith("linux"):
        return
    from jeepney import DBusAddress, HeaderFields, MatchRule, message_bus, new_method_call
    from jeepney.io.asyncio import open_dbus_router

    portal = DBusAddress(_PATH, _NAME, _INTERFACE)
    try:
        async with open_dbus_router(bus="SESSION") as router:
            rule = MatchRule(type="signal", interface=_INTERFACE, member="SettingChanged", path=_PATH)
            with router.filter(rule) as changes:
                await router.send_and_get_reply(message_bus.AddMatch(rule))
                for key in (COLOUR_SCHEME, REDUCED_MOTION):
                    call = new_method_call(portal, "Read", "ss", (APPEARANCE, key))
                    with suppress(TimeoutError):
                        reply = await asyncio.wait_for(router.send_and_get_reply(call), _LIMIT_S)
                        if reply.header.fields.get(HeaderFields.signature) == "v":
                            _tell(heard, key, reply.body[0])
                while True:
                    change = await changes.get()
                    namespace, key, value = change.body
                    if namespace == APPEARANCE:
                        _tell(heard, key, value)
    except (OSError, KeyError, ValueError, EOFError):
        return  # no session bus to ask


def _tell(heard: Listener, key: str, value: Any) -> None:
    while isinstance(value, tuple):  # a variant, in older portals inside another one
        value = value[1]
    if isinstance(value, int):
        heard(key, value)
