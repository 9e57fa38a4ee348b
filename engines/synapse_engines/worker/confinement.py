"""What a worker refuses to do, and how it shows up in process lists. Called by `main` before engines are imported."""

from __future__ import annotations

import sys

_HARMLESS = frozenset({"socket.gethostname"})


class NetworkRefused(RuntimeError):
    """Something in the worker reached for the network, which no worker may use."""


def refuse_network() -> None:
    """Makes every Python-level use of a socket in this process raise NetworkRefused. Cannot be undone."""
    sys.addaudithook(_audit)


def _audit(event: str, args: tuple[object, ...]) -> None:
    if event.startswith("socket.") and event not in _HARMLESS:
        raise NetworkRefused(f"a worker has no network ({event})")


if sys.platform == "linux":
    import ctypes

    _PR_SET_NAME = 15

    def set_process_name(name: str) -> None:
        """Names the process, at most 15 bytes, in `ps`, `top` and crash reports. Failing to is no harm."""
        ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode()[:15], 0, 0, 0)

else:

    def set_process_name(name: str) -> None:
        """There is no cheap way here; the command line says what the process is."""
