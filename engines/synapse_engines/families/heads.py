"""What stands on top of the hidden states of a model that scores: which of them it reads, and its own tensors.

Stated by the family files, computed by the engines. Facts only, no array library.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from synapse_engines.families.base import Pooling, TensorShape
from synapse_engines.readout import Sigmoid, YesNo

DENSE, NORM, CLASSIFIER, CLASSIFIER_BIAS = (
    "head.dense.weight",
    "head.norm.weight",
    "classifier.weight",
    "classifier.bias",
)
"""The tensors of a ClassifierHead. They stand beside the encoder in a file, so no prefix comes before their names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassifierHead:
    """One logit: classifier(LayerNorm(GELU(dense(x)))) of the pooled hidden state x, as in transformers'
    `ModernBertForSequenceClassification`. Only the classifier has a bias.

    Attributes:
        pooling: which hidden states make x.
        hidden: width of x.
        norm_eps: what LayerNorm adds to the variance.
    """

    pooling: Pooling
    hidden: int
    norm_eps: float

    @property
    def readout(self) -> Sigmoid:
        """How the score is read off the logit."""
        return Sigmoid()

    def tensors(self) -> tuple[TensorShape, ...]:
        """What the head needs beside the encoder's tensors. A classifier of several labels has another shape."""
        return (
            TensorShape(DENSE, (self.hidden, self.hidden)),
            TensorShape(NORM, (self.hidden,)),
            TensorShape(CLASSIFIER, (1, self.hidden)),
            TensorShape(CLASSIFIER_BIAS, (1,)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class VocabularyHead:
    """The next-token logits of yes and no: the hidden state times their two rows of the output embeddings.

    Attributes:
        pooling: which hidden state it reads.
        table: the decoder's tensor that holds the output embeddings, shape [vocab, hidden].
        readout: the two tokens, and how the score is read off their logits.
    """

    pooling: Pooling
    table: str
    readout: YesNo

    def tensors(self) -> tuple[TensorShape, ...]:
        """None: the table is the decoder's own."""
        return ()


ScoringHead: TypeAlias = ClassifierHead | VocabularyHead
