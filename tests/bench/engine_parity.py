"""ModernBERT and Qwen3 at their published sizes, with random weights, on OpenVINO against transformers.

Run it with ``python tests/bench/engine_parity.py [modernbert] [qwen3] [--longest TOKENS] [--layers N]`` (extra
``test``). It writes a model of 0.6 or 2.4 GB to a temporary folder, computes rows of each length with transformers
(torch, float32), lets that go, and then embeds the same rows, all in one call with short mates among them. Prints the
largest difference between normalised vectors for each length and how long both took; fails above 5e-5 or where a row
in the batch differs from the row alone by a single bit.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from transformers import ModernBertConfig, ModernBertModel, PreTrainedModel, Qwen3Config, Qwen3Model

from synapse_engines import openvino
from synapse_engines.backend import EmbedSpec
from synapse_engines.families import family_for

LENGTHS = (1, 7, 127, 128, 129, 256, 512, 2048)
LONGEST = {"modernbert": 8192, "qwen3": 2048}
TOLERANCE = 5e-5
THREADS = 2

Rows = list[npt.NDArray[np.int32]]
Vectors = npt.NDArray[np.float32]


def untrained(name: str, layers: int | None) -> PreTrainedModel:
    """The published size of a family, or fewer layers of it."""
    sizes = {} if layers is None else {"num_hidden_layers": layers}
    if name == "modernbert":
        return ModernBertModel(ModernBertConfig(**sizes, attn_implementation="sdpa"))
    config = Qwen3Config(
        vocab_size=151_669,
        hidden_size=1024,
        intermediate_size=3072,
        num_attention_heads=16,
        num_key_value_heads=8,
        head_dim=128,
        max_position_embeddings=32_768,
        rope_parameters={"rope_type": "default", "rope_theta": 1_000_000.0},
        attn_implementation="sdpa",
        **({"num_hidden_layers": 28} | sizes),
    )
    return Qwen3Model(config)


def enliven(model: PreTrainedModel) -> None:
    """Weights that keep the variance of what passes through them, and norm weights that are not all one."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.normal_(generator=generator)
            if parameter.ndim == 1:
                parameter.mul_(0.1).add_(1.0)
            elif "embed" not in name:
                parameter.mul_(parameter.shape[1] ** -0.5)


def reference(model: PreTrainedModel, rows: Rows, pooling: str) -> tuple[Vectors, list[float]]:
    """Normalised vectors of rows, each run alone, and the seconds that each took."""
    vectors, seconds = [], []
    for row in rows:
        started = time.perf_counter()
        with torch.inference_mode():
            states = model(input_ids=torch.from_numpy(row[None].astype(np.int64))).last_hidden_state[0]
        seconds.append(time.perf_counter() - started)
        vectors.append(torch.nn.functional.normalize(states[0 if pooling == "cls" else -1], dim=0).numpy())
    return np.stack(vectors), seconds


def compare(name: str, longest: int, layers: int | None) -> bool:
    """Whether every row of one family agrees."""
    torch.set_num_threads(THREADS)
    model = untrained(name, layers).eval()
    enliven(model)
    config = model.config.to_dict()
    family = family_for(config)
    cfg = family.parse(config)
    lengths = [length for length in (*LENGTHS, LONGEST[name]) if length <= longest]
    rows = [np.random.default_rng(length).integers(0, cfg.vocab, length, dtype=np.int32) for length in set(lengths)]
    expected, torch_seconds = reference(model, rows, family.default_pooling)
    with tempfile.TemporaryDirectory() as work:
        model.save_pretrained(work)
        del model
        gc.collect()
        spec = EmbedSpec(name, family.default_pooling, True, longest)
        started = time.perf_counter()
        engine = openvino.build(Path(work) / "model.safetensors", family, cfg, spec, THREADS)
        print(f"{name}, {cfg.layers} layers, loaded in {time.perf_counter() - started:.1f} s")
        alone, seconds = [], []
        for row in rows:
            started = time.perf_counter()
            alone.append(engine.embed([row])[0])
            seconds.append(time.perf_counter() - started)
        mates = [row[:5] for row in rows]
        mixed = engine.embed([row for pair in zip(mates, rows, strict=True) for row in pair])[1::2]
        engine.close()
    right = True
    for index in sorted(range(len(rows)), key=lambda at: rows[at].size):
        off = float(np.abs(alone[index] - expected[index]).max())
        same = np.array_equal(mixed[index], alone[index])
        right = right and same and off <= TOLERANCE
        print(
            f"{rows[index].size:6} tokens: off by {off:.1e}, in a batch {'the same' if same else 'NOT THE SAME'}, "
            f"{seconds[index]:7.3f} s, transformers {torch_seconds[index]:7.3f} s"
        )
    return right


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", choices=[*LONGEST, []], help="all unless named")
    parser.add_argument("--longest", type=int, default=8192, help="leave out longer rows")
    parser.add_argument("--layers", type=int, help="build fewer layers")
    given = parser.parse_args()
    outcomes = [compare(name, given.longest, given.layers) for name in given.families or LONGEST]
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
