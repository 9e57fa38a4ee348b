"""The model families on MLX, which serves Metal and CUDA with the same graphs.

`build` is called by the worker. Importing this package imports neither MLX nor NumPy, and `build.ENGINE_BUILD` can be
read where neither is installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

# Loading the submodule binds the name `build` in this package to it; the function below then takes the name. Loaded
# any later, the submodule would take it back.
from synapse_engines.mlx.build import ENGINE_BUILD

if TYPE_CHECKING:
    from synapse_engines.backend import EmbedSpec
    from synapse_engines.families.base import FamilyConfig
    from synapse_engines.mlx.model import MlxModel
    from synapse_engines.mlx.runtime import Device
    from synapse_engines.weights import Weights


def build(weights: Weights, cfg: FamilyConfig, spec: EmbedSpec, *, device: Device = "gpu") -> MlxModel:
    """Loads a model onto an accelerator.

    A lane that was meant for an accelerator never runs on the processor instead: only a caller that asks for
    `device="cpu"`, as the parity tests do, gets it, and there MLX is tens of times slower than the OpenVINO engine.

    Raises:
        ArtifactError: `unsupported` for a family without a graph here.
        EngineMismatch: the device is absent, or MLX is not the release or the precision that `build.py` declares.
        MemoryShortage: the device can't hold the weights.
    """
    from synapse_engines.mlx.model import MlxModel

    return MlxModel(weights, cfg, spec, device)


__all__ = ["ENGINE_BUILD", "build"]
