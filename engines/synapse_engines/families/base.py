"""What every model family states, and the strict reading of configuration files that they share.

Imported by the family files, the artifact checks and the engines. Pure Python.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from synapse_engines.errors import ArtifactError

if TYPE_CHECKING:
    from synapse_engines.families.heads import ScoringHead
    from synapse_engines.readout import Readout

Pooling = Literal["mean", "cls", "last"]

# No published model comes near these. They only keep a nonsensical file from making us enumerate tensors for
# hours.
_MAX_LAYERS = 1024
_MAX_SIZE = 2**31 - 1

# The engines compute in float32: these are its smallest normal number and its largest.
_SMALLEST_NUMBER, _LARGEST_NUMBER = 2.0**-126, (2 - 2.0**-23) * 2.0**127


@dataclass(frozen=True, slots=True)
class TensorShape:
    """A tensor that a model must have: its unprefixed name and exact shape."""

    name: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyConfig(ABC):
    """The sizes that all families share. Subclasses add their own facts and list their tensors.

    Attributes:
        model_type: the family's name.
        hidden: width of a hidden state, also the length of a vector.
        layers: number of transformer layers.
        heads: number of query heads.
        vocab: rows of the token embedding table.
        max_positions: longest row for which the model defines positions.
        intermediate: inner width of the feed-forward block.
    """

    model_type: str
    hidden: int
    layers: int
    heads: int
    vocab: int
    max_positions: int
    intermediate: int

    @abstractmethod
    def tensors(self) -> tuple[TensorShape, ...]:
        """Every tensor that the hidden states need, by the family's unprefixed names."""


@dataclass(frozen=True, slots=True)
class Family:
    """One model family.

    Attributes:
        name: the `model_type` of its configuration files.
        prefixes: what may stand before every tensor name, most usual first.
        default_pooling: pooling that the family's published embedding models use.
        parse: reads a `config.json` object; raises ArtifactError (`bad_config`, `unsupported`).
        allowed_added: a regular expression for the added tokens that stay recognised in text, because the
            model was trained on them as ordinary text; None for none.
        parse_head: reads what a `config.json` object says about scoring, for a read-out; raises as `parse`. None
            for a family whose scoring models we do not compute.
    """

    name: str
    prefixes: tuple[str, ...]
    default_pooling: Pooling
    parse: Callable[[Mapping[str, object]], FamilyConfig]
    allowed_added: str | None = None
    parse_head: Callable[[Mapping[str, object], Readout], ScoringHead] | None = None

    def tensors(self, cfg: FamilyConfig) -> tuple[TensorShape, ...]:
        """Every tensor that an embedding with this configuration needs."""
        return cfg.tensors()

    def scoring_head(self, config: Mapping[str, object], readout: Readout) -> ScoringHead:
        """The head of a model of this family whose scores are read off as `readout` says.

        Raises:
            ArtifactError: `unsupported` if the family, or this model of it, does not score in that way;
                `bad_config` for missing or senseless values.
        """
        if self.parse_head is None:
            raise ArtifactError("unsupported", f"scoring with a {self.name} model is not computed")
        return self.parse_head(config, readout)


def read_size(config: Mapping[str, object], key: str, *, default: int | None = None) -> int:
    """A positive integer of a configuration.

    Raises:
        ArtifactError: `bad_config` if it is missing with no default, not an integer, or out of all reason.
    """
    value = config.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArtifactError("bad_config", f"{key} should be an integer, not {value!r}")
    limit = _MAX_LAYERS if key == "num_hidden_layers" else _MAX_SIZE
    if not 1 <= value <= limit:
        raise ArtifactError("bad_config", f"{key} is {value}, outside 1 to {limit}")
    return value


def read_number(config: Mapping[str, object], key: str, *, default: float | None = None) -> float:
    """A positive number of a configuration that float32 can hold.

    Raises:
        ArtifactError: `bad_config` if it is missing with no default, not a number, not positive, or out of range.
    """
    value = config.get(key, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ArtifactError("bad_config", f"{key} should be a number, not {value!r}")
    if not _SMALLEST_NUMBER <= value <= _LARGEST_NUMBER:
        raise ArtifactError("bad_config", f"{key} is {value}, which is not a positive number of float32")
    return float(value)


def require(config: Mapping[str, object], key: str, expected: object, *, default: object) -> None:
    """Refuses a model whose configuration asks for a variant that we do not compute.

    Raises:
        ArtifactError: `unsupported` if `config[key]`, or the default where it is absent, is not `expected`.
    """
    value = config.get(key, default)
    if value != expected or isinstance(value, bool) != isinstance(expected, bool):
        raise ArtifactError("unsupported", f"{key} is {value!r}, only {expected!r} is computed")


def require_divisible(cfg: FamilyConfig) -> None:
    """Refuses a model whose heads do not share its width evenly, or whose rotary halves would not be equal.

    Raises:
        ArtifactError: `bad_config`.
    """
    if cfg.hidden % cfg.heads:
        raise ArtifactError("bad_config", f"hidden size {cfg.hidden} is not a multiple of {cfg.heads} heads")


def require_plain_rope(parameters: object, key: str) -> Mapping[str, object]:
    """Checks one set of rotary parameters and returns it, refusing every kind of position scaling.

    Args:
        parameters: the object found under `key`, for example {"rope_type": "default", "rope_theta": 1e6}.
        key: its place in the configuration, for messages.

    Raises:
        ArtifactError: `bad_config` if it is no object, `unsupported` if it asks for scaling.
    """
    if not isinstance(parameters, Mapping):
        raise ArtifactError("bad_config", f"{key} should be an object, not {parameters!r}")
    kind = parameters.get("rope_type", parameters.get("type", "default"))
    if kind != "default":
        raise ArtifactError("unsupported", f"{key} asks for {kind!r} position scaling")
    if parameters.get("partial_rotary_factor", 1.0) != 1.0:
        raise ArtifactError("unsupported", f"{key} rotates only a part of each head")
    return parameters


def rope_inverse_frequencies(theta: float, head_dim: int) -> tuple[float, ...]:
    """Inverse frequencies theta ** (-2i / head_dim) of rotary position embeddings (Su et al. 2021, eq. 15).

    An angle is position times inverse frequency, and at position 8191 the rounding of that product to float32
    moves it by up to 2.4e-4 rad. Models were trained and are published with float32 angles, so an engine that
    agrees with them must start from these float32 values and multiply in float32.

    Returns:
        head_dim / 2 numbers, each exactly a float32.
    """
    frequencies = (_float32(theta ** _float32(even / head_dim)) for even in range(0, head_dim, 2))
    return tuple(_float32(1.0 / frequency) for frequency in frequencies)


def _float32(value: float) -> float:
    """`value` rounded to the nearest float32."""
    return float(struct.unpack("<f", struct.pack("<f", value))[0])
