"""Dying with the service, whatever ends it.

Called by `main` first of all. The end of the incoming pipe already ends a worker whose control thread gets to run; what
is set up here also ends one whose main thread holds the interpreter inside an engine. Linux sends a signal, macOS has
the kernel wake a thread; on Windows the service puts its workers into a job object that the system closes.
"""

from __future__ import annotations

import os
import sys

ORPHANED = 75
"""Exit status of a worker that found its service gone."""

if sys.platform == "linux":
    import ctypes
    import signal

    _PR_SET_PDEATHSIG = 1

    def _watch(parent: int) -> None:
        """Has the kernel kill this process when the thread that started it ends: the service's loop thread."""
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")

elif sys.platform == "darwin":
    import select
    import threading

    def _watch(parent: int) -> None:
        """Waits on a thread for the kernel's word that `parent` exited."""
        queue = select.kqueue()
        event = select.kevent(
            parent, select.KQ_FILTER_PROC, select.KQ_EV_ADD | select.KQ_EV_ONESHOT, select.KQ_NOTE_EXIT
        )
        try:
            queue.control([event], 0)
        except ProcessLookupError:
            os._exit(ORPHANED)

        def wait() -> None:
            queue.control(None, 1)
            os._exit(ORPHANED)

        threading.Thread(target=wait, name="parent-watch", daemon=True).start()

else:

    def _watch(parent: int) -> None:
        """Nothing to do here; the service's job object takes care."""


def die_with_parent(parent: int) -> None:
    """Makes this process end with its parent, and ends it now if `parent` is gone already.

    Args:
        parent: process id of the service, which must be the direct parent, except on Windows: there the launcher of a
            virtual environment stands between the two.
    """
    _watch(parent)
    # The parent may have died before the watch began.
    if sys.platform != "win32" and os.getppid() != parent:
        os._exit(ORPHANED)
