"""The identity of a lane: stable to the byte, and moved by everything that could move a vector."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
import pytest

from synapse_service.lanes.fingerprint import NumericProfile, fingerprint, model_digest

BASE: dict[str, Any] = {
    "engine": "owned-cpu",
    "engine_build": "openvino-1/f32-1",
    "tokenizer_digest": "t" * 64,
    "pooling": "mean",
    "normalization": "l2",
    "dtype": "f32",
    "shape_envelope": "exact:1-256",
    "thread_class": "any",
}


def test_the_fingerprint_is_the_documented_construction() -> None:
    profile_text = (
        '{"dtype":"f32","engine":"owned-cpu","engine_build":"openvino-1/f32-1","normalization":"l2","pooling":"mean",'
        f'"shape_envelope":"exact:1-256","thread_class":"any","tokenizer_digest":"{"t" * 64}"}}'
    )
    profile_id = hashlib.sha256(profile_text.encode()).hexdigest()
    text = f'{{"model_digest":"{"m" * 64}","numeric_profile_id":"{profile_id}","quant":"none"}}'
    expected = "syn1-" + hashlib.sha256(text.encode()).hexdigest()
    assert fingerprint("m" * 64, "none", NumericProfile(**BASE)) == expected


@pytest.mark.parametrize("member", [*BASE, "template", "readout"])
def test_every_member_of_the_profile_moves_the_fingerprint(member: str) -> None:
    plain = fingerprint("m" * 64, "none", NumericProfile(**BASE))
    changed = NumericProfile(**(BASE | {member: "other"}))
    assert fingerprint("m" * 64, "none", changed) != plain


def test_weights_quantisation_and_configuration_move_the_fingerprint() -> None:
    profile = NumericProfile(**BASE)
    digests = [
        model_digest([("config", "c"), ("model", "m")]),
        model_digest([("config", "d"), ("model", "m")]),
        model_digest([("config", "c"), ("model", "n")]),
        model_digest([("model", "m"), ("config", "c")]),
    ]
    found = {fingerprint(digest, "none", profile) for digest in digests} | {fingerprint(digests[0], "int8", profile)}
    assert len(found) == 5


def test_the_profile_covers_exactly_the_documented_members() -> None:
    members = {field.name for field in msgspec.structs.fields(NumericProfile)}
    assert members == {*BASE, "template", "readout"}
