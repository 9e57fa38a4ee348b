"""A model that scores on OpenVINO: the embedding graph up to the hidden state that the head reads, and the head.

Built by `load` for CPU lanes; one caller at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from synapse_engines import scoring
from synapse_engines.backend import ScoreSpec, check_rows
from synapse_engines.families.base import Family, FamilyConfig
from synapse_engines.families.heads import ScoringHead
from synapse_engines.families.qwen3 import Qwen3Config
from synapse_engines.openvino import model
from synapse_engines.weights import Weights

if TYPE_CHECKING:
    from synapse_engines.backend import Embedder, Ids, Vectors


class RowByRow:
    """An `Embedder` that gives another one a single row at a time.

    For Qwen3. OpenVINO 2026.4 joins its gate's activation with the matrix product before it, and for products of this
    size and of more than some eighty tokens then takes another kernel, with other last bits. Here the number of tokens
    is the row's own, so its result stays the same to the bit whatever its mates.

    Attributes:
        dims: length of a vector.
    """

    def __init__(self, embedder: Embedder, vocab: int, max_tokens: int) -> None:
        self.dims = embedder.dims
        self._embedder = embedder
        self._vocab = vocab
        self._max_tokens = max_tokens

    @property
    def facts(self) -> Mapping[str, str]:
        return self._embedder.facts

    def embed(self, rows: Sequence[Ids]) -> Vectors:
        """Vectors of `rows`, shape [len(rows), dims], in the order given; raises InputError for senseless ones."""
        # Before any is computed, and by their places in this call.
        check_rows(rows, vocab=self._vocab, max_tokens=self._max_tokens)
        vectors = np.empty((len(rows), self.dims), np.float32)
        for index, row in enumerate(rows):
            vectors[index] = self._embedder.embed([row])[0]
        return vectors

    def close(self) -> None:
        """Lets go of the model's memory. Calling it twice is harmless."""
        self._embedder.close()


def load(
    path: Path, family: Family, cfg: FamilyConfig, head: ScoringHead, spec: ScoreSpec, threads: int
) -> scoring.HeadScorer:
    """Checks and maps the model file at `path`, and compiles it.

    Raises:
        ArtifactError: the file is damaged, is not this model or lacks its head, or the family has no graph here.
        EngineMismatch: the library is not the release, or does not run with the properties, that were declared.
        OSError: the file cannot be read.
    """
    with Weights.open(path, family, cfg, head) as weights:
        head_pass = scoring.head_pass(weights, head)
    embedder: Embedder = model.load(path, family, cfg, scoring.trunk_spec(head, spec), threads)
    if isinstance(cfg, Qwen3Config):
        embedder = RowByRow(embedder, cfg.vocab, min(spec.max_tokens, cfg.max_positions))
    return scoring.HeadScorer(embedder, head_pass, head.readout)
