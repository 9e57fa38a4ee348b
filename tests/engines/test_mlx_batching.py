"""Padded lengths and the grouping of rows for accelerators."""

from __future__ import annotations

import pytest

from synapse_engines.mlx.batching import TOKEN_BUDGET, Batch, ladder, plan


@pytest.mark.parametrize(
    ("longest", "rungs"),
    [
        (8192, (32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)),
        (300, (32, 64, 128, 256, 300)),
        (256, (32, 64, 128, 256)),
        (32, (32,)),
        (1, (1,)),
    ],
)
def test_the_ladder_doubles_and_ends_at_the_longest_row(longest: int, rungs: tuple[int, ...]) -> None:
    assert ladder(longest) == rungs


def test_rows_are_grouped_by_the_rung_they_fit() -> None:
    assert plan([33, 1, 32, 64, 129, 128], ladder(8192)) == [
        Batch(32, (1, 2)),
        Batch(64, (0, 3)),
        Batch(128, (5,)),
        Batch(256, (4,)),
    ]


def test_the_rung_of_a_row_does_not_depend_on_its_mates() -> None:
    rungs = ladder(512)
    together = {row: batch.length for batch in plan(list(range(1, 513)), rungs) for row in batch.rows}
    alone = {length - 1: plan([length], rungs)[0].length for length in range(1, 513)}
    assert together == alone


def test_batches_stay_within_the_token_budget_and_hold_every_row_once() -> None:
    batches = plan([4096] * 5 + [20] * 600, ladder(8192))
    assert [(batch.length, len(batch.rows)) for batch in batches] == [
        (32, 256),
        (32, 256),
        (32, 88),
        (4096, 2),
        (4096, 2),
        (4096, 1),
    ]
    assert sorted(row for batch in batches for row in batch.rows) == list(range(605))


def test_a_row_past_the_token_budget_runs_alone() -> None:
    longest = 4 * TOKEN_BUDGET
    assert plan([longest, longest], ladder(longest)) == [Batch(longest, (0,)), Batch(longest, (1,))]


def test_halves_keep_every_row() -> None:
    assert Batch(32, (4, 6, 9)).halves() == (Batch(32, (4,)), Batch(32, (6, 9)))
