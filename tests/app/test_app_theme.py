"""The look: enough contrast in both themes, computed; the desktop's wish is followed unless the user chose."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QApplication

from synapse_app import icons
from synapse_app.theme import DARK, LIGHT, Theme, Tokens, contrast


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    theme = Theme(qapp)
    yield theme
    theme.choose("light")


def test_contrast_is_the_ratio_of_luminances() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=lambda tokens: tokens.name)
def test_every_text_has_enough_contrast_on_every_ground_it_stands_on(tokens: Tokens) -> None:
    grounds = {name: getattr(tokens, name) for name in ("ground", "raised", "sunken", "hover", "selected")}
    for ink in ("text", "muted", "good", "warning", "bad"):
        for name, ground in grounds.items():
            assert contrast(getattr(tokens, ink), ground) >= 4.5, (ink, name)
    assert contrast(tokens.on_accent, tokens.accent) >= 4.5
    for name in ("ground", "raised", "sunken"):
        assert contrast(tokens.focus, grounds[name]) >= 3.0


def test_the_users_choice_goes_before_the_desktops_wish(theme: Theme, qapp: QApplication) -> None:
    theme.choose("system")
    theme.desktop_says(True)
    assert (theme.tokens.name, qapp.palette().color(QPalette.ColorRole.Window).name()) == ("dark", DARK.ground)
    theme.choose("light")
    assert theme.tokens.name == "light"
    theme.choose("system")
    assert theme.tokens.name == "dark"
    theme.desktop_says(None)
    assert theme.tokens.name == "light"


def test_text_grows_from_the_systems_size_each_time(theme: Theme, qapp: QApplication) -> None:
    normal = qapp.font().pointSizeF()
    theme.set_text_percent(200)
    theme.set_text_percent(150)
    assert qapp.font().pointSizeF() == pytest.approx(1.5 * normal)
    theme.set_text_percent(100)
    assert qapp.font().pointSizeF() == pytest.approx(normal)


STATES = ("idle", "working", "paused", "attention", "down")


def test_the_states_are_different_pictures_even_without_colour(qapp: QApplication) -> None:
    for size in (16, 64):
        masks = {state: icons.tray_icon(state, mask=True) for state in STATES}
        assert all(icon.isMask() for icon in masks.values())
        images = {state: icon.pixmap(size, size).toImage() for state, icon in masks.items()}
        shapes = {
            tuple(image.pixelColor(x, y).alpha() > 128 for x in range(size) for y in range(size))
            for image in images.values()
        }
        assert len(shapes) == len(STATES)
        for image in images.values():
            inks = {
                image.pixelColor(x, y).rgb() for x in range(size) for y in range(size) if image.pixelColor(x, y).alpha()
            }
            assert inks <= {0xFF000000, 0x0}


def test_the_sign_on_the_tile_can_be_read(qapp: QApplication) -> None:
    for state in STATES:
        assert contrast(icons._STATE_COLOURS[state], "#ffffff") >= 4.5, state


@pytest.mark.parametrize("state", ["idle", "working", "paused", "attention", "down", "not drawn yet"])
def test_a_tray_icon_is_never_empty_in_any_size(state: str, qapp: QApplication) -> None:
    icon = icons.tray_icon(state)
    assert sorted(size.width() for size in icon.availableSizes()) == list(icons.TRAY_SIZES)
    for size in icons.TRAY_SIZES:
        image = icon.pixmap(size, size).toImage()
        covered = sum(image.pixelColor(x, y).alpha() > 128 for x in range(size) for y in range(size))
        assert covered > size * size * 0.15
