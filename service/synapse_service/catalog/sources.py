"""Where a model's file comes from, as plain records that the fetchers understand."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote, urlsplit

Role = Literal["model", "tokenizer", "config", "extra"]


@dataclass(frozen=True, slots=True)
class Source:
    """One file to bring in. Exactly one of ``path`` and ``url`` is set; a URL always has a digest."""

    role: Role
    name: str
    sha256: str | None
    path: Path | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """One file to fetch. ``size`` is its length in bytes, None if nobody has said."""

    name: str
    url: str
    size: int | None = None


def hub_url(base_url: str, repo: str, revision: str, path: str) -> str:
    """Where a hub, or a mirror of it, has a file of a repository in one revision."""
    return f"{base_url.rstrip('/')}/{repo}/resolve/{revision}/{quote(path)}"


def origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port of a URL: what a credential belongs to. Raises ValueError for what is no URL."""
    parts = urlsplit(url)
    default = {"https": 443, "http": 80}.get(parts.scheme)
    return parts.scheme, parts.hostname or "", parts.port or default


def origin_text(url: str) -> str:
    """``https://host`` or ``https://host:port`` of a URL. Raises ValueError for what is no URL."""
    scheme, host, port = origin(url)
    shown = f"[{host}]" if ":" in host else host
    usual = {"https": 443, "http": 80}.get(scheme)
    return f"{scheme}://{shown}" if port == usual else f"{scheme}://{shown}:{port}"


def may_be_fetched(url: str) -> bool:
    """True for HTTPS, and for plain HTTP to this machine. Raises ValueError for what is no URL, or names no host."""
    scheme, host, _ = origin(url)
    if not can_be_host(host):
        raise ValueError("the URL has no host, or one that can't be looked up")
    return scheme == "https" or (scheme == "http" and is_loopback(host))


def can_be_host(host: str) -> bool:
    """False for what nobody can look up: every label of a name has 1 to 63 characters, and none is a space."""
    labels = host.removesuffix(".").split(".")
    return all(0 < len(label) < 64 and label.isprintable() and " " not in label for label in labels)


def is_loopback(host: str) -> bool:
    """True for this machine's own addresses, the only ones that may be spoken to without TLS."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
