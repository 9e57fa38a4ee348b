"""Entry of the worker process: `python -m synapse_engines.worker --parent PID`.

Started by the service, never by hand. Sets the process up before an engine or an array library is imported, so that
none of them gets to see the pipes, the network, or a moment without a watch on the parent.
"""

from __future__ import annotations

import argparse
import faulthandler
import logging
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from synapse_engines.worker.confinement import refuse_network, set_process_name
from synapse_engines.worker.parent_watch import die_with_parent
from synapse_engines.worker.pipes import take_standard_pipes


def main(arguments: Sequence[str]) -> int:
    """Runs a worker to its end and returns its exit status."""
    parser = argparse.ArgumentParser(prog="synapse-worker", description="Computes one model for a Synapse service.")
    parser.add_argument("--parent", type=int, required=True, metavar="PID", help="process id of the service")
    parser.add_argument("--scripted", type=Path, metavar="PATH", help=argparse.SUPPRESS)
    parser.add_argument("--scripted-predictor", type=Path, metavar="PATH", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)

    die_with_parent(options.parent)
    pipes = take_standard_pipes()
    refuse_network()
    set_process_name("synapse-worker")
    faulthandler.enable(sys.stderr)
    logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")

    # Imported only now: these bring in NumPy.
    from synapse_engines.worker.loading import Loader, load_model
    from synapse_engines.worker.loop import Worker

    load: Loader = load_model
    if options.scripted is not None:
        from synapse_engines.worker.scripted import ScriptedLoader

        load = ScriptedLoader(options.scripted, pipes.outgoing)
    elif options.scripted_predictor is not None:
        from synapse_engines.worker.scripted_packages import ScriptedPackages

        load = partial(load_model, open_package=ScriptedPackages(options.scripted_predictor))
    return Worker(pipes, load).run()
