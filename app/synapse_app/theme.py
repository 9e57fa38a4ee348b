"""The look: colours, distances and fonts as tokens, for light and dark, and what Qt is told about them.

The Fusion style draws with a palette and one generated style sheet; delegates paint with the tokens directly. Which
theme is in use follows the user's choice, else the desktop's own setting (the portal on Linux, Qt elsewhere). Nothing
outside this module names a colour. The contrast of every text colour with every ground it stands on is at least 4.5:1,
which a test computes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QPalette
from PySide6.QtWidgets import QApplication

import synapse_resources

SPACE: Final = 8
"""The unit of distance, in pixels; every margin and gap is a multiple of half of it."""
RADIUS: Final = 6
_BASE_SIZE: Final = "synapseBaseSize"


@dataclass(frozen=True, slots=True)
class Tokens:
    """The colours of one theme, as ``#rrggbb``."""

    name: str
    ground: str
    """Behind everything."""
    raised: str
    """Lists, cards, fields."""
    sunken: str
    """The navigation, and the track of a progress bar."""
    hover: str
    line: str
    text: str
    muted: str
    accent: str
    """Buttons that do what the page is for, selection marks, progress."""
    on_accent: str
    selected: str
    focus: str
    good: str
    warning: str
    bad: str

    @property
    def dark(self) -> bool:
        return self.name == "dark"


LIGHT: Final = Tokens(
    name="light",
    ground="#f6f7f9",
    raised="#ffffff",
    sunken="#e9ecf1",
    hover="#eef1f6",
    line="#d3d9e2",
    text="#1b2430",
    muted="#536073",
    accent="#2456c7",
    on_accent="#ffffff",
    selected="#dde7fb",
    focus="#2456c7",
    good="#12694a",
    warning="#7f5300",
    bad="#b3261e",
)
DARK: Final = Tokens(
    name="dark",
    ground="#14181f",
    raised="#1c222b",
    sunken="#10141a",
    hover="#252d39",
    line="#354052",
    text="#e8ecf2",
    muted="#a3afc0",
    accent="#8ab0ff",
    on_accent="#0e1830",
    selected="#2a3b5e",
    focus="#8ab0ff",
    good="#62d2a2",
    warning="#f0be5f",
    bad="#ff9a92",
)


class Theme(QObject):
    """The theme in use. ``changed`` is emitted after the application has its new palette."""

    changed = Signal()

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        self._app = app
        self._choice = "system"
        self._portal_dark: bool | None = None
        # Kept with the application, because its font is scaled from now on.
        if app.property(_BASE_SIZE) is None:
            app.setProperty(_BASE_SIZE, app.font().pointSizeF())
        self._base_size = float(app.property(_BASE_SIZE))
        self.percent = 100
        self.tokens = LIGHT
        app.setStyle("Fusion")
        app.styleHints().colorSchemeChanged.connect(self._apply)

    def choose(self, choice: str) -> None:
        """``system``, ``light`` or ``dark``."""
        self._choice = choice
        self._apply()

    def desktop_says(self, dark: bool | None) -> None:
        """What the desktop's portal said; None when it has no wish."""
        self._portal_dark = dark
        self._apply()

    def set_text_percent(self, percent: int) -> None:
        """Size of all text, in percent of the system's."""
        self.percent = percent
        self._apply()

    def scaled(self, pixels: int) -> int:
        """A length that grows with the text."""
        return round(pixels * self.percent / 100)

    def _apply(self) -> None:
        tokens = DARK if self._dark() else LIGHT
        font = QFont(self._app.font())
        font.setPointSizeF(self._base_size * self.percent / 100)
        self.tokens = tokens
        self._app.setFont(font)
        self._app.setPalette(palette(tokens))
        self._app.setStyleSheet(style_sheet(tokens, self.percent, font.pointSizeF()))
        self.changed.emit()

    def _dark(self) -> bool:
        if self._choice in ("light", "dark"):
            return self._choice == "dark"
        if self._portal_dark is not None:
            return self._portal_dark
        return self._app.styleHints().colorScheme() is Qt.ColorScheme.Dark


def palette(tokens: Tokens) -> QPalette:
    """What Qt's own widgets draw with."""
    made = QPalette()
    roles = QPalette.ColorRole
    for role, colour in {
        roles.Window: tokens.ground,
        roles.WindowText: tokens.text,
        roles.Base: tokens.raised,
        roles.AlternateBase: tokens.hover,
        roles.Text: tokens.text,
        roles.PlaceholderText: tokens.muted,
        roles.Button: tokens.raised,
        roles.ButtonText: tokens.text,
        roles.ToolTipBase: tokens.raised,
        roles.ToolTipText: tokens.text,
        roles.Highlight: tokens.accent,
        roles.HighlightedText: tokens.on_accent,
        roles.Link: tokens.accent,
        roles.Accent: tokens.accent,
        roles.Light: tokens.line,
        roles.Midlight: tokens.line,
        roles.Mid: tokens.line,
        roles.Dark: tokens.line,
        roles.Shadow: tokens.sunken,
    }.items():
        made.setColor(role, QColor(colour))
    for role in (roles.WindowText, roles.Text, roles.ButtonText):
        made.setColor(QPalette.ColorGroup.Disabled, role, QColor(tokens.muted))
    return made


def style_sheet(tokens: Tokens, percent: int = 100, points: float = 10.0) -> str:
    """The one style sheet; ``points`` is the size of plain text.

    Object names that it knows: ``nav``, ``title``, ``heading``, ``muted``, ``bad``, ``banner``, ``card``,
    ``primary`` for the button that does what a page is for, and ``small`` for one beside a line of text.
    """
    pad = round(SPACE * percent / 100)
    t = tokens
    tick = synapse_resources.path(f"icons/tick-{t.name}.svg").as_posix()
    return f"""
    QMainWindow, QDialog {{ background: {t.ground}; }}
    QLabel#title {{ font-size: {points * 1.4:.1f}pt; font-weight: 600; }}
    QLabel#heading {{ font-weight: 600; }}
    QLabel#muted {{ color: {t.muted}; }}
    QLabel#bad {{ color: {t.bad}; }}
    #code {{ font-family: monospace; }}
    QListWidget#nav {{ background: {t.sunken}; border: none; outline: none; padding: {pad // 2}px; }}
    QListWidget#nav::item {{ border-radius: {RADIUS}px; padding: {pad // 2}px {pad}px; color: {t.text}; }}
    QListWidget#nav::item:hover {{ background: {t.hover}; }}
    QListWidget#nav::item:selected {{ background: {t.selected}; color: {t.text}; font-weight: 600; }}
    QListWidget#nav:focus {{ border: 2px solid {t.focus}; }}
    QFrame#banner {{ background: {t.raised}; border: 1px solid {t.warning}; border-radius: {RADIUS}px; }}
    QFrame#card {{ background: {t.raised}; border: 1px solid {t.line}; border-radius: {RADIUS}px; }}
    QListView {{ background: {t.raised}; border: 1px solid {t.line}; border-radius: {RADIUS}px; outline: none; }}
    QListView:focus, QTableView:focus, QPlainTextEdit:focus {{ border: 2px solid {t.focus}; }}
    QPushButton {{ background: {t.raised}; border: 1px solid {t.line}; border-radius: {RADIUS}px;
                   padding: {pad // 2 + 1}px {pad + pad // 2}px; color: {t.text}; }}
    QPushButton:hover {{ background: {t.hover}; }}
    QPushButton:pressed {{ background: {t.selected}; }}
    QPushButton:disabled {{ color: {t.muted}; background: {t.ground}; }}
    QPushButton:focus {{ border: 2px solid {t.focus}; }}
    QPushButton#primary {{ background: {t.accent}; color: {t.on_accent}; border-color: {t.accent}; }}
    QPushButton#primary:focus {{ border: 2px solid {t.text}; }}
    QPushButton#small {{ padding: {pad // 4}px {pad}px; }}
    QPushButton:checked {{ background: {t.selected}; border-color: {t.accent}; }}
    QPushButton#primary:disabled {{ background: {t.sunken}; color: {t.muted}; border-color: {t.line}; }}
    QLineEdit, QSpinBox, QPlainTextEdit {{ background: {t.raised}; border: 1px solid {t.line};
                   border-radius: {RADIUS}px; padding: {pad // 2}px {pad}px; color: {t.text};
                   selection-background-color: {t.accent}; selection-color: {t.on_accent}; }}
    QLineEdit:focus, QSpinBox:focus {{ border: 2px solid {t.focus}; }}
    QLineEdit:disabled, QSpinBox:disabled {{ color: {t.muted}; background: {t.ground}; }}
    QCheckBox::indicator {{ border: 1px solid {t.muted}; border-radius: 3px; background: {t.raised};
                   width: {pad + pad // 2}px; height: {pad + pad // 2}px; }}
    QCheckBox::indicator:checked {{ border-color: {t.accent}; background: {t.accent}; image: url("{tick}"); }}
    QCheckBox::indicator:checked:disabled {{ border-color: {t.muted}; background: {t.muted}; }}
    QCheckBox:focus {{ outline: none; border: 2px solid {t.focus}; border-radius: {RADIUS}px; }}
    QSplitter::handle {{ background: transparent; }}
    QSplitter::handle:vertical {{ height: {pad}px; }}
    QSplitter::handle:horizontal {{ width: {pad}px; }}
    QScrollBar {{ background: transparent; border: none; margin: 0; }}
    QScrollBar:vertical {{ width: {pad + 2}px; }}
    QScrollBar:horizontal {{ height: {pad + 2}px; }}
    QScrollBar::handle {{ background: {t.line}; border-radius: {pad // 2}px; margin: 1px; }}
    QScrollBar::handle:vertical {{ min-height: {3 * pad}px; }}
    QScrollBar::handle:horizontal {{ min-width: {3 * pad}px; }}
    QScrollBar::handle:hover {{ background: {t.muted}; }}
    QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
    QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}
    QTabWidget::pane {{ border: 1px solid {t.line}; border-radius: {RADIUS}px; background: {t.raised}; }}
    QTabBar::tab {{ padding: {pad // 2}px {2 * pad}px; color: {t.muted}; border-bottom: 2px solid transparent; }}
    QTabBar::tab:selected {{ color: {t.text}; border-bottom: 2px solid {t.accent}; }}
    QTabBar::tab:focus {{ border: 2px solid {t.focus}; border-radius: {RADIUS}px; }}
    QProgressBar {{ background: {t.line}; border: none; border-radius: {pad // 2}px; }}
    QProgressBar::chunk {{ background: {t.accent}; border-radius: {pad // 2}px; }}
    QScrollArea {{ border: none; background: transparent; }}
    QScrollArea > QWidget > QWidget {{ background: transparent; }}
    QMenu {{ background: {t.raised}; border: 1px solid {t.line}; color: {t.text}; }}
    QMenu::item:selected {{ background: {t.selected}; color: {t.text}; }}
    QMenu::item:disabled {{ color: {t.muted}; }}
    QToolTip {{ background: {t.raised}; color: {t.text}; border: 1px solid {t.line}; }}
    """


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours, 1 to 21, by relative luminance as WCAG 2 defines it."""
    low, high = sorted((_luminance(QColor(one)), _luminance(QColor(other))))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: QColor) -> float:
    def linear(part: float) -> float:
        return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4

    return 0.2126 * linear(colour.redF()) + 0.7152 * linear(colour.greenF()) + 0.0722 * linear(colour.blueF())
