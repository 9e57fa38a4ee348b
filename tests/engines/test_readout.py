"""A logit becomes a score once, exactly, and without overflow."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest

from synapse_engines.readout import Readout, Sigmoid, YesNo
from synapse_engines.reference.scoring import shares
from synapse_engines.scores import Scores

YES_NO = YesNo(yes_id=9693, no_id=2152)


@pytest.mark.parametrize(
    ("logit", "score"),
    [
        (0.0, 0.5),
        (2.0, 0.88079708),
        (-2.0, 0.119202922),
        (800.0, 1.0),
        (-800.0, 0.0),
        (-30.0, 9.357623e-14),
    ],
)
def test_a_sigmoid_has_absolute_values(logit: float, score: float) -> None:
    assert Sigmoid().score([logit]) == pytest.approx(score, rel=1e-6, abs=0)


@pytest.mark.parametrize(
    ("yes", "no", "score"),
    [
        (3.0, 3.0, 0.5),
        (12.5, 1.5, 0.999983298578152),
        (1.5, 12.5, 1.670142184809518e-05),
        (1000.0, -1000.0, 1.0),
        (-1000.0, 1000.0, 0.0),
    ],
)
def test_yes_has_its_share_of_the_two(yes: float, no: float, score: float) -> None:
    assert YES_NO.score([yes, no]) == pytest.approx(score, rel=1e-9, abs=0)


def test_two_strong_answers_do_not_tie_in_float32() -> None:
    scores = Scores.read_off(np.array([[14.0], [14.5]], np.float32), Sigmoid()).values
    assert scores.dtype == np.float32
    assert scores[0] < scores[1] < 1


@pytest.mark.parametrize("logits", [[math.nan], [math.nan, 1.0], [math.inf, math.inf]])
def test_what_is_no_number_stays_none(logits: list[float]) -> None:
    readout = Sigmoid() if len(logits) == 1 else YES_NO
    assert math.isnan(readout.score(logits))


@pytest.mark.parametrize("readout", [Sigmoid(), YES_NO], ids=["sigmoid", "yes_no"])
def test_the_reference_reads_off_the_same(readout: Readout) -> None:
    logits = np.random.default_rng(5).normal(0, 20, (200, readout.width)).astype(np.float32)
    np.testing.assert_allclose(Scores.read_off(logits, readout).values, shares(logits, readout), rtol=1e-6, atol=0)


def test_the_tokens_are_named_in_the_order_of_their_logits() -> None:
    assert (YES_NO.token_ids, YES_NO.width) == ((9693, 2152), 2)
    assert (Sigmoid().token_ids, Sigmoid().width) == ((), 1)


def test_read_outs_are_written_as_the_catalog_writes_them() -> None:
    written = {Sigmoid(): b'{"kind":"sigmoid"}', YES_NO: b'{"kind":"yes_no","yes_id":9693,"no_id":2152}'}
    for readout, text in written.items():
        assert msgspec.json.encode(readout) == text
        assert msgspec.json.decode(text, type=Readout) == readout
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"kind":"yes_no","yes_id":-1,"no_id":2}', type=Readout)
