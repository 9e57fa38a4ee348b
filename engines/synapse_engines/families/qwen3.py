"""Qwen3 decoders (Qwen team 2025) as embedders and as judges that answer yes or no: causal, grouped-query attention,
normalised queries and keys.

Facts only; the computation is in `reference/qwen3.py` and in the engines. Two spellings of the configuration
are read: the one that the published models carry, and the one that transformers 5 writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from synapse_engines.errors import ArtifactError
from synapse_engines.families.base import (
    Family,
    FamilyConfig,
    TensorShape,
    read_number,
    read_size,
    require,
    require_plain_rope,
)
from synapse_engines.families.heads import VocabularyHead
from synapse_engines.readout import Readout, YesNo

_EMBEDDINGS = "embed_tokens.weight"


@dataclass(frozen=True, slots=True, kw_only=True)
class Qwen3Config(FamilyConfig):
    """Sizes of a Qwen3 decoder. No projection has a bias.

    Attributes:
        kv_heads: key and value heads; each serves heads / kv_heads query heads that follow each other.
        head_dim: width of one head; heads * head_dim need not be `hidden`.
        norm_eps: what RMSNorm adds to the mean square.
        rope_theta: rotary base.
    """

    kv_heads: int
    head_dim: int
    norm_eps: float
    rope_theta: float

    def tensors(self) -> tuple[TensorShape, ...]:
        wide = (self.hidden,)
        queries, keys = self.heads * self.head_dim, self.kv_heads * self.head_dim
        found = [TensorShape(_EMBEDDINGS, (self.vocab, self.hidden))]
        for index in range(self.layers):
            layer = f"layers.{index}"
            found += [
                TensorShape(f"{layer}.input_layernorm.weight", wide),
                TensorShape(f"{layer}.self_attn.q_proj.weight", (queries, self.hidden)),
                TensorShape(f"{layer}.self_attn.k_proj.weight", (keys, self.hidden)),
                TensorShape(f"{layer}.self_attn.v_proj.weight", (keys, self.hidden)),
                TensorShape(f"{layer}.self_attn.o_proj.weight", (self.hidden, queries)),
                TensorShape(f"{layer}.self_attn.q_norm.weight", (self.head_dim,)),
                TensorShape(f"{layer}.self_attn.k_norm.weight", (self.head_dim,)),
                TensorShape(f"{layer}.post_attention_layernorm.weight", wide),
                TensorShape(f"{layer}.mlp.gate_proj.weight", (self.intermediate, self.hidden)),
                TensorShape(f"{layer}.mlp.up_proj.weight", (self.intermediate, self.hidden)),
                TensorShape(f"{layer}.mlp.down_proj.weight", (self.hidden, self.intermediate)),
            ]
        found.append(TensorShape("norm.weight", wide))
        return tuple(found)


def parse(config: Mapping[str, object]) -> Qwen3Config:
    """Reads a Qwen3 `config.json` in either spelling.

    Raises:
        ArtifactError: `bad_config` for missing, senseless or contradictory values, `unsupported` for biases,
            sliding windows and position scaling, none of which we compute.
    """
    require(config, "hidden_act", "silu", default="silu")
    require(config, "attention_bias", False, default=False)
    require(config, "use_sliding_window", False, default=False)
    layers = read_size(config, "num_hidden_layers")
    _require_full_attention(config, layers)
    cfg = Qwen3Config(
        model_type="qwen3",
        hidden=read_size(config, "hidden_size"),
        layers=layers,
        heads=read_size(config, "num_attention_heads"),
        vocab=read_size(config, "vocab_size"),
        max_positions=read_size(config, "max_position_embeddings"),
        intermediate=read_size(config, "intermediate_size"),
        kv_heads=read_size(config, "num_key_value_heads"),
        head_dim=read_size(config, "head_dim"),
        norm_eps=read_number(config, "rms_norm_eps", default=1e-6),
        rope_theta=_theta(config),
    )
    if cfg.heads % cfg.kv_heads:
        raise ArtifactError("bad_config", f"{cfg.heads} heads cannot share {cfg.kv_heads} key heads evenly")
    if cfg.head_dim % 2:
        raise ArtifactError("bad_config", f"heads of width {cfg.head_dim} cannot be rotated in halves")
    return cfg


def parse_head(config: Mapping[str, object], readout: Readout) -> VocabularyHead:
    """Reads where a Qwen3 `config.json` says that the logits of the next token come from.

    Raises:
        ArtifactError: as `parse`; `unsupported` for another read-out than yes or no, and for output embeddings of
            their own; `bad_config` if the two tokens are one, or outside the vocabulary.
    """
    if not isinstance(readout, YesNo):
        raise ArtifactError("unsupported", "a Qwen3 decoder has logits of tokens and no classifier")
    # The library's own default is False, so a configuration that is silent means an lm_head.
    require(config, "tie_word_embeddings", True, default=False)
    vocab = parse(config).vocab
    if readout.yes_id == readout.no_id or max(readout.token_ids) >= vocab:
        raise ArtifactError("bad_config", f"yes {readout.yes_id} and no {readout.no_id} are not two of {vocab} tokens")
    return VocabularyHead(pooling="last", table=_EMBEDDINGS, readout=readout)


def _require_full_attention(config: Mapping[str, object], layers: int) -> None:
    """Refuses `layer_types` that name anything but full attention."""
    kinds = config.get("layer_types")
    if kinds is None:
        return
    if not isinstance(kinds, list) or len(kinds) != layers:
        raise ArtifactError("bad_config", f"layer_types should list {layers} layers")
    other = [kind for kind in kinds if kind != "full_attention"]
    if other:
        raise ArtifactError("unsupported", f"layer_types holds {other[0]!r}, only full attention is computed")


def _theta(config: Mapping[str, object]) -> float:
    """The rotary base, from `rope_parameters` or from `rope_theta`.

    There is no default: published models use 1e6 while the library's own default is another number, and a
    wrong base gives plausible vectors that are simply wrong.
    """
    if config.get("rope_scaling") is not None:
        require_plain_rope(config["rope_scaling"], "rope_scaling")
    parameters = config.get("rope_parameters")
    if parameters is None:
        return read_number(config, "rope_theta")
    theta = read_number(require_plain_rope(parameters, "rope_parameters"), "rope_theta")
    if "rope_theta" in config and read_number(config, "rope_theta") != theta:
        raise ArtifactError("bad_config", "rope_parameters and rope_theta contradict each other")
    return theta


FAMILY = Family(name="qwen3", prefixes=("", "model."), default_pooling="last", parse=parse, parse_head=parse_head)
