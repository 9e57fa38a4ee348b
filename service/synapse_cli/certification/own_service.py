"""A service of the run's own: in a fresh home, with settings made for certification, against the mirror.

The service that a user runs is left alone, and so is everything it has installed.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from synapse_cli.commands.serve import service_command
from synapse_cli.reporting import CommandError
from synapse_cli.signals import tidy_end
from synapse_client import Client, ServiceNotRunning

NAME: Final = "ckdev-synapse-certify"

_START_S: Final = 30.0
_STOP_S: Final = 30.0


@contextmanager
def own_service(settings: Mapping[str, Any], catalog: Path | None, work: Path | None) -> Iterator[Client]:
    """A client of a fresh service for the length of a ``with`` block. ``work`` keeps the home, which must be empty."""
    if work is not None:
        with tidy_end(), _running(_empty(work), settings, catalog) as client:
            yield client
        return
    with (
        tidy_end(),
        tempfile.TemporaryDirectory(prefix="synapse-certify-") as folder,
        _running(Path(folder), settings, catalog) as client,
    ):
        yield client


def _empty(work: Path) -> Path:
    try:
        work.mkdir(mode=0o700, parents=True, exist_ok=True)
        used = any(work.iterdir())
    except OSError as error:
        raise CommandError(
            "work_unusable", f"{work} can't be used ({error.strerror})", "Give another folder with --work."
        ) from error
    if used:
        raise CommandError(
            "work_not_empty", f"{work} is not empty", "Give an empty folder: a record starts from nothing."
        )
    return work.absolute()


@contextmanager
def _running(home: Path, settings: Mapping[str, Any], catalog: Path | None) -> Iterator[Client]:
    _configure(home, settings)
    command = [*service_command(), "--home", str(home)]
    if catalog is not None:
        command += ["--catalog", str(catalog.absolute())]
    # A variable would win over the settings, and be in no record.
    environ = {name: value for name, value in os.environ.items() if not name.startswith("SYNAPSE_")}
    with (home / "stderr.txt").open("wb") as stderr:
        process = subprocess.Popen(command, env=environ, stdin=subprocess.DEVNULL, stderr=stderr)
    try:
        client = _connected(home, process)
        try:
            yield client
        finally:
            client.close()
    finally:
        process.terminate()
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _configure(home: Path, settings: Mapping[str, Any]) -> None:
    folder = home / "config"
    folder.mkdir(mode=0o700)
    # A TOML value of these kinds is spelled as in JSON.
    lines = [f"{name} = {msgspec.json.encode(value).decode()}" for name, value in settings.items()]
    (folder / "config.toml").write_text("\n".join(lines) + "\n")


def _connected(home: Path, process: subprocess.Popen[bytes]) -> Client:
    deadline = time.monotonic() + _START_S
    while True:
        client = Client(home=home, name=NAME)
        try:
            client.connect()
        except ServiceNotRunning:
            if process.poll() is not None or time.monotonic() > deadline:
                said = (home / "stderr.txt").read_text(errors="replace").strip()[-2000:]
                raise CommandError(
                    "start_failed", f"the service did not start: {said or 'it said nothing'}", "Mend what it says."
                ) from None
            time.sleep(0.02)
        else:
            return client
