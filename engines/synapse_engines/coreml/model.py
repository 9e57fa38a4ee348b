"""A package set as a model that embeds: one predictor a package, and the choice between them.

Built by the worker. The rows of one call run in one bucket, the smallest that holds the longest of them; each is
padded to it, the padding masked, and none is ever cut. A `Predictor` is what computes a package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

import numpy as np
import numpy.typing as npt

from synapse_engines.backend import EmbedSpec, check_rows
from synapse_engines.coreml import archives, packages
from synapse_engines.errors import ArtifactError, EngineMismatch

Ids = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.float32]


class Predictor(Protocol):
    """One opened package. Not thread-safe.

    Attributes:
        neural_engine_share: the part of its operations that the system plans for the Neural Engine, 0 to 1; None
            where nothing says, which is never taken for a share.
    """

    @property
    def neural_engine_share(self) -> float | None: ...

    def prepare(self) -> None:
        """Compiles it for the hardware, which can take tens of seconds; once, before the first row."""
        ...

    def predict(self, ids: Ids, mask: Ids) -> Numbers:
        """The pooled vector, shape [dims], of one padded row; both arrays have shape [1, length]."""
        ...

    def close(self) -> None:
        """Lets go of the package."""
        ...


OnCompile = Callable[[int, bool], None]
"""Told for rows of which length the engine compiles: with True when it begins, with False when it is done."""

OpenPackage = Callable[[Path, int], Predictor]
"""Opens the unpacked ``.mlmodelc`` folder of a package with rows of so many tokens."""


def no_predictor(_bundle: Path, _length: int) -> Predictor:
    """What production opens packages with while this build has nothing that computes on a Neural Engine.

    Raises:
        EngineMismatch: always.
    """
    raise EngineMismatch({"predictor": "Core ML"}, {"predictor": "none in this build"})


def unheard(_length: int, _begun: bool) -> None:
    """An `OnCompile` for where nobody listens."""


class PackageSet:
    """An `Embedder` over the packages of a set.

    Attributes:
        dims: length of a vector.
        ladder: the lengths that rows are padded to, ascending.
        neural_engine_share: the smallest share of any package; None as soon as one package doesn't tell.
        facts: what the engine says about itself.
    """

    def __init__(
        self,
        predictors: Mapping[int, Predictor],
        dims: int,
        vocab: int,
        spec: EmbedSpec,
        on_compile: OnCompile = unheard,
    ) -> None:
        """`predictors` are by length."""
        self.dims = dims
        self.ladder = tuple(sorted(predictors))
        self._predictors = dict(predictors)
        self._on_compile = on_compile
        self._prepared: set[int] = set()
        self._vocab = vocab
        self._spec = spec
        shares = [each.neural_engine_share for each in predictors.values()]
        measured = [share for share in shares if share is not None]
        self.neural_engine_share = min(measured) if len(measured) == len(shares) else None
        share = self.neural_engine_share
        self.facts: Mapping[str, str] = MappingProxyType(
            {
                "engine": "coreml",
                "buckets": ",".join(map(str, self.ladder)),
                "neural_engine_share": "unmeasured" if share is None else f"{share:.4f}",
            }
        )

    def embed(self, rows: Sequence[Ids]) -> Numbers:
        """Vectors of `rows`, shape [len(rows), dims], in the order given; raises InputError."""
        check_rows(rows, vocab=self._vocab, max_tokens=min(self._spec.max_tokens, self.ladder[-1]))
        length = packages.bucket(self.ladder, max(row.size for row in rows))
        predictor = self._predictor(length)
        vectors = np.stack([self._vector(predictor, row, length) for row in rows])
        if self._spec.normalize:
            norms = np.linalg.norm(vectors, axis=1, keepdims=True)
            vectors /= np.where(norms == 0, np.float32(1), norms)
        return vectors

    def _predictor(self, length: int) -> Predictor:
        predictor = self._predictors[length]
        if length not in self._prepared:
            self._on_compile(length, True)
            try:
                predictor.prepare()
            finally:
                self._on_compile(length, False)
            self._prepared.add(length)
        return predictor

    def _vector(self, predictor: Predictor, row: Ids, length: int) -> Numbers:
        ids = np.zeros((1, length), np.int32)
        mask = np.zeros((1, length), np.int32)
        ids[0, : row.size] = row
        mask[0, : row.size] = 1
        vector = np.asarray(predictor.predict(ids, mask), np.float32).reshape(-1)
        if vector.size != self.dims:
            raise EngineMismatch({"dims": str(self.dims)}, {"dims": str(vector.size)})
        return vector

    def close(self) -> None:
        """Lets go of every package."""
        for predictor in self._predictors.values():
            predictor.close()
        self._predictors.clear()


def load(
    files: Sequence[tuple[Path, str]],
    root: Path,
    vocab: int,
    dims: int,
    spec: EmbedSpec,
    open_package: OpenPackage,
    on_compile: OnCompile = unheard,
) -> PackageSet:
    """Proves, unpacks and opens the packages of a set.

    Args:
        files: the archives in the order of the manifest, each with its SHA-256.
        root: where they are unpacked.
        dims: numbers of a vector, as the lane declares.

    Raises:
        ArtifactError: an archive is not the one named, is damaged, or doesn't fit the others.
        EngineMismatch: nothing here computes packages.
        StorageError, OSError: they can't be unpacked.
    """
    found = [(path.name, packages.read_package(path)) for path, _ in files]
    packages.ladder(found)
    if found[0][1].dims != dims:
        raise ArtifactError("bad_package", f"vectors of {found[0][1].dims} numbers, the lane declares {dims}")
    opened: dict[int, Predictor] = {}
    try:
        for (path, sha256), (_, package) in zip(files, found, strict=True):
            opened[package.length] = open_package(archives.materialise(path, sha256, root), package.length)
    except BaseException:
        for predictor in opened.values():
            predictor.close()
        raise
    return PackageSet(opened, dims, vocab, spec, on_compile)
