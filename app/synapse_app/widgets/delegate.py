"""The base of every delegate: paints a row of one or two lines with a mark, a badge and a progress bar.

A page's delegate turns its row into a :class:`Look` and paints nothing itself, so all lists look alike, and mirror in
right-to-left languages, in one place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from synapse_app.theme import RADIUS, SPACE, Theme, Tokens
from synapse_app.widgets.rows import ROW_ROLE

Tone = Literal["plain", "muted", "accent", "good", "warning", "bad"]
_BAR: Final = 6


@dataclass(frozen=True, slots=True)
class Look:
    """How one row looks. ``side`` stands at the far end of the first line, ``detail`` below; ``progress`` is 0 to 1."""

    title: str
    detail: str = ""
    side: str = ""
    badge: str = ""
    tone: Tone = "plain"
    """Of the mark before the row and of the badge."""
    progress: float | None = None
    fixed_width: bool = False
    """Whether the title is text of a machine, such as a log line."""


class RowDelegate(QStyledItemDelegate):
    """Paints rows. ``look`` makes the look of a row; ``lines`` is 1 or 2 for all rows of the view."""

    def __init__(self, theme: Theme, look: Callable[[Any], Look], *, lines: int = 2, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._look = look
        self._lines = lines

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        height = QFontMetrics(option.font).height()
        return QSize(0, self._lines * height + (2 + self._lines) * SPACE)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        look = self._look(index.data(ROW_ROLE))
        tokens = self._theme.tokens
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._ground(painter, option, tokens)
        area = option.rect.adjusted(SPACE, SPACE, -SPACE, -SPACE)
        self._mark(painter, option, area, QColor(_colour(tokens, look.tone)))
        area = self._mirrored(option, area, area.adjusted(SPACE + SPACE // 2, 0, 0, 0))
        top = QRect(area.left(), area.top(), area.width(), QFontMetrics(option.font).height())
        self._first_line(painter, option, top, look, tokens)
        if self._lines > 1:
            self._second_line(painter, option, area, top.bottom(), look, tokens)
        painter.restore()

    def _ground(self, painter: QPainter, option: QStyleOptionViewItem, tokens: Tokens) -> None:
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        hovered = bool(option.state & QStyle.StateFlag.State_MouseOver)
        if selected or hovered:
            painter.fillRect(option.rect, QColor(tokens.selected if selected else tokens.hover))
        painter.setPen(QPen(QColor(tokens.line), 1))
        painter.drawLine(option.rect.bottomLeft(), option.rect.bottomRight())
        if option.state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(QPen(QColor(tokens.focus), 2))
            painter.drawRoundedRect(option.rect.adjusted(2, 2, -2, -2), RADIUS, RADIUS)

    def _mark(self, painter: QPainter, option: QStyleOptionViewItem, area: QRect, colour: QColor) -> None:
        bar = self._mirrored(option, area, QRect(area.left(), area.top(), SPACE // 2, area.height()))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        painter.drawRoundedRect(bar, 2, 2)

    def _first_line(
        self, painter: QPainter, option: QStyleOptionViewItem, line: QRect, look: Look, tokens: Tokens
    ) -> None:
        metrics = QFontMetrics(option.font)
        rest = line
        if look.side:
            rest = self._at_end(painter, option, rest, look.side, metrics, QColor(tokens.muted))
        if look.badge:
            colour = tokens.muted if look.tone == "plain" else _colour(tokens, look.tone)
            rest = self._at_end(painter, option, rest, look.badge, metrics, QColor(colour))
        font = QFont(option.font)
        if look.fixed_width:
            font.setFamilies(["monospace"])
            font.setStyleHint(QFont.StyleHint.Monospace)
            # What a machine writes is read from the left in every language.
            shown = _fitted(QFontMetrics(font), look.title, rest.width())
            painter.setFont(font)
            painter.setPen(QColor(tokens.text))
            painter.drawText(rest, _MACHINE, shown)
            return
        if self._lines > 1:
            font.setWeight(QFont.Weight.DemiBold)
        self._text(painter, option, rest, look.title, font, QColor(tokens.text))

    def _second_line(
        self, painter: QPainter, option: QStyleOptionViewItem, area: QRect, below: int, look: Look, tokens: Tokens
    ) -> None:
        height = QFontMetrics(option.font).height()
        line = QRect(area.left(), below + SPACE, area.width(), height)
        if look.progress is not None:
            width = min(self._theme.scaled(180), area.width() // 3)
            track = self._mirrored(option, line, QRect(line.left(), line.center().y() - _BAR // 2, width, _BAR))
            self._progress(painter, option, track, look.progress, tokens)
            line = self._mirrored(option, line, line.adjusted(width + SPACE, 0, 0, 0))
        self._text(painter, option, line, look.detail, option.font, QColor(tokens.muted))

    def _progress(
        self, painter: QPainter, option: QStyleOptionViewItem, track: QRect, progress: float, tokens: Tokens
    ) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        ground = QColor(tokens.muted)  # which shows on a selected row, too
        ground.setAlpha(70)
        painter.setBrush(ground)
        painter.drawRoundedRect(track, _BAR // 2, _BAR // 2)
        done = QRect(track.topLeft(), QSize(round(track.width() * min(1.0, max(0.0, progress))), track.height()))
        painter.setBrush(QColor(tokens.accent))
        painter.drawRoundedRect(self._mirrored(option, track, done), _BAR // 2, _BAR // 2)

    def _at_end(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        line: QRect,
        text: str,
        metrics: QFontMetrics,
        colour: QColor,
    ) -> QRect:
        """Draws ``text`` at the far end of ``line`` and returns what is left of the line."""
        width = min(metrics.horizontalAdvance(text) + 2, line.width() // 2)
        place = self._mirrored(
            option, line, QRect(QPoint(line.right() - width + 1, line.top()), QSize(width, line.height()))
        )
        painter.setPen(colour)
        painter.setFont(option.font)
        painter.drawText(place, _CENTRE, _fitted(metrics, text, width))
        return self._mirrored(option, line, line.adjusted(0, 0, -width - 2 * SPACE, 0))

    def _text(
        self, painter: QPainter, option: QStyleOptionViewItem, place: QRect, text: str, font: QFont, colour: QColor
    ) -> None:
        painter.setFont(font)
        painter.setPen(colour)
        side = QStyle.visualAlignment(option.direction, Qt.AlignmentFlag.AlignLeft)
        shown = _fitted(QFontMetrics(font), text, place.width())
        painter.drawText(place, int(side | Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignAbsolute), shown)

    def _mirrored(self, option: QStyleOptionViewItem, whole: QRect, part: QRect) -> QRect:
        return QStyle.visualRect(option.direction, whole, part)


def _fitted(metrics: QFontMetrics, text: str, width: int) -> str:
    # Measuring costs a third of eliding, and most texts fit.
    if metrics.horizontalAdvance(text) <= width:
        return text
    return metrics.elidedText(text, Qt.TextElideMode.ElideRight, width)


_MACHINE: Final = int(
    Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignAbsolute
) | int(Qt.TextFlag.TextForceLeftToRight.value)
_CENTRE: Final = int(Qt.AlignmentFlag.AlignCenter)


def _colour(tokens: Tokens, tone: Tone) -> str:
    return {
        "plain": tokens.line,
        "muted": tokens.muted,
        "accent": tokens.accent,
        "good": tokens.good,
        "warning": tokens.warning,
        "bad": tokens.bad,
    }[tone]
