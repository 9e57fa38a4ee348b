"""Where a model's file comes from, as a plain record that the fetcher understands."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Role = Literal["model", "tokenizer", "config"]


@dataclass(frozen=True, slots=True)
class Source:
    """One file to bring in. Exactly one of ``path`` and ``url`` is set; a URL always has a digest."""

    role: Role
    name: str
    sha256: str | None
    path: Path | None = None
    url: str | None = None


def is_loopback(host: str) -> bool:
    """True for this machine's own addresses, the only ones that may be spoken to without TLS."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
