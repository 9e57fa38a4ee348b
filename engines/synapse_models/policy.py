"""How long a call may take, how often it is tried and how many run at once: the declared limits of a connection.

Plain records, read from a declaration and used by the connection. Nothing here waits, and nothing here knows HTTP.
"""

from __future__ import annotations

import email.utils
import math
import urllib.parse
from collections.abc import Mapping
from typing import Final

import msgspec

RETRYABLE_STATUS: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""HTTP statuses after which the same request may succeed."""


class Timeouts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits in seconds.

    ``total_s`` bounds the call, pauses and further tries included. ``attempt_s`` bounds one try, up to the end of its
    reply or the first event of its stream. ``idle_s`` bounds the silence inside a reply that has begun. ``connect_s``
    bounds the connection.
    """

    total_s: float = 600.0
    attempt_s: float = 300.0
    idle_s: float = 60.0
    connect_s: float = 10.0

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f"{name} must be a positive number of seconds")


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often a request is tried. One try unless more are declared: nothing is repeated behind the caller's back.

    The pause before try n + 1 is what the provider asked for, else ``base_s * 2 ** (n - 1)`` up to ``cap_s``, spread
    by up to a quarter so that clients who failed together don't return together.
    """

    max_attempts: int = 1
    base_s: float = 0.5
    cap_s: float = 8.0

    def __post_init__(self) -> None:
        if not 1 <= self.max_attempts <= 10:
            raise ValueError("max_attempts must be from 1 to 10")
        if not (math.isfinite(self.base_s) and math.isfinite(self.cap_s) and 0 <= self.base_s <= self.cap_s):
            raise ValueError("base_s and cap_s must be finite, and base_s at most cap_s")

    def pause_s(self, failed: int, *, retry_after_s: float | None, spread: float) -> float:
        """Seconds to wait after the ``failed``-th try; ``spread`` is a random number from 0 to 1."""
        if retry_after_s is not None:
            return retry_after_s
        pause: float = min(self.cap_s, self.base_s * 2.0 ** (failed - 1))
        return pause * (1.0 - 0.25 * spread)


def retry_after_s(headers: Mapping[str, str], *, now: float) -> float | None:
    """Seconds that a reply asks to wait, None when it asks nothing that can be read.

    Read in this order: ``retry-after-ms`` (milliseconds), then ``retry-after`` as seconds, then as an HTTP date
    against ``now`` (Unix time in seconds).
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000.0
    text = headers.get("retry-after")
    seconds = _number(text)
    if seconds is not None or text is None:
        return seconds
    try:
        date_s = email.utils.parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None
    return max(0.0, date_s - now)


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


class ConnectionIdentity(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What makes two connection pools the same, without any secret. Equal URLs alone don't.

    ``origin`` is scheme, host and port. ``credential`` is the reference, as text. ``quota`` names whose limit the pool
    enforces. ``proxy`` is a URL without user info. ``tls`` is ``system`` (the operating system's certificates) or
    the path of a certificate bundle. Wire version and authentication scheme are no part of it: they belong to the
    dialect, so that two dialects of one server share a pool.
    """

    family: str
    origin: str
    credential: str = "none"
    retry: RetryPolicy = RetryPolicy()
    quota: str = "default"
    proxy: str | None = None
    tls: str = "system"

    def __post_init__(self) -> None:
        if origin_of(self.origin) != self.origin:
            raise ValueError("an origin is scheme, host and port, with nothing before or after them")
        if self.proxy is not None:
            origin_of(self.proxy)


def origin_of(url: str) -> str:
    """Scheme, host and port of an HTTP URL, in lower case, the port left out where it is the scheme's own.

    Raises:
        ValueError: not an absolute http or https URL, one with a user name or password in it, or one whose host
            no name server could be asked for.
    """
    try:
        parts = urllib.parse.urlsplit(url)
        port = parts.port
    except ValueError:  # What Python says quotes parts of the text, and one may be a password.
        raise ValueError("an address must be an absolute http or https URL, its port a number") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("an address must be an absolute http or https URL")
    if parts.username is not None or parts.password is not None:
        raise ValueError("an address must not contain a user name or a password; name a credential instead")
    if ":" not in parts.hostname and not all(
        0 < len(part) < 64 for part in parts.hostname.removesuffix(".").split(".")
    ):
        raise ValueError("an address must name a host, whose parts between dots have from 1 to 63 characters")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    default = 443 if parts.scheme == "https" else 80
    return f"{parts.scheme}://{host}" + ("" if port in (None, default) else f":{port}")
