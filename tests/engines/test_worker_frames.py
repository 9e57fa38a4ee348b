"""Frames survive being cut anywhere, and lengths that cannot be are refused before anything is collected."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synapse_engines.worker.frames import (
    MAX_HEAD,
    MAX_PAYLOAD,
    Frame,
    FrameDecoder,
    ProtocolError,
    encode_frame,
)

FRAMES = st.lists(st.builds(Frame, head=st.binary(min_size=1, max_size=40), payload=st.binary(max_size=60)), max_size=5)


def take_all(decoder: FrameDecoder) -> list[Frame]:
    return list(iter(decoder.next_frame, None))


def test_a_frame_is_two_lengths_then_head_then_payload() -> None:
    assert encode_frame(b"{}", b"abc") == b"\x02\0\0\0\x03\0\0\0{}abc"


@given(frames=FRAMES, data=st.data())
def test_frames_come_out_as_they_went_in_however_the_stream_is_cut(frames: list[Frame], data: st.DataObject) -> None:
    stream = b"".join(encode_frame(*frame) for frame in frames)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=12)))
    decoder = FrameDecoder()
    received = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        decoder.feed(stream[start:end])
        received += take_all(decoder)
    assert received == frames


def test_a_frame_cut_after_every_byte_comes_out_with_its_last_byte() -> None:
    stream = encode_frame(b'{"a":1}', b"payload")
    decoder = FrameDecoder()
    for byte in stream[:-1]:
        decoder.feed(bytes([byte]))
        assert decoder.next_frame() is None
    decoder.feed(stream[-1:])
    assert decoder.next_frame() == Frame(b'{"a":1}', b"payload")


@pytest.mark.parametrize(
    "lengths", [(0, 0), (MAX_HEAD + 1, 0), (2, MAX_PAYLOAD + 1), (0xFFFFFFFF, 0xFFFFFFFF)], ids=str
)
def test_impossible_lengths_are_refused_from_the_prefix_alone(lengths: tuple[int, int]) -> None:
    decoder = FrameDecoder()
    decoder.feed(encode_frame(b"{}") + struct.pack("<II", *lengths))
    # What was complete before the fault is still good.
    assert decoder.next_frame() == Frame(b"{}", b"")
    for _ in range(2):
        with pytest.raises(ProtocolError, match="bytes"):
            decoder.next_frame()


def test_the_largest_lengths_are_taken() -> None:
    decoder = FrameDecoder()
    decoder.feed(struct.pack("<II", MAX_HEAD, MAX_PAYLOAD))
    assert decoder.next_frame() is None


def test_a_head_over_the_limit_is_not_encoded() -> None:
    with pytest.raises(ProtocolError, match="head has 1048577 bytes"):
        encode_frame(b"x" * (MAX_HEAD + 1))
