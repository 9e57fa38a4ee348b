"""A reference model that scores: a family's forward pass, a head on top of it, and the read-out of its logits.

The read-out is worked out here once more, and not by `readout`, so that an error in what the engines share shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from synapse_engines.backend import Scores, ScoreSpec
from synapse_engines.families.base import FamilyConfig
from synapse_engines.families.heads import (
    CLASSIFIER,
    CLASSIFIER_BIAS,
    DENSE,
    NORM,
    ClassifierHead,
    ScoringHead,
    VocabularyHead,
)
from synapse_engines.readout import Readout, Sigmoid
from synapse_engines.reference.model import Forward, ReferenceRows, forward_pass, pool
from synapse_engines.reference.ops import Array, gelu, layer_norm, linear
from synapse_engines.weights import Weights

HeadPass = Callable[[Array], Array]
"""From a pooled hidden state [hidden] to logits [readout.width]."""


class ReferenceScorer(ReferenceRows):
    """A `Scorer`.

    Attributes:
        readout: how a score is read off the logits.
    """

    def __init__(
        self, forward: Forward, head_pass: HeadPass, cfg: FamilyConfig, head: ScoringHead, spec: ScoreSpec
    ) -> None:
        """Takes the passes of one row; use `build_scorer` to make one from weights."""
        super().__init__(forward, cfg, spec.max_tokens)
        self.readout: Readout = head.readout
        self._head_pass = head_pass
        self._pooling = head.pooling

    def score(self, rows: Sequence[npt.NDArray[np.int32]]) -> Scores:
        """Scores of rows of ids, and the logits behind them, in the order given.

        Raises:
            InputError: a row is empty, too long, or holds an id outside the vocabulary.
        """
        self._check(rows)
        logits = np.empty((len(rows), self.readout.width), np.float32)
        for index, row in enumerate(rows):
            logits[index] = self._head_pass(pool(self._run(row), self._pooling))
        return Scores(read_off(logits, self.readout), logits)


def build_scorer(weights: Weights, cfg: FamilyConfig, head: ScoringHead, spec: ScoreSpec) -> ReferenceScorer:
    """The reference of one model that scores. Float32 weights stay views of the mapping, others are widened once.

    Args:
        weights: opened with `head`.
        cfg: the model's sizes.
        head: what scores, from the family.
        spec: how the lane serves it.

    Raises:
        ArtifactError: `unsupported` for a family without a reference.
    """
    return ReferenceScorer(forward_pass(weights, cfg), _head_pass(weights, head), cfg, head, spec)


def read_off(logits: Array, readout: Readout) -> Array:
    """Scores [rows] of logits [rows, readout.width]: a sigmoid, or the first's share in a softmax over two."""
    wide = logits.astype(np.float64)
    # A sigmoid is the share in a softmax over the logit and 0.
    other = np.zeros(len(wide)) if isinstance(readout, Sigmoid) else wide[:, 1]
    scores: Array = np.exp(wide[:, 0] - np.logaddexp(wide[:, 0], other)).astype(np.float32)
    return scores


def _head_pass(weights: Weights, head: ScoringHead) -> HeadPass:
    match head:
        case ClassifierHead():
            tensors = {tensor.name: weights.float32(tensor.name) for tensor in head.tensors()}

            def classify(vector: Array) -> Array:
                inner = gelu(linear(vector, tensors[DENSE]))
                inner = layer_norm(inner, tensors[NORM], None, head.norm_eps)
                return linear(inner, tensors[CLASSIFIER], tensors[CLASSIFIER_BIAS])

            return classify
        case VocabularyHead():
            return partial(linear, weight=weights.float32_rows(head.table, head.readout.token_ids))
