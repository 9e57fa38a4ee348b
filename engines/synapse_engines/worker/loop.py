"""What a worker does: it takes one request at a time and answers it.

Built by `main`, and run on the main thread, because engines may insist on a single one. `inbox` reads the pipe, and has
a thread of its own for the time that a request takes: a ping proves that the process lives, not that it moves. Progress
is told by Progress, after each call of the engine.

| what happens | what the worker does |
|---|---|
| an EngineError while serving | answers Failed, goes on |
| any other exception while serving | logs it, answers Failed "internal", exits with INTERNAL |
| a request while another is served | answers Failed "protocol", or serves it next if the other was short |
| bytes that are no frame, or no request | answers Failed "protocol" with id 0, exits with GARBLED |
| the pipe ends without Shutdown | exits at once: the service is gone and nobody waits for an answer |
| Shutdown | finishes the request in hand, lets go of the model, exits with 0 |
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from synapse_engines.backend import check_rows
from synapse_engines.errors import (
    ArtifactError,
    EngineError,
    EngineMismatch,
    InputError,
    SelfTestError,
)
from synapse_engines.worker import measure, rows
from synapse_engines.worker.frames import ProtocolError
from synapse_engines.worker.inbox import Inbox, PipeEnded, Work
from synapse_engines.worker.loading import LoadedEmbedder, LoadedModel, LoadedScorer, Loader
from synapse_engines.worker.parent_watch import ORPHANED
from synapse_engines.worker.pipes import PrivatePipes, ReplyWriter
from synapse_engines.worker.protocol import (
    Compiling,
    Embed,
    Embedded,
    Failed,
    Load,
    Measure,
    Measured,
    Progress,
    Ready,
    Score,
    Scored,
    Shutdown,
)

INTERNAL = 70
"""Exit status after an exception that nobody foresaw: the state of the engine is unknown."""

GARBLED = 76
"""Exit status after bytes on the pipe that the service cannot have meant."""

_Loaded = TypeVar("_Loaded", bound=LoadedModel)

log = logging.getLogger("synapse.worker")


class Worker:
    """Serves one service process over one pair of pipes."""

    def __init__(self, pipes: PrivatePipes, load: Loader) -> None:
        self._writer = ReplyWriter(pipes.outgoing)
        self._inbox = Inbox(pipes.incoming, self._writer, lambda error: os._exit(self._end(error)))
        self._load = load
        self._model: LoadedEmbedder | LoadedScorer | None = None

    def run(self) -> int:
        """Serves until Shutdown or an unforeseen exception; returns the exit status. Call it on the main thread."""
        try:
            while not isinstance(item := self._inbox.take(), Shutdown):
                request, payload = item
                if not self._serve(request, payload):
                    return INTERNAL
        except (PipeEnded, ProtocolError, OSError) as error:
            return self._end(error)
        if self._model is not None:
            self._model.backend.close()
        return 0

    def _end(self, error: Exception) -> int:
        """The exit status of a worker that can't read on."""
        match error:
            case PipeEnded() | BrokenPipeError():
                return ORPHANED
            case ProtocolError():
                self._writer.send(Failed(0, error.kind, str(error), {}))
                return GARBLED
            case _:
                log.error("the pipe can't be read", exc_info=error)
                return INTERNAL

    def _serve(self, request: Work, payload: bytes) -> bool:
        """Answers one request; False if the worker must end because its state is unknown."""
        self._inbox.begin(request.id)
        known_state = True
        answer: Ready | Embedded | Scored | Measured | Failed
        body = b""
        try:
            match request:
                case Load():
                    answer = self._serve_load(request)
                case Embed():
                    answer, body = self._serve_embed(request, payload)
                case Score():
                    answer, body = self._serve_score(request, payload)
                case Measure():
                    answer = _serve_measure(request, payload)
        except EngineError as error:
            answer = Failed(request.id, error.kind, str(error), _details(error))
        except BrokenPipeError:
            raise
        except Exception as error:
            # A process edge. The engine may be in any state now, so the process ends after telling.
            log.exception("request %d failed", request.id)
            answer = Failed(request.id, "internal", f"{type(error).__name__}: {error}"[:500], {})
            known_state = False
        self._inbox.end()
        try:
            self._writer.send(answer, body)
        except ProtocolError as error:
            self._writer.send(Failed(request.id, error.kind, str(error), {}))
        return known_state

    def _serve_load(self, request: Load) -> Ready:
        if self._model is not None:
            raise ProtocolError("a model is loaded already")
        started = time.perf_counter()
        model = self._load(request.spec, self._progress(request.id), self._compiling)
        self._model = model
        return Ready(
            id=request.id,
            dims=model.backend.dims if isinstance(model, LoadedEmbedder) else 0,
            facts=dict(model.backend.facts),
            load_ms=_ms_since(started),
            self_test_values=model.self_test_values,
        )

    def _serve_embed(self, request: Embed, payload: bytes) -> tuple[Embedded, bytes]:
        model = self._loaded_as(LoadedEmbedder)
        encoded = [b""] * len(request.lengths)
        compute_ms = 0.0
        for call, ids in self._calls(request, payload, model):
            started = time.perf_counter()
            vectors = model.backend.embed(ids)
            compute_ms += _ms_since(started)
            for index, row in zip(call, rows.encode_vectors(vectors, request.encoding), strict=True):
                encoded[index] = row
        non_finite = [index for index, row in enumerate(encoded) if not row]
        embedded = Embedded(request.id, [len(row) for row in encoded], non_finite, compute_ms)
        return embedded, b"".join(encoded)

    def _serve_score(self, request: Score, payload: bytes) -> tuple[Scored, bytes]:
        model = self._loaded_as(LoadedScorer)
        readout = model.backend.readout
        values = np.empty(len(request.lengths), np.float32)
        logits = np.empty((len(request.lengths), readout.width), np.float32)
        compute_ms = 0.0
        for call, ids in self._calls(request, payload, model):
            started = time.perf_counter()
            scores = model.backend.score(ids)
            compute_ms += _ms_since(started)
            values[call], logits[call] = scores.values, scores.logits
        scored = Scored(
            id=request.id,
            width=readout.width,
            token_ids=list(readout.token_ids),
            non_finite=rows.non_finite(logits),
            compute_ms=compute_ms,
        )
        return scored, rows.encode_numbers(values) + rows.encode_numbers(logits)

    def _loaded_as(self, role: type[_Loaded]) -> _Loaded:
        """The model, if it was loaded for what it is asked to do."""
        if self._model is None:
            raise ProtocolError("no model is loaded")
        if not isinstance(self._model, role):
            raise ProtocolError("the model was loaded for something else")
        return self._model

    def _calls(
        self, request: Embed | Score, payload: bytes, model: LoadedModel
    ) -> Iterator[tuple[list[int], list[npt.NDArray[np.int32]]]]:
        """The rows of a request, checked, as calls of the engine: their places in the request, and their ids.

        Reports progress when the next call is asked for: after the last one the answer itself is the sign of it.
        """
        ids = rows.split_ids(payload, request.lengths)
        check_rows(ids, vocab=model.vocab, max_tokens=model.max_tokens)
        progress = self._progress(request.id)
        rows_left = len(ids)
        for call in rows.calls(request.lengths, model.tokens_per_call):
            yield call, [ids[index] for index in call]
            rows_left -= len(call)
            if rows_left:
                progress(len(call), sum(request.lengths[index] for index in call))

    def _compiling(self, shape: int, begun: bool) -> None:
        self._writer.send(Compiling(self._inbox.busy_with or 0, shape, begun))

    def _progress(self, request_id: int) -> Callable[[int, int], None]:
        """A function that adds rows and tokens to this request's totals and reports them."""
        rows_done = tokens_done = 0

        def report(more_rows: int, more_tokens: int) -> None:
            nonlocal rows_done, tokens_done
            rows_done += more_rows
            tokens_done += more_tokens
            self._writer.send(Progress(request_id, rows_done, tokens_done))

        return report


def _serve_measure(request: Measure, payload: bytes) -> Measured:
    if request.rows < 2 or request.dims < 1 or len(payload) != 2 * request.rows * request.dims * 4:
        raise ProtocolError(f"{len(payload)} bytes are not two sets of {request.rows} rows of {request.dims} numbers")
    both = np.frombuffer(payload, dtype="<f4").reshape(2, request.rows, request.dims)
    mean_cosine, min_cosine, overlap = measure.compare(both[0], both[1])
    return Measured(request.id, mean_cosine, min_cosine, overlap)


def _details(error: EngineError) -> dict[str, Any]:
    """The facts of an error as JSON values, named as its attributes are."""
    match error:
        case ArtifactError():
            return {"reason": error.reason, "file": error.file}
        case InputError():
            return {"reason": error.reason, "row": error.row}
        case SelfTestError():
            return {"length": error.length, "max_abs_diff": error.max_abs_diff}
        case EngineMismatch():
            return {"expected": error.expected, "actual": error.actual}
        case _:
            return {}


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
