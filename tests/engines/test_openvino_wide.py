"""Bit equality at the widths of real models, where the library changes kernels with the number of tokens.

One layer is enough to show it, and tiny models can't. Weights are random.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from fixtures.openvino_tiny import random_rows
from synapse_engines import openvino
from synapse_engines.backend import EmbedSpec
from synapse_engines.families import family_for
from synapse_engines.families.base import Pooling
from synapse_engines.openvino import batching

BERT: dict[str, Any] = {
    "model_type": "bert",
    "hidden_size": 768,
    "num_hidden_layers": 1,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "vocab_size": 512,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "layer_norm_eps": 1e-12,
}
QWEN3: dict[str, Any] = {
    "model_type": "qwen3",
    "hidden_size": 1024,
    "num_hidden_layers": 1,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "intermediate_size": 3072,
    "vocab_size": 512,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1e6,
    "tie_word_embeddings": True,
}
MINILM = BERT | {"hidden_size": 384, "intermediate_size": 1536}
MODERNBERT: dict[str, Any] = {
    "model_type": "modernbert",
    "hidden_size": 768,
    "num_hidden_layers": 2,
    "num_attention_heads": 12,
    "intermediate_size": 1152,
    "vocab_size": 512,
    "max_position_embeddings": 8192,
    "norm_eps": 1e-5,
    "global_attn_every_n_layers": 3,
    "local_attention": 128,
    "global_rope_theta": 160000.0,
    "local_rope_theta": 10000.0,
    "classifier_pooling": "mean",
}


@pytest.mark.parametrize(
    ("config", "share"),
    [(BERT, False), (QWEN3, False), (MINILM, True), (MODERNBERT, True)],
    ids=["bert", "qwen3", "minilm", "modernbert"],
)
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_a_wide_model_gives_a_row_the_same_bits_whatever_its_mates(
    config: dict[str, Any], share: bool, pooling: Pooling, tmp_path: Path
) -> None:
    """Red when `batching.rows_may_share` says yes for the first two: see the figures there."""
    family = family_for(config)
    cfg = family.parse(config)
    random = np.random.default_rng(5)
    path = tmp_path / "model.safetensors"
    weights = {
        tensor.name: (random.standard_normal(tensor.shape) * 0.05).astype(np.float32) for tensor in family.tensors(cfg)
    }
    save_file(weights, path)
    spec = EmbedSpec(family=family.name, pooling=pooling, normalize=False, max_tokens=512)
    model = openvino.build(path, family, cfg, spec, 2)
    try:
        # Rows of one length, and rows of several that have frames of one width.
        rows = random_rows([96] * 5 + [17] * 9 + [200] * 2 + [1] * 6 + [85, 91, 95, 18, 31, 32, 193, 207, 2, 9, 16])
        together = model.embed(rows).copy()
        for index, row in enumerate(rows):
            np.testing.assert_array_equal(together[index], model.embed([row])[0])
    finally:
        model.close()
    assert batching.rows_may_share(cfg) is share
