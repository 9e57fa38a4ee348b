"""What the database knows of the folder of the models: which store belongs there, and the move that is under way.

Two single facts in the table ``state``. Every function runs inside a closure of the store.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeVar

import msgspec

from synapse_service.store.models import Install, Model, State

_STORE: Final = "model_store"
_MOVE: Final = "storage_move"

T = TypeVar("T")

Mode = Literal["move", "adopt"]
Step = Literal["bringing", "switching", "clearing", "undoing"]


class KnownStore(msgspec.Struct, frozen=True):
    """The store that was in use last: its folder and the id in its marker."""

    path: str
    store_id: str


class MoveRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the folder, as far as the next start has to know it.

    ``setting`` is what ``storage_dir`` becomes. ``before`` are the names that the target had, relative to it, and
    ``marker_before`` the id of the store that was there, if one was: that much an undo leaves. ``made_root`` says that
    the move made the folder itself.
    """

    move_id: str
    mode: Mode
    source: str
    target: str
    setting: str | None
    store_id: str
    links: bool
    before: list[str]
    marker_before: str | None
    made_root: bool
    started_ms: int
    step: Step = "bringing"


def known_store() -> KnownStore | None:
    """The store that was in use last; None in a new database."""
    return _read(_STORE, KnownStore)


def remember_store(store: KnownStore) -> None:
    """From now on this is the store."""
    _write(_STORE, store)


def pending_move() -> MoveRecord | None:
    """The move that was begun and has not ended."""
    return _read(_MOVE, MoveRecord)


def remember_move(move: MoveRecord) -> None:
    """Write down how far a move is."""
    _write(_MOVE, move)


def forget_move() -> None:
    """The move has ended."""
    State.delete().where(State.key == _MOVE).execute()


def has_models() -> bool:
    """True when anything is installed or registered."""
    return Install.select().exists() or Model.select().exists()


def _read(key: str, shape: type[T]) -> T | None:
    row = State.get_or_none(State.key == key)
    return None if row is None else msgspec.json.decode(row.value, type=shape)


def _write(key: str, value: Any) -> None:
    State.insert(key=key, value=msgspec.json.encode(value).decode()).on_conflict_replace().execute()
