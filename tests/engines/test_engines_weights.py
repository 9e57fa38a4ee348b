"""Mapped weights hold the file's numbers exactly, whatever float format they are stored in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from safetensors.torch import save_file

from fixtures.model_files import tiny_config, tiny_model
from synapse_engines.families import family_for
from synapse_engines.weights import Weights

NORM = "embeddings.LayerNorm.weight"


def open_bert(path: Path) -> Weights:
    config = tiny_config("bert")
    family = family_for(config)
    return Weights.open(path, family, family.parse(config))


def stored_as(path: Path, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """Writes the tiny BERT at `path` in another float format; returns what was written."""
    tensors = load_file(tiny_model("bert") / "model.safetensors")
    converted = {f"bert.{name}": torch.from_numpy(value).to(dtype) for name, value in tensors.items()}
    save_file(converted, path)
    return converted


def test_float32_is_a_view_of_the_file() -> None:
    path = tiny_model("bert") / "model.safetensors"
    with open_bert(path) as weights:
        value = weights.float32(NORM)
        np.testing.assert_array_equal(value, load_file(path)[NORM])
        assert weights.dtype(NORM) == "F32"
        assert weights.shape(NORM) == (64,)
        assert not value.flags.owndata
        assert value.flags.writeable


def test_writing_to_a_view_does_not_reach_the_file(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    before = (tiny_model("bert") / "model.safetensors").read_bytes()
    path.write_bytes(before)
    with open_bert(path) as weights:
        weights.float32(NORM)[:] = 7.0
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("dtype", "name", "raw"), [(torch.float16, "F16", np.float16), (torch.bfloat16, "BF16", np.uint16)]
)
def test_half_precision_is_widened_exactly(tmp_path: Path, dtype: torch.dtype, name: str, raw: type) -> None:
    written = stored_as(tmp_path / "m.safetensors", dtype)
    with open_bert(tmp_path / "m.safetensors") as weights:
        for tensor in ("embeddings.word_embeddings.weight", "encoder.layer.1.output.dense.bias"):
            assert weights.dtype(tensor) == name
            assert weights.raw(tensor).dtype == raw
            widened = weights.float32(tensor)
            assert widened.dtype == np.float32
            np.testing.assert_array_equal(widened, written[f"bert.{tensor}"].float().numpy())


def test_bf16_bit_patterns(tmp_path: Path) -> None:
    written = stored_as(tmp_path / "m.safetensors", torch.bfloat16)
    with open_bert(tmp_path / "m.safetensors") as weights:
        np.testing.assert_array_equal(
            weights.raw(NORM), written[f"bert.{NORM}"].view(torch.int16).numpy().view(np.uint16)
        )


def test_tensor_off_its_alignment_is_copied(tmp_path: Path) -> None:
    whole = (tiny_model("bert") / "model.safetensors").read_bytes()
    length = int.from_bytes(whole[:8], "little")
    # One more space after the JSON moves every tensor by one byte.
    path = tmp_path / "m.safetensors"
    path.write_bytes((length + 1).to_bytes(8, "little") + whole[8 : 8 + length] + b" " + whole[8 + length :])
    with open_bert(path) as weights:
        value = weights.float32(NORM)
        assert value.flags.aligned
        np.testing.assert_array_equal(value, load_file(tiny_model("bert") / "model.safetensors")[NORM])


def test_closed_weights_hand_out_nothing_but_old_views_live_on() -> None:
    weights = open_bert(tiny_model("bert") / "model.safetensors")
    value = weights.float32(NORM)
    weights.close()
    weights.close()
    assert np.isfinite(value).all()
    with pytest.raises(ValueError, match="the weights are closed"):
        weights.raw(NORM)


def test_released_pages_are_read_again() -> None:
    with open_bert(tiny_model("bert") / "model.safetensors") as weights:
        value = weights.float32(NORM)
        before = value.copy()
        weights.release_pages()
        np.testing.assert_array_equal(value, before)
    weights.release_pages()
