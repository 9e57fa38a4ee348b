"""Adding a model of one's own: choose a folder, say what it is, and watch it being read, registered, probed, certified.

What it goes through::

    choosing ──add──▶ reading ──digests──▶ fetching ──job done──▶ probing ──report──▶ ended
        ▲                 └─────────────────stop or failure──────────────┴──────────────┘

``reading`` computes digests on a thread and can be stopped; from ``fetching`` on, the service goes on without us, and
closing the form only means that nobody watches.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from pathlib import Path
from typing import Any, Final, Literal

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QFileDialog,
    QFormLayout,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from synapse_app import certificates, figures, model_folder, words
from synapse_app.commands import Done, Outcome, Refused
from synapse_app.i18n import tr
from synapse_app.pages.base import PageContext
from synapse_app.problems import Problem
from synapse_app.state import AppState
from synapse_app.theme import SPACE
from synapse_app.widgets.details import DetailsCard
from synapse_app.widgets.flow import Flow
from synapse_app.widgets.text import Wrapping
from synapse_wire import results as r

Step = Literal["choosing", "reading", "fetching", "probing", "ended"]

ENGINES: Final = ("owned-cpu", "owned-metal" if sys.platform == "darwin" else "owned-cuda")
TASKS: Final = ("embed", "rerank")
POOLINGS: Final = ("mean", "cls", "last")
LOOK_MS: Final = 100
"""How often the progress of reading is shown."""


class OwnModel(QWidget):
    """See above. ``closed`` carries the id of the model that was added, or nothing."""

    closed = Signal(str)

    def __init__(self, context: PageContext) -> None:
        super().__init__()
        self._context = context
        self.step: Step = "choosing"
        self.found: model_folder.Found | None = None
        self._work: asyncio.Task[object] | None = None
        self._stop = threading.Event()
        self._read = 0
        self._job_id = ""
        self._added = ""
        self._report: r.ProbeReport | None = None
        self._unreadable = ""
        self.folder = QLineEdit()
        self.folder.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self.browse = QPushButton()
        self.files = Wrapping("muted")
        policy = self.files.sizePolicy()
        policy.setHorizontalPolicy(QSizePolicy.Policy.Expanding)
        self.files.setSizePolicy(policy)
        self.model_id = QLineEdit()
        self.task = QComboBox()
        self.pooling = QComboBox()
        self.engine = QComboBox()
        self.boxes = ((self.task, TASKS), (self.pooling, POOLINGS), (self.engine, ENGINES))
        for box, values in self.boxes:
            for value in values:
                box.addItem("", value)
        self.start = QPushButton()
        self.start.setObjectName("primary")
        self.back = QPushButton()
        self.status = Wrapping()
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setFixedHeight(SPACE)
        self.problem = Wrapping("bad")
        self.card = DetailsCard()
        self._labels = [QLabel() for _ in range(5)]
        self._lay_out()
        self._dialog: QFileDialog | None = None
        self._look = QTimer(self)
        self._look.setInterval(LOOK_MS)
        self._look.timeout.connect(self._show_progress)
        self.browse.clicked.connect(self._browse)
        self.folder.editingFinished.connect(self._folder_entered)
        self.folder.textEdited.connect(self._folder_edited)
        self.model_id.textChanged.connect(self._show)
        self.task.currentIndexChanged.connect(self._show)
        self.start.clicked.connect(self._start)
        self.back.clicked.connect(self.leave)

    def _lay_out(self) -> None:
        chosen = QHBoxLayout()
        chosen.addWidget(self.folder, 1)
        chosen.addWidget(self.browse)
        form = QFormLayout()
        form.setSpacing(SPACE)
        form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        form.addRow(self._labels[0], chosen)
        form.addRow(QLabel(), self.files)
        for label, field in zip(self._labels[1:], (self.model_id, self.task, self.pooling, self.engine), strict=True):
            form.addRow(label, field)
        for label, field in zip(
            self._labels, (self.folder, self.model_id, self.task, self.pooling, self.engine), strict=True
        ):
            label.setBuddy(field)
        frame = QFrame()
        frame.setObjectName("card")
        column = QVBoxLayout(frame)
        column.setContentsMargins(2 * SPACE, 2 * SPACE, 2 * SPACE, 2 * SPACE)
        column.setSpacing(SPACE)
        column.addLayout(form)
        column.addWidget(self.problem)
        column.addWidget(self.status)
        column.addWidget(self.bar)
        column.addLayout(Flow(self.start, self.back))
        inside = QWidget()
        stacked = QVBoxLayout(inside)
        stacked.setContentsMargins(0, 0, 0, 0)
        stacked.setSpacing(SPACE)
        stacked.addWidget(frame)
        stacked.addWidget(self.card, 1)
        stacked.addStretch(0)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidget(inside)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(area)

    # --- for the page ---

    def begin(self) -> None:
        """An empty form, unless one is at work."""
        if self.step in ("choosing", "ended"):
            self.step = "choosing"
            self.found = None
            self._added = ""
            self._report = None
            for line in (self.folder, self.model_id):
                line.clear()
            self._unreadable = ""
            self._complain(None)
        self._show()
        self.folder.setFocus()

    def leave(self) -> None:
        """Stop reading, or stop watching, and go back."""
        self._stop.set()
        if self._work is not None and self.step == "reading":
            self._work.cancel()
            self.step = "choosing"
        self.closed.emit(self._added)

    def choose(self, folder: str) -> None:
        """Look into a folder."""
        self.folder.setText(folder)
        self._folder_entered()

    def show_state(self, state: AppState) -> None:
        """The picture changed."""
        if self.isVisible():
            self._show()

    def retranslate(self) -> None:
        texts = (tr("Folder"), tr("Name"), tr("What it does"), tr("Pooling"), tr("Compute on"))
        for label, text in zip(self._labels, texts, strict=True):
            label.setText(text)
        fields = (self.folder, self.model_id, self.task, self.pooling, self.engine)
        for field, text in zip(fields, texts, strict=True):
            field.setAccessibleName(text)
        for at, name in enumerate(TASKS):
            self.task.setItemText(at, words.task(name))
        for at, text in enumerate((tr("mean of all tokens"), tr("first token"), tr("last token"))):
            self.pooling.setItemText(at, text)
        for at, name in enumerate(ENGINES):
            self.engine.setItemText(at, words.engine(name))
        self.folder.setPlaceholderText(tr("A folder with model.safetensors and tokenizer.json"))
        self.browse.setText(tr("&Choose…"))
        self.start.setText(tr("&Add and probe"))
        self.bar.setAccessibleName(tr("Progress"))
        self._show()

    # --- drawing ---

    def _show(self) -> None:
        at_work = self.step in ("reading", "fetching", "probing")
        for field in (self.folder, self.browse, self.model_id, self.task, self.pooling, self.engine):
            field.setEnabled(not at_work)
        embeds = self.task.currentData() == "embed"
        self.pooling.setVisible(embeds)
        self._labels[3].setVisible(embeds)
        ready = self.found is not None and self.found.complete and bool(self.model_id.text().strip())
        self.start.setEnabled(ready and not at_work and self._context.store.state.current)
        self.back.setText(tr("&Back") if self.step in ("choosing", "ended") else tr("S&top"))
        self.card.setVisible(self.step == "ended" and self._report is not None)
        if self._report is not None:
            now_ms = time.time_ns() // 1_000_000
            self.card.show_facts(self._added, certificates.report_facts(self._report, now_ms))
        self.files.setText(self._found_text())
        self.bar.setVisible(at_work)
        self._show_progress()

    def _show_progress(self) -> None:
        job = self._context.store.state.jobs.get(self._job_id)
        done, total = (0, 0) if job is None else (job.items_done, job.items_total)
        match self.step:
            case "reading":
                size = 0 if self.found is None else self.found.size
                done, total = self._read, size
                text = tr("Reading the files: {progress}", progress=figures.share(done, size))
            case "fetching":
                text = tr("The service takes the files over and reads them: {progress}",
                          progress=figures.share(done, total))  # fmt: skip
            case "probing":
                text = tr("Its results are compared with the reference: {progress}",
                          progress=figures.share(done, total))  # fmt: skip
            case "ended":
                text = tr("It is ready to use.") if not self.problem.text() else ""
            case _:
                text = ""
        self.status.setText(text)
        self.status.setVisible(bool(text))
        # Without a total, the bar would run to and fro; it stays at its beginning instead.
        self.bar.setRange(0, 1000)
        self.bar.setValue(round(1000 * done / total) if total else 0)

    def _complain(self, problem: Problem | None) -> None:
        # The service names the field and the reason; its own sentence says more than one of ours about a code.
        text = "" if problem is None else problem.text()
        if problem is not None and problem.message and problem.message != text:
            text = f"{text}\n{problem.message}"
        self.problem.setText(text)
        self.problem.setVisible(bool(text))

    # --- the folder ---

    def _browse(self) -> None:
        self._dialog = QFileDialog(self, tr("Folder of a model"), str(Path.home()))
        self._dialog.setFileMode(QFileDialog.FileMode.Directory)
        self._dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        self._dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._dialog.fileSelected.connect(self.choose)
        self._dialog.open()

    def _folder_edited(self) -> None:
        self.found = None
        self._unreadable = ""
        self._show()

    def _folder_entered(self) -> None:
        text = self.folder.text().strip()
        if text and self.step in ("choosing", "ended"):
            self.step = "choosing"
            self._context.tasks.spawn(self._look_into(Path(text)))

    async def _look_into(self, folder: Path) -> None:
        try:
            found = await asyncio.to_thread(model_folder.find, folder)
        except (OSError, RuntimeError) as error:
            self.found = None
            self._unreadable = getattr(error, "strerror", None) or str(error)
        else:
            self.found = found
            self._unreadable = ""
            if found.complete and not self.model_id.text().strip():
                self.model_id.setText(found.folder.name)
        self._show()

    def _found_text(self) -> str:
        """What the folder holds, in words."""
        if self._unreadable:
            return tr("The folder can't be read: {reason}", reason=self._unreadable)
        if self.found is None:
            return ""
        if self.found.missing:
            missing = ", ".join(self.found.missing)
            return tr("Missing: {files}. Choose the folder that holds them.", files=missing)
        sizes = self.found.sizes.items()
        shown = [f"{self.found.files[role].name} ({figures.size(size)})" for role, size in sizes]
        return tr("Found: {files}", files=", ".join(shown))

    # --- adding ---

    def _start(self) -> None:
        if self.found is not None and self.start.isEnabled():
            self._stop = threading.Event()
            self._read = 0
            self._complain(None)
            self._added = ""
            self._report = None
            self.step = "reading"
            self._look.start()
            self._show()
            self._work = self._context.tasks.spawn(self._add(self.found, self.model_id.text().strip()))

    async def _add(self, found: model_folder.Found, model_id: str) -> None:
        stop = self._stop
        try:
            problem = await self._carried_out(found, model_id, stop)
        except asyncio.CancelledError:
            stop.set()
            raise
        finally:
            self._look.stop()
        self.step = "ended"
        self._complain(problem)
        self._show()

    async def _carried_out(self, found: model_folder.Found, model_id: str, stop: threading.Event) -> Problem | None:
        """Everything, in its order; returns what stopped it."""
        commands = self._context.commands
        try:
            files = await asyncio.to_thread(model_folder.describe, found, self._note_read, stop)
        except model_folder.Stopped:
            return Problem("request_cancelled")
        except OSError as error:
            text = tr("{file} can't be read: {reason}", file=str(error.filename), reason=error.strerror or str(error))
            return Problem("unreadable_file", text)
        options: Any = {"pooling": self.pooling.currentData()} if self.task.currentData() == "embed" else {}
        loading = await commands.add_model(model_id, self.task.currentData(), self.engine.currentData(), files, options)
        if (problem := await self._followed("fetching", loading)) is not None:
            return problem
        self._added = model_id
        if (problem := await self._followed("probing", await commands.probe(model_id))) is not None:
            return problem
        report = await commands.probe_report(model_id)
        if isinstance(report, Refused):
            return report.problem
        self._report = report.value
        return None

    async def _followed(self, step: Step, accepted: Outcome[Any]) -> Problem | None:
        """Watch a job to its end."""
        if isinstance(accepted, Refused):
            return accepted.problem
        assert isinstance(accepted, Done)
        self.step = step
        self._job_id = accepted.value.job_id
        self._show()
        ended = await self._context.commands.job_ended(self._job_id)
        return ended.problem if isinstance(ended, Refused) else None

    def _note_read(self, done: int) -> None:
        self._read = done
