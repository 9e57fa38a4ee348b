"""A model in a local folder, as `model.load` wants to hear of it: file URLs and digests."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

from synapse_cli.output import Output
from synapse_cli.reporting import CommandError

if TYPE_CHECKING:
    from synapse_client.options import FileSource

REQUIRED: Final = {"model": "model.safetensors", "tokenizer": "tokenizer.json"}
OPTIONAL: Final = {"config": "config.json"}
_CHUNK: Final = 1 << 20


def describe(folder: Path, output: Output) -> dict[str, FileSource]:
    """The files of ``folder`` under the names they have on the wire, each with its URL and SHA-256.

    Raises :class:`CommandError` when a required file is missing or a file can't be read.
    """
    root = folder.expanduser().resolve()
    files: dict[str, Path] = {}
    for role, name in {**REQUIRED, **OPTIONAL}.items():
        if (root / name).is_file():
            files[role] = root / name
        elif role in REQUIRED:
            raise CommandError(
                "model_file_missing",
                f"{root} has no {name}.",
                f"A model folder holds {', '.join(REQUIRED.values())} and usually {', '.join(OPTIONAL.values())}.",
            )
    try:
        total = sum(path.stat().st_size for path in files.values())
        with output.progress("Reading the files") as progress:
            done = 0
            described: dict[str, FileSource] = {}
            for role, path in files.items():
                digest = hashlib.sha256()
                with path.open("rb") as file:
                    while chunk := file.read(_CHUNK):
                        digest.update(chunk)
                        done += len(chunk)
                        progress.to(done, total)
                described[role] = {"url": path.as_uri(), "sha256": digest.hexdigest()}
    except OSError as error:
        raise CommandError(
            "model_file_unreadable", f"{error.filename} can't be read: {error.strerror}.", "Look at its permissions."
        ) from error
    return described
