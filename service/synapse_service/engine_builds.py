"""Which build of each engine this release declares: the engine's part of every fingerprint.

Known without importing an engine. A worker compares what it finds installed with what is declared here, so a wrong
library shows up as a refusal, never as different numbers under the same name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from synapse_engines.coreml.build import ENGINE_BUILD as COREML
from synapse_engines.mlx.build import ENGINE_BUILD as MLX
from synapse_engines.openvino.build import ENGINE_BUILD as OPENVINO

ENGINE_BUILDS: Final[Mapping[str, str]] = {
    "owned-cpu": OPENVINO,
    "owned-metal": MLX,
    "owned-cuda": MLX,
    "ane": COREML,
}
