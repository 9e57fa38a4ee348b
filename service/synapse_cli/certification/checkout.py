"""The checkout: the source tree whose catalog is certified, and how to find that very tree again."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path
from typing import Any, Final

import msgspec
import rfc8785

from synapse_cli.certification.record import Checkout
from synapse_cli.reporting import CommandError

CATALOG: Final = "resources/synapse_resources/catalog.json"

_REMEDY: Final = "Give --checkout the root of the source tree that this program was installed from."


def read(root: Path, catalog: Path | None) -> tuple[Checkout, dict[str, dict[str, Any]]]:
    """The tree, and the entries of its catalog by id; ``catalog`` is another document. Raises CommandError."""
    file = root / CATALOG if catalog is None else catalog
    try:
        data = file.read_bytes()
        document = msgspec.json.decode(data)
        entries = {entry["id"]: entry for entry in document["entries"]}
    except OSError as error:
        raise CommandError("checkout_unusable", f"{file} can't be read ({error.strerror})", _REMEDY) from error
    except (msgspec.DecodeError, KeyError, TypeError) as error:
        raise CommandError("checkout_unusable", f"{file} is no catalog", _REMEDY) from error
    status = _git(root, "status", "--porcelain")
    found = Checkout(
        revision=_git(root, "rev-parse", "HEAD"),
        clean=None if status is None else not status,
        catalog_sha256=hashlib.sha256(data).hexdigest(),
    )
    return found, entries


def manifest_digest(entry: dict[str, Any]) -> str:
    """The digest under which a service names an entry: SHA-256 of its canonical JSON."""
    return hashlib.sha256(rfc8785.dumps(entry)).hexdigest()


def _git(root: Path, *arguments: str) -> str | None:
    """What git says of the tree; None where there is no git, or no repository of its own at the root."""
    command = ["git", "-C", str(root), *arguments]
    try:
        top = subprocess.run([*command[:3], "rev-parse", "--show-toplevel"], capture_output=True, text=True, timeout=30)
        if top.returncode or Path(top.stdout.strip()).resolve() != root.resolve():
            return None
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
