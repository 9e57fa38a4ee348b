"""The texts of a probe: scripts, sizes, and lengths around every boundary, for lanes of every size."""

from __future__ import annotations

import itertools
import unicodedata

import pytest

from fixtures.lanes import paper_registration
from fixtures.model_files import tiny_model
from synapse_engines.tokenizer import SanitisedTokenizer
from synapse_service.certify.fixture import embed_fixture, fixture_rows


@pytest.fixture(scope="module")
def tokenizer() -> SanitisedTokenizer:
    return paper_registration().lane_model("build-1").load_tokenizer(tiny_model("bert") / "tokenizer.json")


def test_the_texts_cover_scripts_capitals_accents_emoji_and_code() -> None:
    texts = embed_fixture().texts
    joined = "".join(texts)
    names = {unicodedata.name(char, "").split(" ")[0] for char in joined}
    assert {"LATIN", "CJK", "HIRAGANA", "HANGUL", "CYRILLIC", "ARABIC"} <= names
    assert any(text.isupper() and text.isascii() for text in texts)
    assert any("é" in text for text in texts)
    assert any("e\N{COMBINING ACUTE ACCENT}" in text for text in texts)
    assert "\N{ZERO WIDTH JOINER}" in joined
    assert any("def " in text and "\n" in text for text in texts)
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("boundary", [32, 64, 128, 256, 512])
def test_the_lengths_stand_on_both_sides_of_each_boundary(boundary: int) -> None:
    assert {boundary - 1, boundary, boundary + 1} <= set(embed_fixture().lengths)


def test_every_length_becomes_a_row_of_exactly_that_many_tokens(tokenizer: SanitisedTokenizer) -> None:
    fixture = embed_fixture()
    rows = fixture_rows(tokenizer, 2048)
    lengths = [row.real_tokens for row in rows]
    assert len(rows) == len(fixture.texts) + len(fixture.lengths)
    for length in fixture.lengths:
        assert length in lengths
    # Special tokens are kept by a cut.
    assert all((row.ids[0], row.ids[-1]) == (2, 3) for row in rows)


def test_long_rows_are_spread_among_the_short_ones(tokenizer: SanitisedTokenizer) -> None:
    lengths = [row.real_tokens for row in fixture_rows(tokenizer, 2048)]
    long = [place for place, length in enumerate(lengths) if length >= 255]
    assert len(long) >= 7
    assert any(second - first > 1 for first, second in itertools.pairwise(long))


@pytest.mark.parametrize("max_tokens", [3, 4, 64, 100, 512])
def test_no_row_is_longer_than_the_lane_takes_and_its_limit_itself_is_tried(
    tokenizer: SanitisedTokenizer, max_tokens: int
) -> None:
    lengths = [row.real_tokens for row in fixture_rows(tokenizer, max_tokens)]
    assert max(lengths) == max_tokens
    assert min(lengths) >= tokenizer.specials.count
