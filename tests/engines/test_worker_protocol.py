"""Messages read back as they were sent, and nothing else is taken for a message."""

from __future__ import annotations

import msgspec
import pytest

from synapse_engines.readout import Sigmoid, YesNo
from synapse_engines.worker.frames import Frame, FrameDecoder, ProtocolError
from synapse_engines.worker.protocol import (
    Embed,
    Embedded,
    Failed,
    Load,
    LoadSpec,
    Measure,
    Measured,
    Ping,
    Pong,
    Progress,
    Ready,
    Reply,
    Request,
    Score,
    Scored,
    Shutdown,
    decode_reply,
    decode_request,
    encode,
)

SPEC = LoadSpec(
    backend="openvino",
    model_path="/models/m.safetensors",
    config={"model_type": "bert", "layer_norm_eps": 1e-12},
    family="bert",
    pooling="mean",
    normalize=True,
    max_tokens=256,
    threads=2,
    self_test_values="AAAA",
)

JUDGE = msgspec.structs.replace(SPEC, pooling="last", normalize=False, readout=YesNo(yes_id=7, no_id=9))
CLASSIFIER = msgspec.structs.replace(SPEC, normalize=False, readout=Sigmoid())

REQUESTS: list[Request] = [
    Load(1, SPEC),
    Load(1, JUDGE),
    Load(1, CLASSIFIER),
    Embed(2, [3, 1], "json"),
    Score(2, [3, 1]),
    Measure(3, 4, 2),
    Ping(4),
    Shutdown(5),
]
REPLIES: list[Reply] = [
    Ready(1, 384, {"engine": "openvino"}, 1.5, None),
    Embedded(2, [5, 0], [1], 0.25),
    Scored(2, 2, [7, 9], [1], 0.25),
    Measured(3, 1.0, 0.5, 0.9),
    Pong(4, None),
    Progress(2, 1, 7),
    Failed(2, "input", "row 1: empty", {"row": 1}),
]


def frame_of(data: bytes) -> Frame:
    decoder = FrameDecoder()
    decoder.feed(data)
    frame = decoder.next_frame()
    assert frame is not None
    return frame


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda message: type(message).__name__)
def test_requests_read_back_as_sent(request_: Request) -> None:
    frame = frame_of(encode(request_, b"\x01\x02"))
    assert decode_request(frame) == request_
    assert frame.payload == b"\x01\x02"


@pytest.mark.parametrize("reply", REPLIES, ids=lambda message: type(message).__name__)
def test_replies_read_back_as_sent(reply: Reply) -> None:
    assert decode_reply(frame_of(encode(reply))) == reply


def test_a_head_is_compact_json_that_names_its_type() -> None:
    assert frame_of(encode(Ping(7))).head == b'{"type":"ping","id":7}'


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"no json",
        b"[]",
        b'{"id":1}',
        b'{"type":"ping"}',
        b'{"type":"ping","id":"1"}',
        b'{"type":"ping","id":1,"more":2}',
        b'{"type":"reboot","id":1}',
        b'{"type":"embed","id":1,"lengths":[1],"encoding":"base64"}',
        b'{"type":"pong","id":1,"busy_with":null}',
        b'{"type":"score","id":1,"lengths":[1],"encoding":"json"}',
        b'{"type":"load","id":1,"spec":' + b"[" * 200_000,
        b'{"type":"ping","id":1}\xff',
    ],
    ids=range(13),
)
def test_what_is_no_request_is_a_protocol_error(head: bytes) -> None:
    with pytest.raises(ProtocolError, match="not a message"):
        decode_request(Frame(head, b""))


def test_a_request_is_no_reply() -> None:
    with pytest.raises(ProtocolError):
        decode_reply(frame_of(encode(Ping(1))))
