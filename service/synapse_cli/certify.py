"""The entry point of `ckdev-synapse-certify`, which certifies catalog models on declared hardware.

This version has no catalog, hence nothing for the command to certify: it says so and ends.
"""

from __future__ import annotations

import sys
from typing import NoReturn

_MESSAGE = """\
ckdev-synapse-certify: this version of Synapse can't certify catalog models yet.
A model of your own can be certified on this machine meanwhile:
  synapse probe    compare a loaded lane with the reference and record the outcome
"""


def run() -> NoReturn:
    """Prints what to use instead and exits with status 2."""
    sys.stderr.write(_MESSAGE)
    sys.exit(2)
