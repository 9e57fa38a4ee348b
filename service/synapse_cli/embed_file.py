"""A file of texts to a file of vectors: what `synapse embed --file` does, on top of the client's ``embed_all``.

The work is durable jobs of the service, so this process may end at any moment and lose nothing but its own output:
the same command finds the jobs again by their request key. The key follows from the bytes of the file, from the members
that are read, and from the model and its fingerprint, unless the caller gives one.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from synapse_cli import figures
from synapse_cli.model_choice import choose_model
from synapse_cli.output import Output
from synapse_cli.reporting import CommandError
from synapse_cli.text_lines import Survey, TextLines
from synapse_cli.vector_files import OutputFiles, VectorFile, check_format, disk_errors, open_vectors
from synapse_client import Client, ClientError, DivergedItem, Item, Progress, SynapseError
from synapse_client.options import BulkOptions

LISTED_CUTS: Final = 1000
"""Ids of texts that were cut which the facts name; all of them are counted."""

_KEY_RULE: Final = "embed-file-1"
"""Says which rule a derived key follows. It changes with the rule, so that an old key never meets other batches."""
_SHOWN_SURVEY_BYTES: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Order:
    """What the command line asked for. ``source`` is None for the standard input."""

    source: Path | None
    target: Path
    model: str | None
    request_key: str | None
    text_field: str
    id_field: str
    overwrite: bool
    deadline_ms: int | None

    @property
    def name(self) -> str:
        """What messages call the input."""
        return "the standard input" if self.source is None else self.source.name


class Facts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What ``<file>.json`` holds. ``ids`` is the companion of a .npy file; ``truncated_ids`` names the first cuts."""

    vectors: str
    ids: str | None = None
    count: int
    dims: int
    model: str
    fingerprint: str
    table_epoch: int
    truncated: int
    truncated_ids: list[str] = msgspec.field(default_factory=list)
    source: str
    source_sha256: str
    request_key: str


def embed_file(client: Client, output: Output, order: Order) -> Facts:
    """Embed every text of ``order.source`` into ``order.target``; returns the facts that were written beside it.

    Raises :class:`CommandError` beside what the client raises.
    """
    check_format(order.target)
    files = OutputFiles(order.target, overwrite=order.overwrite)
    files.refuse_existing()
    files.remove_abandoned()
    with _opened(order, files) as file:
        texts = TextLines(file, order.name, text_field=order.text_field, id_field=order.id_field)
        survey = _survey(texts, output, file)
        model, fingerprint = choose_model(client, order.model)
        key = order.request_key or derived_key(survey, order, model, fingerprint)
        run = _Run(order, files, texts, survey, model, key)
        try:
            return run.carry_out(client, output)
        except KeyboardInterrupt:
            output.note(f"Jobs that were accepted go on in the service; `synapse jobs` shows them. {run.how_to_go_on}")
            raise
        finally:
            files.discard()


def derived_key(survey: Survey, order: Order, model: str, fingerprint: str) -> str:
    """A request key from everything that decides what the vectors are: an equal command finds its work again."""
    parts = [_KEY_RULE, survey.sha256, order.text_field, order.id_field, model, fingerprint]
    return f"embed-file-{hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:32]}"


@dataclass
class _Run:
    """One run: which texts are under way, and what became of the others."""

    order: Order
    files: OutputFiles
    texts: TextLines
    survey: Survey
    model: str
    key: str
    waiting: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Place and line of each text whose vector hasn't come: at most those of a few jobs."""
    truncated: int = 0
    truncated_ids: list[str] = field(default_factory=list)
    table_epoch: int = 0

    @property
    def how_to_go_on(self) -> str:
        again = "the same command with the same input" if self.order.source is None else "the same command"
        return f"Run {again} to take up what is there (request key {self.key})."

    def carry_out(self, client: Client, output: Output) -> Facts:
        began = time.monotonic()
        with disk_errors(self.files):
            vectors = open_vectors(self.files, self.survey.count, self.model)
        last: Item | None = None
        with output.progress(f"Embedding {self.order.name}", unit="texts") as progress:
            for item in self._items(client, vectors, lambda state: progress.to(state.received, self.survey.count)):
                last = item
                with disk_errors(self.files):
                    self._take(item, vectors)
        if last is None or self.waiting:
            problem = f"{len(self.waiting)} of {self.survey.count} vectors did not come."
            raise CommandError("incomplete", problem, self.how_to_go_on)
        facts = self._facts(last)
        with disk_errors(self.files):
            vectors.finish()
            self.files.create(self.files.facts).write(msgspec.json.format(msgspec.json.encode(facts), indent=2) + b"\n")
            self.files.commit()
        self._report(output, facts, time.monotonic() - began)
        return facts

    def _items(self, client: Client, vectors: VectorFile, on_progress: Callable[[Progress], object]) -> Iterator[Item]:
        options: BulkOptions = {}
        if self.order.deadline_ms is not None:
            options["deadline_ms"] = self.order.deadline_ms
        pairs = self._pairs(vectors)
        try:
            yield from client.embed_all(self.model, pairs, request_key=self.key, on_progress=on_progress, **options)
        except SynapseError as error:
            if (line := self._line_of((error.details or {}).get("item_id"))) is not None:
                error.details = {**(error.details or {}), "line": line}
            if error.class_ == "transient":
                error.add_note(f"what was accepted is kept. {self.how_to_go_on}")
            raise
        except ClientError as error:
            if isinstance(error, DivergedItem):
                error.add_note(f"line: {self._line_of(error.item_id)}")
            if error.transient:
                error.add_note(f"what was accepted is kept. {self.how_to_go_on}")
            raise

    def _pairs(self, vectors: VectorFile) -> Iterator[tuple[str, str]]:
        for ordinal, line in enumerate(self.texts.again(self.survey)):
            self.waiting[line.item_id] = (ordinal, line.number)
            with disk_errors(self.files):
                vectors.announce(line.item_id)
            yield line.item_id, line.text

    def _line_of(self, item_id: object) -> int | None:
        """The line of a text that is under way."""
        known = self.waiting.get(item_id) if isinstance(item_id, str) else None
        return None if known is None else known[1]

    def _take(self, item: Item, vectors: VectorFile) -> None:
        ordinal, _ = self.waiting.pop(item.id)
        vectors.add(ordinal, item)
        self.table_epoch = max(self.table_epoch, item.table_epoch)
        if item.truncated:
            self.truncated += 1
            if len(self.truncated_ids) < LISTED_CUTS:
                self.truncated_ids.append(item.id)

    def _facts(self, item: Item) -> Facts:
        return Facts(
            vectors=self.files.target.name,
            ids=None if self.files.ids is None else self.files.ids.name,
            count=self.survey.count,
            dims=len(item.vector),
            model=self.model,
            fingerprint=item.fingerprint,
            table_epoch=self.table_epoch,
            truncated=self.truncated,
            truncated_ids=self.truncated_ids,
            source=self.order.name,
            source_sha256=self.survey.sha256,
            request_key=self.key,
        )

    def _report(self, output: Output, facts: Facts, seconds: float) -> None:
        if output.as_json:
            output.json(facts)
            return
        pace = f"in {figures.duration(seconds * 1000)}, {figures.rate(facts.count / max(seconds, 1e-3))}"
        output.line(f"{figures.count(facts.count)} vectors of {facts.dims} numbers ({pace})")
        about = [("vectors", str(self.files.target)), ("facts", str(self.files.facts))]
        if self.files.ids is not None:
            about.insert(1, ("ids", str(self.files.ids)))
        about += [("model", facts.model), ("fingerprint", facts.fingerprint)]
        output.facts(about)
        if facts.truncated:
            output.note(f"{figures.count(facts.truncated)} texts were longer than the model takes and were cut.")


def _survey(texts: TextLines, output: Output, file: BinaryIO) -> Survey:
    size = file.seek(0, 2)
    with output.progress(f"Reading {texts.name}", hidden=size < _SHOWN_SURVEY_BYTES) as progress:
        return texts.survey(lambda position: progress.to(position, size))


@contextmanager
def _opened(order: Order, files: OutputFiles) -> Iterator[BinaryIO]:
    """The input as a file that can be read twice; what comes through a pipe is kept beside the output meanwhile."""
    try:
        file = sys.stdin.buffer if order.source is None else order.source.open("rb")
    except OSError as error:
        raise CommandError(
            "input_unreadable", f"{order.source} can't be read: {error.strerror}.", "Look at its permissions."
        ) from error
    with ExitStack() as opened:
        if order.source is not None:
            opened.enter_context(file)
            if file.seekable():
                yield file
                return
        with disk_errors(files):
            copy = opened.enter_context(tempfile.TemporaryFile(dir=order.target.parent))
            shutil.copyfileobj(file, copy, 1 << 20)
        yield copy
