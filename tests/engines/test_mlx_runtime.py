"""How MLX is started and kept: on one thread, in float32, on the device that was asked for, without its compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import current_thread

import numpy as np
import pytest

pytest.importorskip("mlx.core")

import mlx.core as mx

from fixtures.model_files import tiny_config, tiny_model
from synapse_engines import mlx
from synapse_engines.backend import EmbedSpec
from synapse_engines.errors import ArtifactError, EngineMismatch, InputError
from synapse_engines.families import FAMILIES, FamilyConfig, TensorShape
from synapse_engines.mlx import runtime
from synapse_engines.mlx.build import DECLARED, ENGINE_BUILD
from synapse_engines.mlx.model import MlxModel
from synapse_engines.weights import Weights

ROW = np.arange(7, dtype=np.int32)


def load() -> MlxModel:
    family = FAMILIES["bert"]
    cfg = family.parse(tiny_config("bert"))
    with Weights.open(tiny_model("bert") / "model.safetensors", family, cfg) as weights:
        return mlx.build(weights, cfg, EmbedSpec("bert", "mean", True, 64), device="cpu")


def run_python(script: str, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False, env=env
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_declaration_is_readable_without_mlx_and_numpy() -> None:
    loaded = run_python(
        "import sys; from synapse_engines.mlx.build import ENGINE_BUILD;"
        "print(ENGINE_BUILD, [name for name in ('mlx', 'mlx.core', 'numpy') if name in sys.modules])"
    )
    assert loaded == f"{ENGINE_BUILD} []\n"
    assert ENGINE_BUILD == "mlx-0.32.4/f32-1"


def test_build_is_the_function_even_after_its_namesake_module_was_imported() -> None:
    assert (
        run_python("import synapse_engines.mlx.build; from synapse_engines.mlx import build; print(callable(build))")
        == "True\n"
    )


def test_facts_hold_what_is_declared_and_where_it_runs() -> None:
    model = load()
    model.close()
    assert DECLARED.items() <= model.facts.items()
    assert model.facts["device"] == "cpu"
    assert model.facts["engine_build"] == ENGINE_BUILD


@pytest.mark.skipif(mx.is_available(mx.gpu), reason="needs a machine without an accelerator")
def test_without_an_accelerator_a_lane_is_refused_and_not_run_on_the_processor() -> None:
    family = FAMILIES["bert"]
    cfg = family.parse(tiny_config("bert"))
    with (
        Weights.open(tiny_model("bert") / "model.safetensors", family, cfg) as weights,
        pytest.raises(EngineMismatch) as caught,
    ):
        mlx.build(weights, cfg, EmbedSpec("bert", "mean", True, 64))
    assert (caught.value.expected, caught.value.actual) == ({"device": "gpu"}, {"device": "cpu"})


def test_another_release_of_mlx_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mx, "__version__", "0.33.0")
    with pytest.raises(EngineMismatch) as caught:
        load()
    assert (caught.value.expected, caught.value.actual) == ({"version": "0.32.4"}, {"version": "0.33.0"})


def test_products_that_round_their_inputs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rounding is imitated: hardware that has it isn't at hand, and bfloat16 loses the same bit."""
    array = mx.array
    monkeypatch.setattr(mx, "array", lambda value: array(value).astype(mx.bfloat16).astype(mx.float32))
    with pytest.raises(EngineMismatch) as caught:
        load()
    assert (caught.value.expected, caught.value.actual) == ({"matmul": "float32"}, {"matmul": "reduced"})


def test_rounding_of_products_is_switched_off_before_the_first_one() -> None:
    """Red without the variable: MLX would round on accelerators. It is overridden even where the user set it."""
    env = os.environ | {"MLX_ENABLE_TF32": "1"}
    script = """
import os
from synapse_engines.mlx.runtime import Runtime
Runtime("cpu").close()
print(os.environ["MLX_ENABLE_TF32"])
"""
    assert run_python(script, env) == "0\n"


def test_a_model_loaded_on_one_thread_answers_on_another() -> None:
    with ThreadPoolExecutor(max_workers=1) as elsewhere:
        model = elsewhere.submit(load).result()
    here = model.embed([ROW])
    with ThreadPoolExecutor(max_workers=1) as elsewhere:
        there = elsewhere.submit(model.embed, [ROW]).result()
    model.close()
    np.testing.assert_array_equal(here, there)


def test_everything_runs_on_the_same_thread_and_failures_come_back() -> None:
    started = runtime.Runtime("cpu")
    names = {started.run(lambda: current_thread().name) for _ in range(3)}
    assert len(names) == 1
    assert current_thread().name not in names
    with pytest.raises(KeyError, match="lost"):
        started.run({}.__getitem__, "lost")
    started.close()


def test_nothing_is_compiled_into_the_temporary_folder(tmp_path: Path) -> None:
    """Red without `mx.disable_compile`, where a C++ compiler is installed."""
    env = os.environ | {"TMPDIR": str(tmp_path)}
    script = """
from synapse_engines.mlx.runtime import Runtime
import mlx.core as mx
started = Runtime("cpu")
fused = mx.compile(lambda x: mx.exp(x) * x + 1)
print(started.run(lambda: fused(mx.ones(8)).tolist()[0]))
started.close()
"""
    assert run_python(script, env) == "3.7182817459106445\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("row", "reason"),
    [([], "empty"), ([0] * 65, "too_long"), ([3, -1], "bad_id"), ([3, 512], "bad_id")],
)
def test_rows_that_an_engine_would_not_question_are_refused(row: list[int], reason: str) -> None:
    model = load()
    with pytest.raises(InputError) as caught:
        model.embed([ROW, np.array(row, np.int32)])
    model.close()
    assert (caught.value.reason, caught.value.row) == (reason, 1)


def test_rows_are_limited_by_the_positions_of_the_model_too() -> None:
    family = FAMILIES["bert"]
    cfg = family.parse(tiny_config("bert"))
    with Weights.open(tiny_model("bert") / "model.safetensors", family, cfg) as weights:
        model = mlx.build(weights, cfg, EmbedSpec("bert", "mean", True, 8192), device="cpu")
    with pytest.raises(InputError) as caught:
        model.embed([np.zeros(2049, np.int32)])
    model.close()
    assert caught.value.reason == "too_long"


def test_a_family_without_a_graph_is_unsupported() -> None:
    family = FAMILIES["bert"]
    cfg = family.parse(tiny_config("bert"))

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Stranger(FamilyConfig):
        def tensors(self) -> tuple[TensorShape, ...]:
            return (TensorShape("embeddings.LayerNorm.weight", (64,)),)

    stranger = Stranger(
        model_type="stranger",
        **{
            field: getattr(cfg, field)
            for field in ("hidden", "layers", "heads", "vocab", "max_positions", "intermediate")
        },
    )
    with (
        Weights.open(tiny_model("bert") / "model.safetensors", family, cfg) as weights,
        pytest.raises(ArtifactError, match="stranger") as caught,
    ):
        mlx.build(weights, stranger, EmbedSpec("stranger", "mean", True, 64), device="cpu")
    assert caught.value.reason == "unsupported"


def test_closing_twice_is_harmless_and_a_closed_model_refuses() -> None:
    model = load()
    model.close()
    model.close()
    with pytest.raises(ValueError, match="closed"):
        model.embed([ROW])
