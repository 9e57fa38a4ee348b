"""BERT encoders (Devlin et al. 2018) as sentence embedders: absolute positions, post-norm, erf-GELU.

Facts only; the computation is in `reference/bert.py` and in the engines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from synapse_engines.families.base import (
    Family,
    FamilyConfig,
    TensorShape,
    read_number,
    read_size,
    require,
    require_divisible,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BertConfig(FamilyConfig):
    """Sizes of a BERT encoder.

    Attributes:
        type_vocab: rows of the segment embedding table; row 0 is added to every token.
        norm_eps: what LayerNorm adds to the variance.
    """

    type_vocab: int
    norm_eps: float

    @property
    def head_dim(self) -> int:
        return self.hidden // self.heads

    def tensors(self) -> tuple[TensorShape, ...]:
        wide = (self.hidden,)
        square = (self.hidden, self.hidden)
        found = [
            TensorShape("embeddings.word_embeddings.weight", (self.vocab, self.hidden)),
            TensorShape("embeddings.position_embeddings.weight", (self.max_positions, self.hidden)),
            TensorShape("embeddings.token_type_embeddings.weight", (self.type_vocab, self.hidden)),
            TensorShape("embeddings.LayerNorm.weight", wide),
            TensorShape("embeddings.LayerNorm.bias", wide),
        ]
        for index in range(self.layers):
            layer = f"encoder.layer.{index}"
            for projection in ("self.query", "self.key", "self.value", "output.dense"):
                found.append(TensorShape(f"{layer}.attention.{projection}.weight", square))
                found.append(TensorShape(f"{layer}.attention.{projection}.bias", wide))
            found += [
                TensorShape(f"{layer}.attention.output.LayerNorm.weight", wide),
                TensorShape(f"{layer}.attention.output.LayerNorm.bias", wide),
                TensorShape(f"{layer}.intermediate.dense.weight", (self.intermediate, self.hidden)),
                TensorShape(f"{layer}.intermediate.dense.bias", (self.intermediate,)),
                TensorShape(f"{layer}.output.dense.weight", (self.hidden, self.intermediate)),
                TensorShape(f"{layer}.output.dense.bias", wide),
                TensorShape(f"{layer}.output.LayerNorm.weight", wide),
                TensorShape(f"{layer}.output.LayerNorm.bias", wide),
            ]
        return tuple(found)


def parse(config: Mapping[str, object]) -> BertConfig:
    """Reads a BERT `config.json`.

    Raises:
        ArtifactError: `bad_config` for missing or senseless sizes, `unsupported` for variants that we do not
            compute.
    """
    require(config, "hidden_act", "gelu", default="gelu")
    require(config, "position_embedding_type", "absolute", default="absolute")
    require(config, "is_decoder", False, default=False)
    cfg = BertConfig(
        model_type="bert",
        hidden=read_size(config, "hidden_size"),
        layers=read_size(config, "num_hidden_layers"),
        heads=read_size(config, "num_attention_heads"),
        vocab=read_size(config, "vocab_size"),
        max_positions=read_size(config, "max_position_embeddings"),
        intermediate=read_size(config, "intermediate_size"),
        type_vocab=read_size(config, "type_vocab_size", default=2),
        norm_eps=read_number(config, "layer_norm_eps", default=1e-12),
    )
    require_divisible(cfg)
    return cfg


FAMILY = Family(name="bert", prefixes=("", "bert."), default_pooling="mean", parse=parse)
