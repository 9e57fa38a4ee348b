"""The sanitised tokenizer: text in, ids out, with nothing hidden in the tokenizer's file having a say.

A published `tokenizer.json` can carry a truncation, a padding, and added tokens that turn the spelling of a
control token in somebody's text into the real control id. None of these is wanted in a service: what is
stored is switched off, text is only ever text, and the special tokens that frame a row are put there by us.
Ids of text that spells no added token are exactly those of the published file.

Called by the service, which tokenizes in its own process. Touches no file: the caller brings the bytes. Must not
import an array library.
"""

from __future__ import annotations

import hashlib
import json
import re
from array import array
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tokenizers import Tokenizer

from synapse_engines.errors import ArtifactError, InputError
from synapse_engines.tokenizer_library import TOKENIZER_FILE as _FILE
from synapse_engines.tokenizer_library import decode_ids, encode_texts, parse_tokenizer

SANITISER_REVISION = 1
"""Goes up whenever a change here gives some text other ids; it is part of every fingerprint."""

# Put before the vocabulary entry of a control token, so that no text can come out as it: models for words
# never see a space inside a word, byte-level and sentence-piece models write the space as another character.
_UNSPEAKABLE = "\x00 "


@dataclass(frozen=True, slots=True)
class SpecialTokens:
    """The ids that frame every row."""

    prefix: tuple[int, ...] = ()
    suffix: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        """How many tokens an empty text has."""
        return len(self.prefix) + len(self.suffix)


@dataclass(frozen=True, slots=True)
class Encoding:
    """One tokenized text.

    Attributes:
        ids: token ids with the special tokens, as 32-bit integers.
    """

    ids: array[int]

    @property
    def real_tokens(self) -> int:
        """Number of tokens, special tokens included; there is never any padding."""
        return len(self.ids)


class SanitisedTokenizer:
    """A tokenizer under which all text is ordinary text.

    Attributes:
        specials: what frames every row.
        control_ids: ids that no text can give: those of special tokens (but for the one that stands for
            unknown words), and of added tokens that the model's own vocabulary lacks.
    """

    def __init__(self, tokenizer: Tokenizer, specials: SpecialTokens, control_ids: frozenset[int]) -> None:
        """Takes an already sanitised library object; use `load`."""
        self.specials = specials
        self.control_ids = control_ids
        self._tokenizer = tokenizer

    @classmethod
    def load(
        cls, data: bytes, *, specials: SpecialTokens | None, allow_added: str | None, vocab_size: int
    ) -> SanitisedTokenizer:
        """Makes a tokenizer from the bytes of a `tokenizer.json`.

        Args:
            data: the file.
            specials: what frames every row, usually from `derive_specials`; None for nothing.
            allow_added: a regular expression; added tokens whose whole content matches it, and which are not
                special, are still recognised in text. None for no such tokens.
            vocab_size: rows of the model's embedding table; a tokenizer with higher ids is refused.

        Raises:
            ArtifactError: `bad_tokenizer`.
        """
        specials = specials or SpecialTokens()
        document = _parse(data)
        control_ids = _sanitise(document, re.compile(allow_added) if allow_added is not None else None)
        tokenizer = parse_tokenizer(_printed(document))
        for added in document["added_tokens"]:
            if tokenizer.token_to_id(added["content"]) != added["id"]:
                detail = f"the added token {added['content']!r} does not have its id {added['id']}"
                raise ArtifactError("bad_tokenizer", detail, file=_FILE)
        # Not the library's own list of its vocabulary, which takes it a good part of the time of a load.
        added_ids = (added["id"] for added in document["added_tokens"])
        possible = (*_vocabulary_ids(document), *added_ids, *specials.prefix, *specials.suffix)
        if min(possible, default=0) < 0 or max(possible, default=0) >= vocab_size:
            detail = f"it gives ids from {min(possible)} to {max(possible)}, the model has {vocab_size}"
            raise ArtifactError("bad_tokenizer", detail, file=_FILE)
        return cls(tokenizer, specials, control_ids)

    def encode(self, text: str) -> Encoding:
        """The tokens of one text. An empty text has the special tokens alone.

        Raises:
            InputError: `bad_text` for text that is not Unicode (lone surrogates), or that the tokenizer can't split.
        """
        return self.encode_many([text])[0]

    def encode_many(self, texts: Sequence[str]) -> list[Encoding]:
        """The tokens of each text, in order.

        Raises:
            InputError: `bad_text`, with the index of the first offending text.
        """
        prefix, suffix = array("i", self.specials.prefix), array("i", self.specials.suffix)
        return [Encoding(prefix + ids + suffix) for ids in self.plain_ids(texts)]

    def plain_ids(self, texts: Sequence[str]) -> list[array[int]]:
        """The ids of each text by itself, in order, with nothing around them: for rows that `composition` makes.

        Raises:
            InputError: `bad_text`, with the index of the first offending text.
        """
        for index, text in enumerate(texts):
            # The library answers these with a TypeError that names no text.
            try:
                text.encode("utf-8")
            except UnicodeEncodeError as error:
                raise InputError("bad_text", f"not Unicode text: {error.reason}", row=index) from error
        return encode_texts(self._tokenizer, texts)

    def truncate(self, encoding: Encoding, max_tokens: int) -> Encoding:
        """The first tokens of the text and all special tokens, `max_tokens` in total at most.

        Raises:
            ValueError: `max_tokens` leaves no room for the special tokens.
        """
        if max_tokens < self.specials.count:
            raise ValueError(f"{max_tokens} tokens leave no room for {self.specials.count} special ones")
        excess = encoding.real_tokens - max_tokens
        if excess <= 0:
            return encoding
        end = encoding.real_tokens - len(self.specials.suffix)
        return Encoding(encoding.ids[: end - excess] + encoding.ids[end:])

    def kept_text(self, encoding: Encoding) -> str:
        """What the tokens say, without the special ones: the text that a truncated row really represents.

        Raises:
            InputError: `bad_text` if the library can't spell them.
        """
        end = encoding.real_tokens - len(self.specials.suffix)
        return decode_ids(self._tokenizer, encoding.ids[len(self.specials.prefix) : end])


def derive_specials(tokenizer_json: bytes, family: str, config: Mapping[str, object]) -> SpecialTokens:
    """The special tokens that frame a row of an embedding model.

    Read from the post-processor of the published file. A Qwen3 embedder takes its vector from an end token
    that not every published file appends: it ends in the configuration's `eos_token_id`, exactly once.

    Raises:
        ArtifactError: `bad_tokenizer` if the file frames a text in a way that we do not know, or not at all;
            `bad_config` if a Qwen3 configuration names no single end token.
    """
    specials = _framing(_parse(tokenizer_json).get("post_processor"))
    if family == "qwen3":
        end = config.get("eos_token_id")
        if isinstance(end, bool) or not isinstance(end, int) or end < 0:
            raise ArtifactError("bad_config", f"eos_token_id should be one token id, not {end!r}")
        if specials.suffix not in ((), (end,)):
            detail = f"it ends a text with {list(specials.suffix)}, the configuration with {end}"
            raise ArtifactError("bad_tokenizer", detail, file=_FILE)
        specials = SpecialTokens(specials.prefix, (end,))
    if not specials.count:
        raise ArtifactError("bad_tokenizer", "it does not say which tokens frame a text", file=_FILE)
    return specials


def pair_frame(tokenizer_json: bytes) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """The ids that a published file puts before, between and after the two texts of a pair.

    Raises:
        ArtifactError: `bad_tokenizer` if the file frames a pair in a way that we do not know, or not at all.
    """
    processor = _parse(tokenizer_json).get("post_processor")
    try:
        if isinstance(processor, dict) and processor.get("type") == "TemplateProcessing":
            before, between, after = _pieces(processor, "pair", 2)
            return tuple(before), tuple(between), tuple(after)
        if isinstance(processor, dict) and processor.get("type") == "BertProcessing":
            sep = (_token_id(processor["sep"][1]),)
            return (_token_id(processor["cls"][1]),), sep, sep
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ArtifactError("bad_tokenizer", "its post-processor is malformed", file=_FILE) from error
    raise ArtifactError("bad_tokenizer", "it does not say which tokens frame a pair of texts", file=_FILE)


def tokenizer_digest(source_sha256: str) -> str:
    """Identity of a sanitised tokenizer: the digest of its source file and of the way in which we treat it.

    Args:
        source_sha256: SHA-256 of the published `tokenizer.json`, in hexadecimal.
    """
    # Sorted keys, no spaces, ASCII only: this is the canonical form of RFC 8785.
    identity = {"sanitiser_revision": SANITISER_REVISION, "source_sha256": source_sha256}
    return hashlib.sha256(json.dumps(identity, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _parse(data: bytes) -> dict[str, Any]:
    """The JSON object of a `tokenizer.json`, with well-formed added tokens and vocabulary."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ArtifactError("bad_tokenizer", f"it is not JSON: {error}", file=_FILE) from error
    if not isinstance(document, dict):
        raise ArtifactError("bad_tokenizer", "it is not a JSON object", file=_FILE)
    added = document.setdefault("added_tokens", [])
    if not isinstance(added, list) or not all(_is_added_token(each) for each in added):
        raise ArtifactError("bad_tokenizer", "its added tokens are malformed", file=_FILE)
    model = document.get("model")
    if not isinstance(model, dict) or not _is_vocabulary(model.get("vocab")):
        raise ArtifactError("bad_tokenizer", "it has no model with a vocabulary", file=_FILE)
    return document


def _printed(document: dict[str, Any]) -> str:
    """The document as JSON again."""
    try:
        return json.dumps(document)
    except RecursionError as error:
        raise ArtifactError("bad_tokenizer", "it is nested too deeply", file=_FILE) from error


def _is_added_token(value: object) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("content"), str)
        and type(value.get("id")) is int
        and isinstance(value.get("special"), bool)
    )


def _vocabulary_ids(document: dict[str, Any]) -> Collection[int]:
    vocab: dict[str, int] | list[list[Any]] = document["model"]["vocab"]
    return vocab.values() if isinstance(vocab, dict) else range(len(vocab))


def _is_vocabulary(value: object) -> bool:
    """Whether `value` maps words to ids, or lists [piece, score] pairs as unigram models do."""
    if isinstance(value, list):
        return all(isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str) for pair in value)
    return isinstance(value, dict) and all(type(number) is int for number in value.values())


def _sanitise(document: dict[str, Any], allowed: re.Pattern[str] | None) -> frozenset[int]:
    """Rewrites `document` in place; returns the control ids, which no text can give from then on."""
    document.update(truncation=None, padding=None, post_processor=None)
    model = document["model"]
    vocab: dict[str, int] | list[list[Any]] = model["vocab"]
    known = vocab if isinstance(vocab, dict) else {piece: index for index, (piece, _) in enumerate(vocab)}
    unknown = model.get("unk_token")
    if isinstance(vocab, list) and model.get("unk_id") is None:
        raise ArtifactError("bad_tokenizer", "its unigram model has no unk_id for unknown words", file=_FILE)
    if isinstance(unknown, str) and unknown not in known:
        # The library finds out only when it meets the first unknown word.
        raise ArtifactError("bad_tokenizer", f"its vocabulary lacks {unknown!r}", file=_FILE)
    unknown_id = known[unknown] if isinstance(unknown, str) else model.get("unk_id")

    kept, control = [], set()
    for added in document["added_tokens"]:
        content, number = added["content"], added["id"]
        if allowed is not None and not added["special"] and allowed.fullmatch(content):
            kept.append(added)
            # Ids of added tokens are counted by the library, not read, and the tokens in between are gone:
            # only as an entry of the vocabulary does this one keep its id.
            if isinstance(vocab, dict):
                vocab.setdefault(content, number)
        elif number == unknown_id:
            continue
        elif content not in known:
            control.add(number)
        elif added["special"]:
            control.add(number)
            if isinstance(vocab, dict):
                vocab[_UNSPEAKABLE + content] = vocab.pop(content)
            else:
                vocab[known[content]][0] = _UNSPEAKABLE + content
    document["added_tokens"] = kept
    return frozenset(control)


def _framing(processor: object) -> SpecialTokens:
    """What a stored post-processor puts before and after a single text."""
    if processor is None:
        return SpecialTokens()
    if not isinstance(processor, dict):
        raise ArtifactError("bad_tokenizer", "its post-processor is malformed", file=_FILE)
    try:
        match processor.get("type"):
            case "ByteLevel":
                return SpecialTokens()
            case "BertProcessing" | "RobertaProcessing":
                return SpecialTokens((_token_id(processor["cls"][1]),), (_token_id(processor["sep"][1]),))
            case "TemplateProcessing":
                return _template(processor)
            case "Sequence":
                specials = SpecialTokens()
                for each in processor["processors"]:
                    outer = _framing(each)
                    specials = SpecialTokens(outer.prefix + specials.prefix, specials.suffix + outer.suffix)
                return specials
            case kind:
                detail = f"post-processor {kind!r} is not known"
                raise ArtifactError("bad_tokenizer", detail, file=_FILE)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ArtifactError("bad_tokenizer", "its post-processor is malformed", file=_FILE) from error


def _template(processor: dict[str, Any]) -> SpecialTokens:
    """What the template for a single text puts before and after it."""
    before, after = _pieces(processor, "single", 1)
    return SpecialTokens(tuple(before), tuple(after))


def _token_id(value: object) -> int:
    """An id of a post-processor; whether the model has it is asked where its vocabulary is known."""
    if type(value) is not int:
        raise TypeError("no token id")
    return value


def _pieces(processor: dict[str, Any], template: str, texts: int) -> list[list[int]]:
    """What a template puts around each of its texts: one list of ids more than there are texts."""
    found: list[list[int]] = [[]]
    for piece in processor[template]:
        if "Sequence" in piece:
            found.append([])
        else:
            name = piece["SpecialToken"]["id"]
            found[-1].extend(_token_id(each) for each in processor["special_tokens"][name]["ids"])
    if len(found) != texts + 1:
        detail = f"its template for {texts} texts holds {len(found) - 1}"
        raise ArtifactError("bad_tokenizer", detail, file=_FILE)
    return found
