"""From a Load message to a model that has proven its numbers.

Called by the loop on the worker's main thread. An engine is imported only when a model asks for it. Reads the model's
file and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from synapse_engines.backend import Backend, Embedder, EmbedSpec, Scorer, ScoreSpec
from synapse_engines.coreml.model import OnCompile, OpenPackage, PackageSet, no_predictor, unheard
from synapse_engines.coreml.model import load as load_package_set
from synapse_engines.errors import ArtifactError
from synapse_engines.families import Family, FamilyConfig, ScoringHead, family_for
from synapse_engines.readout import Readout
from synapse_engines.weights import Weights
from synapse_engines.worker import self_test
from synapse_engines.worker.protocol import BackendName, LoadSpec
from synapse_engines.worker.self_test import Gate, Row

OnRows = Callable[[int, int], None]
"""Told how many rows and tokens were computed since it was last called."""


_TOKENS_PER_CALL: Final[dict[BackendName, int]] = {"openvino": 4096, "reference": 512, "mlx": 8192, "coreml": 1 << 31}
"""How much an engine is given at a time: enough to fill its batches, little enough to report progress often. A package
set gets all rows of a request at once, because the longest of them chooses the bucket of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedModel:
    """A model ready to serve, in one of the two roles below.

    Attributes:
        vocab: number of token ids it knows.
        max_tokens: longest row it serves.
        tokens_per_call: how many tokens to hand to the engine at a time; a longer row goes alone.
        self_test_values: what the self-test expects, see protocol.Ready, if it was computed during this load.
    """

    vocab: int
    max_tokens: int
    tokens_per_call: int
    self_test_values: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedEmbedder(LoadedModel):
    """A model ready to embed; `backend` is the model on its engine."""

    backend: Embedder


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedScorer(LoadedModel):
    """A model ready to score; `backend` is the model on its engine."""

    backend: Scorer


Loader = Callable[[LoadSpec, OnRows, OnCompile], LoadedEmbedder | LoadedScorer]

_Model = TypeVar("_Model", bound=Backend)


@dataclass(frozen=True, slots=True)
class _Role(Generic[_Model]):
    """What loading a model for one purpose has of its own.

    Attributes:
        build: the model on an engine.
        answer: what the self-test compares of a row.
        width: how many numbers that is.
        gate: how it is compared.
    """

    build: Callable[[BackendName], _Model]
    answer: Callable[[_Model, npt.NDArray[np.int32]], Row]
    width: int
    gate: Gate


def load_model(
    spec: LoadSpec, on_rows: OnRows, on_compile: OnCompile = unheard, *, open_package: OpenPackage = no_predictor
) -> LoadedEmbedder | LoadedScorer:
    """Builds the model that `spec` describes, for what it is to be used for, and runs its self-test.

    `open_package` is what computes the packages of a set.

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
    tokens_per_call = _TOKENS_PER_CALL[spec.backend]
    if spec.backend == "coreml":
        return LoadedEmbedder(
            backend=_package_set(spec, cfg, open_package, on_compile),
            vocab=cfg.vocab,
            max_tokens=spec.max_tokens,
            tokens_per_call=tokens_per_call,
            self_test_values=None,
        )
    if spec.readout is None:
        embedder, computed = _prove(spec, cfg, _embedding(spec, family, cfg), on_rows)
        return LoadedEmbedder(
            backend=embedder,
            vocab=cfg.vocab,
            max_tokens=spec.max_tokens,
            tokens_per_call=tokens_per_call,
            self_test_values=computed,
        )
    scorer, computed = _prove(spec, cfg, _scoring(spec, spec.readout, family, cfg), on_rows)
    return LoadedScorer(
        backend=scorer,
        vocab=cfg.vocab,
        max_tokens=spec.max_tokens,
        tokens_per_call=tokens_per_call,
        self_test_values=computed,
    )


def _package_set(spec: LoadSpec, cfg: FamilyConfig, open_package: OpenPackage, on_compile: OnCompile) -> PackageSet:
    if spec.package_root is None or not spec.packages or spec.readout is not None:
        raise ArtifactError("bad_config", "a package set that embeds, and a place to unpack it, have to be named")
    embed_spec = EmbedSpec(spec.family, spec.pooling, spec.normalize, spec.max_tokens, spec.dtype)
    files = [(Path(package.path), package.sha256) for package in spec.packages]
    return load_package_set(files, Path(spec.package_root), cfg.vocab, spec.dims, embed_spec, open_package, on_compile)


def _prove(spec: LoadSpec, cfg: FamilyConfig, role: _Role[_Model], on_rows: OnRows) -> tuple[_Model, str | None]:
    """The model on its engine, after its self-test, and the values expected of it if they were computed now.

    The reference goes first and is let go before the engine allocates, so that they are never in memory together. It
    is its own yardstick: a "reference" model without expected values is not tested.
    """

    def on_row(length: int) -> None:
        on_rows(1, length)

    expected = self_test.unpack(spec.self_test_values or "", role.width, spec.max_tokens)
    computed: str | None = None
    if expected is None and spec.backend != "reference":
        reference = role.build("reference")
        expected = self_test.compute_expected(
            lambda ids: role.answer(reference, ids), cfg.vocab, spec.max_tokens, on_row
        )
        computed = self_test.pack(expected)
        reference.close()
        del reference

    model = role.build(spec.backend)
    if expected is not None:
        self_test.check(lambda ids: role.answer(model, ids), expected, role.gate, cfg.vocab, spec.max_tokens, on_row)
    return model, computed


def _embedding(spec: LoadSpec, family: Family, cfg: FamilyConfig) -> _Role[Embedder]:
    path = Path(spec.model_path)
    embed_spec = EmbedSpec(spec.family, spec.pooling, spec.normalize, spec.max_tokens, spec.dtype)

    def build(name: BackendName) -> Embedder:
        match name:
            case "openvino":
                from synapse_engines import openvino

                return openvino.build(path, family, cfg, embed_spec, spec.threads)
            case "mlx":
                from synapse_engines import mlx

                with Weights.open(path, family, cfg) as weights:
                    return mlx.build(weights, cfg, embed_spec)
            case "coreml":
                raise AssertionError("a package set is not built from weights")
            case "reference":
                from synapse_engines import reference

                with Weights.open(path, family, cfg) as weights:
                    return reference.build(weights, cfg, embed_spec)

    def answer(model: Embedder, ids: npt.NDArray[np.int32]) -> Row:
        vector: Row = model.embed([ids])[0]
        return vector

    return _Role(build, answer, cfg.hidden, self_test.VECTORS)


def _scoring(spec: LoadSpec, readout: Readout, family: Family, cfg: FamilyConfig) -> _Role[Scorer]:
    path = Path(spec.model_path)
    head = family.scoring_head(spec.config, readout)
    _require_declared(spec, head)
    score_spec = ScoreSpec(spec.family, readout, spec.max_tokens, spec.dtype)

    def build(name: BackendName) -> Scorer:
        match name:
            case "openvino":
                from synapse_engines import openvino

                return openvino.build_scorer(path, family, cfg, head, score_spec, spec.threads)
            case "mlx":
                from synapse_engines import mlx

                with Weights.open(path, family, cfg, head) as weights:
                    return mlx.build_scorer(weights, cfg, head, score_spec)
            case "coreml":
                raise AssertionError("a package set is not built from weights")
            case "reference":
                from synapse_engines import reference

                with Weights.open(path, family, cfg, head) as weights:
                    return reference.build_scorer(weights, cfg, head, score_spec)

    def answer(model: Scorer, ids: npt.NDArray[np.int32]) -> Row:
        scores = model.score([ids])
        return np.concatenate([scores.values, scores.logits[0]])

    return _Role(build, answer, 1 + readout.width, self_test.SCORES)


def _require_declared(spec: LoadSpec, head: ScoringHead) -> None:
    """Refuses a lane whose identity names another pooling than its scores come from, or vectors of unit length."""
    if spec.pooling != head.pooling:
        raise ArtifactError("bad_config", f"the model scores by {head.pooling} pooling, the lane says {spec.pooling}")
    if spec.normalize:
        raise ArtifactError("bad_config", "the lane says that vectors are normalised, the model scores")
