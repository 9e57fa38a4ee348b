"""What a long run counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Tally:
    """``happened`` is for information. Everything in ``damage`` must be 0; name each kind once, so that 0 is shown."""

    happened: Counter[str] = field(default_factory=Counter)
    damage: Counter[str] = field(default_factory=Counter)
