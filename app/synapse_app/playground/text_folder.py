"""Reads a folder of the user's own text files into passages, and says which files it left out and why. No Qt.

A passage is a piece of one file, cut at the end of a paragraph, a line or a word where there is one; its offsets count
characters of the decoded text, so ``text[start:end]`` is the passage. The folder is only read, links are not followed,
and what lies in hidden folders isn't looked at.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

PASSAGE_CHARS: Final = 800
_LEAST_CHARS: Final = 200
"""A cut isn't made earlier than this in a passage, however nice the place."""
_BREAKS: Final = ("\n\n", "\n", ". ", " ")

Reason = Literal["binary", "empty", "large", "link", "special", "unreadable", "limit"]


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a folder is taken: an index in memory, made while somebody watches, isn't a search engine."""

    files: int = 500
    file_bytes: int = 1_000_000
    passages: int = 2000


@dataclass(frozen=True, slots=True)
class Passage:
    """``text`` is what stands from ``start`` to ``end`` in ``file``; ``line`` counts from 1. ``file`` is relative."""

    id: str
    file: str
    start: int
    end: int
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """One file that isn't searched."""

    file: str
    reason: Reason


@dataclass(slots=True)
class Found:
    """What a folder holds. ``files`` counts those that are taken, wholly or up to the limit."""

    files: int = 0
    passages: list[Passage] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)


def read_folder(folder: Path, limits: Limits, stopped: Callable[[], bool] = lambda: False) -> Found:
    """All passages, files in the order of their names. Raises ``OSError`` when the folder itself can't be read.

    ``stopped`` is asked before each file; what was read until then is returned.
    """
    found = Found()
    os.scandir(folder).close()  # os.walk would keep quiet about a folder that can't be opened
    for path in _files(folder, found):
        if stopped():
            break
        _take(path, path.relative_to(folder).as_posix(), limits, found)
    return found


def _files(folder: Path, found: Found) -> Iterator[Path]:
    def failed(error: OSError) -> None:
        if error.filename is not None:
            found.left_out.append(LeftOut(Path(error.filename).relative_to(folder).as_posix() + "/", "unreadable"))

    for parent, folders, files in os.walk(folder, onerror=failed):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for linked in filter(Path.is_symlink, map(Path(parent).joinpath, folders)):
            found.left_out.append(LeftOut(linked.relative_to(folder).as_posix() + "/", "link"))
        for name in sorted(files):
            if not name.startswith("."):
                yield Path(parent, name)


def _take(path: Path, name: str, limits: Limits, found: Found) -> None:
    if found.files >= limits.files or len(found.passages) >= limits.passages:
        found.left_out.append(LeftOut(name, "limit"))
        return
    text = _read(path, limits.file_bytes)
    if isinstance(text, str) and text.strip():
        found.files += 1
        for passage in cut(name, text, first_id=len(found.passages)):
            if len(found.passages) >= limits.passages:
                found.left_out.append(LeftOut(name, "limit"))
                return
            found.passages.append(passage)
    else:
        found.left_out.append(LeftOut(name, "empty" if isinstance(text, str) else text[0]))


def _read(path: Path, limit: int) -> str | tuple[Reason]:
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):
            # A pipe would be waited for without end.
            return ("link",) if stat.S_ISLNK(status.st_mode) else ("special",)
        if status.st_size > limit:
            return ("large",)
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError:
        return ("unreadable",)
    if len(data) > limit:
        return ("large",)
    if b"\0" in data:
        return ("binary",)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return ("binary",)


def cut(file: str, text: str, *, first_id: int = 0) -> Iterator[Passage]:
    """The passages of one text; what is only white space belongs to none."""
    start, line, counted = 0, 1, 0
    number = first_id
    while start < len(text):
        end = _end(text, start)
        piece = text[start:end]
        inner = len(piece) - len(piece.lstrip())
        stripped = piece.strip()
        if stripped:
            begin = start + inner
            line += text.count("\n", counted, begin)
            counted = begin
            yield Passage(str(number), file, begin, begin + len(stripped), line, stripped)
            number += 1
        start = end


def _end(text: str, start: int) -> int:
    if len(text) - start <= PASSAGE_CHARS:
        return len(text)
    for mark in _BREAKS:
        at = text.rfind(mark, start + _LEAST_CHARS, start + PASSAGE_CHARS)
        if at >= 0:
            return at + len(mark)
    return start + PASSAGE_CHARS
