"""What the commands print: text for people, or JSON for programs. Results go to stdout, everything else to stderr.

Whatever comes from elsewhere (names, log entries, error messages) is printed with its control characters spelled
out, so that it can't take over the terminal.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import msgspec
import typer

from synapse_cli import figures

PLAIN_STEP: Final = 0.1
"""Without a terminal, progress is printed again after this share of the work..."""
PLAIN_PAUSE_S: Final = 60.0
"""...and at the latest when there is something to say after this time."""

_MARGIN: Final = 8
"""More than what a drawn table has around a column."""


def printable(text: str) -> str:
    """``text`` with everything that isn't visible written as an escape."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


class Output:
    """The two streams of one command. ``as_json`` is what ``--json`` said."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json

    def line(self, text: str = "") -> None:
        """One line of the result, for people. Nothing with ``--json``."""
        if not self.as_json:
            typer.echo(printable(text))

    def note(self, text: str) -> None:
        """One line beside the result. Nothing with ``--json``."""
        if not self.as_json:
            typer.echo(printable(text), err=True)

    def json(self, value: Any) -> None:
        """A whole result: a wire struct, plain data, or JSON text as :class:`msgspec.Raw`. On one line in a pipe."""
        text = bytes(value) if isinstance(value, msgspec.Raw) else msgspec.json.encode(value)
        if sys.stdout.isatty():
            text = msgspec.json.format(text, indent=2)
        typer.echo(text.decode())

    def facts(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Names and values, the values aligned."""
        width = max((len(name) for name, _ in pairs), default=0)
        for name, value in pairs:
            self.line(f"  {name:{width}}  {value}")

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Rows under headings: a drawn table in a terminal, aligned columns in a pipe.

        In a terminal that is too narrow for the longest words, each row is a block of names and values.
        """
        if self.as_json:
            return
        clean = [[printable(cell) for cell in row] for row in rows]
        if sys.stdout.isatty():
            if not _drawn(columns, clean):
                self._blocks(columns, clean)
            return
        widths = [max(map(len, column)) for column in zip(columns, *clean, strict=True)]
        for row in (columns, *clean):
            typer.echo("  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())

    def _blocks(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        for number, row in enumerate(rows):
            if number:
                self.line()
            self.facts([pair for pair in zip(columns, row, strict=True) if pair[1]])

    @contextmanager
    def progress(self, label: str, *, unit: str = "", hidden: bool = False, brief: bool = False) -> Iterator[Progress]:
        """Shows how far a piece of work is: a bar in a terminal, now and then a line elsewhere, nothing with --json.

        With a ``unit``, the name of what is counted, it also shows the counts, the rate and the time left. ``hidden``
        is for work that turns out to be short. ``brief`` is for work whose end is reported anyway: a bar that
        disappears, and no lines.
        """
        terminal = sys.stderr.isatty()
        if self.as_json or hidden or (brief and not terminal):
            yield Progress()
        elif terminal:
            from rich.console import Console
            from rich.progress import Progress as Bars
            from rich.progress import TextColumn

            columns = Bars.get_default_columns()
            if unit:
                columns = (*columns[:-1], TextColumn("{task.fields[pace]}", markup=False))
            with Bars(*columns, console=Console(stderr=True), transient=brief) as bars:
                yield _Bar(bars, printable(label), unit, time.monotonic)
        else:
            yield _Lines(self, label, unit, time.monotonic)


class Progress:
    """How far a piece of work is. This one shows nothing."""

    def to(self, done: int, total: int) -> None:
        """``done`` of ``total`` units are finished; a total of 0 means that nobody knows yet."""


class _Bar(Progress):
    def __init__(self, bars: Any, label: str, unit: str, clock: Callable[[], float]) -> None:
        self._bars = bars
        self._unit = unit
        self._pace = figures.Pace(clock)
        self._task = bars.add_task(label.replace("[", r"\["), total=None, pace="")

    def to(self, done: int, total: int) -> None:
        self._pace.note(done)
        pace = figures.progress(done, total, self._unit, self._pace.ahead(total)) if total else ""
        self._bars.update(self._task, completed=done, total=total or None, pace=pace)


class _Lines(Progress):
    def __init__(self, output: Output, label: str, unit: str, clock: Callable[[], float]) -> None:
        self._output = output
        self._label = label
        self._unit = unit
        self._clock = clock
        self._pace = figures.Pace(clock)
        self._shown: tuple[float, float] | None = None

    def to(self, done: int, total: int) -> None:
        self._pace.note(done)
        now, share = self._clock(), done / total if total else 0.0
        if self._shown is not None:
            when, before = self._shown
            due = share - before >= PLAIN_STEP or share >= 1 > before
            if not due and (share == before or now - when < PLAIN_PAUSE_S):
                return
        self._shown = (now, share)
        known = figures.progress(done, total, self._unit, self._pace.ahead(total)) if self._unit and total else ""
        self._output.note(f"{self._label}: {figures.share(done, total)}" + (f" ({known})" if known else ""))


def _drawn(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Draw a table as wide as the terminal at most. No word is broken, so that an id can be copied.

    False, with nothing drawn, where that isn't possible.
    """
    from rich import box
    from rich.cells import cell_len
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    console = Console()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    cells = list(zip(columns, *rows, strict=True))
    widths = [max(map(cell_len, column)) for column in cells]
    least = [max(cell_len(word) for cell in column for word in cell.split() or [""]) for column in cells]
    whole = console.options.update(max_width=sum(widths) + _MARGIN * len(widths))
    excess = Measurement.get(console, whole, table).maximum - console.width
    while excess > 0:
        at = max(range(len(widths)), key=lambda index: widths[index] if widths[index] > least[index] else -1)
        if widths[at] <= least[at]:
            return False
        widths[at] -= 1
        excess -= 1
    for drawn, width in zip(table.columns, widths, strict=True):
        drawn.width = width
    console.print(table)
    return True
