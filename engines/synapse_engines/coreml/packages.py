"""What a package says about itself: the length of its rows and of its vectors, read from ``metadata.json``.

A package embeds: it takes ``input_ids`` and ``attention_mask``, both integers of shape [1, length], and gives one
array of shape [1, dims], the pooled vector. Its shapes are fixed. The service reads this before it registers a set,
the worker before it opens one; needs no array library.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from synapse_engines.coreml import archives
from synapse_engines.errors import ArtifactError

INPUTS: Final = ("attention_mask", "input_ids")
_METADATA_BYTES: Final = 4 << 20


@dataclass(frozen=True, slots=True)
class Package:
    """One package of a set.

    Attributes:
        length: tokens of a row, padding included: its bucket.
        dims: numbers of a vector.
    """

    length: int
    dims: int


def read_package(path: Path) -> Package:
    """Looks into a zipped package without unpacking it.

    Raises:
        ArtifactError: `bad_archive`, or `bad_package` for one that can't be a part of a set.
        OSError: the file can't be read.
    """
    with archives.opened(path) as (archive, stream):
        found = archives.listing(archive, os.fstat(stream.fileno()).st_size)
        for name in ("coremldata.bin", "metadata.json"):
            if found.member(name) is None:
                raise ArtifactError("bad_package", f"{found.bundle} has no {name}: it is not a compiled model")
        info = found.member("metadata.json")
        assert info is not None
        text = archives.read_member(archive, info, _METADATA_BYTES)
    return _package(text)


def _package(text: bytes) -> Package:
    try:
        described = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArtifactError("bad_package", f"metadata.json can't be read: {error}") from error
    if not isinstance(described, list) or len(described) != 1 or not isinstance(described[0], dict):
        raise ArtifactError("bad_package", "metadata.json doesn't describe exactly one model")
    inputs = _arrays(described[0], "inputSchema")
    outputs = _arrays(described[0], "outputSchema")
    if sorted(inputs) != sorted(INPUTS):
        raise ArtifactError("bad_package", f"the model takes {sorted(inputs)}, not {list(INPUTS)}")
    shapes = {tuple(shape) for shape in inputs.values()}
    if len(shapes) != 1 or len(shape := shapes.pop()) != 2 or shape[0] != 1 or shape[1] < 2:
        raise ArtifactError("bad_package", f"the inputs have the shapes {inputs}, not one of [1, length]")
    if len(outputs) != 1:
        raise ArtifactError("bad_package", f"the model gives {sorted(outputs)}, not one array")
    (output,) = outputs.values()
    if len(output) != 2 or output[0] != 1 or output[1] < 1:
        raise ArtifactError("bad_package", f"the output has the shape {output}, not [1, dims]")
    return Package(length=shape[1], dims=output[1])


def _arrays(described: dict[str, Any], key: str) -> dict[str, list[int]]:
    """The arrays of a schema by name, with their shapes; refuses flexible ones."""
    found = {}
    schema = described.get(key)
    for each in schema if isinstance(schema, list) else []:
        if not isinstance(each, dict) or each.get("type") != "MultiArray" or not isinstance(each.get("name"), str):
            raise ArtifactError("bad_package", f"{key} holds something else than named arrays")
        if each.get("hasShapeFlexibility", "0") not in ("0", 0):
            raise ArtifactError("bad_package", f"{each['name']} has no fixed shape: a bucket needs one")
        try:
            shape = json.loads(str(each.get("shape")))
        except (ValueError, RecursionError):
            shape = None
        if not isinstance(shape, list) or not all(type(size) is int and 0 < size < 1 << 31 for size in shape):
            raise ArtifactError("bad_package", f"{each['name']} has no readable shape")
        found[each["name"]] = shape
    return found


def ladder(packages: Sequence[tuple[str, Package]]) -> tuple[int, ...]:
    """The buckets of a set, ascending; each package comes with the name of its file.

    Raises:
        ArtifactError: `bad_package` naming the file that doesn't fit the others.
    """
    first_name, first = packages[0]
    seen: dict[int, str] = {}
    for name, package in packages:
        if package.dims != first.dims:
            problem = f"vectors of {package.dims} numbers, those of {first_name} have {first.dims}"
            raise ArtifactError("bad_package", problem, file=name)
        if package.length in seen:
            problem = f"rows of {package.length} tokens, as {seen[package.length]} has"
            raise ArtifactError("bad_package", problem, file=name)
        seen[package.length] = name
    return tuple(sorted(seen))


def bucket(rungs: Sequence[int], longest: int) -> int:
    """The smallest of the ascending `rungs` that holds a row of `longest` tokens; a row is never cut to fit.

    >>> bucket((128, 512), 129)
    512

    Raises:
        ValueError: no rung holds it.
    """
    for rung in rungs:
        if rung >= longest:
            return rung
    raise ValueError(f"a row of {longest} tokens is longer than the largest bucket of {rungs[-1]}")
