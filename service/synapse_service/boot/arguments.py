"""What the service is started with, beside its settings: the command line, read before anything else exists.

Three arguments are for tests, and hidden: a catalog of small models, another place for the lock of the Neural Engine,
and a script that stands in for Core ML inside of workers. No setting and no message can do the same.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from synapse_engines.devices import PROBES, DeviceEvidence, this_host
from synapse_service.catalog.compiled import Catalog, shipped_catalog
from synapse_service.gateway.system_keyring import SecretBox
from synapse_service.paths import neural_engine_lock


@dataclass(frozen=True, slots=True)
class Arguments:
    """``environ`` is the environment with what the command line adds to it.

    ``secrets`` takes the place of the user's keyring in tests.
    """

    environ: Mapping[str, str] = field(repr=False)  # The user's whole environment, secrets and all.
    home: Path | None
    catalog: Catalog
    neural_engine_lock: Path
    scripted_predictor: Path | None
    secrets: SecretBox | None = None

    def evidence(self, backend: str) -> DeviceEvidence:
        """What speaks for or against a device on this machine. Blocks."""
        if backend == "ane" and self.scripted_predictor is not None:
            return DeviceEvidence("ane", None, {"predictor": "scripted test double"})
        return PROBES[backend](this_host())


def parse(argv: Sequence[str] | None) -> Arguments:
    """Read the command line; exits on one that can't be understood. Raises CatalogError and OSError."""
    parser = argparse.ArgumentParser(
        prog="synapse-service", description="The background service of Synapse. Stops on SIGTERM, or by `synapse stop`."
    )
    parser.add_argument("--home", type=Path, help="keep settings, data, cache and socket under this one folder")
    parser.add_argument("--cpu-lanes", action="store_true", help="offer lanes that compute on the processor")
    # For tests: the models of the real catalog are too large to be fetched again and again, the real lock is shared by
    # everything on the machine, and a machine of the tests has no Neural Engine.
    parser.add_argument("--catalog", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--neural-engine-lock", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--scripted-predictor", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    environ = dict(os.environ)
    if arguments.cpu_lanes:
        environ["SYNAPSE_CPU_LANES"] = "true"
    return Arguments(
        environ=environ,
        home=arguments.home,
        catalog=shipped_catalog() if arguments.catalog is None else _other_catalog(arguments.catalog),
        neural_engine_lock=arguments.neural_engine_lock or neural_engine_lock(environ),
        scripted_predictor=arguments.scripted_predictor,
    )


def _other_catalog(path: Path) -> Catalog:
    return Catalog.parse(path.read_bytes(), resource=lambda name: (path.parent / name).read_bytes())
