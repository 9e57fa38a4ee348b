"""`synapse embed`: vectors of some texts, or with ``--file`` of any number of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from synapse_cli.options import Home, Json

if TYPE_CHECKING:
    import msgspec

    from synapse_cli.output import Output
    from synapse_cli.reporting import CommandError
    from synapse_client import Client

CHUNK_ITEMS: Final = 64
CHUNK_BYTES: Final = 7168
"""A text has at most one token for each of its bytes and two more, so chunks of these sizes fit the inline budget."""

_LISTS: Final = ("vectors", "real_token_counts", "truncation_disclosures")
_SHOWN_NUMBERS: Final = 4


def register(app: typer.Typer) -> None:
    app.command()(embed)


def embed(
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT", help="Texts; without any, each line of stdin is one.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", metavar="MODEL_ID", help="Which model; needless when only one embeds."),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            metavar="FILE",
            help="Embed the texts of this file instead, one JSON value a line; - is stdin. Needs --out.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", dir_okay=False, help="Where to: a .npy, .jsonl or .parquet file."),
    ] = None,
    text_field: Annotated[
        str, typer.Option("--field", metavar="NAME", help="In --file, the member of an object that holds the text.")
    ] = "text",
    id_field: Annotated[
        str, typer.Option("--id-field", metavar="NAME", help="In --file, the member of an object that holds its id.")
    ] = "id",
    request_key: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="Names the work of --file; derived from the file and the model by default."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace --out if it exists.")] = False,
    home: Home = None,
    as_json: Json = False,
    deadline_ms: Annotated[
        int | None, typer.Option("--deadline-ms", min=1, help="Longest wait for each request, loading included.")
    ] = None,
) -> None:
    """Embed texts. With --json, prints what the service answers, the vectors as JSON numbers.

    With --file, any number of texts: each line is a JSON string, or an object with an id and a text. A .npy file has
    its rows in the order of the texts and their ids in <out>.ids.jsonl; the other formats go by id. The fingerprint of
    the vectors is in <out>.json. The work is done by jobs that survive this command, the connection and the service:
    when it was interrupted, by whatever, run the same command again. It reads what is computed, and only the rest is
    computed.
    """
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    if file is not None or out is not None:
        from synapse_cli.embed_file import Order, embed_file

        if file is None or out is None or texts:
            raise typer.BadParameter("--file and --out belong together, without texts on the command line")
        _check_files(file, out)
        source = None if str(file) == "-" else file
        order = Order(source, out, model, request_key, text_field, id_field, overwrite, deadline_ms)
        with reporting(output, f"embed {order.name}"), open_client(home) as client:
            embed_file(client, output, order)
        return
    if request_key is not None or overwrite:
        raise typer.BadParameter("--request-key and --overwrite belong to --file")
    given = texts or lines_of_stdin()
    with reporting(output, "embed the texts"), open_client(home) as client:
        _embed(client, output, model, given, deadline_ms)


def _check_files(file: Path, out: Path) -> None:
    from synapse_cli.vector_files import SUFFIXES, OutputFiles

    if str(file) != "-" and (file.is_dir() or not file.exists()):
        raise typer.BadParameter(f"there is no file {file}")
    if out.suffix not in SUFFIXES:
        raise typer.BadParameter(f"--out names a file that ends in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}")
    if not out.absolute().parent.is_dir():
        raise typer.BadParameter(f"the folder {out.parent} doesn't exist")
    written = OutputFiles(out, overwrite=False).paths
    if any(path.exists() and file.exists() and path.samefile(file) for path in written):
        raise typer.BadParameter(f"{file} would be overwritten")


def _embed(client: Client, output: Output, model: str | None, given: Sequence[str], deadline_ms: int | None) -> None:
    from synapse_cli.model_choice import choose_model

    name = choose_model(client, None)[0] if model is None else model
    if output.as_json:
        output.json(_merged(_answers(client, name, given, deadline_ms)))
        return
    pieces = list(chunks(given))
    with output.progress("Embedding", hidden=len(pieces) == 1) as progress:
        rows: list[list[str]] = []
        fingerprint = ""
        for start, chunk in pieces:
            ids = [str(start + index) for index in range(len(chunk))]
            answer = client.embed_batch(name, chunk, ids=ids, deadline_ms=deadline_ms)
            if fingerprint not in ("", answer.fingerprint):
                raise _model_exchanged()
            fingerprint = answer.fingerprint
            for item, vector, tokens in zip(answer.ids, answer.vectors, answer.token_counts, strict=True):
                rows.append([item, str(tokens), " ".join(f"{value:+.6f}" for value in vector[:_SHOWN_NUMBERS])])
            progress.to(start + len(chunk), len(given))
    output.table(["text", "tokens", f"first {_SHOWN_NUMBERS} of {answer.dims} numbers"], rows)
    output.line(f"fingerprint {fingerprint}")


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


def lines_of_stdin() -> list[str]:
    """Each line of standard input as a text; a usage error if there is none."""
    if sys.stdin.isatty():
        raise typer.BadParameter("give texts as arguments, or one a line on standard input")
    try:
        text = sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise typer.BadParameter(f"standard input is not UTF-8: {error}") from None
    if not text:
        raise typer.BadParameter("standard input is empty")
    # Not splitlines, which also cuts a text at a form feed and at separators that Unicode has for use inside of texts.
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


def _answers(
    client: Client, model: str, texts: Sequence[str], deadline_ms: int | None
) -> Iterator[dict[str, msgspec.Raw]]:
    import msgspec

    from synapse_client import BatchDiverted
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
        answer = msgspec.json.decode(result, type=dict[str, msgspec.Raw])
        if "job" in answer:
            raise BatchDiverted(msgspec.json.decode(answer["job"])["job_id"])
        yield answer


def _merged(answers: Iterator[dict[str, msgspec.Raw]]) -> dict[str, Any]:
    """Several answers as one. Numbers stay as the service wrote them."""
    import msgspec

    merged: dict[str, Any] = {}
    for answer in answers:
        if not merged:
            merged = {**answer, **{name: [] for name in _LISTS}}
        elif bytes(merged["fingerprint"]) != bytes(answer["fingerprint"]):
            raise _model_exchanged()
        for name in _LISTS:
            merged[name] += msgspec.json.decode(answer[name], type=list[msgspec.Raw])
    return merged


def _model_exchanged() -> CommandError:
    from synapse_cli.reporting import CommandError

    return CommandError(
        "fingerprint_changed",
        "The model was exchanged while its texts were embedded.",
        "Embed them again; vectors of two fingerprints can't be compared.",
    )
