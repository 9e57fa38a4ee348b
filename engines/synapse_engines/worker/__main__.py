"""`python -m synapse_engines.worker`."""

import os
import sys

from synapse_engines.worker.main import main

if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stderr.flush()
    # Straight out: the engines' own threads have nothing to save, and their clean-up code can hang.
    os._exit(status)
