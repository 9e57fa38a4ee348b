"""Reading and checking the header of a safetensors file without mapping a single weight.

Called by the service before it admits a model and by `weights.py` before it maps one. The format: eight bytes
of little-endian header length, a JSON header that gives each tensor's dtype, shape and byte range, then the
bytes. Nothing here trusts the file: a header that lies about lengths or ranges is refused before anything is
mapped. Touches one file, read-only; needs no array library.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from synapse_engines.errors import ArtifactError
from synapse_engines.families.base import Family, FamilyConfig
from synapse_engines.families.heads import ScoringHead

_LENGTH_BYTES = 8
# A model of ours needs tens of kilobytes. The reference implementation of the format takes 100 MB, but no published
# file comes near that, and while JSON of such a size is parsed nothing else in the process runs.
MAX_HEADER_BYTES = 4 << 20
# No tensor of any model that we know has more.
_MAX_DIMENSIONS = 8
# The format's sizes are 64-bit numbers.
_MAX_SIZE = 2**64 - 1
_SHOWN_CHARS = 200

_BITS = {
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
    "BOOL": 8,
    "U8": 8,
    "I8": 8,
    "F8_E4M3": 8,
    "F8_E4M3FNUZ": 8,
    "F8_E5M2": 8,
    "F8_E5M2FNUZ": 8,
    "F8_E8M0": 8,
    "I16": 16,
    "U16": 16,
    "F16": 16,
    "BF16": 16,
    "I32": 32,
    "U32": 32,
    "F32": 32,
    "I64": 64,
    "U64": 64,
    "F64": 64,
    "C64": 64,
}
"""Bits of one element, for every dtype of the format: files also hold tensors that we skip."""

WEIGHT_DTYPES = ("F32", "F16", "BF16")
"""Dtypes in which a weight that we use may be stored."""


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """Where one tensor lies.

    Attributes:
        dtype: the format's own name, for example "BF16".
        shape: its dimensions.
        begin, end: byte range, counted from `Header.data_start`.
    """

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Header:
    """A checked header.

    Attributes:
        tensors: every tensor of the file by its full name.
        data_start: offset in bytes from the start of the file at which tensor data begins.
        file_size: size of the file in bytes.
        file: the file's name, for messages.
    """

    tensors: Mapping[str, TensorEntry]
    data_start: int
    file_size: int
    file: str


def read_header(path: Path) -> Header:
    """Reads and checks the header of the safetensors file at `path`.

    Raises:
        ArtifactError: `truncated` when the file ends before what it announces, `bad_header` for every other
            lie: unreadable or repeated entries, byte ranges that overlap, leave gaps, or do not fit dtype and
                shape.
        OSError: the file cannot be read.
    """
    with path.open("rb") as stream:
        file_size = stream.seek(0, 2)
        stream.seek(0)
        raw = _read_raw_header(stream, file_size, path.name)
    data_start = _LENGTH_BYTES + len(raw)
    tensors = _parse_entries(raw, path.name)
    _check_ranges(tensors, file_size - data_start, path.name)
    return Header(tensors=tensors, data_start=data_start, file_size=file_size, file=path.name)


def check_model(header: Header, family: Family, cfg: FamilyConfig) -> str:
    """Checks that the file holds every tensor that the model needs, in its exact shape and a readable dtype.

    Returns:
        The prefix that stands before the family's tensor names in this file.

    Raises:
        ArtifactError: `missing_tensor`, `wrong_shape` or `wrong_dtype`, naming the first tensor at fault.
    """
    needed = family.tensors(cfg)
    names = header.tensors.keys()
    # The prefix under which most is found, so that one missing tensor is reported by its real name.
    prefix = max(family.prefixes, key=lambda each: sum(each + tensor.name in names for tensor in needed))
    for tensor in needed:
        _check_tensor(header, prefix + tensor.name, tensor.shape)
    return prefix


def check_head(header: Header, head: ScoringHead) -> None:
    """Checks that the file holds the tensors of a scoring model's head too; see `check_model`, which goes first.

    Raises:
        ArtifactError: as `check_model`.
    """
    for tensor in head.tensors():
        _check_tensor(header, tensor.name, tensor.shape)


def _check_tensor(header: Header, name: str, shape: tuple[int, ...]) -> None:
    """Checks one tensor, by its full name."""
    entry = header.tensors.get(name)
    if entry is None:
        raise ArtifactError("missing_tensor", f"tensor {name} is missing", file=header.file)
    if entry.shape != shape:
        detail = f"tensor {name} has shape {list(entry.shape)} instead of {list(shape)}"
        raise ArtifactError("wrong_shape", detail, file=header.file)
    if entry.dtype not in WEIGHT_DTYPES:
        detail = f"tensor {name} is stored as {entry.dtype}, not as one of {', '.join(WEIGHT_DTYPES)}"
        raise ArtifactError("wrong_dtype", detail, file=header.file)


def _read_raw_header(stream: BinaryIO, file_size: int, file: str) -> bytes:
    """The bytes of the JSON header."""
    prefix = stream.read(_LENGTH_BYTES)
    if len(prefix) < _LENGTH_BYTES:
        raise ArtifactError("truncated", f"{file_size} bytes are too few for a header", file=file)
    length = int.from_bytes(prefix, "little")
    if length > MAX_HEADER_BYTES:
        detail = f"a header of {length} bytes is announced, more than {MAX_HEADER_BYTES} are not accepted"
        raise ArtifactError("bad_header", detail, file=file)
    if _LENGTH_BYTES + length > file_size:
        detail = f"a header of {length} bytes is announced in a file of {file_size}"
        raise ArtifactError("truncated", detail, file=file)
    return stream.read(length)


def _parse_entries(raw: bytes, file: str) -> dict[str, TensorEntry]:
    """The tensors that a JSON header lists, each checked by itself."""

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ArtifactError("bad_header", "the header repeats a key", file=file)
        return found

    try:
        parsed = json.loads(raw.decode("utf-8"), object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise ArtifactError("bad_header", f"the header is not JSON: {error}", file=file) from error
    if not isinstance(parsed, dict):
        raise ArtifactError("bad_header", "the header is not a JSON object", file=file)
    parsed.pop("__metadata__", None)
    return {name: _parse_entry(name, value, file) for name, value in parsed.items()}


def _parse_entry(name: str, value: object, file: str) -> TensorEntry:
    """One tensor of the header; its byte range must be exactly as long as dtype and shape say."""
    if not isinstance(value, dict) or value.keys() != {"dtype", "shape", "data_offsets"}:
        raise ArtifactError("bad_header", f"the entry of tensor {_shown(name)} is malformed", file=file)
    dtype, shape, offsets = value["dtype"], value["shape"], value["data_offsets"]
    if not isinstance(dtype, str) or not _is_sizes(shape) or not _is_sizes(offsets) or len(offsets) != 2:
        raise ArtifactError("bad_header", f"the entry of tensor {_shown(name)} is malformed", file=file)
    if dtype not in _BITS:
        detail = f"tensor {_shown(name)} has the unknown dtype {_shown(dtype)}"
        raise ArtifactError("bad_header", detail, file=file)
    # Before the sizes are multiplied: the time for that grows with the square of their number.
    if len(shape) > _MAX_DIMENSIONS:
        detail = f"tensor {_shown(name)} has {len(shape)} dimensions, more than {_MAX_DIMENSIONS} are not accepted"
        raise ArtifactError("bad_header", detail, file=file)
    begin, end = offsets
    bits = math.prod(shape) * _BITS[dtype]
    if bits % 8 or end - begin != bits // 8:
        detail = f"tensor {_shown(name)} spans {end - begin} bytes, which does not fit {dtype} of shape {shape}"
        raise ArtifactError("bad_header", detail, file=file)
    return TensorEntry(dtype=dtype, shape=tuple(shape), begin=begin, end=end)


def _is_sizes(value: object) -> bool:
    """Whether `value` is a list of sizes (JSON's true and false are no integers)."""
    return isinstance(value, list) and all(type(each) is int and 0 <= each <= _MAX_SIZE for each in value)


def _shown(text: str) -> str:
    """What a file says, for a message: quoted, because it may hold anything, and not at any length."""
    return repr(text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…")


def _check_ranges(tensors: Mapping[str, TensorEntry], data_size: int, file: str) -> None:
    """Checks that the tensors tile the data exactly: no overlap, no gap, nothing missing, nothing over."""
    at = 0
    for name, entry in sorted(tensors.items(), key=lambda item: (item[1].begin, item[1].end)):
        if entry.begin != at:
            fault = "overlaps the tensor before it" if entry.begin < at else "leaves a gap before it"
            raise ArtifactError("bad_header", f"tensor {_shown(name)} {fault}", file=file)
        at = entry.end
    if at > data_size:
        detail = f"{at} bytes of tensors are announced, the file holds {data_size}"
        raise ArtifactError("truncated", detail, file=file)
    if at < data_size:
        raise ArtifactError("bad_header", f"{data_size - at} bytes after the last tensor", file=file)
