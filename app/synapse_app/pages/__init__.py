"""The pages of the window, in the order of the navigation. ``base`` says what a page is."""

from __future__ import annotations

from typing import Final

from synapse_app.pages.activity import ActivityPage
from synapse_app.pages.base import Page, PageContext
from synapse_app.pages.connect import ConnectPage
from synapse_app.pages.first_run import FirstRunPage
from synapse_app.pages.jobs import JobsPage
from synapse_app.pages.lanes import LanesPage
from synapse_app.pages.models import ModelsPage
from synapse_app.pages.playground import PlaygroundPage
from synapse_app.pages.settings import SettingsPage

PAGES: Final[tuple[type[Page], ...]] = (
    ModelsPage,
    LanesPage,
    JobsPage,
    PlaygroundPage,
    ConnectPage,
    ActivityPage,
    SettingsPage,
    FirstRunPage,
)

__all__ = ["PAGES", "Page", "PageContext"]
