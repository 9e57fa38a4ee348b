"""What the service sends to a worker, read by whichever of its two threads is free.

Owned by `loop`. While the main thread has nothing to do, it reads the pipe itself: a short request would lose more time
by going from one thread to another than by anything else in this process. Once it has been at a request for a while,
the control thread reads in its place: it answers pings, refuses what comes too early and notices the end of the pipe.
It goes on until the next request, which it hands over.

| main thread | control thread |
|---|---|
| reads the pipe | sleeps |
| serves one request after the other | looks every LOOK_S whether it is still the same |
| serves the same as when last looked at | reads the pipe |
| is done, and waits for the next request | reads until there is one, and hands it over |
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable

from synapse_engines.errors import EngineError
from synapse_engines.worker.frames import FrameDecoder, ProtocolError
from synapse_engines.worker.pipes import READ_SIZE, ReplyWriter
from synapse_engines.worker.protocol import (
    Embed,
    Failed,
    Load,
    Measure,
    Ping,
    Pong,
    Score,
    Shutdown,
    decode_request,
)

Work = Load | Embed | Score | Measure

Item = tuple[Work, bytes] | Shutdown
"""A request and its payload, or the word to stop."""

LOOK_S = 0.025
"""While a request is served, a ping may have to wait for twice as long."""


class PipeEnded(EngineError):
    """The service closed the pipe, or is gone."""


class Inbox:
    """The worker's requests, one at a time: `take`, `begin`, `end`, each called by the main thread.

    Attributes:
        busy_with: id of the request that is being served, None if there is none.
    """

    def __init__(self, incoming: int, writer: ReplyWriter, failed: Callable[[Exception], None]) -> None:
        """`failed` is called on the control thread with what kept it from reading on, and ends the process."""
        self.busy_with: int | None = None
        self._incoming = incoming
        self._writer = writer
        self._failed = failed
        self._decoder = FrameDecoder()
        self._handed_over: queue.SimpleQueue[Item] = queue.SimpleQueue()
        # Guards `busy_with` and the two below it.
        self._turn = threading.Lock()
        self._stands_in = False  # set by the control thread during a request; taken back when the next was handed over
        self._asleep = False
        self._wake = threading.Lock()  # released to wake the control thread
        self._wake.acquire()
        threading.Thread(target=self._stand_by, name="control", daemon=True).start()

    def take(self) -> Item:
        """The next request.

        Raises:
            PipeEnded: there is none.
            ProtocolError: the bytes on the pipe are no frame, or no request.
        """
        if not self._stands_in:
            return self._read()
        item = self._handed_over.get()
        self._stands_in = False
        return item

    def begin(self, request_id: int) -> None:
        """A request that was taken is being served."""
        with self._turn:
            self.busy_with = request_id
            asleep, self._asleep = self._asleep, False
        if asleep:
            self._wake.release()

    def end(self) -> None:
        """It has been, and the service may send the next as soon as it has the answer."""
        with self._turn:
            self.busy_with = None

    def _read(self) -> Item:
        """Reads until there is a request that can be served, or the word to stop."""
        while True:
            frame = self._decoder.next_frame()
            if frame is None:
                data = os.read(self._incoming, READ_SIZE)
                if not data:
                    raise PipeEnded("the pipe from the service ended")
                self._decoder.feed(data)
                continue
            request = decode_request(frame)
            busy_with = self.busy_with
            if isinstance(request, Ping):
                self._writer.send(Pong(request.id, busy_with))
            elif isinstance(request, Shutdown):
                return request
            elif busy_with is None:
                return request, frame.payload
            else:
                message = f"request {busy_with} is still being served"
                self._writer.send(Failed(request.id, ProtocolError.kind, message, {}))

    # The control thread.

    def _stand_by(self) -> None:
        try:
            self._look_and_read()
        except Exception as error:  # noqa: BLE001 - the thread's edge: main would wait for ever for what it hands over
            self._failed(error)

    def _look_and_read(self) -> None:
        seen = None
        while True:
            with self._turn:
                busy_with = self.busy_with
                self._asleep = busy_with is None
                if same := busy_with is not None and busy_with == seen:
                    self._stands_in = True
            seen = busy_with
            if same:
                item = self._read()
                self._handed_over.put(item)
                if isinstance(item, Shutdown):
                    return
                seen = None
            elif busy_with is None:
                self._wake.acquire()
            else:
                time.sleep(LOOK_S)
