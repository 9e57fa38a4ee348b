"""`synapse demo`: see it work, with a real model on real texts."""

from __future__ import annotations

import time
from contextlib import contextmanager
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated, Final

import typer

from synapse_cli.options import Home

if TYPE_CHECKING:
    from collections.abc import Iterator

    from synapse_cli.output import Output
    from synapse_client import Client


WIDTH: Final = 90
"""Longest answer; with its score it fits a terminal of a hundred columns."""


def register(app: typer.Typer) -> None:
    app.command()(demo)


def demo(
    question: Annotated[
        list[str] | None, typer.Option("--ask", metavar="QUESTION", help="Ask this instead; may be given again.")
    ] = None,
    load_only: Annotated[
        bool, typer.Option("--load-only", help="Only load and probe the model, in the service that runs.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="Search in N passages only, from everywhere.")
    ] = None,
    home: Home = None,
) -> None:
    """Start a service in a fresh home, embed the docstrings of Python's standard library, and search in them.

    With --load-only nothing is started: the model is loaded and probed in the service of --home, and its id is the
    last line that is printed.
    """
    from synapse_cli import demo as steps
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json=False)
    with reporting(output, "run the demonstration"):
        if load_only:
            with open_client(home) as client:
                _prepare(client, output)
                output.line(steps.MODEL_ID)
        else:
            with steps.fresh_service() as (fresh_home, seconds), open_client(fresh_home) as client:
                _took(output, seconds, "started the service")
                _search(client, output, question or list(steps.QUESTIONS), limit)
            _how_to_go_on(output)


def _search(client: Client, output: Output, questions: list[str], limit: int | None) -> None:
    from synapse_cli import demo as steps
    from synapse_cli.docstrings import standard_library
    from synapse_cli.figures import count

    _prepare(client, output)
    with _timed(output, "read the docstrings of the standard library"):
        passages = standard_library()
    if limit is not None and limit < len(passages):
        passages = passages[:: len(passages) // limit][:limit]
    what = f"{count(len(passages))} passages"
    with (
        _timed(output, f"embedded {what}"),
        output.progress(f"Embedding {what}", unit="passages", brief=True) as progress,
    ):
        matrix, fingerprint = steps.embed_passages(
            client, passages, lambda state: progress.to(state.received, len(passages))
        )
    with _timed(output, f"answered {len(questions)} question{'s' if len(questions) > 1 else ''}"):
        answers = [steps.ask(client, question, passages, matrix) for question in questions]
    for question, found in zip(questions, answers, strict=True):
        output.line()
        output.line(question)
        for answer in found:
            about = f"{answer.passage.name}: {answer.passage.summary}"
            output.line(f"  {answer.score:.3f}  {shorten(about, WIDTH, placeholder=' ...')}")
    output.line()
    output.line(f"Fingerprint of these vectors: {fingerprint}")
    output.line("Keep it with an index; another fingerprint is another vector space.")


def _prepare(client: Client, output: Output) -> None:
    from synapse_cli import demo as steps

    with _timed(output, f"loaded {steps.MODEL_ID}"), output.progress("Loading the model", brief=True) as progress:
        steps.load_model(client, lambda status: progress.to(status.items_done, status.items_total))
    label = "Proving its numbers against the reference"
    with _timed(output, "proved its numbers on this machine"), output.progress(label, brief=True) as progress:
        steps.probe_model(client, lambda status: progress.to(status.items_done, status.items_total))


def _how_to_go_on(output: Output) -> None:
    output.line()
    output.line("To go on:")
    output.facts(
        [
            ("synapse serve --cpu-lanes", "run the service for your own apps"),
            ("synapse demo --load-only", "load this model into it"),
            ("synapse embed 'some text'", "embed from the command line"),
            ("synapse embed --file notes.jsonl --out notes.npy", "embed any number of texts"),
            ("docs/for-local-apps.md", "use it from your own program"),
        ]
    )


@contextmanager
def _timed(output: Output, what: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    _took(output, time.monotonic() - began, what)


def _took(output: Output, seconds: float, what: str) -> None:
    output.line(f"{seconds:7.1f} s  {what}")
