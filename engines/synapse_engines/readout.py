"""How a score is read off a model's logits. The one place where a logit becomes a score.

Declared by the catalog's entries and by manifests, carried to the worker in a Load, applied by the engines. The number
is the model's own read-out and nothing is ever applied to it afterwards: a second sigmoid would leave every order as
it was, so no ranking would show it, and squeeze all scores between 0.5 and 0.7311. Plain Python, because the service
process uses these types too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, ClassVar, TypeAlias

import msgspec
from msgspec import Meta

TokenId = Annotated[int, Meta(ge=0)]


class Sigmoid(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="sigmoid"):
    """The score is the sigmoid of the classifier's one logit."""

    kind: ClassVar[str] = "sigmoid"
    width: ClassVar[int] = 1

    @property
    def token_ids(self) -> tuple[int, ...]:
        """No logit of a token is read."""
        return ()

    def score(self, logits: Sequence[float]) -> float:
        """The score in 0 to 1 of one row's logit; NaN if the logit is."""
        (logit,) = logits
        return _logistic(logit)


class YesNo(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="yes_no"):
    """The score is the share of `yes_id` in a softmax over the next-token logits of these two ids alone."""

    yes_id: TokenId
    no_id: TokenId

    kind: ClassVar[str] = "yes_no"
    width: ClassVar[int] = 2

    @property
    def token_ids(self) -> tuple[int, ...]:
        """Whose logits are read, in the order in which they are handed out: yes, no."""
        return self.yes_id, self.no_id

    def score(self, logits: Sequence[float]) -> float:
        """The score in 0 to 1 of one row's logits of yes and of no; NaN if one of them is."""
        yes, no = logits
        # e^yes / (e^yes + e^no), divided through by e^yes so that no exponential overflows.
        return _logistic(yes - no)


Readout: TypeAlias = Sigmoid | YesNo


def _logistic(x: float) -> float:
    """1 / (1 + e^-x), with the exponential taken of a number that is not positive."""
    small = math.exp(-abs(x))
    return 1 / (1 + small) if x >= 0 else small / (1 + small)
