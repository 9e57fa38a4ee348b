"""What is read from a tokenizer's file: the tokens that frame a text, and every fault that it can have."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from fixtures.model_files import NAMES, tiny_config, tiny_model
from fixtures.panicking_tokenizers import with_a_normalizer_of_no_bytes, with_a_prefix_longer_than_its_pieces
from synapse_engines.errors import ArtifactError
from synapse_engines.tokenizer import (
    SANITISER_REVISION,
    SanitisedTokenizer,
    SpecialTokens,
    derive_specials,
    tokenizer_digest,
)


def tiny_bert() -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads((tiny_model("bert") / "tokenizer.json").read_bytes())
    return parsed


def tiny_qwen3() -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads((tiny_model("qwen3") / "tokenizer.json").read_bytes())
    return parsed


def specials_of(processor: object, family: str = "bert", **config: object) -> SpecialTokens:
    data = json.dumps(tiny_bert() | {"post_processor": processor}).encode()
    return derive_specials(data, family, config)


TEMPLATE: dict[str, Any] = {
    "type": "TemplateProcessing",
    "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "end", "type_id": 0}}],
    "pair": [],
    "special_tokens": {"end": {"id": "end", "ids": [503], "tokens": ["end"]}},
}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}


@pytest.mark.parametrize(
    ("processor", "family", "expected"),
    [
        ({"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}, "bert", ((2,), (3,))),
        ({"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0]}, "bert", ((0,), (2,))),
        (TEMPLATE, "bert", ((), (503,))),
        ({"type": "Sequence", "processors": [BYTE_LEVEL, TEMPLATE]}, "qwen3", ((), (503,))),
        (
            {
                "type": "Sequence",
                "processors": [
                    {"type": "BertProcessing", "sep": ["s", 3], "cls": ["c", 2]},
                    TEMPLATE,
                    {"type": "BertProcessing", "sep": ["t", 9], "cls": ["d", 8]},
                ],
            },
            "bert",
            ((8, 2), (3, 503, 9)),
        ),
        (BYTE_LEVEL, "qwen3", ((), (503,))),
        (None, "qwen3", ((), (503,))),
    ],
    ids=["bert", "roberta", "template", "sequence", "nested frames", "byte level", "none"],
)
def test_special_tokens_of_each_post_processor(
    processor: object, family: str, expected: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    assert specials_of(processor, family, eos_token_id=503) == SpecialTokens(*expected)


@pytest.mark.parametrize(
    ("processor", "family", "config", "reason"),
    [
        (None, "bert", {}, "bad_tokenizer"),
        (BYTE_LEVEL, "modernbert", {}, "bad_tokenizer"),
        ({"type": "Novel"}, "bert", {}, "bad_tokenizer"),
        ("TemplateProcessing", "bert", {}, "bad_tokenizer"),
        ({"type": "BertProcessing"}, "bert", {}, "bad_tokenizer"),
        (TEMPLATE | {"single": []}, "bert", {}, "bad_tokenizer"),
        (TEMPLATE | {"special_tokens": {}}, "bert", {}, "bad_tokenizer"),
        (TEMPLATE | {"special_tokens": {"end": {"ids": [float("inf")]}}}, "bert", {}, "bad_tokenizer"),
        ({"type": "BertProcessing", "sep": ["s", 3], "cls": ["c", "2"]}, "bert", {}, "bad_tokenizer"),
        # The end token of chats in the place of the end token of texts.
        (TEMPLATE, "qwen3", {"eos_token_id": 505}, "bad_tokenizer"),
        (BYTE_LEVEL, "qwen3", {}, "bad_config"),
        (BYTE_LEVEL, "qwen3", {"eos_token_id": [503, 505]}, "bad_config"),
        (BYTE_LEVEL, "qwen3", {"eos_token_id": True}, "bad_config"),
    ],
)
def test_frames_that_are_not_understood(processor: object, family: str, config: dict[str, object], reason: str) -> None:
    with pytest.raises(ArtifactError) as caught:
        specials_of(processor, family, **config)
    assert caught.value.reason == reason


def test_specials_of_the_fixture_files() -> None:
    found = {
        name: derive_specials((tiny_model(name) / "tokenizer.json").read_bytes(), name, tiny_config(name))
        for name in NAMES
    }
    assert found == {
        "bert": SpecialTokens((2,), (3,)),
        "modernbert": SpecialTokens((502,), (503,)),
        "qwen3": SpecialTokens((), (503,)),
    }


def without(path: str) -> dict[str, Any]:
    """The tiny BERT tokenizer with one entry removed."""
    changed = tiny_bert()
    *parents, last = path.split("/")
    place = changed
    for key in parents:
        place = place[key]
    del place[last]
    return changed


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (without("model"), "it has no model with a vocabulary"),
        (without("model/vocab"), "it has no model with a vocabulary"),
        (without("model/vocab/[UNK]"), "its vocabulary lacks '[UNK]'"),
        (tiny_bert() | {"added_tokens": {}}, "its added tokens are malformed"),
        (tiny_bert() | {"added_tokens": [{"content": "x"}]}, "its added tokens are malformed"),
        (tiny_bert() | {"model": {"vocab": {"a": "b"}}}, "it has no model with a vocabulary"),
        (tiny_bert() | {"model": {"vocab": [["a"]]}}, "it has no model with a vocabulary"),
        (tiny_bert() | {"pre_tokenizer": {"type": "Novel"}}, "the library refuses it: "),
        (with_a_normalizer_of_no_bytes(tiny_bert()), "the library refuses it: "),
        (with_a_prefix_longer_than_its_pieces(tiny_qwen3()), "the library refuses it: "),
        (
            tiny_bert() | {"model": {"type": "Unigram", "unk_id": None, "vocab": [["a", -1.0]]}},
            "its unigram model has no unk_id for unknown words",
        ),
    ],
)
def test_broken_tokenizer_files(changed: dict[str, Any], message: str) -> None:
    data = json.dumps(changed).encode()
    with pytest.raises(ArtifactError) as caught:
        SanitisedTokenizer.load(data, specials=None, allow_added=None, vocab_size=512)
    assert (caught.value.reason, caught.value.file) == ("bad_tokenizer", "tokenizer.json")
    assert caught.value.detail.startswith(message)


@pytest.mark.parametrize("data", [b"", b"[1]", b"\xff", b'"x"', b"[" * 200_000])
def test_files_that_are_no_json_object(data: bytes) -> None:
    with pytest.raises(ArtifactError) as caught:
        SanitisedTokenizer.load(data, specials=None, allow_added=None, vocab_size=512)
    assert caught.value.reason == "bad_tokenizer"


@pytest.mark.parametrize(
    ("specials", "vocab_size", "message"),
    [
        (None, 511, "it gives ids from 0 to 511, the model has 511"),
        (SpecialTokens(suffix=(512,)), 512, "it gives ids from 0 to 512, the model has 512"),
        (SpecialTokens(prefix=(-1,)), 512, "it gives ids from -1 to 511, the model has 512"),
    ],
)
def test_ids_that_the_model_does_not_have(specials: SpecialTokens | None, vocab_size: int, message: str) -> None:
    data = (tiny_model("bert") / "tokenizer.json").read_bytes()
    with pytest.raises(ArtifactError) as caught:
        SanitisedTokenizer.load(data, specials=specials, allow_added=None, vocab_size=vocab_size)
    assert caught.value.detail == message


def test_digest_covers_the_source_and_the_sanitiser() -> None:
    source = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
    canonical = f'{{"sanitiser_revision":{SANITISER_REVISION},"source_sha256":"{source}"}}'
    assert tokenizer_digest(source) == hashlib.sha256(canonical.encode()).hexdigest()
