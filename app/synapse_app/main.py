"""The entry point of `synapse-tray`. This version has no tray application: the command says so and ends."""

from __future__ import annotations

import sys
from typing import NoReturn

_MESSAGE = """\
synapse-tray: this version of Synapse has no tray application yet.
The service can be used from a terminal meanwhile:
  synapse serve    start the service
  synapse status   see what it is doing
  synapse models   see, load and unload models
  synapse --help   everything else
"""


def run() -> NoReturn:
    """Prints what to use instead and exits with status 2."""
    sys.stderr.write(_MESSAGE)
    sys.exit(2)
