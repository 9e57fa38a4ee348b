"""From a Load message to a model that has proven its numbers.

Called by the loop on the worker's main thread. An engine is imported only when a model asks for it. Reads the model's
file and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from synapse_engines.backend import Backend, EmbedSpec
from synapse_engines.errors import ArtifactError
from synapse_engines.families import Family, FamilyConfig, family_for
from synapse_engines.weights import Weights
from synapse_engines.worker import self_test
from synapse_engines.worker.protocol import BackendName, LoadSpec

OnRows = Callable[[int, int], None]
"""Told how many rows and tokens were computed since it was last called."""

_TOKENS_PER_CALL: dict[BackendName, int] = {"openvino": 2048, "reference": 512, "mlx": 8192}
"""How much an engine is given at a time: enough to fill its batches, little enough to report progress often."""


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model ready to serve.

    Attributes:
        backend: the model on its engine.
        vocab: number of token ids it knows.
        max_tokens: longest row it serves.
        tokens_per_call: how many tokens to hand to the engine at a time; a longer row goes alone.
        self_test_values: expected vectors, see protocol.Ready, if they were computed during this load.
    """

    backend: Backend
    vocab: int
    max_tokens: int
    tokens_per_call: int
    self_test_values: str | None


Loader = Callable[[LoadSpec, OnRows], LoadedModel]


def load_model(spec: LoadSpec, on_rows: OnRows) -> LoadedModel:
    """Builds the model that `spec` describes and runs its self-test.

    The reference goes first and is let go before the engine allocates, so that they are never in memory together. It
    is its own yardstick: a "reference" model without expected values is not tested.

    Raises:
        EngineError: the file, the configuration, the engine or the numbers are not what they have to be.
    """
    family = family_for(spec.config)
    if family.name != spec.family:
        raise ArtifactError("bad_config", f"the configuration is of a {family.name} model, not {spec.family}")
    cfg = family.parse(spec.config)
    if spec.max_tokens > cfg.max_positions:
        raise ArtifactError(
            "bad_config", f"{spec.max_tokens} tokens asked for, the model has {cfg.max_positions} positions"
        )
    embed_spec = EmbedSpec(
        family=spec.family,
        pooling=spec.pooling,
        normalize=spec.normalize,
        max_tokens=spec.max_tokens,
        dtype=spec.dtype,
    )

    def on_row(length: int) -> None:
        on_rows(1, length)

    path = Path(spec.model_path)
    expected = self_test.unpack(spec.self_test_values or "", cfg.hidden, spec.max_tokens)
    computed: str | None = None
    if expected is None and spec.backend != "reference":
        reference = _build("reference", path, family, cfg, embed_spec, spec.threads)
        expected = self_test.compute_expected(reference, cfg.vocab, spec.max_tokens, on_row)
        computed = self_test.pack(expected)
        reference.close()
        del reference

    backend = _build(spec.backend, path, family, cfg, embed_spec, spec.threads)
    if expected is not None:
        self_test.check(backend, expected, cfg.vocab, spec.max_tokens, on_row)
    return LoadedModel(
        backend=backend,
        vocab=cfg.vocab,
        max_tokens=spec.max_tokens,
        tokens_per_call=_TOKENS_PER_CALL[spec.backend],
        self_test_values=computed,
    )


def _build(name: BackendName, path: Path, family: Family, cfg: FamilyConfig, spec: EmbedSpec, threads: int) -> Backend:
    match name:
        case "openvino":
            from synapse_engines import openvino

            return openvino.build(path, family, cfg, spec, threads)
        case "mlx":
            from synapse_engines import mlx

            with Weights.open(path, family, cfg) as weights:
                return mlx.build(weights, cfg, spec)
        case "reference":
            from synapse_engines import reference

            with Weights.open(path, family, cfg) as weights:
                return reference.build(weights, cfg, spec)
