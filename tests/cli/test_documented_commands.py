"""The commands that the pages name: each exists, with the options that a page gives it, and no operator's command is
left out.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from synapse_cli import certify, main, opctl
from synapse_wire.operations import OPERATIONS

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("*/README.md"), *(ROOT / "docs").glob("**/[!R]*.md")])
PROGRAMS = {
    "synapse": typer.main.get_command(main.app),
    "ck-synapse-opctl": typer.main.get_command(opctl.app),
    "ckdev-synapse-certify": typer.main.get_command(certify.app),
}


def named(page: Path) -> list[list[str]]:
    """The words of every command in a page: those in code spans, and the lines of its blocks."""
    text = page.read_text()
    blocks = re.findall(r"^```(?:sh)?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    lines = [line.partition(" #")[0] for block in blocks for line in block.splitlines()]
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL))
    found = []
    for line in [*lines, *spans]:
        program, _, rest = line.strip().removeprefix(".venv/bin/").partition(" ")
        if program in PROGRAMS and rest:
            found.append([program, *shlex.split(rest)])
    return found


def wrong(words: list[str]) -> str | None:
    """What of a command doesn't exist."""
    command = PROGRAMS[words[0]]
    known = {option for param in command.params for option in param.opts}
    for word in words[1:]:
        if word.startswith("--"):
            if word.partition("=")[0].rstrip("]") not in known | {"--help"}:
                return word
        elif below := families(command):
            if word not in below:
                return word
            command = below[word]
            known |= {option for param in command.params for option in param.opts}
    return None


def families(command: Any) -> dict[str, Any]:
    """The commands below a command."""
    below: dict[str, Any] = getattr(command, "commands", {})
    return below


def leaves(command: Any, *path: str) -> Iterator[str]:
    """Every command that does something, by its words."""
    for name, below in families(command).items():
        yield from leaves(below, *path, name)
    if not families(command):
        yield " ".join(path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_a_page_exists(page: Path) -> None:
    assert [(words, word) for words in named(page) if (word := wrong(words)) is not None] == []


def test_the_pages_name_commands_at_all() -> None:
    assert {words[0] for page in PAGES for words in named(page)} == set(PROGRAMS)


def test_the_operators_page_lists_every_command_with_its_operation() -> None:
    rows = re.findall(r"^\| (`.+`) \| (`.+`) \|$", (ROOT / "docs" / "operating.md").read_text(), re.MULTILINE)
    listed = [span.replace("\\", "") for commands, _ in rows for span in re.findall(r"`([^`]+)`", commands)]
    assert [
        span for span in listed if wrong(["ck-synapse-opctl", *shlex.split(re.sub(r"[\[\]()|…]", " ", span))])
    ] == []
    words = {" ".join(re.findall(r"^[a-z]+(?: [a-z][a-z-]*)", span)) for span in listed}
    assert words == set(leaves(PROGRAMS["ck-synapse-opctl"]))
    operations = {name for _, cell in rows for name in re.findall(r"`([^`]+)`", cell)}
    assert operations <= set(OPERATIONS)
