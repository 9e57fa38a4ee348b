"""The reference of a model that scores: the reference of its hidden states, a head on them, and the read-out.

Head and read-out are worked out here once more, without `scoring` and `readout`, so that an error in what the engines
share shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from synapse_engines.backend import EmbedSpec, ScoreSpec
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
from synapse_engines.reference.model import ReferenceModel, build
from synapse_engines.reference.ops import Array, gelu, layer_norm, linear
from synapse_engines.scores import Scores
from synapse_engines.weights import Weights

HeadPass = Callable[[Array], Array]
"""From pooled hidden states [rows, hidden] to logits [rows, readout.width]."""


class ReferenceScorer:
    """A `Scorer` that runs every row by itself.

    Attributes:
        readout: how a score is read off the logits.
    """

    def __init__(self, trunk: ReferenceModel, head_pass: HeadPass, readout: Readout) -> None:
        """Takes the model of the hidden states that the head reads; use `build_scorer` to make one from weights."""
        self.readout = readout
        self._trunk = trunk
        self._head_pass = head_pass

    @property
    def facts(self) -> Mapping[str, str]:
        return self._trunk.facts

    def score(self, rows: Sequence[npt.NDArray[np.int32]]) -> Scores:
        """Scores of rows of ids, and the logits behind them, in the order given.

        Raises:
            InputError: a row is empty, too long, or holds an id outside the vocabulary.
        """
        # A head of one row at a time: the number of rows moves the last bits of a matrix product.
        states = self._trunk.embed(rows)
        logits = np.concatenate([np.empty((0, self.readout.width), np.float32), *map(self._head_pass, states[:, None])])
        return Scores(shares(logits, self.readout), logits)

    def close(self) -> None:
        """Lets go of the weights."""
        self._trunk.close()


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
    trunk = build(weights, cfg, EmbedSpec(spec.family, head.pooling, normalize=False, max_tokens=spec.max_tokens))
    return ReferenceScorer(trunk, _head_pass(weights, head), head.readout)


def shares(logits: Array, readout: Readout) -> Array:
    """Scores [rows] of logits [rows, readout.width]: a sigmoid, or the first's share in a softmax over two."""
    wide = logits.astype(np.float64)
    # A sigmoid is the share in a softmax over the logit and 0.
    other = np.zeros(len(wide)) if isinstance(readout, Sigmoid) else wide[:, 1]
    share: Array = np.exp(wide[:, 0] - np.logaddexp(wide[:, 0], other)).astype(np.float32)
    return share


def _head_pass(weights: Weights, head: ScoringHead) -> HeadPass:
    match head:
        case ClassifierHead():
            tensors = {tensor.name: weights.float32(tensor.name) for tensor in head.tensors()}

            def classify(states: Array) -> Array:
                inner = layer_norm(gelu(linear(states, tensors[DENSE])), tensors[NORM], None, head.norm_eps)
                return linear(inner, tensors[CLASSIFIER], tensors[CLASSIFIER_BIAS])

            return classify
        case VocabularyHead():
            return partial(linear, weight=weights.float32_rows(head.table, head.readout.token_ids))
