"""Settings: the application's own choices, and every setting of the service with its source and bounds.

What the service lists is shown, also settings of a newer service that have no name here yet: those go into the last
group under their own name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from PySide6.QtWidgets import QFrame, QLabel, QScrollArea, QVBoxLayout, QWidget

from synapse_app.commands import Refused
from synapse_app.i18n import tr
from synapse_app.pages.base import Page, PageContext
from synapse_app.state import AppState
from synapse_app.theme import SPACE
from synapse_app.widgets.own_settings import OwnSettings
from synapse_app.widgets.setting_row import GIGABYTES, HOURS, MEGABYTES, MINUTES, SECONDS, SettingRow, Unit
from synapse_app.widgets.storage_folder import StorageFolder
from synapse_wire import results as r

Label = Callable[[], str]

_NAMES: Final[Mapping[str, Label]] = {
    "cpu_lanes": lambda: tr("Compute on the processor"),
    "idle_unload_ms": lambda: tr("Unload a lane that nobody has used for"),
    "worker_threads": lambda: tr("Threads for each processor lane"),
    "storage_dir": lambda: tr("Folder for model files"),
    "knob": lambda: tr("Speed or quiet"),
    "cache_max_bytes": lambda: tr("Space for model files"),
    "hf_base_url": lambda: tr("Where models are downloaded from"),
    "http_proxy": lambda: tr("Proxy for downloads"),
    "ca_file": lambda: tr("File with trusted certificates"),
    "inline_max_items": lambda: tr("Texts in one request"),
    "inline_max_tokens": lambda: tr("Tokens in one request"),
    "inline_max_bytes": lambda: tr("Size of one request"),
    "default_max_queue_ms": lambda: tr("Longest wait in the queue"),
    "default_deadline_ms": lambda: tr("Time for one request"),
    "queue_capacity": lambda: tr("Requests that may wait for a lane"),
    "bulk_quantum_tokens": lambda: tr("Tokens of bulk work at a time"),
    "bulk_quantum_ms": lambda: tr("Time of bulk work at a time"),
    "microllm_max_tokens": lambda: tr("Tokens of one generated answer"),
    "result_ttl_ms": lambda: tr("How long results of jobs are kept"),
    "max_connections": lambda: tr("Connections at a time"),
    "max_in_flight": lambda: tr("Requests at a time on a connection"),
    "alias_administration": lambda: tr("Let apps declare model aliases"),
    "certify_observation": lambda: tr("Record what engines get"),
    "preload": lambda: tr("Models that are loaded at the start"),
    "grammar_enabled": lambda: tr("Allow grammars in text generation"),
    "log_level": lambda: tr("Least severe log entries"),
}
_UNITS: Final[Mapping[str, Unit]] = {
    "idle_unload_ms": MINUTES,
    "default_max_queue_ms": SECONDS,
    "default_deadline_ms": SECONDS,
    "bulk_quantum_ms": SECONDS,
    "result_ttl_ms": HOURS,
    "cache_max_bytes": GIGABYTES,
    "inline_max_bytes": MEGABYTES,
}
_GROUPS: Final[tuple[tuple[Label, tuple[str, ...]], ...]] = (
    (lambda: tr("Lanes"), ("cpu_lanes", "knob", "idle_unload_ms", "worker_threads")),
    (lambda: tr("Storage"), ("storage_dir", "cache_max_bytes")),
    (lambda: tr("Downloads"), ("hf_base_url", "http_proxy", "ca_file")),
)


def _rest() -> str:
    """The heading of the settings that no group names."""
    return tr("Limits and logging")


class SettingsPage(Page):
    """See above. ``rows`` are the settings of the service by name."""

    name = "settings"
    icon = "settings"

    @staticmethod
    def label() -> str:
        return tr("Settings")

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        self.own = OwnSettings(context.preferences, context.autostart)
        self.own.welcome.clicked.connect(self._welcome)
        self.storage = StorageFolder()
        self.rows: dict[str, SettingRow] = {}
        self._headings: list[tuple[QLabel, Label]] = []
        self._column = QVBoxLayout()
        self._column.setSpacing(2 * SPACE)
        self._column.addWidget(self._card(lambda: tr("This application"), [self.own]))
        self._cards: list[QWidget] = []
        self._column.addStretch(1)
        inside = QWidget()
        inside.setLayout(self._column)
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setWidget(inside)
        self.body.addWidget(self._scroll, 1)
        self.retranslate()

    def retranslate(self) -> None:
        super().retranslate()
        for heading, text in self._headings:
            heading.setText(text())
        self._scroll.setAccessibleName(self.label())

    def show_state(self, before: AppState | None, after: AppState) -> None:
        built = False
        if before is None or before.settings is not after.settings:
            if self.rows.keys() != after.settings.keys():
                self._build(after.settings)
                built = True
            for name, setting in after.settings.items():
                if self.rows[name].setting != setting:
                    self.rows[name].show_setting(setting)
        if built or before is None or before.storage is not after.storage:
            self.storage.show_status(after.storage)
            if "storage_dir" in self.rows:  # what a move changes is shown by the control that moves
                self.rows["storage_dir"].setVisible(after.storage is None)
        if built or before is None or before.link is not after.link:
            self.storage.setEnabled(after.current)
            for row in self.rows.values():
                row.setEnabled(after.current)
        self.own.show_choices()

    def _build(self, settings: Mapping[str, r.Setting]) -> None:
        for card in self._cards:
            self._column.removeWidget(card)
            card.deleteLater()
        self._headings = self._headings[:1]
        self.rows = {name: self._row(setting) for name, setting in settings.items()}
        grouped = {name for _, names in _GROUPS for name in names}
        groups = [*_GROUPS, (_rest, tuple(name for name in settings if name not in grouped))]
        self._cards = []
        for text, names in groups:
            members: list[QWidget] = [self.rows[name] for name in names if name in self.rows]
            if "storage_dir" in names:
                self.storage = StorageFolder()
                self.storage.chosen.connect(self._storage_chosen)
                members.insert(0, self.storage)
            if members:
                card = self._card(text, members)
                self._column.insertWidget(self._column.count() - 1, card)
                self._cards.append(card)

    def _row(self, setting: r.Setting) -> SettingRow:
        row = SettingRow(setting, _NAMES.get(setting.name), _UNITS.get(setting.name))
        row.edited.connect(lambda value: self.spawn(self._change(row, value)))
        return row

    def _welcome(self) -> None:
        self.context.open_page("first_run")

    def _storage_chosen(self, wanted: str, path: str) -> None:
        self.spawn(self.storage.carry_out(self.context.commands, wanted, path))

    async def _change(self, row: SettingRow, value: Any) -> None:
        outcome = await self.context.commands.change_settings({row.setting.name: value})
        if isinstance(outcome, Refused):
            row.show_problem(outcome.problem)

    def _card(self, text: Label, members: list[Any]) -> QFrame:
        card = QFrame()
        card.setObjectName("card")
        heading = QLabel(text())
        heading.setObjectName("heading")
        self._headings.append((heading, text))
        column = QVBoxLayout(card)
        column.setContentsMargins(2 * SPACE, SPACE, 2 * SPACE, SPACE)
        column.addWidget(heading)
        for member in members:
            column.addWidget(member)
        return card
