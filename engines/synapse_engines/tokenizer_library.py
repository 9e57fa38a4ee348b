"""The calls of the tokenizer library that may fail, with failures that are typed.

The library is written in Rust and panics where it should refuse: over files whose figures contradict each other, and
over texts at which a pattern gives up. Python sees a panic as an exception that is no `Exception`, so one that passed
here would end whatever waits for the call without a word. Called by `tokenizer` and `templates`.
"""

from __future__ import annotations

from array import array
from asyncio import CancelledError
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from tokenizers import Tokenizer

from synapse_engines.errors import ArtifactError, InputError

TOKENIZER_FILE = "tokenizer.json"

_SHORT_CHARS = 4096
"""Up to this length a single text is tokenized on the calling thread: waking the library's own takes longer."""

T = TypeVar("T")


class _LibraryFault(Exception):
    """What the library said when it failed."""


def parse_tokenizer(document: str) -> Tokenizer:
    """The library's object for the text of a `tokenizer.json`. Holds the interpreter lock: the library never lets go.

    Raises:
        ArtifactError: `bad_tokenizer`.
    """
    try:
        return _call(lambda: Tokenizer.from_str(document))
    except _LibraryFault as fault:
        raise ArtifactError("bad_tokenizer", f"the library refuses it: {fault}", file=TOKENIZER_FILE) from fault


def encode_texts(tokenizer: Tokenizer, texts: Sequence[str]) -> list[array[int]]:
    """The ids of each text, in order, with nothing around them, as 32-bit integers.

    The library keeps the interpreter lock for as long as it works on a single text, and lets go of it for a batch.

    Raises:
        InputError: `bad_text`, with the index of the first text that the library can't split.
    """
    if len(texts) != 1:
        # Of a batch the library says only that one of its texts failed; which one is found below.
        with suppress(_LibraryFault):
            return _call(lambda: _encode_batch(tokenizer, texts))
    return [_encode_one(tokenizer, text, index) for index, text in enumerate(texts)]


def decode_ids(tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    """What the ids say.

    Raises:
        InputError: `bad_text` if the library can't tell.
    """
    try:
        text: str = _call(lambda: tokenizer.decode(list(ids), skip_special_tokens=False))
    except _LibraryFault as fault:
        raise InputError("bad_text", f"nothing that the tokenizer can spell again: {fault}") from fault
    return text


def _encode_one(tokenizer: Tokenizer, text: str, row: int) -> array[int]:
    try:
        if len(text) <= _SHORT_CHARS:
            return _call(lambda: array("i", tokenizer.encode(text, add_special_tokens=False).ids))
        return _call(lambda: _encode_batch(tokenizer, [text])[0])
    except _LibraryFault as fault:
        raise InputError("bad_text", f"nothing that the tokenizer can split: {fault}", row=row) from fault


def _encode_batch(tokenizer: Tokenizer, texts: Sequence[str]) -> list[array[int]]:
    found = tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
    return [array("i", each.ids) for each in found]


def _call(work: Callable[[], T]) -> T:
    try:
        return work()
    except (KeyboardInterrupt, SystemExit, GeneratorExit, CancelledError):
        raise
    except BaseException as error:
        raise _LibraryFault(str(error)) from error
