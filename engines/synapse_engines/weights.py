"""The weights of one model, memory-mapped from its safetensors file.

Opened by the worker and by tests; handed to `reference/`, `openvino/` and `mlx/`. Tensors are views of the
mapping: opening a model costs no memory until its pages are touched, and processes share them.
"""

from __future__ import annotations

import mmap
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from synapse_engines.artifacts import Header, check_head, check_model, read_header
from synapse_engines.families.base import Family, FamilyConfig
from synapse_engines.families.heads import ScoringHead

# BF16 has no NumPy type: its bit patterns are handed out as they are. The format is little-endian.
_STORED_AS: Mapping[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype("<u2"),
}


class Weights:
    """Checked, mapped weights under the family's own unprefixed names, and those of a head under its own.

    Attributes:
        path: the file.
    """

    def __init__(self, path: Path, header: Header, stored_names: Mapping[str, str]) -> None:
        """Maps the file; use `open`, which also checks it. `stored_names` are the file's names by ours."""
        self.path = path
        self._header = header
        self._stored_names = stored_names
        with path.open("rb") as file:
            # Copy-on-write: never written to, but some engines refuse arrays over a read-only mapping.
            self._mapping: mmap.mmap | None = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        self._bytes = np.frombuffer(self._mapping, dtype=np.uint8)

    @classmethod
    def open(cls, path: Path, family: Family, cfg: FamilyConfig, head: ScoringHead | None = None) -> Weights:
        """Checks the file at `path` against the tensors of the family, and of a scoring head, and maps it.

        Raises:
            ArtifactError: the file is damaged or is not this model; see `artifacts`.
            OSError: the file cannot be read.
        """
        header = read_header(path)
        prefix = check_model(header, family, cfg)
        stored_names = {tensor.name: prefix + tensor.name for tensor in family.tensors(cfg)}
        if head is not None:
            check_head(header, head)
            stored_names |= {tensor.name: tensor.name for tensor in head.tensors()}
        return cls(path, header, stored_names)

    def dtype(self, name: str) -> str:
        """The dtype in which `name` is stored: "F32", "F16" or "BF16"."""
        return self._header.tensors[self._stored_names[name]].dtype

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of `name`."""
        return self._header.tensors[self._stored_names[name]].shape

    def raw(self, name: str) -> npt.NDArray[Any]:
        """The tensor as stored: float32, float16, or for BF16 its bit patterns as uint16.

        A view of the mapping, except where the file places the tensor off its natural alignment: then a copy,
        since engines that share the memory may read it with aligned instructions.
        """
        if self._mapping is None:
            raise ValueError("the weights are closed")
        entry = self._header.tensors[self._stored_names[name]]
        start = self._header.data_start
        view = self._bytes[start + entry.begin : start + entry.end].view(_STORED_AS[entry.dtype])
        array = view.reshape(entry.shape)
        return array if array.flags.aligned else array.copy()

    def float32(self, name: str) -> npt.NDArray[np.float32]:
        """The tensor as float32: a view when it is stored so, else an exact widening into a new array."""
        return _widened(self.raw(name), self.dtype(name))

    def float32_rows(self, name: str, rows: Sequence[int]) -> npt.NDArray[np.float32]:
        """Some rows of a table as float32, shape [len(rows), ...], without widening the rest of it."""
        return _widened(self.raw(name)[list(rows)], self.dtype(name))

    def release_pages(self) -> None:
        """Gives the memory of everything read so far back to the system; what is touched again is read again.

        For engines that have made their own copy of most weights and rarely look at the file from then on. Views
        handed out stay valid, but what was written to them is lost.
        """
        if self._mapping is not None and sys.platform != "win32":
            self._mapping.madvise(mmap.MADV_DONTNEED)

    def close(self) -> None:
        """Lets go of the mapping. It is unmapped once no tensor handed out before refers to it any more."""
        self._mapping = None
        self._bytes = np.empty(0, np.uint8)

    def __enter__(self) -> Weights:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _widened(stored: npt.NDArray[Any], dtype: str) -> npt.NDArray[np.float32]:
    """An array as `Weights.raw` gives it, as float32; the same array where that is how it is stored."""
    if dtype == "BF16":
        return (stored.astype(np.uint32) << 16).view(np.float32)
    return stored.astype(np.float32, copy=False)
