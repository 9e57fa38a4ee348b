"""Memory is asked for before it is used, because MLX ends the process where it isn't there."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("mlx.core")

import mlx.core as mx

from fixtures.model_files import NAMES, Name, tiny_config, tiny_model
from synapse_engines import mlx
from synapse_engines.backend import EmbedSpec
from synapse_engines.families import FAMILIES
from synapse_engines.mlx import memory, model
from synapse_engines.weights import Weights


def load(name: Name) -> model.MlxModel:
    family = FAMILIES[name]
    cfg = family.parse(tiny_config(name))
    with Weights.open(tiny_model(name) / "model.safetensors", family, cfg) as weights:
        return mlx.build(weights, cfg, EmbedSpec(name, "mean", True, 2048), device="cpu")


@pytest.mark.parametrize("name", NAMES)
def test_the_estimate_bounds_what_mlx_holds_at_its_peak(name: Name) -> None:
    loaded = load(name)
    cfg = FAMILIES[name].parse(tiny_config(name))
    for rows, length in ((1, 32), (16, 32), (64, 32), (5, 128), (2, 512)):
        ids = np.zeros(length, np.int32)
        mx.clear_cache()
        before = mx.get_active_memory()
        mx.reset_peak_memory()
        loaded.embed([ids] * rows)
        peak = mx.get_peak_memory() - before
        estimate = memory.inference_bytes(cfg, rows, length)
        assert peak <= estimate <= 9 * peak, (rows, length)
    loaded.close()


def test_weights_are_counted_as_float32_with_the_largest_twice() -> None:
    cfg = FAMILIES["bert"].parse(tiny_config("bert"))
    stored = (tiny_model("bert") / "model.safetensors").stat().st_size
    largest = 4 * max(cfg.vocab, cfg.max_positions) * cfg.hidden
    assert 0 <= stored + largest - memory.weight_bytes(cfg) < 8192


def test_a_model_larger_than_the_device_is_refused_before_loading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_host_bytes", lambda: 1000)
    with pytest.raises(memory.MemoryShortage) as caught:
        load("bert")
    assert caught.value.available == 875
    assert caught.value.needed == memory.weight_bytes(FAMILIES["bert"].parse(tiny_config("bert")))
    assert caught.value.kind == "memory"


def test_a_batch_that_does_not_fit_is_halved_until_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = load("bert")
    cfg = FAMILIES["bert"].parse(tiny_config("bert"))
    rows = [np.arange(start, start + 20, dtype=np.int32) for start in range(9)]
    whole = loaded.embed(rows)
    asked: list[int] = []
    monkeypatch.setattr(model, "require_bytes", lambda needed, device: asked.append(needed))
    monkeypatch.setattr(model, "available_bytes", lambda device: memory.inference_bytes(cfg, 3, 32))
    halved = loaded.embed(rows)
    loaded.close()
    assert asked == [memory.inference_bytes(cfg, count, 32) for count in (2, 2, 2, 3)]
    np.testing.assert_allclose(halved, whole, rtol=0, atol=5e-6)


def test_free_memory_of_an_accelerator_counts_what_mlx_keeps_for_reuse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mx, "device_info", lambda device: {"free_memory": 8000, "total_memory": 9000})
    monkeypatch.setattr(mx, "get_cache_memory", lambda: 800)
    assert memory.available_bytes("gpu") == 7700


def test_free_memory_on_metal_is_the_recommended_working_set_less_what_is_in_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        mx, "device_info", lambda device: {"max_recommended_working_set_size": 8000, "memory_size": 9000}
    )
    monkeypatch.setattr(mx, "get_active_memory", lambda: 4000)
    assert memory.available_bytes("gpu") == 3500


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
def test_a_row_past_the_address_space_is_refused_and_the_process_lives() -> None:
    """Red without `require_bytes` in `MlxModel._compute`: the process ends by SIGSEGV."""
    script = f"""
import resource, sys
sys.path.insert(0, {str(tiny_model("qwen3").parents[2])!r})
import numpy as np
from fixtures.model_files import tiny_config, tiny_model
from synapse_engines import mlx
from synapse_engines.backend import EmbedSpec
from synapse_engines.families import FAMILIES
from synapse_engines.weights import Weights

family = FAMILIES["qwen3"]
cfg = family.parse(tiny_config("qwen3"))
with Weights.open(tiny_model("qwen3") / "model.safetensors", family, cfg) as weights:
    model = mlx.build(weights, cfg, EmbedSpec("qwen3", "last", True, 2048), device="cpu")
short = [np.arange(7, dtype=np.int32)]
before = model.embed(short)
from synapse_engines.mlx.memory import MemoryShortage
import psutil
limit = psutil.Process().memory_info().vms + 50 * 2**20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    model.embed([np.zeros(2048, np.int32)])
except MemoryShortage as error:
    print(error.needed > error.available, np.array_equal(model.embed(short), before))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True True\n", "")


def test_the_estimate_grows_with_the_feed_forward_block() -> None:
    cfg = FAMILIES["bert"].parse(tiny_config("bert"))
    wider = dataclasses.replace(cfg, intermediate=2 * cfg.intermediate)
    assert memory.inference_bytes(wider, 64, 32) - memory.inference_bytes(cfg, 64, 32) == 64 * 32 * 4 * 5 * 128
