"""What the desktop prefers, asked over D-Bus: light or dark, and whether to keep still. Linux only.

Qt's own answer depends on a plugin for each desktop and is often "unknown"; the portal's is the same everywhere. Its
absence (no session bus, no portal, another system) is normal and leaves Qt's answer in force.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

from synapse_app import bus

_NAME: Final = "org.freedesktop.portal.Desktop"
_PATH: Final = "/org/freedesktop/portal/desktop"
_INTERFACE: Final = "org.freedesktop.portal.Settings"
APPEARANCE: Final = "org.freedesktop.appearance"
COLOUR_SCHEME: Final = "color-scheme"
REDUCED_MOTION: Final = "reduced-motion"

Listener = Callable[[str, int], None]
"""Gets a key of the appearance and its number: for ``color-scheme`` 0 no wish, 1 dark, 2 light."""


async def follow(heard: Listener) -> None:
    """Tell ``heard`` what the portal says now, and each change, until cancelled. Returns where there is no portal."""
    if not sys.platform.startswith("linux"):
        return
    from jeepney import DBusAddress, MatchRule

    portal = DBusAddress(_PATH, _NAME, _INTERFACE)
    rule = MatchRule(type="signal", interface=_INTERFACE, member="SettingChanged", path=_PATH)
    try:
        async with bus.opened("SESSION") as session:
            changes = await session.listen(rule)
            for key in (COLOUR_SCHEME, REDUCED_MOTION):
                if answer := await session.call(portal, "Read", "ss", (APPEARANCE, key)):
                    _tell(heard, key, answer[0])
            while True:
                _, change = await changes.next()
                if len(change) == 3 and change[0] == APPEARANCE:
                    _tell(heard, change[1], change[2])
    except bus.NoBus:
        return


def _tell(heard: Listener, key: str, value: Any) -> None:
    while isinstance(value, tuple):  # a variant, in older portals inside another one
        value = value[1]
    if isinstance(value, int):
        heard(key, value)
