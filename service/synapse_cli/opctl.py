"""The entry point of `ck-synapse-opctl`. This version has no operator command: it says so and ends."""

from __future__ import annotations

import sys
from typing import NoReturn

_MESSAGE = """\
ck-synapse-opctl: this version of Synapse has no operator command yet.
What an operator can do already goes through the general command:
  synapse models                 see, load and unload models
  synapse probe                  certify a lane on this machine
  synapse call METHOD [JSON]     call any other operation by its name
"""


def run() -> NoReturn:
    """Prints what to use instead and exits with status 2."""
    sys.stderr.write(_MESSAGE)
    sys.exit(2)
