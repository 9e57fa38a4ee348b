"""The ways in which published rerankers were trained on a query and a candidate, by name, for models that users bring.

Called when a model is registered: a template together with the model's own tokenizer gives the rows' composition and
the read-out. The catalog states both with their ids, and needs no template. Touches no file: the caller brings the
bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import msgspec
from tokenizers import Tokenizer

from synapse_engines.composition import Instructed, Pair
from synapse_engines.errors import ArtifactError, InputError
from synapse_engines.readout import Readout, Sigmoid, YesNo
from synapse_engines.tokenizer import pair_frame
from synapse_engines.tokenizer_library import TOKENIZER_FILE as _FILE
from synapse_engines.tokenizer_library import encode_texts, parse_tokenizer


class Scoring(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a model scores: what its rows are composed of, and how the score is read off."""

    composition: Pair | Instructed
    readout: Readout


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt that asks a decoder for yes or no. `prefix` and `suffix` spell control tokens, the `body` none.

    Attributes:
        controls: the control tokens that the model has to know as such.
    """

    family: str
    prefix: str
    body: str
    instruction: str
    suffix: str
    controls: tuple[str, ...]

    def scoring(self, tokenizer_json: bytes) -> Scoring:
        """The prompt in the tokens of a model.

        Raises:
            ArtifactError: `bad_tokenizer` if the model lacks one of the control tokens, or knows yes or no by several.
        """
        tokenizer = _published(tokenizer_json)
        added = {added.content: token_id for token_id, added in tokenizer.get_added_tokens_decoder().items()}
        for control in self.controls:
            if control not in added:
                raise ArtifactError("bad_tokenizer", f"it lacks the control token {control}", file=_FILE)
        return Scoring(
            composition=Instructed(
                prefix=self.prefix,
                prefix_ids=_ids(tokenizer, self.prefix),
                body=self.body,
                instruction=self.instruction,
                suffix=self.suffix,
                suffix_ids=_ids(tokenizer, self.suffix),
            ),
            readout=YesNo(yes_id=_single(tokenizer, "yes"), no_id=_single(tokenizer, "no")),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentences:
    """Two texts between the tokens with which the tokenizer's own file frames a pair; a classifier reads them."""

    family: str

    def scoring(self, tokenizer_json: bytes) -> Scoring:
        """The pair in the tokens of a model.

        Raises:
            ArtifactError: `bad_tokenizer` if the file doesn't say how it frames a pair.
        """
        before, between, after = pair_frame(tokenizer_json)
        return Scoring(composition=Pair(prefix_ids=before, between_ids=between, suffix_ids=after), readout=Sigmoid())


Template: TypeAlias = Prompt | Sentences

TEMPLATES: Final[Mapping[str, Template]] = {
    "pair": Sentences(family="modernbert"),
    # Model card of Qwen/Qwen3-Reranker-0.6B, section "Transformers Usage".
    "qwen3-reranker": Prompt(
        family="qwen3",
        prefix=(
            "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
            'provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n'
        ),
        body="<Instruct>: {instruction}\n<Query>: {query}\n<Document>: {document}",
        instruction="Given a web search query, retrieve relevant passages that answer the query",
        suffix="<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
        controls=("<|im_start|>", "<|im_end|>", "<think>", "</think>"),
    ),
}
"""Every template, by the name that a manifest gives it."""


def usual_template(family: str) -> Template:
    """The template of a family's published rerankers.

    Raises:
        ArtifactError: `unsupported` for a family that has none.
    """
    found = next((template for template in TEMPLATES.values() if template.family == family), None)
    if found is None:
        raise ArtifactError("unsupported", f"scoring with a {family} model is not computed")
    return found


def _published(tokenizer_json: bytes) -> Tokenizer:
    """The tokenizer as its file has it, so that control tokens which we spell ourselves are recognised."""
    try:
        document = json.dumps(json.loads(tokenizer_json))
    except (ValueError, RecursionError) as error:
        raise ArtifactError("bad_tokenizer", f"it is not JSON: {error}", file=_FILE) from error
    tokenizer = parse_tokenizer(document)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _ids(tokenizer: Tokenizer, text: str) -> tuple[int, ...]:
    try:
        return tuple(encode_texts(tokenizer, [text])[0])
    except InputError as error:
        raise ArtifactError("bad_tokenizer", f"{text[:40]!r} is {error.detail}", file=_FILE) from error


def _single(tokenizer: Tokenizer, word: str) -> int:
    ids = _ids(tokenizer, word)
    if len(ids) != 1:
        raise ArtifactError("bad_tokenizer", f"{word!r} is {len(ids)} tokens, not one", file=_FILE)
    return ids[0]
