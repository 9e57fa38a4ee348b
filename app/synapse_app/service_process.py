"""The service's process, seen from the tray: how it is found and started, and whether it has really ended.

The service outlives this application: it is started in a session of its own and is never a child that dies with its
parent. Two starts at the same time are harmless, because the service itself holds the lock; the loser exits with
status 3 and the winner is attached to.

Where the user has enabled the service's systemd unit, that is what starts it: two supervisors would undo each other's
work. The unit knows only the usual folders, so a service of another home is always started directly.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Final

import psutil

from synapse_app.problems import Problem

EXIT_ALREADY_RUNNING: Final = 3
UNIT: Final = "synapse.service"
_UNIT_LIMIT_S: Final = 10.0
STOP_LIMIT_S: Final = 15.0
"""How long a service that was told to stop may take: its own time to drain, and some for workers to end."""


def service_command() -> list[str]:
    """How the service is started: the program beside this one, or this Python with its module."""
    name = "synapse-service.exe" if sys.platform == "win32" else "synapse-service"
    program = Path(sys.executable).with_name(name)
    return [str(program)] if program.is_file() else [sys.executable, "-m", "synapse_service"]


class ServiceProcess:
    """Starts at most one process at a time. ``arguments`` are added to the command."""

    def __init__(
        self,
        *,
        command: Sequence[str] | None = None,
        arguments: Sequence[str] = (),
        environ: Mapping[str, str] | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._command = [*(service_command() if command is None else command), *arguments]
        self._as_usual = not arguments
        self._environ = environ
        self._sleep = sleep
        self._started: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] | None = None

    async def start(self) -> Problem | None:
        """Start the service without waiting until it answers. None, or why that was not possible."""
        self._forget()
        if self._as_usual and sys.platform.startswith("linux"):
            enabled, _ = await self._systemctl("is-enabled", "--quiet", UNIT)
            if enabled:
                started, said = await self._systemctl("start", UNIT)
                return None if started else Problem("start_failed", said or f"{UNIT} could not be started.")
        return self._run()

    async def _systemctl(self, *arguments: str) -> tuple[bool, str]:
        """Whether it agreed, and what it said; no where there is no systemd, or it doesn't answer."""
        try:
            process = await asyncio.create_subprocess_exec(
                "systemctl",
                "--user",
                *arguments,
                env=None if self._environ is None else dict(self._environ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
        except OSError:
            return False, ""
        try:
            async with asyncio.timeout(_UNIT_LIMIT_S):
                _, said = await process.communicate()
        except TimeoutError:
            process.kill()
            await process.wait()
            return False, "systemctl doesn't answer."
        return process.returncode == 0, said.decode(errors="replace").strip()[:500]

    def _run(self) -> Problem | None:
        # A file, not a pipe: it may be written to after this application has gone.
        said = tempfile.TemporaryFile()  # noqa: SIM115 - open for as long as the process starts
        try:
            self._started = subprocess.Popen(
                self._command,
                env=None if self._environ is None else dict(self._environ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,
            )
        except OSError as error:
            said.close()
            reason = error.strerror or str(error)
            return Problem("start_failed", f"{self._command[0]} can't be started: {reason}.", {"reason": reason})
        self._said = said
        return None

    def ended(self) -> Problem | None:
        """Why the started process ended without becoming the service; None while it may still become it.

        Another process that was faster is no problem: then the socket answers soon.
        """
        if self._started is None:
            return None
        status = self._started.poll()
        if status is None or status == EXIT_ALREADY_RUNNING:
            return None
        reason = self._last_words()
        self._forget()
        return Problem("start_failed", reason or f"The service ended with status {status}.", {"status": status})

    async def wait_ended(self, pid: int, limit_s: float = STOP_LIMIT_S) -> bool:
        """True once no process ``pid`` runs any more, False when it still does after ``limit_s``."""
        deadline = time.monotonic() + limit_s
        while _runs(pid):
            if self._started is not None and self._started.pid == pid:
                self._started.poll()  # takes its exit status, without which it would stay a zombie of ours
            if time.monotonic() > deadline:
                return False
            await self._sleep(0.05)
        return True

    def _last_words(self) -> str:
        if self._said is None:
            return ""
        self._said.seek(0)
        lines = self._said.read()[-4096:].decode(errors="replace").strip().splitlines()
        return lines[-1][:500] if lines else ""

    def _forget(self) -> None:
        if self._said is not None:
            self._said.close()
        self._started = self._said = None


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
