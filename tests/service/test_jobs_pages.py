"""Pages: what an item looks like on one, and where one page ends and the next begins."""

from __future__ import annotations

from array import array
from hashlib import sha256

import msgspec
import pytest

from synapse_engines.tokenizer import Encoding
from synapse_service.jobs.batch import TokenizedBatch
from synapse_service.jobs.pages import Page, PageAssembler, encode_item
from synapse_wire.results import PageItem, PageTruncation


def digest(text: str) -> bytes:
    return sha256(text.encode()).digest()


@pytest.fixture
def batch() -> TokenizedBatch:
    batch = TokenizedBatch()
    batch.append('é "quoted" 東京', Encoding(array("i", [2, 5, 3])), 3, digest("whole"), digest("whole"))
    batch.append("cut", Encoding(array("i", [2, 5, 6, 3])), 90, digest("submitted"), digest("kept"))
    return batch


def test_an_item_is_exactly_what_the_wire_calls_a_page_item(batch: TokenizedBatch) -> None:
    whole = PageItem(
        id='é "quoted" 東京',
        vector=msgspec.Raw(b"[0.5,-1.0]"),
        content_sha256=digest("whole").hex(),
        submitted_sha256=digest("whole").hex(),
        real_token_count=3,
        truncation=PageTruncation(submitted_tokens=3, effective_tokens=3, truncated=False),
    )
    cut = PageItem(
        id="cut",
        vector="AAAAAA==",
        content_sha256=digest("kept").hex(),
        submitted_sha256=digest("submitted").hex(),
        real_token_count=4,
        truncation=PageTruncation(submitted_tokens=90, effective_tokens=4, truncated=True),
    )
    assert encode_item(batch, 0, b"[0.5,-1.0]") == msgspec.json.encode(whole)
    assert encode_item(batch, 1, b'"AAAAAA=="') == msgspec.json.encode(cut)


def test_a_page_is_closed_before_it_would_exceed_its_size() -> None:
    assembler = PageAssembler(20)
    items = [b'"%02d"' % number for number in range(10)]  # Three make 16 bytes, four would make 21.
    pages = [page for ordinal, item in enumerate(items) if (page := assembler.add(ordinal, item)) is not None]
    last = assembler.flush()
    assert last is not None
    assert [page.payload for page in (*pages, last)] == [
        b'["00","01","02"]',
        b'["03","04","05"]',
        b'["06","07","08"]',
        b'["09"]',
    ]
    assert [list(page.ordinals) for page in (*pages, last)] == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]
    assert assembler.flush() is None


def test_an_item_larger_than_a_page_is_a_page_of_its_own() -> None:
    assembler = PageAssembler(10)
    assert assembler.add(7, b'"short"') is None
    assert assembler.add(8, b'"much too long"') == Page(array("I", [7]), b'["short"]')
    assert assembler.add(9, b'"s"') == Page(array("I", [8]), b'["much too long"]')
    assert assembler.flush() == Page(array("I", [9]), b'["s"]')


@pytest.mark.parametrize("limit", [64, 100, 1000, 4096])
def test_no_page_of_several_items_is_larger_than_its_limit(limit: int) -> None:
    assembler = PageAssembler(limit)
    items = [b'"' + b"x" * (number % 60) + b'"' for number in range(200)]
    pages = [page for ordinal, item in enumerate(items) if (page := assembler.add(ordinal, item)) is not None]
    last = assembler.flush()
    assert last is not None
    every = [*pages, last]
    assert max(len(page.payload) for page in every) <= limit
    decoded = [text for page in every for text in msgspec.json.decode(page.payload, type=list[str])]
    assert decoded == [msgspec.json.decode(item) for item in items]
    assert [ordinal for page in every for ordinal in page.ordinals] == list(range(200))
