"""What this engine declares about its numbers, readable without MLX.

The service puts `ENGINE_BUILD` into a lane's fingerprint before anything is loaded; the worker compares `DECLARED`
with what MLX says about itself once it runs. Imports nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

MLX_VERSION = "0.32.4"
"""The one release whose numbers these graphs were compared with."""

GRAPH_REVISION = 1
"""Raised with every change to the graphs, masks, buckets or pooling here that can move a vector."""

ENGINE_BUILD = f"mlx-{MLX_VERSION}/f32-{GRAPH_REVISION}"
"""The engine's part of a lane's fingerprint."""

DECLARED: Mapping[str, str] = MappingProxyType({"engine": "mlx", "version": MLX_VERSION, "matmul": "float32"})
"""Properties that must be found in force; `matmul` is measured, see `runtime`."""
