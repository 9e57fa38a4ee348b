"""ModernBERT and Qwen3 at their published sizes, with random weights, on OpenVINO against transformers.

Each family in a process of its own: it writes a model of 0.6 or 2.4 GB to a temporary folder, computes rows of each
length with transformers (torch, float32), lets that go, and then embeds the same rows, alone and all in one call with
short mates among them. By hand, and smaller: ``python tests/bench/full_size.py modernbert --longest 512 --layers 4``.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])

from bench.corpus import THREADS
from bench.figures import Report

if TYPE_CHECKING:
    from transformers import PreTrainedModel

SECONDS = 300
LENGTHS = (1, 7, 127, 128, 129, 256, 512, 2048)
LONGEST = {"modernbert": 8192, "qwen3": 2048}
TOLERANCE = 5e-5

Rows = list[npt.NDArray[np.int32]]
Vectors = npt.NDArray[np.float32]


def measure() -> Report:
    """The largest difference of each family, and whether a row's vector depends on its mates."""
    report = Report()
    for name in LONGEST:
        done = subprocess.run(
            [sys.executable, __file__, name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True
        )
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        off = max(row["off"] for row in rows)
        report.at_most(f"{name}, published size: largest difference from transformers", off, "", TOLERANCE)
        changed = sum(not row["same"] for row in rows)
        report.at_most(f"{name}, published size: rows that a batch changes by a bit", changed, "rows", 0)
        for row in rows:
            report.lines.append(
                f"{name}, {row['tokens']} tokens: {row['seconds']:.3f} s, transformers {row['theirs']:.3f} s,"
                f" off by {row['off']:.1e}"
            )
    return report


def compare(name: str, longest: int, layers: int | None) -> list[dict[str, Any]]:
    """How each row of one family comes out, short rows first; times in seconds."""
    import torch

    from synapse_engines import openvino
    from synapse_engines.backend import EmbedSpec
    from synapse_engines.families import family_for

    torch.set_num_threads(THREADS)
    model = untrained(name, layers).eval()
    enliven(model)
    config = model.config.to_dict()
    family = family_for(config)
    cfg = family.parse(config)
    lengths = sorted({length for length in (*LENGTHS, LONGEST[name]) if length <= longest})
    rows = [np.random.default_rng(length).integers(0, cfg.vocab, length, dtype=np.int32) for length in lengths]
    expected, theirs = reference(model, rows, family.default_pooling)
    with tempfile.TemporaryDirectory(prefix="synapse-bench-") as work:
        model.save_pretrained(work)
        del model
        gc.collect()
        spec = EmbedSpec(name, family.default_pooling, True, longest)
        engine = openvino.build(Path(work) / "model.safetensors", family, cfg, spec, THREADS)
        alone, seconds = [], []
        for row in rows:
            began = time.perf_counter()
            alone.append(engine.embed([row])[0])
            seconds.append(time.perf_counter() - began)
        mates = [row[:5] for row in rows]
        mixed = engine.embed([row for pair in zip(mates, rows, strict=True) for row in pair])[1::2]
        engine.close()
    return [
        {
            "tokens": length,
            "off": float(np.abs(alone[index] - expected[index]).max()),
            "same": bool(np.array_equal(mixed[index], alone[index])),
            "seconds": seconds[index],
            "theirs": theirs[index],
        }
        for index, length in enumerate(lengths)
    ]


def untrained(name: str, layers: int | None) -> PreTrainedModel:
    """The published size of a family, or fewer layers of it."""
    from transformers import ModernBertConfig, ModernBertModel, Qwen3Config, Qwen3Model

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
    import torch

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
    import torch

    vectors, seconds = [], []
    for row in rows:
        began = time.perf_counter()
        with torch.inference_mode():
            states = model(input_ids=torch.from_numpy(row[None].astype(np.int64))).last_hidden_state[0]
        seconds.append(time.perf_counter() - began)
        vectors.append(torch.nn.functional.normalize(states[0 if pooling == "cls" else -1], dim=0).numpy())
    return np.stack(vectors), seconds


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", choices=list(LONGEST))
    parser.add_argument("--longest", type=int, default=8192, help="leave out longer rows")
    parser.add_argument("--layers", type=int, help="build fewer layers")
    given = parser.parse_args()
    for outcome in compare(given.family, given.longest, given.layers):
        print(json.dumps(outcome), flush=True)
