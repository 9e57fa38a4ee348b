"""Vectors into files, one after another as they come, with memory that doesn't grow with their number.

============  ========================================================================================================
suffix        what the file holds
============  ========================================================================================================
``.npy``      one float32 array [texts, dims], the rows in the order of the input; their ids, one JSON string a line in
              the same order, are in ``<file>.ids.jsonl``
``.jsonl``    one object a line: ``id``, ``vector``, ``fingerprint``, ``token_count``, ``truncated``; in no order
``.parquet``  columns of the same names in row groups of about 16 MiB, in no order; needs the package pyarrow
============  ========================================================================================================

Beside each of them goes ``<file>.json``: the *facts*, above all the fingerprint and the table epoch, without which no
vector can be compared with another.

Everything is written under temporary names in the folder of the target, flushed to the disk, and renamed at the end,
the vectors last: a file with vectors under its own name is complete, and its facts are there. A temporary file is
locked for as long as its process lives, so the next run for the same target can remove what a killed one left.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import uuid
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Protocol

import msgspec

from synapse_cli.reporting import CommandError

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from synapse_client import Item

FLOAT_BYTES: Final = 4
GROUP_BYTES: Final = 16 * 1024 * 1024
"""Vectors in one row group of a Parquet file; that much is in memory at a time."""

SUFFIXES: Final = (".npy", ".jsonl", ".parquet")


class VectorFile(Protocol):
    """A file that is being written."""

    def announce(self, item_id: str) -> None:
        """The next text of the input, in its order; comes before its vector."""

    def add(self, ordinal: int, item: Item) -> None:
        """The vector of the text at place ``ordinal`` of the input."""

    def finish(self) -> None:
        """Write what is still in memory. Nothing is added afterwards."""


class OutputFiles:
    """The files of one run, which appear under their names together or not at all."""

    def __init__(self, target: Path, *, overwrite: bool) -> None:
        self.target = target
        self.facts = target.with_name(target.name + ".json")
        self.ids = target.with_name(target.name + ".ids.jsonl") if target.suffix == ".npy" else None
        self._overwrite = overwrite
        self._open: list[tuple[BinaryIO, Path, Path]] = []

    @property
    def paths(self) -> list[Path]:
        """All of them, the one with the vectors first."""
        return [self.target, self.facts] + ([self.ids] if self.ids is not None else [])

    def refuse_existing(self) -> None:
        """Raises :class:`CommandError` for a file that is there and may not be replaced."""
        for path in self.paths:
            if path.exists() and not self._overwrite:
                raise CommandError("output_exists", f"{path} exists.", "Add --overwrite, or name another file.")

    def create(self, path: Path) -> BinaryIO:
        """A file that will be ``path``."""
        while True:
            temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.partial")
            file = temporary.open("xb")
            _lock(file, wait=True)
            if _is(file, temporary):  # else another run looked between the two, and took it for abandoned
                break
            file.close()
        self._open.append((file, temporary, path))
        return file

    def remove_abandoned(self) -> None:
        """Remove what runs for the same files left that were killed. What can't be removed stays."""
        ours = re.compile("|".join(rf"\.{re.escape(path.name)}\.[0-9a-f]{{8}}\.partial" for path in self.paths))
        with contextlib.suppress(OSError), os.scandir(self.target.absolute().parent) as entries:
            for entry in entries:
                if ours.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    _remove_unheld(Path(entry.path))

    def commit(self) -> None:
        """Give every file its name, the first that was created last."""
        for file, _, _ in self._open:
            file.flush()
            os.fsync(file.fileno())
            if os.name == "nt":  # where an open file can't be renamed; elsewhere it stays locked until it is
                file.close()
        self.refuse_existing()
        # From here until the last rename there are no vectors rather than some beside the facts of others.
        self.target.unlink(missing_ok=True)
        for _, temporary, path in reversed(self._open):
            temporary.replace(path)
        for file, _, _ in self._open:
            file.close()
        self._open.clear()
        _flush_folder(self.target.parent)

    def discard(self) -> None:
        """Remove what was not committed."""
        for file, temporary, _ in self._open:
            with contextlib.suppress(OSError):  # the disk is full, perhaps, and that has been reported
                file.close()
            temporary.unlink(missing_ok=True)
        self._open.clear()


@contextlib.contextmanager
def disk_errors(files: OutputFiles) -> Iterator[None]:
    """Turns what the disk says during the block into a :class:`CommandError`."""
    try:
        yield
    except OSError as error:
        raise CommandError(
            "output_not_written",
            f"{files.target} can't be written: {error.strerror}.",
            "Look at free space and permissions, then run the command again.",
        ) from error


def open_vectors(files: OutputFiles, count: int, model: str) -> VectorFile:
    """Begin the file for ``count`` vectors of ``model``, in the format that its name asks for; :class:`OSError`."""
    file = files.create(files.target)
    if files.ids is not None:
        return _Npy(file, files.create(files.ids), count)
    if files.target.suffix == ".parquet":
        return _Parquet(file, model)
    return _JsonLines(file)


def check_format(target: Path) -> None:
    """Raises :class:`CommandError` when a library that the format needs isn't installed."""
    from importlib.util import find_spec

    if target.suffix == ".parquet" and find_spec("pyarrow") is None:
        raise CommandError(
            "pyarrow_missing",
            "Parquet files need the package pyarrow, which isn't installed.",
            "Run `pip install 'synapse[parquet]'`, or write a .npy or .jsonl file.",
        )


class _Npy:
    """The array, each row at the place of its text. The number of rows is known, so the header is right from the start.

    Rows are written rather than mapped: on a full disk a mapping ends the process, a write says so.
    """

    def __init__(self, file: BinaryIO, ids: BinaryIO, count: int) -> None:
        self._file = file
        self._ids = ids
        self._count = count
        self._begin = 0

    def announce(self, item_id: str) -> None:
        self._ids.write(msgspec.json.encode(item_id) + b"\n")

    def add(self, ordinal: int, item: Item) -> None:
        if not self._begin:
            self._header(len(item.vector))
        self._file.seek(self._begin + ordinal * len(item.vector) * FLOAT_BYTES)
        self._file.write(_little_endian(item.vector))

    def finish(self) -> None:
        pass

    def _header(self, dims: int) -> None:
        from numpy.lib.format import write_array_header_1_0

        write_array_header_1_0(self._file, {"descr": "<f4", "fortran_order": False, "shape": (self._count, dims)})
        self._begin = self._file.tell()


class _JsonLines:
    """One object a line."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def announce(self, item_id: str) -> None:
        pass

    def add(self, ordinal: int, item: Item) -> None:
        import numpy as np
        import orjson

        row = {
            "id": item.id,
            "vector": np.frombuffer(item.vector, dtype=np.float32),
            "fingerprint": item.fingerprint,
            "token_count": item.token_count,
            "truncated": item.truncated,
        }
        # orjson, because it writes a float32 as the shortest text that reads back as the same float32.
        self._file.write(orjson.dumps(row, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE))

    def finish(self) -> None:
        pass


class _Parquet:
    """Row groups of a fixed size; the key-value metadata name the model, its fingerprint and the table epoch."""

    def __init__(self, file: BinaryIO, model: str) -> None:
        self._file = file
        self._model = model
        self._writer: Any = None
        self._items: list[Item] = []
        self._group = 1

    def announce(self, item_id: str) -> None:
        pass

    def add(self, ordinal: int, item: Item) -> None:
        if self._writer is None:
            self._begin(item)
        self._items.append(item)
        if len(self._items) == self._group:
            self._flush()

    def finish(self) -> None:
        if self._writer is not None:
            self._flush()
            self._writer.close()

    def _begin(self, first: Item) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        dims = len(first.vector)
        self._group = max(1, GROUP_BYTES // (dims * FLOAT_BYTES))
        self._schema = pa.schema(
            [
                pa.field("id", pa.string(), nullable=False),
                pa.field("vector", pa.list_(pa.float32(), dims), nullable=False),
                pa.field("fingerprint", pa.string(), nullable=False),
                pa.field("token_count", pa.int32(), nullable=False),
                pa.field("truncated", pa.bool_(), nullable=False),
            ],
            metadata={
                "synapse.model": self._model,
                "synapse.fingerprint": first.fingerprint,
                "synapse.table_epoch": str(first.table_epoch),
            },
        )
        # Vectors have nothing that a dictionary could save.
        self._writer = parquet.ParquetWriter(self._file, self._schema, use_dictionary=["fingerprint"])

    def _flush(self) -> None:
        if not self._items:
            return
        import numpy as np
        import pyarrow as pa

        items, self._items = self._items, []
        values = np.concatenate([np.frombuffer(item.vector, dtype=np.float32) for item in items])
        columns = [
            pa.array([item.id for item in items], pa.string()),
            pa.FixedSizeListArray.from_arrays(pa.array(values), len(items[0].vector)),
            pa.array([item.fingerprint for item in items], pa.string()),
            pa.array([item.token_count for item in items], pa.int32()),
            pa.array([item.truncated for item in items], pa.bool_()),
        ]
        self._writer.write_table(pa.Table.from_arrays(columns, schema=self._schema))


def _little_endian(row: array[float]) -> bytes:
    if sys.byteorder == "big":
        row = row[:]
        row.byteswap()
    return row.tobytes()


def _lock(file: BinaryIO, *, wait: bool) -> bool:
    """Whether the lock is ours, for as long as the file is open. An open file is locked by itself on Windows."""
    if sys.platform != "win32":
        try:
            fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # held, or a file system without locks, where nothing is taken for abandoned
            return False
    return True


def _is(file: BinaryIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _remove_unheld(path: Path) -> None:
    with contextlib.suppress(OSError):  # somebody else's, or gone, or open on Windows
        if os.name == "nt":
            path.unlink()
            return
        with path.open("rb") as file:
            if _lock(file, wait=False):
                path.unlink()


def _flush_folder(folder: Path) -> None:
    """Makes renames durable where folders can be flushed, which is everywhere but on Windows."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
