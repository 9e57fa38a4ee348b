"""The folder of the models: where it is, whether it is there, moving the models elsewhere, or using those of a folder.

It is drawn from ``storage.status`` as the service tells it; ``chosen`` carries what the user wants done, and the page
that shows it has it carried out. A refusal is shown here, with what the service said of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import UNSET, UnsetType
from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtWidgets import QFileDialog, QProgressBar, QPushButton, QVBoxLayout, QWidget

from synapse_app import figures
from synapse_app.commands import Commands, Refused
from synapse_app.i18n import isolated, tr
from synapse_app.problems import Problem
from synapse_app.theme import SPACE
from synapse_app.widgets.flow import Flow
from synapse_app.widgets.text import Elided, Plain, Wrapping
from synapse_wire import results as r

MOVE, ADOPT, CANCEL = "move", "adopt", "cancel"
_ENDED: Final = ("done", "failed", "cancelled")
_BACK: Final = ("bringing", "undoing")
"""States in which a move can still be taken back."""

_UNUSABLE: Final[Mapping[str, Callable[[], str]]] = {
    "disk_missing": lambda: tr("The folder isn't there. Plug in its disk, or choose another folder."),
    "another_store": lambda: tr("These are other models than before. Put the right disk back, or use these."),
    "not_moved": lambda: tr("The setting was changed, but the models lie elsewhere. Move them, or use what is here."),
    "in_use": lambda: tr("Another service uses this folder. Stop that one."),
    "read_only": lambda: tr("The disk can't be written. Make it writable."),
    "unusable": lambda: tr("This folder can't be used: it is open to other users, or holds something else."),
    "moving": lambda: tr("The models are being moved."),
}
_REFUSED: Final[Mapping[str, Callable[[], str]]] = {
    "same": lambda: tr("The models are in that folder already."),
    "nested": lambda: tr("One of the two folders lies in the other. Choose one beside it."),
    "missing": lambda: tr("There is no such folder. Make it first."),
    "unusable": lambda: tr("This folder can't be used: it is open to other users, or holds something else."),
    "read_only": lambda: tr("The disk can't be written. Make it writable."),
    "in_use": lambda: tr("Another service uses this folder. Stop that one."),
    "foreign": lambda: tr("Something else lies in that folder. Choose an empty one."),
    "another_store": lambda: tr("There are models in that folder already. Use them instead of moving yours there."),
    "nothing_there": lambda: tr("There are no models in that folder."),
    "moving": lambda: tr("The models are being moved."),
    "storage_full": lambda: tr("There is not enough space on that disk."),
    "late": lambda: tr("It is too late to take the move back."),
    "no_move": lambda: tr("It is too late to take the move back."),
}


class StorageFolder(QWidget):
    """See above. ``chosen`` carries ``move``, ``adopt`` or ``cancel``, and a path; an empty one is the usual folder."""

    chosen = Signal(str, str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._status: r.StorageStatus | None = None
        self._problem: Problem | None = None
        self._wanted = MOVE
        self.caption = Plain()
        self.path = Elided(Qt.TextElideMode.ElideMiddle)
        self.state = Wrapping("muted")
        self.failure = Wrapping("bad")
        self.progress = QProgressBar()
        self.progress.setRange(0, 1000)
        self.progress.setTextVisible(False)
        self.move_it, self.adopt, self.usual, self.cancel = (QPushButton() for _ in range(4))
        self.move_it.clicked.connect(self._ask_where_to_move)
        self.adopt.clicked.connect(self._ask_what_to_adopt)
        self.usual.clicked.connect(self._back_to_usual)
        self.cancel.clicked.connect(self._take_back)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, SPACE // 2, 0, SPACE // 2)
        column.setSpacing(SPACE // 2)
        for widget in (self.caption, self.path, self.state, self.progress, self.failure):
            column.addWidget(widget)
        column.addLayout(Flow(self.move_it, self.adopt, self.usual, self.cancel))
        self.retranslate()

    def show_status(self, status: r.StorageStatus | None) -> None:
        """Show what the service says now; None while it has said nothing."""
        self._status = status
        move = None if status is None or status.move is UNSET else status.move
        runs = move is not None and move.state not in _ENDED
        self.setVisible(status is not None)
        self.path.show_text("" if status is None else isolated(status.path))
        self.state.setText(self._said(status, move))
        self.progress.setVisible(runs)
        if move is not None:
            self.progress.setValue(1000 * move.bytes_done // max(1, move.bytes_total))
        for button in (self.move_it, self.adopt):
            button.setVisible(not runs)
        self.usual.setVisible(not runs and status is not None and status.path != status.default_path)
        self.cancel.setVisible(runs)
        self.cancel.setEnabled(move is not None and move.state in _BACK)
        self.failure.setVisible(bool(self.failure.text()))

    async def carry_out(self, commands: Commands, wanted: str, path: str) -> None:
        """Ask the service for what was ``chosen``, and show its refusal."""
        self.show_problem(None)
        outcome = await (commands.cancel_storage_move() if wanted == CANCEL else commands.move_storage(path, wanted))
        if isinstance(outcome, Refused):
            self.show_problem(outcome.problem)

    def show_problem(self, problem: Problem | None) -> None:
        """Say why what was wanted didn't happen, or take that back."""
        self._problem = problem
        self.failure.setText("" if problem is None else refusal(problem))
        self.failure.setVisible(problem is not None)

    def retranslate(self) -> None:
        self.caption.setText(tr("Folder for model files"))
        self.move_it.setText(tr("Move the models…"))
        self.adopt.setText(tr("Use the models of a folder…"))
        self.usual.setText(tr("Move them to the usual folder"))
        self.cancel.setText(tr("Take the move back"))
        self.progress.setAccessibleName(tr("Progress"))
        self.show_status(self._status)
        self.show_problem(self._problem)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()

    def _said(self, status: r.StorageStatus | None, move: r.StorageMove | None) -> str:
        if status is None:
            return ""
        if move is not None and move.state not in _ENDED:
            return _progress(move)
        sentences = []
        if status.state == "unavailable" and status.error is not UNSET:
            reason = str((status.error.get("details") or {}).get("reason", ""))
            known = _UNUSABLE.get(reason)
            sentences.append(known() if known is not None else str(status.error.get("message", "")))
        if move is not None:
            sentences += _outcome(move)
        return "\n".join(sentences) if sentences else tr("In use.")

    # --- what the user wants ---

    def _ask_where_to_move(self) -> None:
        self._ask(MOVE, tr("Move the models…"))

    def _ask_what_to_adopt(self) -> None:
        self._ask(ADOPT, tr("Use the models of a folder…"))

    def _ask(self, wanted: str, title: str) -> None:
        self._wanted = wanted
        dialog = QFileDialog(self, title)
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.fileSelected.connect(self._selected)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _selected(self, path: str) -> None:
        self.chosen.emit(self._wanted, path)

    def _back_to_usual(self) -> None:
        self.chosen.emit(MOVE, "")

    def _take_back(self) -> None:
        self.chosen.emit(CANCEL, "")


def refusal(problem: Problem) -> str:
    """Why the folder stays as it is, and what to do."""
    if problem.code == "model_in_use":
        holders = problem.details.get("holders") or ()
        return tr("{n} things still use the models. Unload the lanes and let the work end first.", n=len(holders))
    known = _REFUSED.get(str(problem.details.get("reason", "")))
    return known() if known is not None else problem.message or problem.text()


def _progress(move: r.StorageMove) -> str:
    share = figures.share(move.bytes_done, move.bytes_total)
    if move.state == "undoing":
        return tr("The move is being taken back…")
    if move.state != "bringing":
        return tr("The last files are being put in order…")
    left = move.eta_ms
    if isinstance(left, UnsetType):
        return tr("Moving to {folder}: {share}", folder=move.to_path, share=share)
    return tr("Moving to {folder}: {share}, {time} left", folder=move.to_path, share=share, time=figures.duration(left))


def _outcome(move: r.StorageMove) -> list[str]:
    said = []
    if move.state == "failed" and move.error is not UNSET:
        said.append(tr("The last move failed: {reason}", reason=str(move.error.get("message", ""))))
    elif move.state == "cancelled":
        said.append(tr("The last move was taken back."))
    elif move.state == "done":
        said.append(tr("The models were moved.") if move.mode == MOVE else tr("The models of this folder are used."))
    if move.corrupt:
        said.append(tr("{n} files were damaged and are set aside.", n=len(move.corrupt)))
    if move.missing:
        said.append(tr("{n} files are missing: download their models again.", n=len(move.missing)))
    return said
