"""The list model tells the view only what changed, so that selection and scrolling survive updates."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import pytest
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QApplication

from synapse_app.theme import Theme
from synapse_app.widgets.delegate import Look
from synapse_app.widgets.lists import RowsView
from synapse_app.widgets.rows import ROW_ROLE, RowsModel


@dataclass(frozen=True)
class Row:
    key: str
    value: int = 0


@pytest.fixture
def model(qapp: QApplication) -> RowsModel[Row]:
    return RowsModel(lambda row: row.key, lambda row: f"{row.key} {row.value}")


def rows(text: str, value: int = 0) -> list[Row]:
    return [Row(key, value) for key in text]


def test_only_rows_that_differ_are_announced(model: RowsModel[Row]) -> None:
    model.show(rows("abcdef"))
    changed: list[tuple[int, int]] = []
    model.dataChanged.connect(lambda first, last: changed.append((first.row(), last.row())))
    new = rows("abcdef")
    new[1], new[2], new[5] = Row("b", 1), Row("c", 1), Row("f", 1)
    model.show(new)
    assert changed == [(1, 2), (5, 5)]


def test_any_sequence_of_pictures_keeps_model_and_view_together(model: RowsModel[Row]) -> None:
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Warning)
    rng = random.Random(7)
    for step in range(200):
        picture = [Row(key, rng.randrange(3)) for key in "abcdefghij" if rng.random() < 0.6]
        if step % 10 == 0:
            rng.shuffle(picture)
        model.show(picture)
        assert [model.data(model.index(at), ROW_ROLE) for at in range(model.rowCount())] == picture
    assert tester.model() is model


def test_a_selected_row_stays_selected_while_others_come_and_go(model: RowsModel[Row], qapp: QApplication) -> None:
    view = RowsView(model, Theme(qapp), lambda row: Look(row.key))
    model.show(rows("abc"))
    view.setCurrentIndex(model.index(1))
    model.show(rows("xabdc", 5))
    assert view.currentIndex().data(ROW_ROLE) == Row("b", 5)


def test_a_row_that_changed_is_painted_and_its_neighbours_are_not(qtbot: Any, qapp: QApplication) -> None:
    painted: list[str] = []

    def look(row: tuple[str, int]) -> Look:
        painted.append(row[0])
        return Look(title=f"{row[0]} {row[1]}")

    model: RowsModel[tuple[str, int]] = RowsModel(lambda row: row[0], str)
    model.show([("a", 1), ("b", 1), ("c", 1)])
    view = RowsView(model, Theme(qapp), look)
    qtbot.addWidget(view)
    view.resize(400, 400)
    view.show()
    qtbot.waitUntil(lambda: {"a", "b", "c"} <= set(painted))
    qapp.processEvents()
    painted.clear()
    model.show([("a", 1), ("b", 2), ("c", 1)])
    qtbot.waitUntil(lambda: "b" in painted)
    assert set(painted) == {"b"}
