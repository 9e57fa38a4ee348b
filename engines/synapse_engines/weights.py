"""The weights of one model, memory-mapped from its safetensors file.

Opened by the worker and by tests; handed to `reference/`, `openvino/` and `mlx/`. Tensors are views of the
mapping: opening a model costs no memory until its pages are touched, and processes share them.
"""

from __future__ import annotations

import mmap
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from synapse_engines.artifacts import Header, check_model, read_header
from synapse_engines.families.base import Family, FamilyConfig

# BF16 has no NumPy type: its bit patterns are handed out as they are. The format is little-endian.
_STORED_AS: Mapping[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype("<u2"),
}


class Weights:
    """Checked, mapped weights under the family's own unprefixed names.

    Attributes:
        path: the file.
    """

    def __init__(self, path: Path, header: Header, prefix: str) -> None:
        """Maps the file; use `open`, which also checks it."""
        self.path = path
        self._header = header
        self._prefix = prefix
        with path.open("rb") as file:
            # Copy-on-write: never written to, but some engines refuse arrays over a read-only mapping.
            self._mapping: mmap.mmap | None = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        self._bytes = np.frombuffer(self._mapping, dtype=np.uint8)

    @classmethod
    def open(cls, path: Path, family: Family, cfg: FamilyConfig) -> Weights:
        """Checks the file at `path` against the family's tensors and maps it.

        Raises:
            ArtifactError: the file is damaged or is not this model; see `artifacts`.
            OSError: the file cannot be read.
        """
        header = read_header(path)
        return cls(path, header, check_model(header, family, cfg))

    def dtype(self, name: str) -> str:
        """The dtype in which `name` is stored: "F32", "F16" or "BF16"."""
        return self._header.tensors[self._prefix + name].dtype

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of `name`."""
        return self._header.tensors[self._prefix + name].shape

    def raw(self, name: str) -> npt.NDArray[Any]:
        """The tensor as stored: float32, float16, or for BF16 its bit patterns as uint16.

        A view of the mapping, except where the file places the tensor off its natural alignment: then a copy,
        since engines that share the memory may read it with aligned instructions.
        """
        if self._mapping is None:
            raise ValueError("the weights are closed")
        entry = self._header.tensors[self._prefix + name]
        start = self._header.data_start
        view = self._bytes[start + entry.begin : start + entry.end].view(_STORED_AS[entry.dtype])
        array = view.reshape(entry.shape)
        return array if array.flags.aligned else array.copy()

    def float32(self, name: str) -> npt.NDArray[np.float32]:
        """The tensor as float32: a view when it is stored so, else an exact widening into a new array."""
        stored = self.raw(name)
        if self.dtype(name) == "BF16":
            return (stored.astype(np.uint32) << 16).view(np.float32)
        return stored.astype(np.float32, copy=False)

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
