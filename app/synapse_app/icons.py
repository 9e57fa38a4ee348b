"""The application's icons, made from the SVG files of the resources: coloured by the theme, drawn at the size needed.

An icon is never empty: where an SVG can't be read, a plain disc of the same colour is drawn instead, because a tray
icon without a picture is an invisible application.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from typing import Final

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

import synapse_resources

TRAY_SIZES: Final = (16, 22, 24, 32, 48, 64)
APP_SIZES: Final = (16, 24, 32, 48, 64, 128, 256)
_STATE_COLOURS: Final = {
    "idle": "#2f6fed",
    "working": "#2f6fed",
    "paused": "#8a6d1a",
    "attention": "#c4452e",
    "down": "#687380",
}
_INK: Final = b"#ffffff"
_TILE: Final = re.compile(rb"<[^<>]*id=\"tile\"[^<>]*/>")


def tray_icon(state: str, sizes: tuple[int, ...] = TRAY_SIZES, *, mask: bool = sys.platform == "darwin") -> QIcon:
    """The icon of one state, ``idle``, ``working``, ``paused``, ``attention`` or ``down``, in all sizes of trays.

    It is a coloured tile with a white sign, which can be seen on a panel of any colour. With ``mask`` it is the sign
    alone in black, as the menu bar of macOS wants it: it is coloured there to fit the bar.
    """
    icon = QIcon()
    for size in sizes:
        icon.addPixmap(_drawn(_mask_of(f"tray-{state}") if mask else _svg(f"tray-{state}"), _colour(state, mask), size))
    icon.setIsMask(mask)
    return icon


def app_icon() -> QIcon:
    """The application's own icon, for windows and notices."""
    icon = QIcon()
    for size in APP_SIZES:
        icon.addPixmap(_drawn(_svg("synapse"), _STATE_COLOURS["idle"], size))
    return icon


def page_icon(name: str, colour: str) -> QIcon:
    """The icon of a page for the navigation."""
    icon = QIcon()
    for size in (20, 40):
        icon.addPixmap(_drawn(_svg(name), colour, size))
    return icon


def _colour(state: str, mask: bool) -> str:
    return "#000000" if mask else _STATE_COLOURS.get(state, _STATE_COLOURS["idle"])


def _mask_of(name: str) -> bytes:
    return _TILE.sub(b"", _svg(name)).replace(_INK, b"#000000")


def _drawn(svg: bytes, colour: str, size: int) -> QPixmap:
    pixmap = QPixmap(size, size)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    renderer = QSvgRenderer(QByteArray(svg.replace(b"currentColor", colour.encode())))
    if renderer.isValid():
        renderer.render(painter, QRectF(0, 0, size, size))
    else:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colour))
        painter.drawEllipse(1, 1, size - 2, size - 2)
    painter.end()
    return pixmap


@cache
def _svg(name: str) -> bytes:
    try:
        return synapse_resources.read(f"icons/{name}.svg")
    except FileNotFoundError:
        return b""
