"""`synapse embed`: vectors of texts."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from synapse_cli.options import Home, Json

if TYPE_CHECKING:
    import msgspec

    from synapse_client import Client

CHUNK_ITEMS: Final = 64
CHUNK_BYTES: Final = 7168
"""A text has at most one token for each of its bytes and two more, so chunks of these sizes fit the inline budget."""

_LISTS: Final = ("vectors", "real_token_counts", "truncation_disclosures")
_SHOWN_NUMBERS: Final = 4


def register(app: typer.Typer) -> None:
    app.command()(embed)


def embed(
    model: Annotated[str, typer.Option("--model", "-m", metavar="MODEL_ID", help="Which model.")],
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT", help="Texts; without any, each line of stdin is one.")
    ] = None,
    home: Home = None,
    as_json: Json = False,
    deadline_ms: Annotated[
        int | None, typer.Option("--deadline-ms", min=1, help="Longest wait for each request, loading included.")
    ] = None,
) -> None:
    """Embed texts. With --json, prints what the service answers, the vectors as JSON numbers."""
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    given = texts or _lines_of_stdin()
    with reporting(output, "embed the texts"), open_client(home) as client:
        if as_json:
            output.json(_merged(_answers(client, model, given, deadline_ms)))
            return
        pieces = list(chunks(given))
        with output.progress("Embedding", hidden=len(pieces) == 1) as progress:
            rows: list[list[str]] = []
            for start, chunk in pieces:
                ids = [str(start + index) for index in range(len(chunk))]
                answer = client.embed_batch(model, chunk, ids=ids, deadline_ms=deadline_ms)
                for item, vector, tokens in zip(answer.ids, answer.vectors, answer.token_counts, strict=True):
                    rows.append([item, str(tokens), " ".join(f"{value:+.6f}" for value in vector[:_SHOWN_NUMBERS])])
                progress.to(start + len(chunk), len(given))
        output.table(["text", "tokens", f"first {_SHOWN_NUMBERS} of {answer.dims} numbers"], rows)
        output.line(f"fingerprint {answer.fingerprint}")


def chunks(texts: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Pieces that one inline request can take, each with the index of its first text. A long text goes alone."""
    start, piece, size = 0, list[str](), 0
    for text in texts:
        cost = len(text.encode("utf-8", "surrogatepass")) + 2
        if piece and (len(piece) == CHUNK_ITEMS or size + cost > CHUNK_BYTES):
            yield start, piece
            start, piece, size = start + len(piece), [], 0
        piece.append(text)
        size += cost
    if piece:
        yield start, piece


def _lines_of_stdin() -> list[str]:
    if sys.stdin.isatty():
        raise typer.BadParameter("give texts as arguments, or one a line on standard input")
    try:
        lines = sys.stdin.buffer.read().decode().splitlines()
    except UnicodeDecodeError as error:
        raise typer.BadParameter(f"standard input is not UTF-8: {error}") from None
    if not lines:
        raise typer.BadParameter("standard input is empty")
    return lines


def _answers(
    client: Client, model: str, texts: Sequence[str], deadline_ms: int | None
) -> Iterator[dict[str, msgspec.Raw]]:
    import msgspec

    from synapse_client.calls import DEADLINE_GRACE_S

    for start, chunk in chunks(texts):
        params: dict[str, Any] = {
            "model": model,
            "items": [{"id": str(start + index), "text": text} for index, text in enumerate(chunk)],
        }
        if deadline_ms is not None:
            params["deadline_ms"] = deadline_ms
        timeout_s = None if deadline_ms is None else deadline_ms / 1000 + DEADLINE_GRACE_S
        result = client.call_raw("embed.batch", params, timeout_s=timeout_s)
        yield msgspec.json.decode(result, type=dict[str, msgspec.Raw])


def _merged(answers: Iterator[dict[str, msgspec.Raw]]) -> dict[str, Any]:
    """Several answers as one. Numbers stay as the service wrote them."""
    import msgspec

    from synapse_cli.reporting import CommandError

    merged: dict[str, Any] = {}
    for answer in answers:
        if not merged:
            merged = {**answer, **{name: [] for name in _LISTS}}
        elif bytes(merged["fingerprint"]) != bytes(answer["fingerprint"]):
            raise CommandError(
                "fingerprint_changed",
                "The model was exchanged while its texts were embedded.",
                "Embed them again; vectors of two fingerprints can't be compared.",
            )
        for name in _LISTS:
            merged[name] += msgspec.json.decode(answer[name], type=list[msgspec.Raw])
    return merged
