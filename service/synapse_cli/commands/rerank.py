"""`synapse rerank`: how well some texts answer a query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from synapse_cli.commands.embed import lines_of_stdin
from synapse_cli.options import Home, Json

if TYPE_CHECKING:
    from synapse_client import Client, Ranking

CHUNK_BYTES: Final = 7168
"""A text has at most one token for each of its bytes, so requests of this size fit the inline budget."""
FRAME_BYTES: Final = 128
"""What stands around a query and a text has about so many tokens at most."""

_SHOWN_CHARS: Final = 60


def register(app: typer.Typer) -> None:
    app.command()(rerank)


def rerank(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What the texts should answer.")],
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT", help="Texts; without any, each line of stdin is one.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", metavar="MODEL_ID", help="Which model; needless when only one reranks."),
    ] = None,
    top: Annotated[int | None, typer.Option("--top", min=1, metavar="N", help="Show only the best.")] = None,
    home: Home = None,
    as_json: Json = False,
    deadline_ms: Annotated[
        int | None, typer.Option("--deadline-ms", min=1, help="Longest wait for each request, loading included.")
    ] = None,
) -> None:
    """Score texts against a query, and show the best first. A score is the model's own number, between 0 and 1.

    Any number of texts: the score of one doesn't depend on the others, so they are sent in several requests. With
    --json, the scores are in the order of the texts, as the service answers them, and --top has no effect.
    """
    from synapse_cli.model_choice import choose_model
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    given = texts or lines_of_stdin()
    with reporting(output, "rerank the texts"), open_client(home) as client:
        name = choose_model(client, None, "rerank")[0] if model is None else model
        pieces = list(chunks(query, given))
        answers: list[Ranking] = []
        with output.progress("Scoring", hidden=len(pieces) == 1) as progress:
            for start, piece in pieces:
                answers.append(_ask(client, name, query, start, piece, deadline_ms))
                _require_one_fingerprint(answers)
                progress.to(start + len(piece), len(given))
        if as_json:
            output.json(_merged(answers))
            return
        scores = [score for answer in answers for score in answer.scores]
        best = sorted(range(len(given)), key=lambda index: -scores[index])[:top]
        output.table(
            ["score", "text", ""], [[f"{scores[index]:.6f}", str(index), _short(given[index])] for index in best]
        )
        output.line(f"fingerprint {answers[0].fingerprint}")


def chunks(query: str, texts: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Pieces that one request can take, each with the index of its first text. A long text goes alone."""
    frame = FRAME_BYTES + _size(query)
    start, piece, size = 0, list[str](), 0
    for text in texts:
        cost = frame + _size(text)
        if piece and size + cost > CHUNK_BYTES:
            yield start, piece
            start, piece, size = start + len(piece), [], 0
        piece.append(text)
        size += cost
    if piece:
        yield start, piece


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _ask(client: Client, model: str, query: str, start: int, piece: Sequence[str], deadline_ms: int | None) -> Ranking:
    ids = [str(start + index) for index in range(len(piece))]
    return client.rerank(model, query, piece, ids=ids, deadline_ms=deadline_ms)


def _require_one_fingerprint(answers: Sequence[Ranking]) -> None:
    if answers[0].fingerprint != answers[-1].fingerprint:
        from synapse_cli.reporting import CommandError

        raise CommandError(
            "fingerprint_changed",
            "The model was exchanged while the texts were scored.",
            "Score them again; scores of two fingerprints can't be compared.",
        )


def _merged(answers: Sequence[Ranking]) -> dict[str, Any]:
    """Several answers as one, in the names of the wire."""
    first = answers[0]
    return {
        "fingerprint": first.fingerprint,
        "table_epoch": first.table_epoch,
        "dims": 0,
        "provenance": {"engine": first.engine},
        "module_generation": first.module_generation,
        "equivalent_to": first.equivalent_to,
        "scores": [
            {"id": name, "score": score}
            for answer in answers
            for name, score in zip(answer.ids, answer.scores, strict=True)
        ],
        "real_token_counts": [count for answer in answers for count in answer.token_counts],
        "truncation_disclosures": [each for answer in answers for each in answer.truncations],
    }


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARS else line[: _SHOWN_CHARS - 1] + "…"
