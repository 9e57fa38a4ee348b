"""What the OpenVINO engine declares about its numbers, readable without the library.

The service puts `ENGINE_BUILD` into a lane's fingerprint before anything is loaded. The worker compares
`OPENVINO_VERSION` and `IN_FORCE` with what the library says about itself once a model is compiled, and refuses
to serve when they differ. Imports nothing of the engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

OPENVINO_VERSION = "2026.4.1"
"""The one release whose numbers these graphs were compared with."""

GRAPH_REVISION = 2
"""Raised with every change to graphs, masks, pooling, batching or properties here that can move a vector."""

ENGINE_BUILD = f"openvino-{OPENVINO_VERSION}/f32-{GRAPH_REVISION}"
"""The engine's part of a lane's fingerprint."""

REQUESTED: Mapping[str, str] = MappingProxyType(
    {
        # Left to itself the library computes in bfloat16 where the processor can, keeps attention's keys and
        # values in eight bits, and quantises activations in groups of 32: fast, and off by up to 1e-3.
        "INFERENCE_PRECISION_HINT": "f32",
        "EXECUTION_MODE_HINT": "ACCURACY",
        "KV_CACHE_PRECISION": "f32",
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0",
        "CPU_DENORMALS_OPTIMIZATION": "NO",
        # One stream answers a single query soonest; short rows already share an inference.
        "NUM_STREAMS": "1",
        # Pinned workers of two processes would pin to the same cores.
        "ENABLE_CPU_PINNING": "NO",
    }
)
"""Properties that every compilation asks for, by the library's own names."""

IN_FORCE: Mapping[str, str] = MappingProxyType(
    {**REQUESTED, "KEY_CACHE_PRECISION": "f32", "VALUE_CACHE_PRECISION": "f32", "EXECUTION_DEVICES": "CPU"}
)
"""What a compiled model must report: all that was asked for, and what follows from it."""
