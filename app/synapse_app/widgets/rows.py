"""A list model over immutable rows, which tells the view only what really changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

ROW_ROLE: Final = int(Qt.ItemDataRole.UserRole)
"""The row itself, as the delegate paints it."""

T = TypeVar("T")
Index = QModelIndex | QPersistentModelIndex
_NOWHERE: Final = QModelIndex()


class RowsModel(QAbstractListModel, Generic[T]):
    """Rows of one kind. ``key`` names a row for as long as it exists, ``spoken`` is what a screen reader says for it.

    :meth:`show` compares by key: rows that stay are only marked as changed where they differ, so that selection and
    scrolling survive; rows are inserted and removed in runs.
    """

    def __init__(self, key: Callable[[T], str], spoken: Callable[[T], str], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._key = key
        self._spoken = spoken
        self._rows: list[T] = []

    @property
    def rows(self) -> Sequence[T]:
        return self._rows

    def row_of(self, key: str) -> int | None:
        """Where the row called ``key`` is."""
        return next((at for at, row in enumerate(self._rows) if self._key(row) == key), None)

    def show(self, rows: Sequence[T]) -> None:
        """Show these rows, in this order."""
        new = list(rows)
        new_keys = [self._key(row) for row in new]
        wanted = set(new_keys)
        self._remove([at for at, row in enumerate(self._rows) if self._key(row) not in wanted])
        kept = {self._key(row) for row in self._rows}
        if [self._key(row) for row in self._rows] != [key for key in new_keys if key in kept]:
            self.beginResetModel()  # the order changed, which happens when somebody sorts
            self._rows = new
            self.endResetModel()
            return
        self._insert(new, new_keys, kept)
        changed = [
            at for at, (old, row) in enumerate(zip(self._rows, new, strict=True)) if old is not row and old != row
        ]
        self._rows = new
        for first, last in _runs(changed):
            self.dataChanged.emit(self.index(first), self.index(last))

    def refresh(self) -> None:
        """Draw every row again: the language or the theme changed."""
        if self._rows:
            self.dataChanged.emit(self.index(0), self.index(len(self._rows) - 1))

    def rowCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = int(Qt.ItemDataRole.DisplayRole)) -> Any:
        if not index.isValid():
            return None
        row = self._rows[index.row()]
        if role == ROW_ROLE:
            return row
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return self._spoken(row)
        return None

    def _remove(self, gone: list[int]) -> None:
        for first, last in reversed(list(_runs(gone))):
            self.beginRemoveRows(QModelIndex(), first, last)
            del self._rows[first : last + 1]
            self.endRemoveRows()

    def _insert(self, new: list[T], keys: list[str], kept: set[str]) -> None:
        for first, last in _runs([at for at, key in enumerate(keys) if key not in kept]):
            self.beginInsertRows(QModelIndex(), first, last)
            self._rows[first:first] = new[first : last + 1]
            self.endInsertRows()


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    """Ascending numbers as (first, last) of each unbroken run."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs
