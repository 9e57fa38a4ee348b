"""A weight file that is damaged, lies about itself, or is another model is refused before it is mapped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from fixtures.model_files import NAMES, Name, tiny_config, tiny_model
from synapse_engines.artifacts import MAX_HEADER_BYTES, TensorEntry, check_model, read_header
from synapse_engines.errors import ArtifactError
from synapse_engines.families import family_for

PAIR = {
    "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
    "b": {"dtype": "F16", "shape": [4], "data_offsets": [24, 32]},
}


def write(path: Path, header: object, data: bytes) -> Path:
    """A safetensors file with this header, however wrong it is."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def refusal(path: Path) -> tuple[str, str]:
    with pytest.raises(ArtifactError) as caught:
        read_header(path)
    assert caught.value.file == path.name
    return caught.value.reason, caught.value.detail


def check(path: Path, name: Name) -> str:
    config = tiny_config(name)
    family = family_for(config)
    return check_model(read_header(path), family, family.parse(config))


def test_header_of_a_sound_file(tmp_path: Path) -> None:
    path = write(tmp_path / "m.safetensors", PAIR | {"__metadata__": {"format": "pt"}}, bytes(32))
    header = read_header(path)
    assert header.tensors == {
        "a": TensorEntry(dtype="F32", shape=(2, 3), begin=0, end=24),
        "b": TensorEntry(dtype="F16", shape=(4,), begin=24, end=32),
    }
    assert (header.data_start, header.file_size) == (path.stat().st_size - 32, path.stat().st_size)


def test_scalar_and_empty_tensors_are_sound(tmp_path: Path) -> None:
    header = {
        "empty": {"dtype": "F32", "shape": [0, 5], "data_offsets": [4, 4]},
        "scalar": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]},
    }
    tensors = read_header(write(tmp_path / "m.safetensors", header, bytes(4))).tensors
    assert (tensors["scalar"].shape, tensors["empty"].shape) == ((), (0, 5))


@pytest.mark.parametrize("size", [0, 7])
def test_file_without_room_for_a_length(tmp_path: Path, size: int) -> None:
    path = tmp_path / "m.safetensors"
    path.write_bytes(bytes(size))
    assert refusal(path) == ("truncated", f"{size} bytes are too few for a header")


def test_header_length_beyond_the_file(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    path.write_bytes((500).to_bytes(8, "little") + b"{}")
    assert refusal(path) == ("truncated", "a header of 500 bytes is announced in a file of 10")


def test_header_length_beyond_reason_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    path.write_bytes((2**63).to_bytes(8, "little") + b"{}")
    reason, detail = refusal(path)
    assert (reason, detail.split(",")[1]) == ("bad_header", f" more than {MAX_HEADER_BYTES} are not accepted")


def test_truncated_data(tmp_path: Path) -> None:
    path = write(tmp_path / "m.safetensors", PAIR, bytes(31))
    assert refusal(path) == ("truncated", "32 bytes of tensors are announced, the file holds 31")


@pytest.mark.parametrize("kept", [0.001, 0.3, 0.999])
def test_truncated_model(tmp_path: Path, kept: float) -> None:
    whole = (tiny_model("bert") / "model.safetensors").read_bytes()
    path = tmp_path / "m.safetensors"
    path.write_bytes(whole[: int(len(whole) * kept)])
    assert refusal(path)[0] == "truncated"


def test_bytes_after_the_last_tensor(tmp_path: Path) -> None:
    path = write(tmp_path / "m.safetensors", PAIR, bytes(33))
    assert refusal(path) == ("bad_header", "1 bytes after the last tensor")


def test_overlapping_tensors(tmp_path: Path) -> None:
    header = PAIR | {"b": {"dtype": "F16", "shape": [4], "data_offsets": [20, 28]}}
    path = write(tmp_path / "m.safetensors", header, bytes(28))
    assert refusal(path) == ("bad_header", "tensor 'b' overlaps the tensor before it")


def test_gap_between_tensors(tmp_path: Path) -> None:
    header = PAIR | {"b": {"dtype": "F16", "shape": [4], "data_offsets": [26, 34]}}
    path = write(tmp_path / "m.safetensors", header, bytes(34))
    assert refusal(path) == ("bad_header", "tensor 'b' leaves a gap before it")


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 20]},
        {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 24]},
        {"dtype": "F32", "shape": [2, 3], "data_offsets": [24, 0]},
        {"dtype": "F4", "shape": [3], "data_offsets": [0, 1]},
    ],
)
def test_byte_range_that_does_not_fit_the_shape(tmp_path: Path, entry: dict[str, Any]) -> None:
    reason, detail = refusal(write(tmp_path / "m.safetensors", {"a": entry}, bytes(24)))
    assert reason == "bad_header"
    assert "does not fit" in detail


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F32", "shape": [2, -3], "data_offsets": [0, 24]},
        {"dtype": "F32", "shape": [2.0, 3], "data_offsets": [0, 24]},
        {"dtype": "F32", "shape": [True, 6], "data_offsets": [0, 24]},
        {"dtype": "F32", "shape": 6, "data_offsets": [0, 24]},
        {"dtype": "F32", "shape": [6], "data_offsets": [0, 24, 24]},
        {"dtype": "F32", "shape": [6]},
        {"dtype": "F32", "shape": [6], "data_offsets": [0, 24], "extra": 1},
        {"dtype": "Q4", "shape": [6], "data_offsets": [0, 24]},
        {"dtype": 32, "shape": [6], "data_offsets": [0, 24]},
        [],
        None,
    ],
)
def test_malformed_entry(tmp_path: Path, entry: object) -> None:
    assert refusal(write(tmp_path / "m.safetensors", {"a": entry}, bytes(24)))[0] == "bad_header"


def test_more_dimensions_than_any_tensor_has_are_not_multiplied(tmp_path: Path) -> None:
    entry = {"dtype": "F32", "shape": [9] * 200_000, "data_offsets": [0, 4]}
    assert refusal(write(tmp_path / "m.safetensors", {"a": entry}, bytes(4))) == (
        "bad_header",
        "tensor 'a' has 200000 dimensions, more than 8 are not accepted",
    )
    entry = {"dtype": "F32", "shape": [1] * 8, "data_offsets": [0, 4]}
    assert read_header(write(tmp_path / "m.safetensors", {"a": entry}, bytes(4))).tensors["a"].shape == (1,) * 8


def test_a_size_that_is_no_64_bit_number_is_malformed(tmp_path: Path) -> None:
    entry = {"dtype": "F32", "shape": [2**64], "data_offsets": [0, 4]}
    reason = refusal(write(tmp_path / "m.safetensors", {"a": entry}, bytes(4)))
    assert reason == ("bad_header", "the entry of tensor 'a' is malformed")


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]},
        {"dtype": "F32", "shape": [1], "data_offsets": [0, 8]},
        {"dtype": "\ud800", "shape": [1], "data_offsets": [0, 4]},
        {"dtype": "F32", "shape": [1] * 9, "data_offsets": [0, 4]},
        {"dtype": "F32"},
        {"dtype": 32, "shape": [1], "data_offsets": [0, 4]},
    ],
)
@pytest.mark.parametrize("name", ["\ud800", "\n" * 10_000])
def test_a_message_names_any_tensor_in_text_that_can_be_sent(tmp_path: Path, name: str, entry: dict[str, Any]) -> None:
    reason, detail = refusal(write(tmp_path / "m.safetensors", {name: entry}, bytes(8)))
    assert reason == "bad_header"
    assert detail.isprintable()
    assert len(detail.encode()) < 600


@pytest.mark.parametrize(
    "text",
    [b"", b"[]", b"{", b"\xff\xfe{}", b'{"a":1e9}x', b"[" * 200_000, b'{"a":' * 200_000],
    ids=["empty", "list", "open", "not utf-8", "trailing", "nested lists", "nested objects"],
)
def test_header_that_is_no_json_object(tmp_path: Path, text: bytes) -> None:
    assert refusal(write(tmp_path / "m.safetensors", text, b""))[0] == "bad_header"


def test_repeated_tensor_name(tmp_path: Path) -> None:
    entry = json.dumps(PAIR["a"])
    path = write(tmp_path / "m.safetensors", f'{{"a":{entry},"a":{entry}}}'.encode(), bytes(24))
    assert refusal(path) == ("bad_header", "the header repeats a key")


@pytest.mark.parametrize("name", NAMES)
def test_tiny_models_are_complete(name: Name) -> None:
    assert check(tiny_model(name) / "model.safetensors", name) == ""


@pytest.mark.parametrize(("name", "prefix"), [("bert", "bert."), ("modernbert", "model."), ("qwen3", "model.")])
def test_prefixed_names_are_found(tmp_path: Path, name: Name, prefix: str) -> None:
    tensors = load_file(tiny_model(name) / "model.safetensors")
    tensors = {prefix + tensor: value for tensor, value in tensors.items()}
    save_file(tensors | {"lm_head.weight": np.zeros((2, 2), np.float32)}, tmp_path / "m.safetensors")
    assert check(tmp_path / "m.safetensors", name) == prefix


@pytest.mark.parametrize("prefix", ["", "model."])
def test_missing_tensor_is_named_in_full(tmp_path: Path, prefix: str) -> None:
    tensors = load_file(tiny_model("modernbert") / "model.safetensors")
    del tensors["layers.4.mlp.Wo.weight"]
    save_file({prefix + tensor: value for tensor, value in tensors.items()}, tmp_path / "m.safetensors")
    with pytest.raises(ArtifactError) as caught:
        check(tmp_path / "m.safetensors", "modernbert")
    assert (caught.value.reason, caught.value.file) == ("missing_tensor", "m.safetensors")
    assert caught.value.detail == f"tensor {prefix}layers.4.mlp.Wo.weight is missing"


def test_wrong_shape(tmp_path: Path) -> None:
    tensors = load_file(tiny_model("qwen3") / "model.safetensors")
    tensors["layers.1.self_attn.q_proj.weight"] = tensors["layers.1.self_attn.q_proj.weight"].T.copy()
    save_file(tensors, tmp_path / "m.safetensors")
    with pytest.raises(ArtifactError) as caught:
        check(tmp_path / "m.safetensors", "qwen3")
    assert caught.value.reason == "wrong_shape"
    assert caught.value.detail == ("tensor layers.1.self_attn.q_proj.weight has shape [64, 128] instead of [128, 64]")


def test_wrong_dtype(tmp_path: Path) -> None:
    tensors = load_file(tiny_model("bert") / "model.safetensors")
    tensors["embeddings.LayerNorm.bias"] = np.zeros(64, np.int8)
    save_file(tensors, tmp_path / "m.safetensors")
    with pytest.raises(ArtifactError) as caught:
        check(tmp_path / "m.safetensors", "bert")
    assert str(caught.value) == (
        "m.safetensors: tensor embeddings.LayerNorm.bias is stored as I8, not as one of F32, F16, BF16 (wrong_dtype)"
    )
