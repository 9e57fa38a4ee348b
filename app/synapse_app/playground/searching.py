"""Search in a folder of the user's own texts: read in a thread, embedded by a durable job, searched in memory.

========== ============================================ ==========================================
phase      meaning                                      leads to
========== ============================================ ==========================================
``empty``  no folder was chosen, or its index was left  reading
``reading`` files are read                              embedding, empty (stopped, nothing found)
``embedding`` the service computes vectors              ready, empty (stopped, refused)
``ready``  questions can be asked                       reading
========== ============================================ ==========================================

Stopping ends the service's job too. The index is in memory only and goes with the window.
"""

from __future__ import annotations

import asyncio
import threading
import uuid
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QLabel, QLineEdit, QProgressBar, QPushButton

from synapse_app import figures
from synapse_app.commands import Done, Refused
from synapse_app.i18n import tr
from synapse_app.playground.panel import Panel
from synapse_app.playground.ranking import score_text
from synapse_app.playground.text_folder import Found, LeftOut, Limits, Passage, Reason, read_folder
from synapse_app.playground.text_index import Hit, TextIndex
from synapse_app.problems import Problem
from synapse_app.widgets.delegate import Look
from synapse_app.widgets.lists import RowsView
from synapse_app.widgets.rows import RowsModel
from synapse_client import AsyncClient
from synapse_client.results import Progress
from synapse_wire import results as r

if TYPE_CHECKING:
    from synapse_app.pages.base import Page

HITS: Final = 20
PATIENCE_S: Final = 60.0
"""How long the service may be away meanwhile."""
STOP_MS: Final = 3000
"""How long stopping waits to learn which job it has to cancel."""
_DEADLINE_MS: Final = 60_000

Phase = Literal["empty", "reading", "embedding", "ready"]


class _Stopped(Exception):
    """The user doesn't want the index any more."""


class FolderSearch(Panel):
    """See above. ``found`` and ``index`` are those of the latest folder."""

    task: ClassVar[str] = "embed"

    def __init__(self, page: Page, limits: Limits | None = None) -> None:
        super().__init__(page)
        self.limits = limits or Limits()
        self.phase: Phase = "empty"
        self.found = Found()
        self.index: TextIndex | None = None
        self._stop = threading.Event()
        self._job_id: str | None = None
        self.choose = QPushButton()
        self.cancel = QPushButton()
        self.progress = QProgressBar()
        self.progress.setTextVisible(False)
        self.counts = QLabel()
        self.counts.setWordWrap(True)
        self.query = QLineEdit()
        self.hits: RowsModel[Hit] = RowsModel(lambda hit: hit.passage.id, spoken_hit, self)
        self.view = RowsView(self.hits, page.context.theme, look_of_hit)
        self.left_out: RowsModel[LeftOut] = RowsModel(lambda file: file.file, spoken_left_out, self)
        self.left_out_view = RowsView(self.left_out, page.context.theme, look_of_left_out, lines=1)
        self._giving_up = QTimer(self)
        self._giving_up.setSingleShot(True)
        self._giving_up.setInterval(STOP_MS)
        self._giving_up.timeout.connect(self._give_up)
        self._lay_out()
        self.choose.clicked.connect(self._ask_for_folder)
        self.cancel.clicked.connect(self.stop)
        self.go.clicked.connect(self._search)
        self.query.returnPressed.connect(self._search)
        self.query.textChanged.connect(self.refresh)

    def _lay_out(self) -> None:
        bar, asking = QHBoxLayout(), QHBoxLayout()
        bar.addWidget(self.lane, 1)
        bar.addWidget(self.choose)
        bar.addWidget(self.cancel)
        asking.addWidget(self.query, 1)
        asking.addWidget(self.go)
        self.column.addLayout(bar)
        self.column.addWidget(self.progress)
        self.column.addWidget(self.counts)
        self.column.addWidget(self.note)
        self.column.addLayout(asking)
        self.column.addWidget(self.view, 3)
        self.column.addWidget(self.left_out_view, 1)

    @staticmethod
    def label() -> str:
        return tr("Search a folder")

    def retranslate(self) -> None:
        super().retranslate()
        self.choose.setText(tr("Choose a folder…"))
        self.cancel.setText(tr("Cancel"))
        self.go.setText(tr("Search"))
        self.query.setPlaceholderText(tr("What do you look for?"))
        self.query.setAccessibleName(tr("What do you look for?"))
        self.view.setAccessibleName(tr("Passages found"))
        self.left_out_view.setAccessibleName(tr("Files that were left out"))
        self.progress.setAccessibleName(tr("Progress"))
        self.note.setText(
            tr(
                "Reads up to {files} UTF-8 files of up to {size}, {passages} passages in all. Nothing is stored.",
                files=figures.count(self.limits.files),
                size=figures.size(self.limits.file_bytes),
                passages=figures.count(self.limits.passages),
            )
        )
        for rows in (self.hits, self.left_out):
            rows.refresh()

    def refresh(self) -> None:
        super().refresh()
        works = self.phase in ("reading", "embedding")
        self.choose.setEnabled(bool(self.chosen_lane) and not self.busy)
        self.cancel.setVisible(works)
        self.cancel.setEnabled(works and not self._stop.is_set())
        self.progress.setVisible(works)
        self.query.setEnabled(self.phase == "ready")
        self.go.setEnabled(self.phase == "ready" and not self.busy and bool(self.query.text().strip()))
        self.left_out_view.setVisible(bool(self.found.left_out))
        self.counts.setText(self._counts())
        self.counts.setVisible(bool(self.counts.text()))

    def _counts(self) -> str:
        if self.phase == "reading":
            return tr("Reading the files…")
        parts = []
        if self.found.files or self.found.left_out:
            parts.append(tr("{n} files", n=self.found.files))
            parts.append(tr("{n} passages", n=len(self.found.passages)))
        if self.found.left_out:
            parts.append(tr("{n} files left out", n=len(self.found.left_out)))
        if self.index is not None and self.phase == "ready":
            parts.append(tr("indexed with {lane}", lane=self.index.lane))
        return " · ".join(parts)

    # --- making the index ---

    def _ask_for_folder(self) -> None:
        dialog = QFileDialog(self, tr("Choose a folder…"))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.fileSelected.connect(self.take)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def take(self, folder: str) -> None:
        """Make an index of ``folder``, in place of the one before."""
        if self.busy or not self.chosen_lane:
            return
        self._stop = threading.Event()
        self._job_id = None
        self.run(self._build(Path(folder), self.chosen_lane))

    def stop(self) -> None:
        """Stop what was begun; the service's job is cancelled as soon as it is known."""
        self._stop.set()
        self._giving_up.start()
        self.refresh()

    def _give_up(self) -> None:
        if self.working is not None:
            self.working.cancel()

    async def _build(self, folder: Path, lane: str) -> None:
        self.index, self.found = None, Found()
        self.hits.show([])
        self._enter("reading")
        self.progress.setRange(0, 0)
        try:
            self.found = await asyncio.to_thread(read_folder, folder, self.limits, self._stop.is_set)
            self.left_out.show(self.found.left_out)
            if self._stop.is_set() or not self.found.passages:
                return
            self._enter("embedding")
            index = TextIndex(lane)
            outcome = await self.page.context.commands.ask(partial(self._embed, index=index))
            if isinstance(outcome, Refused):
                self.refused(outcome)
            else:
                self.index = index
        except OSError as error:
            self.page.show_problem(Problem("folder", tr("The folder can't be read: {reason}", reason=error.strerror)))
        except _Stopped:
            if self._job_id is not None:
                await self.page.context.commands.cancel_job(self._job_id)
        finally:
            self._giving_up.stop()
            if self._stop.is_set():
                self.found = Found()
                self.left_out.show([])
            self._enter("empty" if self.index is None else "ready")

    async def _embed(self, client: AsyncClient, index: TextIndex) -> None:
        lane = self.page.context.store.state.lanes.get(index.lane)
        before = prompt(lane, "document", "passage")
        passages = {passage.id: passage for passage in self.found.passages}
        texts = [(passage.id, before + passage.text) for passage in self.found.passages]
        # One job for the whole folder, so that stopping has one job to cancel.
        items = client.embed_all(
            index.lane,
            texts,
            request_key=f"playground-{uuid.uuid4().hex}",
            on_progress=self._progressed,
            max_job_items=self.limits.passages,
            patience_s=PATIENCE_S,
        )
        async with aclosing(items):
            async for item in items:
                index.add(passages[item.id], item.vector, item.fingerprint)

    def _progressed(self, progress: Progress) -> None:
        self._job_id = progress.job_id or self._job_id
        if self._stop.is_set():
            raise _Stopped
        self.progress.setRange(0, progress.total or 0)
        self.progress.setValue(progress.received)

    def _enter(self, phase: Phase) -> None:
        self.phase = phase
        self.refresh()

    # --- asking ---

    def _search(self) -> None:
        if self.go.isEnabled() and self.index is not None:
            self.run(self._ask(self.index, self.query.text().strip()))

    async def _ask(self, index: TextIndex, text: str) -> None:
        asked = prompt(self.page.context.store.state.lanes.get(index.lane), "query") + text
        outcome = await self.page.context.commands.ask(
            lambda client: client.embed_query(
                index.lane, asked, deadline_ms=_DEADLINE_MS, required_fingerprint=index.fingerprint
            )
        )
        if isinstance(outcome, Refused):
            self.refused(outcome)
            return
        assert isinstance(outcome, Done)
        self.hits.show([])
        self.hits.show(await asyncio.to_thread(index.nearest, outcome.value.vector, HITS))
        self.view.scrollToTop()


def prompt(lane: r.ModelRow | None, *uses: str) -> str:
    """What the model's authors put before a text of this use; empty when they recommend nothing."""
    prompts = lane.prompts if lane is not None and isinstance(lane.prompts, dict) else {}
    return next((prompts[use] for use in uses if use in prompts), "")


def place(passage: Passage) -> str:
    """Where a passage stands."""
    return tr("{file}, line {line}", file=passage.file, line=figures.count(passage.line))


def spoken_hit(hit: Hit) -> str:
    return f"{score_text(hit.score)} {place(hit.passage)} {hit.passage.text}"


def look_of_hit(hit: Hit) -> Look:
    excerpt = " ".join(hit.passage.text[:300].split())
    return Look(title=excerpt, detail=place(hit.passage), side=score_text(hit.score), tone="accent")


def reason_text(reason: Reason) -> str:
    """Why a file was left out."""
    return {
        "binary": tr("not UTF-8 text"),
        "empty": tr("empty"),
        "large": tr("too large"),
        "link": tr("a link"),
        "special": tr("not a file"),
        "unreadable": tr("can't be read"),
        "limit": tr("over the limit"),
    }[reason]


def spoken_left_out(file: LeftOut) -> str:
    return f"{file.file}: {reason_text(file.reason)}"


def look_of_left_out(file: LeftOut) -> Look:
    return Look(title=file.file, side=reason_text(file.reason), tone="warning")
