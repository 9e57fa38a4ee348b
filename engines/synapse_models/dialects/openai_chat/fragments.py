"""Which tool call a streamed fragment belongs to, on servers that number well, badly, or not at all.

The rules, in this order:

1. The wire's ``index`` names a place. A fragment without one belongs to the call with its ``id``, else to the call
   that the fragment before it belonged to.
2. At one place, an ``id`` that differs from the place's own begins another call: two calls are never spliced. An id
   that was seen at this place before goes back to its call.
3. Without ids, a fragment begins another call when it brings another name after arguments, or the same name and the
   start of an object after a complete one.
4. The fragments of one chunk are of different calls where each has a name, unless they have one id.

An empty id is kept as reported, and none is invented.
"""

from __future__ import annotations

from typing import Final

import msgspec

from synapse_models.errors import ProtocolViolation

_UNPLACED: Final = -1


class Call:
    """A call under construction. ``position`` is its rank by first appearance."""

    __slots__ = ("arguments", "id", "name", "place", "position")

    def __init__(self, position: int, place: int) -> None:
        self.position = position
        self.place = place
        self.id: str | None = None
        self.name: str | None = None
        self.arguments: list[str] = []

    def is_complete(self) -> bool:
        """True when the arguments so far are one whole JSON object."""
        text = "".join(self.arguments).strip()
        if not text.endswith("}"):
            return False
        try:
            msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return False
        return True


class ToolCallFragments:
    """The calls of one choice."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._by_id: dict[tuple[int, str], Call] = {}
        self._current: dict[int, Call] = {}
        self._last: Call | None = None
        self._named: list[Call] = []

    def begin_chunk(self) -> None:
        """What follows comes in a chunk of its own."""
        self._named.clear()

    def assign(
        self, index: int | None, call_id: str | None, name: str | None, arguments: str
    ) -> tuple[Call, str | None]:
        """The call that a fragment belongs to, and the piece of its name that is new.

        Raises:
            ProtocolViolation: a call whose arguments have begun gets another name.
        """
        place = self._place(index, call_id)
        call = self._current.get(place)
        if call is None:
            call = self._begin(place)
        elif call_id and call.id and call_id != call.id:
            call = self._by_id.get((place, call_id)) or self._begin(place)
        elif name and call in self._named and not (call_id and call_id == call.id):
            call = self._by_id.get((place, call_id or "")) or self._begin(place)
        elif not call_id and not call.id and name and self._starts_another(call, name, arguments):
            call = self._begin(place)
        if name:
            self._named.append(call)
        self._current[place] = self._last = call
        if call_id is not None and not call.id:
            call.id = call_id
            if call_id:
                self._by_id[place, call_id] = call
        piece = self._name(call, name)
        if arguments:
            call.arguments.append(arguments)
        return call, piece

    def _place(self, index: int | None, call_id: str | None) -> int:
        if index is not None:
            return index
        if call_id:
            known = (place for place, seen in self._by_id if seen == call_id)
            return next(known, _UNPLACED - len(self.calls))
        return self._last.place if self._last is not None else _UNPLACED

    def _begin(self, place: int) -> Call:
        call = Call(len(self.calls), place)
        self.calls.append(call)
        return call

    @staticmethod
    def _starts_another(call: Call, name: str, arguments: str) -> bool:
        if not call.arguments:
            return False
        return name != call.name or (arguments.lstrip().startswith("{") and call.is_complete())

    @staticmethod
    def _name(call: Call, name: str | None) -> str | None:
        """Servers repeat a name with every fragment, or split it before the arguments begin."""
        if not name or name == call.name:
            return None
        if call.name is not None and call.arguments:
            raise ProtocolViolation("a tool call changes its name after its arguments have begun")
        call.name = name if call.name is None else call.name + name
        return name
