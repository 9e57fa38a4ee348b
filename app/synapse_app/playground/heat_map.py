"""The picture of similarities: a square of cells, the stronger the colour the more alike the two texts.

It is painted as a whole, mirrors in right-to-left languages, and says its numbers to a screen reader.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QLocale, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QStyle, QWidget

from synapse_app.i18n import isolated, tr
from synapse_app.theme import SPACE, Theme, Tokens


class HeatMap(QWidget):
    """``show_table`` gives it texts and the table of their similarities, which is symmetric."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.texts: Sequence[str] = ()
        self.table: Sequence[Sequence[float]] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        theme.changed.connect(self.update)

    def show_table(self, texts: Sequence[str], table: Sequence[Sequence[float]]) -> None:
        self.texts, self.table = texts, table
        self.retranslate()
        self.updateGeometry()
        self.update()

    def retranslate(self) -> None:
        """Say again what the picture shows."""
        self.setAccessibleName(tr("Similarities"))
        self.setAccessibleDescription("; ".join(self._spoken()))

    def _spoken(self) -> list[str]:
        return [
            tr("{one} and {other}: {score}", one=self.texts[row], other=self.texts[column], score=_number(score))
            for row, scores in enumerate(self.table)
            for column, score in enumerate(scores)
            if column > row
        ]

    def minimumSizeHint(self) -> QSize:
        line = self.fontMetrics().height() + SPACE // 2
        return QSize(self._theme.scaled(320), (len(self.texts) + 1) * line + SPACE)

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self.texts:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        metrics, tokens = self.fontMetrics(), self._theme.tokens
        count = len(self.texts)
        names = min(self.width() // 2, max(metrics.horizontalAdvance(self._name(at)) for at in range(count)) + SPACE)
        head = metrics.height() + SPACE // 2
        wide = max(1, min(self._theme.scaled(84), (self.width() - names) // count))
        high = max(1, min(self._theme.scaled(44), (self.height() - head) // count))
        lowest = min(min(row) for row in self.table)
        for at in range(count):
            painter.setPen(QColor(tokens.text))
            self._label(
                painter,
                QRect(0, head + at * high, names, high),
                metrics.elidedText(self._name(at), Qt.TextElideMode.ElideRight, names - SPACE),
            )
            painter.setPen(QColor(tokens.muted))
            top = self._placed(QRect(names + at * wide, 0, wide, head))
            painter.drawText(top, int(Qt.AlignmentFlag.AlignCenter), QLocale().toString(at + 1))
        for row, scores in enumerate(self.table):
            for column, score in enumerate(scores):
                cell = self._placed(QRect(names + column * wide, head + row * high, wide, high))
                self._cell(painter, metrics, cell.adjusted(1, 1, -1, -1), score, strength(score, lowest), tokens)
        painter.end()

    def _cell(
        self, painter: QPainter, metrics: QFontMetrics, cell: QRect, score: float, share: float, tokens: Tokens
    ) -> None:
        ground = blended(tokens, share)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(ground))
        painter.drawRoundedRect(cell, SPACE // 2, SPACE // 2)
        text = _number(score)
        if metrics.horizontalAdvance(text) <= cell.width():
            painter.setPen(QColor(tokens.text))
            painter.drawText(cell, int(Qt.AlignmentFlag.AlignCenter), text)

    def _label(self, painter: QPainter, place: QRect, text: str) -> None:
        side = QStyle.visualAlignment(self.layoutDirection(), Qt.AlignmentFlag.AlignLeft)
        painter.drawText(
            self._placed(place), int(side | Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignAbsolute), text
        )

    def _placed(self, part: QRect) -> QRect:
        return QStyle.visualRect(self.layoutDirection(), self.rect(), part)

    def _name(self, at: int) -> str:
        return f"{QLocale().toString(at + 1)}  {isolated(self.texts[at])}"


def strength(score: float, lowest: float) -> float:
    """How strong the colour of ``score`` is, 0 to 1. Many models call everything similar, so the least is palest."""
    return 1.0 if lowest >= 1.0 else min(1.0, max(0.0, (score - lowest) / (1.0 - lowest)))


def blended(tokens: Tokens, share: float) -> str:
    """The colour of a cell. At most half of it is the accent, so that the usual text is read on every one."""
    pale, strong, share = QColor(tokens.raised), QColor(tokens.accent), share / 2
    parts = ((1 - share) * one + share * other for one, other in zip(_rgb(pale), _rgb(strong), strict=True))
    return QColor(*map(round, parts)).name()


def _rgb(colour: QColor) -> tuple[int, int, int]:
    return colour.red(), colour.green(), colour.blue()


def _number(score: float) -> str:
    return QLocale().toString(score, "f", 2)
