"""Templates in a model's own tokens: what the catalog states, what a tokenizer's file says, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from fixtures.free_form_rerankers import NO, YES, reranker_folder
from fixtures.model_files import tiny_model
from fixtures.panicking_tokenizers import with_a_prefix_longer_than_its_pieces
from synapse_engines.composition import Instructed, Pair, compose_pairs, truncate_pair
from synapse_engines.errors import ArtifactError
from synapse_engines.families import FAMILIES
from synapse_engines.readout import Sigmoid, YesNo
from synapse_engines.templates import TEMPLATES, Prompt, usual_template
from synapse_engines.tokenizer import SanitisedTokenizer
from synapse_service.catalog.compiled import shipped_catalog

ENDLESS = {"type": "BertProcessing", "sep": ["[SEP]", float("inf")], "cls": ["[CLS]", 2]}


def document(name: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((tiny_model(name) / "tokenizer.json").read_bytes())
    return found


def refusal(template: str, tokenizer: dict[str, Any] | bytes) -> ArtifactError:
    data = tokenizer if isinstance(tokenizer, bytes) else json.dumps(tokenizer).encode()
    with pytest.raises(ArtifactError) as refused:
        TEMPLATES[template].scoring(data)
    return refused.value


def test_the_prompt_is_the_one_that_the_catalog_states() -> None:
    entry = shipped_catalog().entry("qwen3-reranker-0.6b")
    assert entry is not None
    stated, prompt = entry.spec.numerics.composition, TEMPLATES["qwen3-reranker"]
    assert isinstance(stated, Instructed)
    assert isinstance(prompt, Prompt)
    ours = (prompt.prefix, prompt.body, prompt.instruction, prompt.suffix, prompt.family)
    assert ours == (stated.prefix, stated.body, stated.instruction, stated.suffix, entry.spec.numerics.family)


def test_a_prompt_becomes_the_ids_that_the_published_tokenizer_gives_it(tmp_path: Path) -> None:
    path = reranker_folder("qwen3", tmp_path) / "tokenizer.json"
    published = Tokenizer.from_file(str(path))
    scoring = TEMPLATES["qwen3-reranker"].scoring(path.read_bytes())
    form = scoring.composition
    assert isinstance(form, Instructed)
    start, end = published.token_to_id("<|im_start|>"), published.token_to_id("<|im_end|>")
    assert (form.prefix_ids[0], form.suffix_ids[0]) == (start, end)
    assert (form.prefix_ids.count(start), form.prefix_ids.count(end), form.suffix_ids.count(start)) == (2, 1, 1)
    assert published.decode(list(form.prefix_ids), skip_special_tokens=False) == form.prefix
    assert published.decode(list(form.suffix_ids), skip_special_tokens=False) == form.suffix
    assert scoring.readout == YesNo(yes_id=YES, no_id=NO)


def test_a_pair_stands_between_the_tokens_that_the_file_frames_pairs_with() -> None:
    data = (tiny_model("modernbert-reranker") / "tokenizer.json").read_bytes()
    scoring = usual_template("modernbert").scoring(data)
    assert scoring.composition == Pair(prefix_ids=(502,), between_ids=(503,), suffix_ids=(503,))
    assert scoring.readout == Sigmoid()


def test_the_pair_template_of_a_file_counts_and_not_the_one_for_single_texts() -> None:
    changed = document("modernbert-reranker")
    pieces = changed["post_processor"]["pair"]
    changed["post_processor"]["pair"] = [pieces[0], pieces[1], pieces[2], pieces[2], *pieces[3:]]
    scoring = TEMPLATES["pair"].scoring(json.dumps(changed).encode())
    assert scoring.composition == Pair(prefix_ids=(502,), between_ids=(503, 503), suffix_ids=(503,))


def test_a_family_without_rerankers_has_no_template() -> None:
    with pytest.raises(ArtifactError) as refused:
        usual_template("bert")
    assert refused.value.reason == "unsupported"


def test_a_tokenizer_without_the_control_tokens_is_refused_by_the_name_of_one(tmp_path: Path) -> None:
    changed = json.loads((reranker_folder("qwen3", tmp_path) / "tokenizer.json").read_bytes())
    changed["added_tokens"] = [each for each in changed["added_tokens"] if each["content"] != "<think>"]
    error = refusal("qwen3-reranker", changed)
    assert (error.reason, error.file) == ("bad_tokenizer", "tokenizer.json")
    assert "<think>" in error.detail


def test_yes_and_no_have_to_be_single_tokens() -> None:
    assert "'yes'" in refusal("qwen3-reranker", document("qwen3")).detail


@pytest.mark.parametrize("template", list(TEMPLATES))
def test_a_file_that_is_no_tokenizer_is_refused(template: str) -> None:
    assert refusal(template, b"not json").reason == "bad_tokenizer"


def test_a_file_over_which_the_library_panics_is_refused() -> None:
    error = refusal("qwen3-reranker", with_a_prefix_longer_than_its_pieces(document("qwen3")))
    assert (error.reason, error.file) == ("bad_tokenizer", "tokenizer.json")


def test_a_file_whose_pattern_gives_up_at_the_prompt_is_refused(tmp_path: Path) -> None:
    changed = json.loads((reranker_folder("qwen3", tmp_path) / "tokenizer.json").read_bytes())
    changed["pre_tokenizer"] = {
        "type": "Split",
        "pattern": {"Regex": "([a-zA-Z ]+)+$"},
        "behavior": "Isolated",
        "invert": False,
    }
    error = refusal("qwen3-reranker", changed)
    assert error.reason == "bad_tokenizer"
    assert "is nothing that the tokenizer can split" in error.detail


@pytest.mark.parametrize(
    "processor", [None, {"type": "ByteLevel"}, {"type": "TemplateProcessing", "pair": []}, 3, ENDLESS]
)
def test_a_file_that_frames_no_pair_is_refused(processor: Any) -> None:
    changed = document("modernbert-reranker") | {"post_processor": processor}
    assert refusal("pair", changed).reason == "bad_tokenizer"


@pytest.mark.parametrize("name", ["modernbert-reranker", "qwen3"])
def test_cutting_a_pair_takes_the_end_of_the_candidate_and_leaves_frame_and_query(name: Any, tmp_path: Path) -> None:
    family = "modernbert" if name == "modernbert-reranker" else "qwen3"
    data = (reranker_folder(name, tmp_path) / "tokenizer.json").read_bytes()
    tokenizer = SanitisedTokenizer.load(data, specials=None, allow_added=FAMILIES[family].allowed_added, vocab_size=512)
    form = usual_template(family).scoring(data).composition
    full, bare = compose_pairs(tokenizer, form, "which harbour?", ["the old harbour and its boats", ""])
    limit = bare.real_tokens + 3
    cut = truncate_pair(form, full, limit)
    kept = limit - len(form.suffix_ids)
    assert cut.ids.tolist() == full.ids.tolist()[:kept] + list(form.suffix_ids)
    assert truncate_pair(form, full, full.real_tokens) is full
