"""How a worker process is started, contained and ended: its command line, its environment, its process group.

Called by ``process``, and by ``boot``, which chooses the program. What differs between operating systems is here.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

_KEPT_VARIABLES = frozenset(
    {
        # Where programs, home, language, time zone and temporary files are.
        "PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "TEMP", "TMP",
        # Without these a Windows process cannot load system libraries.
        "SYSTEMROOT", "WINDIR", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA",
        "PROGRAMDATA", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE",
        # Where drivers are, and which devices the user lets us see.
        "LD_LIBRARY_PATH", "CUDA_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",
    }
)  # fmt: skip


_SET_VARIABLES = {
    # NumPy's matrix library has its threads wait for each other by spinning. Where other programs want the processors
    # too, that made the reference computation of a probe seven times slower than it is on one thread.
    "OPENBLAS_NUM_THREADS": "1",
}
if sys.platform == "linux":
    # A short text is bound by how fast the weights come out of memory. On large pages that was 6 % faster for MiniLM;
    # glibc asks for them where the system leaves it to the program, and ignores this elsewhere.
    _SET_VARIABLES["GLIBC_TUNABLES"] = "glibc.malloc.hugetlb=1"


@dataclass(frozen=True, slots=True)
class Launch:
    """What to execute.

    Attributes:
        command: executable and arguments.
        environment: the whole environment of the process.
        inherited: descriptors that stay open in it.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str]
    inherited: tuple[int, ...] = ()


def worker_launch(environ: Mapping[str, str], *more: str, inherited: tuple[int, ...] = ()) -> Launch:
    """The launch of an ordinary worker of this installation.

    Isolated mode (-I) keeps PYTHON* variables, the user's site-packages and the working directory out of the worker.

    Args:
        environ: the service's environment, of which the harmless part is handed on.
        more: further arguments of the worker.
        inherited: descriptors for it to keep open.
    """
    command = (sys.executable, "-I", "-X", "utf8", "-m", "synapse_engines.worker", "--parent", str(os.getpid()))
    return Launch((*command, *more), clean_environment(environ), inherited)


def clean_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that a worker needs. An allow-list, since nobody can list every name that holds a secret."""
    kept = {name: value for name, value in environ.items() if name.upper() in _KEPT_VARIABLES or name.startswith("LC_")}
    return kept | _SET_VARIABLES


class ProcessGroup(Protocol):
    """A worker together with whatever processes an engine may have started in it."""

    def terminate(self) -> None:
        """Asks all of them to end. Harmless if they have."""

    def kill(self) -> None:
        """Ends all of them. Harmless if they have ended."""

    def release(self) -> None:
        """Lets go of what the system lent us for the group; call it once the worker is gone."""


if sys.platform == "linux":
    import fcntl

    def widen_pipe(descriptor: int) -> None:
        """Lets a pipe hold 1 MiB, so that a batch of vectors crosses it in a few reads. As it was where not allowed."""
        try:
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, 1 << 20)
        except OSError:
            pass

else:

    def widen_pipe(descriptor: int) -> None:
        """Only Linux lets us choose."""


if sys.platform == "win32":
    from synapse_service.workers.windows_job import WindowsJob

    SPAWN_OPTIONS: Mapping[str, Any] = {
        "creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
    }
    """Arguments of the spawn call that give a worker a group of its own."""

    def process_group(pid: int) -> ProcessGroup:
        """The group of a worker that was just started."""
        return WindowsJob(pid)

else:
    SPAWN_OPTIONS: Mapping[str, Any] = {"start_new_session": True}
    """Arguments of the spawn call that give a worker a group of its own."""

    def process_group(pid: int) -> ProcessGroup:
        """The group of a worker that was just started."""
        return _PosixGroup(pid)

    class _PosixGroup:
        """The group that the worker leads.

        Its number stays taken while anything of the group lives. Once nothing does, the system may give it away, so it
        is signalled at the latest when the worker's own end is reported, not at some later time.
        """

        def __init__(self, pid: int) -> None:
            self._pid = pid

        def terminate(self) -> None:
            self._signal(signal.SIGTERM)

        def kill(self) -> None:
            self._signal(signal.SIGKILL)

        def release(self) -> None:
            """A group number is not a resource."""

        def _signal(self, number: signal.Signals) -> None:
            try:
                os.killpg(self._pid, number)
            except (ProcessLookupError, PermissionError):
                # Gone already; macOS says "not permitted" about a group of nothing but zombies.
                pass
