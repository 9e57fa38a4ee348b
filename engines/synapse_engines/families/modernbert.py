"""ModernBERT encoders (Warner et al. 2024): rotary positions, pre-norm, GeGLU, local and global attention.

Facts only; the computation is in `reference/modernbert.py` and in the engines. Two spellings of the
configuration are read: the one that the published models carry, and the one that transformers 5 writes.
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
    require_divisible,
    require_plain_rope,
)
from synapse_engines.families.heads import ClassifierHead
from synapse_engines.readout import Readout, Sigmoid

_GLOBAL, _LOCAL = "full_attention", "sliding_attention"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModernBertConfig(FamilyConfig):
    """Sizes of a ModernBERT encoder. No layer has biases.

    Attributes:
        norm_eps: what LayerNorm adds to the variance.
        local_window: total width in tokens of a local layer's window; see `half_window`.
        global_layers: for each layer, whether it attends to the whole row.
        rope_theta_global, rope_theta_local: rotary base of the global and of the local layers.
    """

    norm_eps: float
    local_window: int
    global_layers: tuple[bool, ...]
    rope_theta_global: float
    rope_theta_local: float

    @property
    def head_dim(self) -> int:
        return self.hidden // self.heads

    @property
    def half_window(self) -> int:
        """In a local layer token i sees token j when |i - j| is at most this, both ends included."""
        return self.local_window // 2

    def is_global(self, layer: int) -> bool:
        """Whether `layer` attends to the whole row rather than to its window."""
        return self.global_layers[layer]

    def rope_theta(self, layer: int) -> float:
        """Rotary base of `layer`."""
        return self.rope_theta_global if self.is_global(layer) else self.rope_theta_local

    def tensors(self) -> tuple[TensorShape, ...]:
        wide = (self.hidden,)
        found = [
            TensorShape("embeddings.tok_embeddings.weight", (self.vocab, self.hidden)),
            TensorShape("embeddings.norm.weight", wide),
        ]
        for index in range(self.layers):
            layer = f"layers.{index}"
            # The embedding norm serves as the first layer's attention norm, so layer 0 has none of its own.
            if index > 0:
                found.append(TensorShape(f"{layer}.attn_norm.weight", wide))
            found += [
                TensorShape(f"{layer}.attn.Wqkv.weight", (3 * self.hidden, self.hidden)),
                TensorShape(f"{layer}.attn.Wo.weight", (self.hidden, self.hidden)),
                TensorShape(f"{layer}.mlp_norm.weight", wide),
                TensorShape(f"{layer}.mlp.Wi.weight", (2 * self.intermediate, self.hidden)),
                TensorShape(f"{layer}.mlp.Wo.weight", (self.hidden, self.intermediate)),
            ]
        found.append(TensorShape("final_norm.weight", wide))
        return tuple(found)


def parse(config: Mapping[str, object]) -> ModernBertConfig:
    """Reads a ModernBERT `config.json` in either spelling.

    Raises:
        ArtifactError: `bad_config` for missing, senseless or contradictory values, `unsupported` for variants
            that we do not compute.
    """
    require(config, "hidden_activation", "gelu", default="gelu")
    for bias in ("attention_bias", "mlp_bias", "norm_bias"):
        require(config, bias, False, default=False)
    layers = read_size(config, "num_hidden_layers")
    cfg = ModernBertConfig(
        model_type="modernbert",
        hidden=read_size(config, "hidden_size"),
        layers=layers,
        heads=read_size(config, "num_attention_heads"),
        vocab=read_size(config, "vocab_size"),
        max_positions=read_size(config, "max_position_embeddings"),
        intermediate=read_size(config, "intermediate_size"),
        norm_eps=read_number(config, "norm_eps", default=1e-5),
        local_window=read_size(config, "local_attention"),
        global_layers=_global_layers(config, layers),
        rope_theta_global=_theta(config, _GLOBAL, "global_rope_theta"),
        rope_theta_local=_theta(config, _LOCAL, "local_rope_theta"),
    )
    require_divisible(cfg)
    if cfg.head_dim % 2:
        raise ArtifactError("bad_config", f"heads of width {cfg.head_dim} cannot be rotated in halves")
    return cfg


def parse_head(config: Mapping[str, object], readout: Readout) -> ClassifierHead:
    """Reads which classifier a ModernBERT `config.json` describes.

    How many labels it has is not read here, as the key for it is usually absent: the classifier's shape tells.

    Raises:
        ArtifactError: as `parse`, and `unsupported` for another read-out than the sigmoid of one logit.
    """
    if not isinstance(readout, Sigmoid):
        raise ArtifactError("unsupported", "a ModernBERT classifier has one logit and none of tokens")
    require(config, "classifier_activation", "gelu", default="gelu")
    require(config, "classifier_bias", False, default=False)
    cfg = parse(config)
    match config.get("classifier_pooling", "cls"):
        case "cls" | "mean" as pooling:
            return ClassifierHead(pooling=pooling, hidden=cfg.hidden, norm_eps=cfg.norm_eps)
        case other:
            raise ArtifactError("unsupported", f"classifier_pooling is {other!r}, only 'cls' and 'mean' are computed")


def _global_layers(config: Mapping[str, object], layers: int) -> tuple[bool, ...]:
    """Which layers are global, from `layer_types` or from `global_attn_every_n_layers`."""
    by_period: tuple[bool, ...] | None = None
    if "global_attn_every_n_layers" in config:
        period = read_size(config, "global_attn_every_n_layers")
        by_period = tuple(index % period == 0 for index in range(layers))
    kinds = config.get("layer_types")
    if kinds is None:
        if by_period is None:
            raise ArtifactError("bad_config", "neither layer_types nor global_attn_every_n_layers is given")
        return by_period
    if not isinstance(kinds, list) or len(kinds) != layers:
        raise ArtifactError("bad_config", f"layer_types should list {layers} layers")
    unknown = [kind for kind in kinds if kind not in (_GLOBAL, _LOCAL)]
    if unknown:
        raise ArtifactError("unsupported", f"layer_types holds {unknown[0]!r}")
    by_kind = tuple(kind == _GLOBAL for kind in kinds)
    if by_period is not None and by_period != by_kind:
        raise ArtifactError("bad_config", "layer_types and global_attn_every_n_layers contradict each other")
    return by_kind


def _theta(config: Mapping[str, object], kind: str, published_key: str) -> float:
    """The rotary base of one kind of layer, from `rope_parameters` or from its published key."""
    if config.get("rope_scaling") is not None:
        require_plain_rope(config["rope_scaling"], "rope_scaling")
    parameters = config.get("rope_parameters")
    if parameters is None:
        return read_number(config, published_key)
    if not isinstance(parameters, Mapping) or kind not in parameters:
        raise ArtifactError("bad_config", f"rope_parameters says nothing about {kind}")
    theta = read_number(require_plain_rope(parameters[kind], f"rope_parameters.{kind}"), "rope_theta")
    if published_key in config and read_number(config, published_key) != theta:
        raise ArtifactError("bad_config", f"rope_parameters.{kind} and {published_key} contradict each other")
    return theta


FAMILY = Family(
    name="modernbert",
    prefixes=("", "model."),
    default_pooling="cls",
    parse=parse,
    # Indentation of code: its tokenizer writes each run of two to 24 spaces as one added token.
    allowed_added=" {2,}",
    parse_head=parse_head,
)
