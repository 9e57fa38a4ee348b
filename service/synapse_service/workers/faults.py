"""How asking a worker can fail. Raised by ``process``; a lane's supervisor turns them into strikes and answers."""

from __future__ import annotations

from typing import Any


class WorkerFault(Exception):
    """The worker is of no more use, and is gone or being killed.

    Attributes:
        stderr_tail: the last 8 KiB of its standard error.
    """

    def __init__(self, reason: str, stderr_tail: str) -> None:
        super().__init__(reason)
        self.stderr_tail = stderr_tail


class WorkerCrashed(WorkerFault):
    """The process ended, or could not be started.

    Attributes:
        returncode: its exit status, None if it was never started.
        signal: number of the signal that ended it, if one did.
    """

    def __init__(self, returncode: int | None, stderr_tail: str) -> None:
        self.returncode = returncode
        self.signal = -returncode if returncode is not None and returncode < 0 else None
        if returncode is None:
            reason = "the worker could not be started"
        elif self.signal is not None:
            reason = f"the worker was ended by signal {self.signal}"
        else:
            reason = f"the worker ended with status {returncode}"
        super().__init__(reason, stderr_tail)


class WorkerProtocolFault(WorkerFault):
    """The worker sent bytes that are no frame, or a message that answers nothing that was asked."""


class WorkerHung(WorkerFault):
    """The worker completed no work for longer than the caller allowed.

    Attributes:
        limit_s: what the caller allowed, in seconds.
    """

    def __init__(self, limit_s: float, stderr_tail: str) -> None:
        super().__init__(f"the worker completed no work for {limit_s:g} s", stderr_tail)
        self.limit_s = limit_s


class WorkerRefused(Exception):
    """The worker is well, but would not serve this request.

    Attributes:
        kind: stable word, see `kind` of the errors in synapse_engines.errors.
        message: one readable sentence.
        details: facts of the error.
    """

    def __init__(self, kind: str, message: str, details: dict[str, Any]) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.details = details


class WorkerNotGone(Exception):
    """The process did not end even when killed, so whatever it holds must be taken to be held still.

    Attributes:
        pid: its process id.
    """

    def __init__(self, pid: int) -> None:
        super().__init__(f"process {pid} is still there after being killed")
        self.pid = pid
