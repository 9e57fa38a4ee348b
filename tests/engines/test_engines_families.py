"""The families read both spellings of their configurations and refuse what they would compute wrongly."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from fixtures.model_files import NAMES, Name, published_config, tiny_config
from synapse_engines.errors import ArtifactError
from synapse_engines.families import FAMILIES, family_for
from synapse_engines.families.base import rope_inverse_frequencies
from synapse_engines.families.bert import BertConfig
from synapse_engines.families.modernbert import ModernBertConfig
from synapse_engines.families.qwen3 import Qwen3Config


def parse(config: dict[str, Any]) -> Any:
    return family_for(config).parse(config)


def refusal(config: dict[str, Any]) -> str:
    with pytest.raises(ArtifactError) as caught:
        parse(config)
    return f"{caught.value.reason}: {caught.value.detail}"


def test_bert_configuration() -> None:
    assert parse(tiny_config("bert")) == BertConfig(
        model_type="bert",
        hidden=64,
        layers=2,
        heads=4,
        vocab=512,
        max_positions=2048,
        intermediate=128,
        type_vocab=2,
        norm_eps=1e-12,
    )


def test_modernbert_configuration() -> None:
    cfg = parse(tiny_config("modernbert"))
    assert cfg == ModernBertConfig(
        model_type="modernbert",
        hidden=64,
        layers=6,
        heads=4,
        vocab=512,
        max_positions=8192,
        intermediate=96,
        norm_eps=1e-5,
        local_window=16,
        global_layers=(True, False, False, True, False, False),
        rope_theta_global=160_000.0,
        rope_theta_local=10_000.0,
    )
    assert (cfg.head_dim, cfg.half_window) == (16, 8)
    assert [cfg.rope_theta(layer) for layer in (0, 1, 3)] == [160_000.0, 10_000.0, 160_000.0]


def test_qwen3_configuration() -> None:
    assert parse(tiny_config("qwen3")) == Qwen3Config(
        model_type="qwen3",
        hidden=64,
        layers=3,
        heads=4,
        vocab=512,
        max_positions=8192,
        intermediate=128,
        kv_heads=2,
        head_dim=32,
        norm_eps=1e-6,
        rope_theta=1_000_000.0,
    )


@pytest.mark.parametrize("name", NAMES)
def test_published_spelling_means_the_same(name: Name) -> None:
    assert parse(published_config(name)) == parse(tiny_config(name))


def test_families_state_their_pooling_and_prefixes() -> None:
    stated = {name: (family.default_pooling, family.prefixes) for name, family in FAMILIES.items()}
    assert stated == {
        "bert": ("mean", ("", "bert.")),
        "modernbert": ("cls", ("", "model.")),
        "qwen3": ("last", ("", "model.")),
    }


@pytest.mark.parametrize(("name", "count"), [("bert", 5 + 2 * 16), ("modernbert", 2 + 6 * 6 - 1 + 1), ("qwen3", 35)])
def test_number_of_tensors(name: Name, count: int) -> None:
    assert len(parse(tiny_config(name)).tensors()) == count


def test_modernbert_layer_0_has_no_attention_norm() -> None:
    names = [tensor.name for tensor in parse(tiny_config("modernbert")).tensors()]
    assert "layers.0.attn_norm.weight" not in names
    assert "layers.1.attn_norm.weight" in names


def test_unknown_family_is_unsupported() -> None:
    assert refusal({"model_type": "gpt2"}) == ("unsupported: model type 'gpt2' is not one of bert, modernbert, qwen3")


def test_configuration_without_a_family() -> None:
    assert refusal({}) == "bad_config: the configuration names no model_type"


@pytest.mark.parametrize(
    ("name", "change", "expected"),
    [
        ("bert", {"hidden_act": "gelu_new"}, "unsupported: hidden_act is 'gelu_new', only 'gelu' is computed"),
        ("bert", {"position_embedding_type": "relative_key"}, "unsupported: position_embedding_type is"),
        ("bert", {"is_decoder": True}, "unsupported: is_decoder is True"),
        ("bert", {"hidden_size": 66}, "bad_config: hidden size 66 is not a multiple of 4 heads"),
        ("bert", {"hidden_size": True}, "bad_config: hidden_size should be an integer, not True"),
        ("bert", {"hidden_size": "64"}, "bad_config: hidden_size should be an integer, not '64'"),
        ("bert", {"num_hidden_layers": 10**9}, "bad_config: num_hidden_layers is 1000000000, outside 1 to 1024"),
        ("bert", {"vocab_size": 0}, "bad_config: vocab_size is 0"),
        ("bert", {"layer_norm_eps": float("nan")}, "bad_config: layer_norm_eps is nan"),
        ("bert", {"layer_norm_eps": 1e39}, "bad_config: layer_norm_eps is 1e+39, which is not a positive number of"),
        ("bert", {"layer_norm_eps": 0.0}, "bad_config: layer_norm_eps is 0.0"),
        ("bert", {"layer_norm_eps": 10**400}, "bad_config: layer_norm_eps is 1000"),
        ("modernbert", {"norm_bias": True}, "unsupported: norm_bias is True"),
        ("modernbert", {"attention_bias": True}, "unsupported: attention_bias is True"),
        ("modernbert", {"mlp_bias": True}, "unsupported: mlp_bias is True"),
        ("modernbert", {"hidden_activation": "relu"}, "unsupported: hidden_activation is 'relu'"),
        ("modernbert", {"layer_types": ["full_attention"]}, "bad_config: layer_types should list 6 layers"),
        ("modernbert", {"layer_types": ["chunked"] * 6}, "unsupported: layer_types holds 'chunked'"),
        ("modernbert", {"layer_types": None}, "bad_config: neither layer_types nor global_attn_every_n_layers"),
        ("modernbert", {"global_attn_every_n_layers": 2}, "bad_config: layer_types and global_attn_every_n_layers"),
        ("modernbert", {"global_rope_theta": 5.0}, "bad_config: rope_parameters.full_attention and global_rope"),
        ("modernbert", {"rope_parameters": {}}, "bad_config: rope_parameters says nothing about full_attention"),
        ("qwen3", {"attention_bias": True}, "unsupported: attention_bias is True"),
        ("qwen3", {"use_sliding_window": True}, "unsupported: use_sliding_window is True"),
        ("qwen3", {"layer_types": ["full_attention", "sliding_attention", "full_attention"]}, "unsupported: layer"),
        ("qwen3", {"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}, "unsupported: rope_scaling asks for 'yarn'"),
        ("qwen3", {"rope_scaling": {"type": "linear"}}, "unsupported: rope_scaling asks for 'linear'"),
        ("qwen3", {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e6}}, "unsupported: rope_parameters asks"),
        ("qwen3", {"rope_parameters": None}, "bad_config: rope_theta should be a number, not None"),
        ("qwen3", {"rope_theta": 10_000}, "bad_config: rope_parameters and rope_theta contradict each other"),
        ("qwen3", {"rope_parameters": {"rope_theta": 1e200}}, "bad_config: rope_theta is 1e+200, which is not a"),
        ("qwen3", {"rope_parameters": {"rope_theta": 1e-200}}, "bad_config: rope_theta is 1e-200, which is not a"),
        ("qwen3", {"num_key_value_heads": 3}, "bad_config: 4 heads cannot share 3 key heads evenly"),
        ("qwen3", {"head_dim": 33}, "bad_config: heads of width 33 cannot be rotated in halves"),
    ],
)
def test_what_is_not_computed_is_refused(name: Name, change: dict[str, Any], expected: str) -> None:
    assert refusal(tiny_config(name) | change).startswith(expected)


@pytest.mark.parametrize("key", ["hidden_size", "num_attention_heads", "intermediate_size", "vocab_size"])
@pytest.mark.parametrize("name", NAMES)
def test_sizes_have_no_defaults(name: Name, key: str) -> None:
    config = tiny_config(name)
    del config[key]
    assert refusal(config) == f"bad_config: {key} should be an integer, not None"


def test_inverse_frequencies_are_float32_values() -> None:
    # 10000 ** -0.25 is 0.1 in real numbers; as a float32 it is the nearest one, 0.100000001490116...
    assert rope_inverse_frequencies(10_000.0, 8) == (
        1.0,
        0.10000000149011612,
        0.009999999776482582,
        0.0010000000474974513,
    )


@pytest.mark.parametrize("theta", [2.0**-126, 1.0, (2 - 2.0**-23) * 2.0**127])
def test_every_rotary_base_that_is_accepted_has_inverse_frequencies(theta: float) -> None:
    cfg = parse(tiny_config("qwen3") | {"rope_parameters": {"rope_theta": theta}})
    found = rope_inverse_frequencies(cfg.rope_theta, 256)
    assert found[0] == 1.0
    assert all(0 < frequency < float("inf") for frequency in found)


def test_the_service_side_imports_no_array_library() -> None:
    modules = "artifacts, backend, composition, errors, families, readout, tokenizer"
    code = (
        f"import sys; from synapse_engines import {modules}; "
        "print([name for name in ('numpy', 'openvino', 'mlx', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
