"""The corpus of the quick start: the docstrings of this Python's own standard library.

Thousands of real texts that every machine with Python has, read with ``ast`` so that nothing is imported. Public
modules, classes and functions only; a long docstring is split between paragraphs.
"""

from __future__ import annotations

import ast
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MAX_CHARS: Final = 900
"""Longest piece of a docstring: about 250 tokens, which a model for 256 takes whole."""
MIN_CHARS: Final = 40

_LEFT_OUT: Final = frozenset(
    {"config", "dist-packages", "distutils", "encodings", "ensurepip", "idlelib", "lib2to3", "pydoc_data"}
    | {"site-packages", "test", "tests", "turtledemo"}
)


@dataclass(frozen=True, slots=True)
class Passage:
    """One piece of a docstring and the name of what it documents, such as ``pathlib.Path.rename``.

    ``summary`` is how the whole docstring begins: its first paragraph, on one line.
    """

    name: str
    text: str
    summary: str


def standard_library() -> list[Passage]:
    """Every passage of this Python's standard library, in the order of module names."""
    return list(passages_under(Path(sysconfig.get_path("stdlib"))))


def passages_under(root: Path) -> Iterator[Passage]:
    """The passages of the modules under ``root``; a file that can't be parsed is passed over."""
    for path in sorted(root.rglob("*.py")):
        relative = path.relative_to(root)
        parts = relative.with_suffix("").parts
        if any(part in _LEFT_OUT or (part.startswith("_") and part != "__init__") for part in parts):
            continue
        try:
            tree = ast.parse(path.read_bytes())
        except (OSError, SyntaxError, ValueError):
            continue
        module = ".".join(part for part in parts if part != "__init__")
        yield from _passages(tree, module)


def _passages(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> Iterator[Passage]:
    text = ast.get_docstring(node) or ""
    summary = " ".join(text.strip().split("\n\n", 1)[0].split())
    for piece in split(text):
        if len(piece) >= MIN_CHARS:
            yield Passage(name, piece, summary)
    for child in node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not child.name.startswith("_"):
            yield from _passages(child, f"{name}.{child.name}")


def split(text: str, limit: int = MAX_CHARS) -> list[str]:
    """``text`` in pieces of at most ``limit`` characters, cut between paragraphs, then lines, then anywhere."""
    pieces: list[str] = []
    for separator in ("\n\n", "\n", " "):
        if len(text) <= limit:
            break
        head, found, tail = text[: limit + 1].rpartition(separator)
        if found and head.strip():
            rest = tail + text[limit + 1 :]
            return [head.strip(), *split(rest.strip(), limit)]
    while len(text) > limit:
        pieces.append(text[:limit])
        text = text[limit:]
    if text:
        pieces.append(text)
    return pieces
