"""The tokenized items of a submission: what is kept of them, and the digest that a request key is bound to."""

from __future__ import annotations

import hashlib
from array import array
from typing import Any

import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from synapse_engines.tokenizer import Encoding
from synapse_service.jobs.batch import TokenizedBatch, chunks

IDS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters=[chr(code) for code in (*range(32), *range(127, 160))]),
    min_size=1,
    max_size=20,
)
"""What the wire accepts as an id: any text without control characters, quotes and emoji included."""

CONSTRAINTS = st.fixed_dictionaries(
    {},
    optional={
        "accept_declared": st.just(True),
        "allow_equivalent": st.just(True),
        "required_epoch": st.integers(0, 2**53 - 1),
        "required_fingerprint": IDS,
    },
)


def batch_of(*lengths: int, ids: list[str] | None = None) -> TokenizedBatch:
    batch = TokenizedBatch()
    for index, length in enumerate(lengths):
        text = f"text {index}".encode()
        batch.append(
            ids[index] if ids else f"id-{index}",
            Encoding(array("i", range(index, index + length))),
            length,
            hashlib.sha256(text).digest(),
            hashlib.sha256(text).digest(),
        )
    return batch


@given(ids=st.lists(IDS, min_size=1, max_size=5), model=IDS, constraints=CONSTRAINTS)
def test_the_request_digest_is_that_of_the_canonical_json(
    ids: list[str], model: str, constraints: dict[str, Any]
) -> None:
    batch = batch_of(*([1] * len(ids)), ids=ids)
    document = {
        "operation": "embed.batch",
        "model": model,
        "constraints": constraints,
        "items": [
            {"id": item_id, "content_sha256": hashlib.sha256(f"text {index}".encode()).hexdigest()}
            for index, item_id in enumerate(ids)
        ],
    }
    assert batch.request_digest(model, constraints) == hashlib.sha256(rfc8785.dumps(document)).hexdigest()


def test_the_digest_of_a_known_request_never_changes() -> None:
    # A service that is updated must still know the keys that its predecessor bound.
    digest = batch_of(3, 3, ids=["a", 'é "東京" 🦊']).request_digest("modèle", {"required_epoch": 7})
    assert digest == "281dbc7c02ef106eca262aabca8d03249eeefb9afaeddb1e05d96d9ab0406ddf"


def test_order_text_model_and_constraints_each_change_the_digest() -> None:
    digests = {
        batch_of(3, 3, ids=["a", "b"]).request_digest("m", {}),
        batch_of(3, 3, ids=["b", "a"]).request_digest("m", {}),
        batch_of(3, ids=["a"]).request_digest("m", {}),
        batch_of(3, 3, ids=["a", "b"]).request_digest("n", {}),
        batch_of(3, 3, ids=["a", "b"]).request_digest("m", {"required_epoch": 0}),
    }
    assert len(digests) == 5


def test_an_item_is_given_back_as_it_came() -> None:
    batch = TokenizedBatch()
    batch.append("first", Encoding(array("i", [5, 6])), 2, b"\x01" * 32, b"\x01" * 32)
    batch.append("empty", Encoding(array("i")), 0, b"\x02" * 32, b"\x02" * 32)
    batch.append("cut", Encoding(array("i", [7, 70_000, 9])), 90, b"\x03" * 32, b"\x04" * 32)
    assert len(batch) == 3
    assert batch.total_tokens == 5
    assert batch.item_ids == ["first", "empty", "cut"]
    assert [batch.token_ids(ordinal) for ordinal in range(3)] == [
        array("i", [5, 6]).tobytes(),
        b"",
        array("i", [7, 70_000, 9]).tobytes(),
    ]
    assert [batch.tokens(ordinal) for ordinal in range(3)] == [2, 0, 3]
    assert [batch.submitted_tokens(ordinal) for ordinal in range(3)] == [2, 0, 90]
    assert batch.submitted_sha256(2) == "03" * 32
    assert batch.content_sha256(2) == "04" * 32


def test_the_shortest_come_first_and_equal_lengths_in_order_of_submission() -> None:
    batch = batch_of(5, 2, 5, 1, 2)
    assert batch.by_length(frozenset()) == [3, 1, 4, 0, 2]
    assert batch.by_length(frozenset({1, 2})) == [3, 4, 0]
    assert batch.by_length(frozenset(range(5))) == []


def test_chunks_keep_the_order_and_never_exceed_the_budget_but_for_one_long_item() -> None:
    batch = batch_of(1, 2, 3, 4, 20, 5)
    assert chunks(batch, [0, 1, 2, 3, 4, 5], 6) == [[0, 1, 2], [3], [4], [5]]
    assert chunks(batch, [3, 0], 5) == [[3, 0]]
    assert chunks(batch, [], 6) == []
