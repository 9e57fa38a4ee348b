"""Text that comes from elsewhere: names, paths, fingerprints. It may be of any length and direction, and is no markup.

:class:`Elided` is one line that is cut where the room ends, with the whole text as its tooltip and for screen readers.
:class:`Wrapping` is for sentences that may hold such text.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QStyle, QWidget


class Plain(QLabel):
    """A label that begins where the window's language begins, whatever the direction of what it shows."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self._align()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.LayoutDirectionChange:
            self._align()

    def _align(self) -> None:
        side = QStyle.visualAlignment(self.layoutDirection(), Qt.AlignmentFlag.AlignLeft)
        self.setAlignment(side | Qt.AlignmentFlag.AlignAbsolute | Qt.AlignmentFlag.AlignVCenter)


class Elided(Plain):
    """See above. ``mode`` is where it is cut: names at the end, paths and fingerprints in the middle."""

    def __init__(self, mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._mode = mode
        self._whole = ""
        self._fitted: tuple[str, int] | None = None
        """What was fitted into which width last, in the present font."""
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def show_text(self, text: str) -> None:
        """Show ``text``, or as much of it as there is room for."""
        self._whole = text
        self.setAccessibleName(text)
        self._fit()
        self.updateGeometry()

    @property
    def whole(self) -> str:
        return self._whole

    def sizeHint(self) -> QSize:
        metrics = self.fontMetrics()
        return QSize(metrics.horizontalAdvance(self._whole) + 2, metrics.height())

    def minimumSizeHint(self) -> QSize:
        return QSize(1, self.fontMetrics().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._fitted = None

    def paintEvent(self, event: QPaintEvent) -> None:
        self._fit()
        super().paintEvent(event)

    def _fit(self) -> None:
        fitted = (self._whole, self.width())
        if fitted == self._fitted:
            return
        self._fitted = fitted
        shown = self.fontMetrics().elidedText(self._whole.replace("\n", " "), self._mode, max(1, self.width() - 2))
        if shown != self.text():
            self.setText(shown)
        tip = self._whole if shown != self._whole else ""
        if tip != self.toolTip():
            self.setToolTip(tip)


class Wrapping(Plain):
    """Sentences, in as many lines as they need. One long word is cut rather than that it widens the window."""

    def __init__(self, name: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setWordWrap(True)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def minimumSizeHint(self) -> QSize:
        return QSize(1, self.fontMetrics().height())
