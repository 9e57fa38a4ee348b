"""The exit statuses of `synapse`. Scripts rely on them, so a meaning never moves to another number."""

from __future__ import annotations

from typing import Final

DONE: Final = 0
FAILED: Final = 1
"""The service refused, or something failed; for `doctor`, a check found an error."""
USAGE: Final = 2
"""The command line itself is wrong."""
NOT_RUNNING: Final = 3
"""No service runs. Not used by `call`, which exits with 1 on any error."""
INTERRUPTED: Final = 130
"""Ctrl-C."""

EXPLAINED: Final = (
    "Exit status: 0 done, 1 refused or failed, 2 wrong usage, 3 the service isn't running, 130 interrupted. "
    "`call` exits with 1 on any error."
)
