"""Every page in every language, in a small window: nothing is cut, everything has a name and is reached by Tab."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QComboBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QScrollArea,
    QWidget,
)

from fixtures.tray_app import TrayApp
from synapse_app.i18n import LANGUAGES
from synapse_app.pages import PAGES
from synapse_app.pages.base import Page
from synapse_app.widgets.text import Elided, Wrapping

SCROLLING = [page for page in PAGES if page.scrolls]


def shown(page: Page, kind: type) -> Iterator[QWidget]:
    """The widgets of a kind that are on the page now."""
    for widget in page.findChildren(kind):
        assert isinstance(widget, QWidget)
        if widget.isVisibleTo(page) and widget.width() > 0:
            yield widget


def cut(page: Page) -> list[str]:
    """What doesn't get the room that its text needs, or sticks out of what holds it."""
    found = []
    for label in shown(page, QLabel):
        assert isinstance(label, QLabel)
        if isinstance(label, Elided) or not label.text():
            continue  # made to be cut, with the whole text as its tooltip
        needed = label.heightForWidth(label.width()) if label.wordWrap() else label.sizeHint().height()
        if label.height() < needed - 1 or (not label.wordWrap() and label.width() < label.sizeHint().width() - 1):
            found.append(f"text {label.text()!r}: {label.size()} of {needed}")
    for button in shown(page, QAbstractButton):
        assert isinstance(button, QAbstractButton)
        if button.text() and button.width() < button.minimumSizeHint().width() - 1:
            found.append(f"button {button.text()!r}: {button.size()}")
    for widget in [*shown(page, QAbstractButton), *shown(page, QComboBox), *shown(page, QLineEdit)]:
        parent = widget.parentWidget()
        if parent is not None and not parent.rect().adjusted(-1, -1, 1, 1).contains(widget.geometry()):
            found.append(f"{widget.objectName() or type(widget).__name__} {widget.accessibleName()!r} sticks out")
    return found


def overlapping(page: Page) -> list[str]:
    """Controls that stand on each other."""
    controls = [*shown(page, QAbstractButton), *shown(page, QComboBox), *shown(page, Wrapping)]
    controls = [control for control in controls if not isinstance(control.parentWidget(), QComboBox | QLineEdit)]
    places = [(control, QRect(control.mapTo(page, QPoint(0, 0)), control.size())) for control in controls]
    return [
        f"{one.metaObject().className()} over {other.metaObject().className()}"
        for at, (one, place) in enumerate(places)
        for other, place_of_other in places[at + 1 :]
        if one.parentWidget() is other.parentWidget() and place.intersects(place_of_other)
    ]


def nameless(page: Page) -> list[str]:
    """Controls that a screen reader couldn't tell anything about."""
    found = []
    for kind in (QAbstractButton, QComboBox, QLineEdit, QAbstractItemView, QPlainTextEdit):
        for widget in shown(page, kind):
            text = widget.text() if isinstance(widget, QAbstractButton) else ""
            inside = isinstance(widget.parentWidget(), QComboBox | QLineEdit) or widget.objectName().startswith("qt_")
            if not inside and not widget.accessibleName() and not text:
                found.append(type(widget).__name__)
    return found


def unreachable(page: Page) -> list[str]:
    """Controls that can be clicked and not be reached by Tab."""
    return [
        widget.text()
        for widget in shown(page, QAbstractButton)
        if isinstance(widget, QAbstractButton) and widget.text() and widget.isEnabled()
        if not widget.focusPolicy() & Qt.FocusPolicy.TabFocus
    ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_is_cut_or_covered_and_everything_has_a_name(tray_with_model: TrayApp, language: str) -> None:
    tray = tray_with_model
    tray.app.preferences.language = language
    try:
        for kind in SCROLLING:
            page = tray.page(kind)
            tray.app.window.resize(800, 600)
            tray.turn(0.15)
            tray.app.store.announce()
            tray.turn()
            found = [*cut(page), *overlapping(page), *nameless(page), *unreachable(page)]
            assert found == [], f"{kind.name} in {language}"
            assert page.layoutDirection() is tray.qapp.layoutDirection()
    finally:
        tray.app.preferences.language = "en"


def test_at_twice_the_text_size_pages_scroll_and_nothing_is_cut(tray_with_model: TrayApp) -> None:
    tray = tray_with_model
    tray.app.preferences.text_percent = 200
    try:
        for kind in SCROLLING:
            page = tray.page(kind)
            tray.app.window.resize(800, 600)
            tray.turn(0.15)
            tray.app.store.announce()
            tray.turn()
            assert [*cut(page), *overlapping(page)] == [], kind.name
            inside = page.body.parentWidget()
            area = next(area for area in page.findChildren(QScrollArea) if area.widget() is inside)
            assert inside.height() <= area.verticalScrollBar().maximum() + area.viewport().height()
    finally:
        tray.app.preferences.text_percent = 100
