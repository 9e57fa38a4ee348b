"""Connect: where apps find the service, and programs that embed a text, ready to be copied and run."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QSizePolicy,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from synapse_app.i18n import tr
from synapse_app.pages.base import Page, PageContext
from synapse_app.samples import SAMPLES, Sample
from synapse_app.state import AppState
from synapse_app.theme import SPACE
from synapse_app.widgets.flow import Flow
from synapse_app.widgets.text import Elided, Wrapping

TEXT: Final = "A text to embed."
"""What the programs embed unless they are told otherwise."""


class ConnectPage(Page):
    """See above. The programs take the socket and the model from their command lines, which are shown filled in."""

    name = "connect"
    icon = "connect"
    scrolls = True

    @staticmethod
    def label() -> str:
        return tr("Connect")

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        self.intro = Wrapping()
        self.socket_label = QLabel()
        self.socket = Elided(Qt.TextElideMode.ElideMiddle)
        self.copy_socket = QPushButton()
        self.copy_socket.setObjectName("small")
        self.model_label = QLabel()
        self.model = QComboBox()
        self.model.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.model.setMinimumContentsLength(10)
        self.model.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.model_label.setBuddy(self.model)
        self.none = Wrapping("muted")
        self.tabs = QTabWidget()
        self.panels = tuple(SamplePanel(sample) for sample in SAMPLES)
        for panel in self.panels:
            self.tabs.addTab(panel, "")
        self._lay_out()
        self.copy_socket.clicked.connect(self._copy_socket)
        self.model.currentIndexChanged.connect(self._show_commands)
        self.retranslate()

    def _lay_out(self) -> None:
        place = QHBoxLayout()
        place.addWidget(self.socket_label)
        place.addWidget(self.socket, 1)
        place.addWidget(self.copy_socket)
        model = QHBoxLayout()
        model.addWidget(self.model_label)
        model.addWidget(self.model, 1)
        card = QFrame()
        card.setObjectName("card")
        column = QVBoxLayout(card)
        column.setContentsMargins(2 * SPACE, SPACE, 2 * SPACE, SPACE)
        column.setSpacing(SPACE)
        column.addWidget(self.intro)
        column.addLayout(place)
        column.addLayout(model)
        column.addWidget(self.none)
        self.body.addWidget(card)
        self.body.addWidget(self.tabs, 1)

    def retranslate(self) -> None:
        super().retranslate()
        self.intro.setText(
            tr("Apps of this user reach the service at this socket, without a key and without a network.")
        )
        self.socket_label.setText(tr("Socket"))
        self.copy_socket.setText(tr("Copy"))
        self.copy_socket.setAccessibleName(tr("Copy: {what}", what=tr("Socket")))
        self.model_label.setText(tr("Model"))
        self.model.setAccessibleName(tr("Model"))
        names = {"python": tr("Python"), "node": tr("Node"), "shell": tr("Shell")}
        needs = {
            "python": tr("Save this as {file}. It needs the package synapse in the Python that runs it."),
            "node": tr("Save this as {file}. It needs Node 18 or newer, and no package."),
            "shell": tr("Save this as {file}. It needs socat, or an nc that knows Unix sockets."),
        }
        for at, panel in enumerate(self.panels):
            key = panel.sample.key
            self.tabs.setTabText(at, names[key])
            panel.retranslate(needs[key].format(file=panel.sample.file))
        self.tabs.setAccessibleName(tr("Languages of programs"))
        self._show(self.context.store.state)

    def show_state(self, before: AppState | None, after: AppState) -> None:
        parts = ("service", "lanes", "link", "read")
        if before is None or any(getattr(before, part) is not getattr(after, part) for part in parts):
            self._show(after)

    def _show(self, state: AppState) -> None:
        path = "" if state.service is None else state.service.socket_path
        self.socket.show_text(path or self.missing(state, "service.info"))
        self.copy_socket.setEnabled(bool(path))
        usable = [lane.model_id for lane in state.lanes.values() if lane.task == "embed"]
        if usable != [self.model.itemText(at) for at in range(self.model.count())]:
            chosen = self.model.currentText()
            self.model.clear()
            self.model.addItems(usable)
            self.model.setCurrentIndex(max(0, self.model.findText(chosen)) if usable else -1)
        self.none.setText(tr("No model that embeds is installed yet; the command lines name one that isn't there."))
        self.none.setVisible(not usable)
        self.model.setEnabled(bool(usable))
        self._show_commands()

    def _show_commands(self) -> None:
        service = self.context.store.state.service
        path = "service.sock" if service is None else service.socket_path
        for panel in self.panels:
            panel.show_command(panel.sample.command(path, self.model.currentText() or "MODEL", TEXT))

    def _copy_socket(self) -> None:
        QGuiApplication.clipboard().setText(self.socket.whole)
        self.copy_socket.setText(tr("Copied"))


class SamplePanel(QWidget):
    """One program: what it needs, its text, and the line that runs it; both can be copied."""

    def __init__(self, sample: Sample) -> None:
        super().__init__()
        self.sample = sample
        self.needs = Wrapping("muted")
        self.code = QPlainTextEdit()
        self.code.setReadOnly(True)
        self.code.setTabChangesFocus(True)
        self.code.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.code.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self.code.setPlainText(sample.text())
        self.command = Elided(Qt.TextElideMode.ElideMiddle)
        for written in (self.code, self.command):
            written.setObjectName("code")
        self.copy_code = QPushButton()
        self.copy_command = QPushButton()
        column = QVBoxLayout(self)
        column.addWidget(self.needs)
        column.addWidget(self.code, 1)
        column.addWidget(self.command)
        column.addLayout(Flow(self.copy_code, self.copy_command))
        self.copy_code.clicked.connect(self._copy_code)
        self.copy_command.clicked.connect(self._copy_command)

    def retranslate(self, needs: str) -> None:
        self.needs.setText(needs)
        self.copy_code.setText(tr("Copy the &program"))
        self.copy_command.setText(tr("Copy the co&mmand"))
        self.code.setAccessibleName(tr("Program: {file}", file=self.sample.file))

    def show_command(self, command: str) -> None:
        self.command.show_text(command)

    def _copy_code(self) -> None:
        QGuiApplication.clipboard().setText(self.code.toPlainText())
        self.copy_code.setText(tr("Copied"))

    def _copy_command(self) -> None:
        QGuiApplication.clipboard().setText(self.command.whole)
        self.copy_command.setText(tr("Copied"))
