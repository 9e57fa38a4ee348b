"""The model families on MLX, which serves Metal and CUDA with the same graphs.

`build` and `build_scorer` are called by the worker. Importing this package imports neither MLX nor NumPy, and
`build.ENGINE_BUILD` can be read where neither is installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

# Loading the submodule binds the name `build` in this package to it; the function below then takes the name. Loaded
# any later, the submodule would take it back.
from synapse_engines.mlx.build import ENGINE_BUILD

if TYPE_CHECKING:
    from synapse_engines.backend import EmbedSpec, ScoreSpec
    from synapse_engines.families.base import FamilyConfig
    from synapse_engines.families.heads import ScoringHead
    from synapse_engines.mlx.model import MlxModel
    from synapse_engines.mlx.runtime import Device
    from synapse_engines.scoring import HeadScorer
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


def build_scorer(
    weights: Weights, cfg: FamilyConfig, head: ScoringHead, spec: ScoreSpec, *, device: Device = "gpu"
) -> HeadScorer:
    """As `build`, for a model that scores with `head`; `weights` were opened with it.

    The accelerator computes the hidden state that the head reads, the processor the head.
    """
    from synapse_engines import scoring

    embedder = build(weights, cfg, scoring.trunk_spec(head, spec), device=device)
    return scoring.HeadScorer(embedder, scoring.head_pass(weights, head), head.readout)


__all__ = ["ENGINE_BUILD", "build", "build_scorer"]
