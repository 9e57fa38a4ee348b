"""The failures that the engines raise, each with the facts that a caller needs to explain it.

Raised all over this package, translated once by the worker (into a frame) and by the service (into a wire
error). Imports nothing, so that the service process may import it freely.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

ArtifactReason = Literal[
    "truncated",
    "bad_header",
    "missing_tensor",
    "wrong_shape",
    "wrong_dtype",
    "bad_config",
    "bad_tokenizer",
    "bad_archive",
    "bad_package",
    "wrong_digest",
    "non_finite",
    "unsupported",
]
InputReason = Literal["empty", "too_long", "bad_id", "bad_text"]


class EngineError(Exception):
    """Base of every failure raised on purpose in this package.

    Attributes:
        kind: a stable word for the class of failure; it crosses the worker's pipe.
    """

    kind: ClassVar[str] = "engine"


class ArtifactError(EngineError):
    """A model's file cannot be used: it is damaged, incomplete, or describes something we do not compute.

    Attributes:
        reason: a stable word, one of `ArtifactReason`.
        file: name of the file at fault, where one is known.
        detail: one readable sentence with the offending name and figures.
    """

    kind: ClassVar[str] = "artifact"

    def __init__(self, reason: ArtifactReason, detail: str, *, file: str | None = None) -> None:
        super().__init__(reason, detail, file)
        self.reason: ArtifactReason = reason
        self.file = file
        self.detail = detail

    def __str__(self) -> str:
        where = f"{self.file}: " if self.file is not None else ""
        return f"{where}{self.detail} ({self.reason})"


class InputError(EngineError):
    """An input that must not reach an engine, because engines answer nonsense for it without complaint.

    Attributes:
        row: index of the offending row in the call, where there is more than one.
        reason: a stable word, one of `InputReason`.
        detail: one readable sentence.
    """

    kind: ClassVar[str] = "input"

    def __init__(self, reason: InputReason, detail: str, *, row: int | None = None) -> None:
        super().__init__(reason, detail, row)
        self.reason: InputReason = reason
        self.row = row
        self.detail = detail

    def __str__(self) -> str:
        where = f"row {self.row}: " if self.row is not None else ""
        return f"{where}{self.detail} ({self.reason})"


class StorageError(EngineError):
    """The disk has no room for what an engine unpacks.

    Attributes:
        detail: one readable sentence.
    """

    kind: ClassVar[str] = "storage"

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail

    def __str__(self) -> str:
        return self.detail


class SelfTestError(EngineError):
    """A freshly loaded model disagrees with the values that the reference computed for it.

    Attributes:
        length: length in tokens of the test row that disagreed.
        max_abs_diff: largest difference between the two answers, in the units of `worker.self_test`.
    """

    kind: ClassVar[str] = "self_test"

    def __init__(self, length: int, max_abs_diff: float) -> None:
        super().__init__(length, max_abs_diff)
        self.length = length
        self.max_abs_diff = max_abs_diff

    def __str__(self) -> str:
        return f"self-test row of {self.length} tokens is off by {self.max_abs_diff:.3g}"


class EngineMismatch(EngineError):
    """Properties read back from an engine after compiling differ from what the lane declares.

    Attributes:
        expected, actual: property name to value, for the properties that differ.
    """

    kind: ClassVar[str] = "engine_mismatch"

    def __init__(self, expected: Mapping[str, str], actual: Mapping[str, str]) -> None:
        super().__init__(dict(expected), dict(actual))
        self.expected = dict(expected)
        self.actual = dict(actual)

    def __str__(self) -> str:
        differences = ", ".join(
            f"{name} is {self.actual.get(name, 'absent')} instead of {value}"
            for name, value in self.expected.items()
            if self.actual.get(name) != value
        )
        return f"the engine runs with other properties than declared: {differences}"
