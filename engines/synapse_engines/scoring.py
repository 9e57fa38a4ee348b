"""A scorer made of an embedder and a head: an engine computes the hidden state that the head reads, NumPy the rest.

Called by `openvino` and `mlx`. A head is a ten-thousandth of a model's work. It is computed here, one row at a time and
by loops that add up in one order, because a library of matrix products may take another kernel for more rows: then a
row's last bits would depend on its mates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from synapse_engines.backend import Embedder, EmbedSpec, ScoreSpec
from synapse_engines.families.heads import (
    CLASSIFIER,
    CLASSIFIER_BIAS,
    DENSE,
    NORM,
    ClassifierHead,
    ScoringHead,
    VocabularyHead,
)
from synapse_engines.readout import Readout
from synapse_engines.scores import Scores
from synapse_engines.weights import Weights

Wide = npt.NDArray[np.float64]

HeadPass = Callable[[Wide], Wide]
"""From a pooled hidden state [hidden] to logits [readout.width]."""


class HeadScorer:
    """A `Scorer`; see `backend`.

    Attributes:
        readout: how a score is read off the logits.
    """

    def __init__(self, embedder: Embedder, head_pass: HeadPass, readout: Readout) -> None:
        """Takes an embedder made by `trunk_spec`, which it closes in the end."""
        self.readout = readout
        self._embedder = embedder
        self._head_pass = head_pass

    @property
    def facts(self) -> Mapping[str, str]:
        return self._embedder.facts

    def score(self, rows: Sequence[npt.NDArray[np.int32]]) -> Scores:
        """Scores of `rows`, and the logits behind them, in the order given.

        Raises:
            InputError: a row is empty, longer than the lane allows, or holds an id outside the vocabulary.
        """
        logits = np.empty((len(rows), self.readout.width), np.float32)
        for index, state in enumerate(self._embedder.embed(rows)):
            logits[index] = self._head_pass(state.astype(np.float64))
        return Scores.read_off(logits, self.readout)

    def close(self) -> None:
        """Lets go of the model's memory. Calling it twice is harmless."""
        self._embedder.close()


def trunk_spec(head: ScoringHead, spec: ScoreSpec) -> EmbedSpec:
    """What to build so that its vectors are the hidden states that the head reads."""
    return EmbedSpec(spec.family, head.pooling, normalize=False, max_tokens=spec.max_tokens, dtype=spec.dtype)


def head_pass(weights: Weights, head: ScoringHead) -> HeadPass:
    """The computation of a head. `weights`, which were opened with it, may be closed afterwards."""
    match head:
        case ClassifierHead():
            tensors = {tensor.name: weights.float32(tensor.name).astype(np.float64) for tensor in head.tensors()}

            def classify(state: Wide) -> Wide:
                active = _gelu(_product(tensors[DENSE], state))
                centred = active - active.mean()
                normed = centred / math.sqrt(float(np.square(centred).mean()) + head.norm_eps) * tensors[NORM]
                return _product(tensors[CLASSIFIER], normed) + tensors[CLASSIFIER_BIAS]

            return classify
        case VocabularyHead():
            table = weights.float32_rows(head.table, head.readout.token_ids).astype(np.float64)
            return lambda state: _product(table, state)


def _product(matrix: Wide, vector: Wide) -> Wide:
    """matrix [out, in] times vector [in], by NumPy's own loop: the product operator goes to a library with threads."""
    result: Wide = np.einsum("oi,i->o", matrix, vector)
    return result


def _gelu(x: Wide) -> Wide:
    """Hendrycks and Gimpel 2016, the exact form, element by element."""
    return np.array([0.5 * each * (1 + math.erf(each * math.sqrt(0.5))) for each in x.tolist()])
