"""The weights of one model, memory-mapped from its safetensors file.

Opened by the worker and by tests; handed to `reference/`, `openvino/` and `mlx/`. Tensors are views of the
mapping: opening a model costs no memory until its pages are touched, and processes share them.
"""

from __future__ import annotations

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
        # Copy-on-write: never written to, but some engines refuse arrays over a read-only mapping.
        self._bytes: npt.NDArray[np.uint8] | None = np.memmap(path, dtype=np.uint8, mode="c")

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
        if self._bytes is None:
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

    def close(self) -> None:
        """Lets go of the mapping. It is unmapped once no tensor handed out before refers to it any more."""
        self._bytes = None

    def __enter__(self) -> Weights:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
