"""The application's icons, made from the SVG files of the resources: coloured by the theme, drawn at the size needed.

An icon is never empty: where an SVG can't be read, a plain disc of the same colour is drawn instead, because a tray
icon without a picture is an invisible application.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

import synapse_resources

TRAY_SIZES: Final = (16, 22, 24, 32, 48, 64)
_TRAY_BODY: Final = "#2f6fed"
_STATE_COLOURS: Final = {
    "idle": "#2f6fed",
    "working": "#2f6fed",
    "paused": "#8a6d1a",
    "attention": "#c4452e",
    "down": "#7d8794",
}


def tray_icon(state: str, sizes: tuple[int, ...] = TRAY_SIZES) -> QIcon:
    """The icon of one state, ``idle``, ``working``, ``paused``, ``attention`` or ``down``, in all sizes of trays."""
    icon = QIcon()
    for size in sizes:
        icon.addPixmap(_pixmap(f"tray-{state}", _STATE_COLOURS.get(state, _TRAY_BODY), size))
    return icon


def page_icon(name: str, colour: str) -> QIcon:
    """The icon of a page for the navigation."""
    icon = QIcon()
    for size in (20, 40):
        icon.addPixmap(_pixmap(name, colour, size))
    return icon


def _pixmap(name: str, colour: str, size: int) -> QPixmap:
    pixmap = QPixmap(size, size)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    renderer = QSvgRenderer(QByteArray(_svg(name).replace(b"currentColor", colour.encode())))
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
