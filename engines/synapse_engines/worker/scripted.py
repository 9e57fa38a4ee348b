"""A TEST DOUBLE for the model in a worker: plays back what a script says, misbehaviour included.

Only the hidden boot argument `--scripted PATH` reaches it, which tests put on a worker's command line; no setting,
message or environment variable does. Processes, pipes, frames and the loop around it are the real ones.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from synapse_engines.coreml.model import OnCompile
from synapse_engines.errors import ArtifactError, SelfTestError
from synapse_engines.readout import Readout
from synapse_engines.scores import Scores
from synapse_engines.worker.loading import LoadedEmbedder, LoadedScorer, OnRows
from synapse_engines.worker.protocol import LoadSpec


class Action(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one load or one call of the engine does, in the order of the fields.

    Attributes:
        say: text printed to standard output, as a chatty library would.
        complain_bytes: bytes of noise written to standard error.
        raw_hex: bytes put on the pipe to the service, outside of any frame.
        compile_shape: says that it compiles for rows of so many tokens while `delay_s` passes.
        delay_s: time that passes before anything else.
        hang: never come back.
        grip: never come back, and hold the interpreter, as C code that does not release it would.
        die: end the process: "kill" as by SIGKILL, "segv" as by a wild pointer, "exit" with status 3.
        fault: an exception that nobody foresaw.
        refuse: an error that the engines raise on purpose.
        non_finite: rows of the call that come out as NaN, or whose logits do.
    """

    say: str = ""
    complain_bytes: int = 0
    raw_hex: str = ""
    compile_shape: int | None = None
    delay_s: float = 0.0
    hang: bool = False
    grip: bool = False
    die: Literal["kill", "segv", "exit"] | None = None
    fault: bool = False
    refuse: Literal["artifact", "self_test"] | None = None
    non_finite: list[int] = []


class Script(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole play.

    Attributes:
        dims, vocab: sizes of the model.
        tokens_per_call: as in LoadedModel, so that a test can split a request into several engine calls.
        load: what loading does.
        calls: what each engine call does, in order.
        then: what every call after those does.
    """

    dims: int = 4
    vocab: int = 50_000
    tokens_per_call: int = 2048
    load: Action = Action()
    calls: list[Action] = []
    then: Action = Action()


def scripted_vector(ids: Sequence[int], dims: int) -> npt.NDArray[np.float32]:
    """The vector that the double gives for `ids`: of unit length, different for different ids; shape [dims]."""
    seed = sum((place + 1) * value for place, value in enumerate(ids)) % 1_000_003
    wide = np.sin(np.arange(1, dims + 1, dtype=np.float64) * (1 + seed))
    unit: npt.NDArray[np.float32] = (wide / np.linalg.norm(wide)).astype(np.float32)
    return unit


def scripted_logits(ids: Sequence[int], width: int) -> npt.NDArray[np.float32]:
    """The logits that the double gives for `ids`: between -4 and 4, different for different ids; shape [width]."""
    # One number more: all vectors of a single one are alike.
    return 4 * scripted_vector(ids, width + 1)[:width]


class ScriptedBackend:
    """What performs a Script, in either role.

    Attributes:
        facts: names this engine for what it is.
    """

    def __init__(self, script: Script, pipe: int, on_compile: OnCompile) -> None:
        """`pipe` is the file descriptor of the pipe to the service."""
        self.facts: Mapping[str, str] = {"engine": "scripted test double"}
        self._actions = self._sequence(script)
        self._pipe = pipe
        self._on_compile = on_compile

    @staticmethod
    def _sequence(script: Script) -> Iterator[Action]:
        yield from script.calls
        while True:
            yield script.then

    def _perform(self) -> Action:
        action = next(self._actions)
        perform(action, self._pipe, self._on_compile)
        return action

    def close(self) -> None:
        """Holds nothing."""


class ScriptedEmbedder(ScriptedBackend):
    """An Embedder that performs a Script.

    Attributes:
        dims: numbers in a vector.
    """

    def __init__(self, script: Script, pipe: int, on_compile: OnCompile) -> None:
        super().__init__(script, pipe, on_compile)
        self.dims = script.dims

    def embed(self, rows: Sequence[npt.NDArray[np.int32]]) -> npt.NDArray[np.float32]:
        action = self._perform()
        vectors = np.stack([scripted_vector(row.tolist(), self.dims) for row in rows])
        vectors[action.non_finite] = np.nan
        return vectors


class ScriptedScorer(ScriptedBackend):
    """A Scorer that performs a Script.

    Attributes:
        readout: the one that was asked for.
    """

    def __init__(self, script: Script, pipe: int, on_compile: OnCompile, readout: Readout) -> None:
        super().__init__(script, pipe, on_compile)
        self.readout = readout

    def score(self, rows: Sequence[npt.NDArray[np.int32]]) -> Scores:
        action = self._perform()
        logits = np.stack([scripted_logits(row.tolist(), self.readout.width) for row in rows])
        logits[action.non_finite] = np.nan
        return Scores.read_off(logits, self.readout)


class ScriptedLoader:
    """A Loader that ignores the model's file and loads a ScriptedEmbedder, or with a read-out a ScriptedScorer."""

    def __init__(self, path: Path, pipe: int) -> None:
        self._script = msgspec.json.decode(path.read_bytes(), type=Script)
        self._pipe = pipe

    def __call__(self, spec: LoadSpec, on_rows: OnRows, on_compile: OnCompile) -> LoadedEmbedder | LoadedScorer:
        script, pipe = self._script, self._pipe
        perform(script.load, pipe, on_compile)
        if spec.readout is None:
            return LoadedEmbedder(
                backend=ScriptedEmbedder(script, pipe, on_compile),
                vocab=script.vocab,
                max_tokens=spec.max_tokens,
                tokens_per_call=script.tokens_per_call,
                self_test_values=None,
            )
        return LoadedScorer(
            backend=ScriptedScorer(script, pipe, on_compile, spec.readout),
            vocab=script.vocab,
            max_tokens=spec.max_tokens,
            tokens_per_call=script.tokens_per_call,
            self_test_values=None,
        )


def perform(action: Action, pipe: int, on_compile: OnCompile) -> None:
    """Does what `action` says, up to the numbers."""
    if action.say:
        sys.stdout.write(action.say)
        sys.stdout.flush()
    if action.complain_bytes:
        noise = b"".join(b"%07d\n" % line for line in range(action.complain_bytes // 8))
        os.write(2, noise)
    if action.raw_hex:
        os.write(pipe, bytes.fromhex(action.raw_hex))
    if action.compile_shape is not None:
        on_compile(action.compile_shape, True)
    time.sleep(action.delay_s)
    if action.compile_shape is not None:
        on_compile(action.compile_shape, False)
    while action.hang:
        time.sleep(3600)
    if action.grip:
        ctypes.PyDLL(None).sleep(3600)
    match action.die:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "segv":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "exit":
            os._exit(3)
        case None:
            pass
    if action.fault:
        raise ZeroDivisionError("scripted")
    match action.refuse:
        case "artifact":
            raise ArtifactError("missing_tensor", "scripted", file="model.safetensors")
        case "self_test":
            raise SelfTestError(17, 0.5)
        case None:
            pass
