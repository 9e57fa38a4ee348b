"""A file of texts, one JSON value a line, as `synapse embed --file` reads it: with memory that doesn't grow with it.

It is read twice. The *survey* counts the texts, takes the digest of the file, and finds every defect, so that a
malformed line is reported in seconds and not after hours of computing. The second reading delivers the texts, and
makes sure that they are still the ones that were surveyed.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, NamedTuple

import msgspec

from synapse_cli.reporting import CommandError
from synapse_wire.params import Name

MAX_LINE_BYTES: Final = 64 * 1024 * 1024
"""Longest line. Far above what one request can carry, because a line may have more members than its text."""

_REPORT_BYTES: Final = 4 * 1024 * 1024
_HASH_MASK: Final = 2**64 - 1
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class TextLine(NamedTuple):
    """One text: the number of its line, counted from one, and its id."""

    number: int
    item_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Survey:
    """What a file holds: how many texts, and the SHA-256 of its bytes."""

    count: int
    sha256: str


class TextLines:
    """The texts of ``file``, an open binary file that can be rewound and that ``name`` stands for in messages.

    A line is a JSON string, whose id is then its place among the texts (from 0), or an object with the members
    ``text_field`` (a string) and ``id_field`` (a string, or an integer, whose digits are the id). Empty lines don't
    count. All methods raise :class:`CommandError`.
    """

    def __init__(self, file: BinaryIO, name: str, *, text_field: str, id_field: str) -> None:
        self.name = name
        self._file = file
        self._text_field = text_field
        self._id_field = id_field
        self._digest = hashlib.sha256()

    def survey(self, on_bytes: Callable[[int], object]) -> Survey:
        """Read everything once. ``on_bytes`` is told now and then how many bytes have been read."""
        hashes = array("Q")
        reported = 0
        for line in self._read():
            hashes.append(hash(line.item_id) & _HASH_MASK)
            if (position := self._file.tell()) - reported >= _REPORT_BYTES:
                on_bytes(reported := position)
        found = Survey(len(hashes), self._digest.hexdigest())
        if not hashes:
            raise CommandError("no_texts", f"{self.name} holds no texts.", "Give a file with one JSON value a line.")
        self._refuse_duplicates(hashes)
        return found

    def again(self, survey: Survey) -> Iterator[TextLine]:
        """The texts, in their order; raises if they are no longer those of ``survey``."""
        for ordinal, line in enumerate(self._read()):
            if ordinal == survey.count:
                raise self._changed()
            yield line
        if self._digest.hexdigest() != survey.sha256:
            raise self._changed()

    def _read(self) -> Iterator[TextLine]:
        self._digest = hashlib.sha256()
        number = place = 0
        try:
            self._file.seek(0)
            while line := self._file.readline(MAX_LINE_BYTES + 1):
                number += 1
                self._digest.update(line)
                if len(line) > MAX_LINE_BYTES:
                    raise self._wrong(number, f"is longer than {MAX_LINE_BYTES} bytes")
                if number == 1:
                    line = line.removeprefix(_BYTE_ORDER_MARK)
                if line.isspace() or not line:
                    continue
                yield self._parsed(number, place, line)
                place += 1
        except OSError as error:
            raise CommandError(
                "input_unreadable", f"{self.name} can't be read: {error.strerror}.", "Look at its permissions."
            ) from error

    def _parsed(self, number: int, place: int, line: bytes) -> TextLine:
        try:
            value = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError) as error:
            raise self._wrong(number, f"is not JSON: {error}") from error
        if isinstance(value, str):
            return TextLine(number, str(place), value)
        if not isinstance(value, dict):
            raise self._wrong(number, "is neither a JSON string nor an object")
        return TextLine(number, self._id_of(number, value), self._text_of(number, value))

    def _text_of(self, number: int, value: dict[str, Any]) -> str:
        text = value.get(self._text_field)
        if isinstance(text, str):
            return text
        problem = "is not a string" if self._text_field in value else "is missing"
        raise self._wrong(number, f"can't be used: its member {self._text_field!r} {problem}", "Name another: --field.")

    def _id_of(self, number: int, value: dict[str, Any]) -> str:
        item_id = value.get(self._id_field)
        if isinstance(item_id, int) and not isinstance(item_id, bool):
            item_id = str(item_id)
        try:
            return msgspec.convert(item_id, Name)
        except msgspec.ValidationError:
            problem = "is missing"
            if self._id_field in value:
                problem = "is no id (a string of 1 to 256 characters without control characters, or an integer)"
            raise self._wrong(
                number, f"can't be used: its member {self._id_field!r} {problem}", "Name another: --id-field."
            ) from None

    def _refuse_duplicates(self, hashes: array[int]) -> None:
        """Eight bytes for each id tell whether two might be equal; only for those the file is read once more."""
        import numpy as np

        ordered = np.sort(np.frombuffer(hashes, dtype=np.uint64))
        suspects = set(ordered[1:][ordered[1:] == ordered[:-1]].tolist())
        if not suspects:
            return
        lines: dict[str, int] = {}
        for number, item_id, _ in self._read():
            if hash(item_id) & _HASH_MASK not in suspects:
                continue
            if item_id in lines:
                raise self._wrong(
                    number, f"has the id {item_id!r} of line {lines[item_id]}", "Ids have to be unique in a file."
                )
            lines[item_id] = number

    def _wrong(self, number: int, problem: str, remedy: str = "") -> CommandError:
        remedy = remedy or "Each line is a JSON string, or an object with an id and a text."
        return CommandError("invalid_line", f"Line {number} of {self.name} {problem}.", remedy)

    def _changed(self) -> CommandError:
        return CommandError(
            "input_changed",
            f"{self.name} was changed while it was being read.",
            "Run the command again when nothing writes to it any more.",
        )
