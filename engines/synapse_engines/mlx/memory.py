"""How much memory an inference takes, and whether the device has it.

MLX doesn't fail when memory runs out: on a processor it dereferences the null pointer that it was given, and its own
memory limit is not enforced. So `model` asks here before it evaluates anything. The figures bound, from above, what
MLX holds at its peak; `tests/engines/test_mlx_memory.py` compares them with what MLX measured.
"""

from __future__ import annotations

import sys
from math import prod
from typing import ClassVar

import mlx.core as mx
import psutil

from synapse_engines.errors import EngineError
from synapse_engines.families.base import FamilyConfig
from synapse_engines.families.qwen3 import Qwen3Config

FLOAT_BYTES = 4

SCORE_BYTES = 256 * 2**20
"""Attention scores held at once. Longer rows are attended to in blocks of queries that stay under it."""

SETTLE_TOKENS = 2048
"""From this many tokens on, every layer is evaluated before the next one is described.

MLX evaluates a whole description at once and may hold results of several layers. For small inferences that is
harmless and saves a round trip a layer; for large ones the memory would be past estimating.
"""

CACHE_BYTES = 512 * 2**20
"""Freed buffers that MLX may keep for reuse. Its own default is all of the memory."""

# Of what the device reports as free, this share is used: other programs allocate too between the look and the leap.
_USABLE = 0.875

# Arrays of a layer that are alive together: how many as wide as the hidden state, as the projected heads, and as the
# feed-forward block. Counted from the graphs with every fused step taken apart, and held to measurements by a test.
_HIDDEN_ARRAYS, _HEAD_ARRAYS, _WIDE_ARRAYS = 4, 4, 5

# Scores, their exponentials and the mask added to them.
_SCORE_ARRAYS = 3

# Layers whose arrays may be alive together when a whole inference is evaluated at once.
_LAYERS_IN_FLIGHT = 3


class MemoryShortage(EngineError):
    """The device lacks the memory for what was asked. Nothing was allocated.

    Attributes:
        needed, available: bytes.
    """

    kind: ClassVar[str] = "memory"

    def __init__(self, needed: int, available: int) -> None:
        super().__init__(needed, available)
        self.needed = needed
        self.available = available

    def __str__(self) -> str:
        return f"{self.needed / 2**20:.0f} MiB are needed and {self.available / 2**20:.0f} MiB are available"


def available_bytes(device: str) -> int:
    """Bytes that may be allocated on `device` ("gpu" or "cpu") now, with a reserve kept back."""
    return int(_USABLE * (_gpu_bytes() if device == "gpu" else _host_bytes()))


def require_bytes(needed: int, device: str) -> None:
    """Refuses an allocation that the device can't hold.

    Raises:
        MemoryShortage: `needed` bytes are more than `available_bytes`.
    """
    available = available_bytes(device)
    if needed > available:
        raise MemoryShortage(needed, available)


def weight_bytes(cfg: FamilyConfig) -> int:
    """Bytes of all weights as float32, and once more the largest, which exists twice while it is widened."""
    sizes = [FLOAT_BYTES * prod(tensor.shape) for tensor in cfg.tensors()]
    return sum(sizes) + max(sizes)


def inference_bytes(cfg: FamilyConfig, rows: int, length: int) -> int:
    """Upper bound of the bytes that one inference over `rows` padded to `length` tokens holds beside the weights."""
    tokens = rows * length
    a_token = _HIDDEN_ARRAYS * cfg.hidden + _HEAD_ARRAYS * _projected_width(cfg) + _WIDE_ARRAYS * cfg.intermediate
    scores = _SCORE_ARRAYS * rows * cfg.heads * query_block(rows, cfg.heads, length) * length
    layers = 1 if tokens >= SETTLE_TOKENS else _LAYERS_IN_FLIGHT
    return layers * (tokens * a_token + scores) * FLOAT_BYTES


def query_block(rows: int, heads: int, length: int) -> int:
    """How many queries of each row may attend to `length` keys at once within SCORE_BYTES; at least one."""
    return max(1, min(length, SCORE_BYTES // (rows * heads * length * FLOAT_BYTES)))


def _projected_width(cfg: FamilyConfig) -> int:
    """Width of a token's queries, keys and values together."""
    if isinstance(cfg, Qwen3Config):
        return (cfg.heads + 2 * cfg.kv_heads) * cfg.head_dim
    return 3 * cfg.hidden


def _gpu_bytes() -> int:
    """Free memory of the accelerator: what CUDA's driver reports, or what Metal recommends of the shared memory."""
    info = mx.device_info(mx.gpu)
    if "free_memory" in info:
        return int(info["free_memory"]) + mx.get_cache_memory()
    recommended = int(info.get("max_recommended_working_set_size", info.get("memory_size", 0)))
    return min(recommended - mx.get_active_memory(), _host_bytes())


def _host_bytes() -> int:
    """Free memory of the machine, or what is left of this process's address space where that is limited to less.

    What MLX keeps for reuse counts as taken to everyone else, but to MLX it is free.
    """
    free = int(psutil.virtual_memory().available) + mx.get_cache_memory()
    if sys.platform != "win32":
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            free = min(free, limit - int(psutil.Process().memory_info().vms))
    return free
