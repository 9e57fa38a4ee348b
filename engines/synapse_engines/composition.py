"""How texts become the row of token ids that a model was trained on: what stands before, between and after them.

Declared by the catalog's entries and by manifests; called by the service, which tokenizes. A caller's text is tokenized
by itself and as plain text, and only then put between the ids of the frame: however it spells a control token, none can
come of it. Touches nothing; needs no array library.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta

from synapse_engines.errors import InputError
from synapse_engines.readout import TokenId
from synapse_engines.tokenizer import Encoding, SanitisedTokenizer

TokenIds = tuple[TokenId, ...]
Text = Annotated[str, Meta(min_length=1)]

_PLACE = re.compile(r"\{(instruction|query|document)\}")


class Single(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="form", tag="single"):
    """A row is one text: `prefix_ids`, the text's own ids, `suffix_ids`."""

    prefix_ids: TokenIds
    suffix_ids: TokenIds


class Pair(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="form", tag="pair"):
    """A row is two texts: `prefix_ids`, the query, `between_ids`, the candidate, `suffix_ids`."""

    prefix_ids: TokenIds
    between_ids: TokenIds
    suffix_ids: TokenIds

    @property
    def frame_ids(self) -> TokenIds:
        """All that stands in a row beside its texts."""
        return self.prefix_ids + self.between_ids + self.suffix_ids


class Instructed(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="form", tag="instructed"
):
    """A row is a prompt: `prefix_ids`, the ids of the filled `body`, `suffix_ids`.

    `body` has the places `{instruction}`, `{query}` and `{document}`, and is tokenized by itself, as plain text.
    `prefix` and `suffix` say what the ids around it spell; they hold control tokens, which no text of ours is ever
    tokenized to, so the ids are what is used.
    """

    prefix: Text
    prefix_ids: TokenIds
    body: Text
    instruction: Text
    suffix: Text
    suffix_ids: TokenIds

    def __post_init__(self) -> None:
        """Refuses, with ValueError, a body that would drop one of the texts or say it twice."""
        places = Counter(_PLACE.findall(self.body))
        if (places["query"], places["document"]) != (1, 1) or places["instruction"] > 1:
            raise ValueError("the body needs {query} and {document} once each, and {instruction} at most once")

    @property
    def frame_ids(self) -> TokenIds:
        """All that stands in a row beside its body."""
        return self.prefix_ids + self.suffix_ids


Composition: TypeAlias = Single | Pair | Instructed


def compose_pairs(
    tokenizer: SanitisedTokenizer, form: Pair | Instructed, query: str, documents: Sequence[str]
) -> list[Encoding]:
    """The rows of a query with each of some candidates, in order. All texts may be empty.

    Args:
        tokenizer: the model's; what it frames single texts with is not used.
        form: how a row is composed.
        query: what every candidate is scored against.
        documents: the candidates.

    Returns:
        For each candidate its ids; `real_tokens` counts the whole row, frame and query included.

    Raises:
        InputError: `bad_text`, with the index of the first candidate that is not Unicode, or none for the query.
    """
    try:
        (query_ids,) = tokenizer.plain_ids([query])
    except InputError as error:
        raise InputError(error.reason, f"the query is {error.detail}") from error
    match form:
        case Pair():
            head = (*form.prefix_ids, *query_ids, *form.between_ids)
            return [_framed(head, ids, form.suffix_ids) for ids in tokenizer.plain_ids(documents)]
        case Instructed():
            texts = {"instruction": form.instruction, "query": query}
            bodies = [_filled(form.body, {**texts, "document": document}) for document in documents]
            return [_framed(form.prefix_ids, ids, form.suffix_ids) for ids in tokenizer.plain_ids(bodies)]


def truncate_pair(form: Pair | Instructed, row: Encoding, max_tokens: int) -> Encoding:
    """A composed row cut to `max_tokens`: the end of its candidate goes, frame and query stay.

    The caller has made sure that frame and query fit, and that a candidate is the last text in a row of this form.
    """
    if row.real_tokens <= max_tokens:
        return row
    after = array("i", form.suffix_ids)
    return Encoding(row.ids[: max_tokens - len(after)] + after)


def _framed(before: Sequence[int], ids: array[int], after: Sequence[int]) -> Encoding:
    return Encoding(array("i", before) + ids + array("i", after))


def _filled(body: str, texts: Mapping[str, str]) -> str:
    """`body` with its places filled, all at once: what looks like a place inside a text stays as it is."""
    return _PLACE.sub(lambda place: texts[place[1]], body)
