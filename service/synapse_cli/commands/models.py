"""`synapse models`: list, load, look at, unload; with what ``catalog`` adds to it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from synapse_cli.commands import catalog, storage
from synapse_cli.options import Home, Json, ModelId, Wait

if TYPE_CHECKING:
    from synapse_cli.output import Output
    from synapse_client.options import ModelOptions
    from synapse_wire.results import JobStatus, ModelRow


class Task(StrEnum):
    embed = "embed"
    rerank = "rerank"
    generate = "generate"


class Pooling(StrEnum):
    mean = "mean"
    cls = "cls"
    last = "last"


class Overlength(StrEnum):
    refuse = "refuse"
    truncate = "truncate"


def register(app: typer.Typer) -> None:
    models = typer.Typer(help="Install, load, look at and remove models.", invoke_without_command=True)
    models.callback()(default)
    models.command("list")(list_models)
    models.command()(load)
    models.command()(status)
    models.command()(unload)
    catalog.register(models)
    storage.register(models)
    app.add_typer(models, name="models")


def default(context: typer.Context, home: Home = None, as_json: Json = False) -> None:
    """Install, load, look at and remove models. Without a subcommand: list."""
    if context.invoked_subcommand is None:
        list_models(home, as_json)


def list_models(home: Home = None, as_json: Json = False) -> None:
    """List the models that the service knows."""
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    with reporting(output, "list the models"), open_client(home) as client:
        listing = client.models_list()
        if as_json:
            output.json(listing)
        elif listing.models:
            output.table(
                ["model", "task", "engine", "state", "dims", "max tokens", "dtype", "certified"],
                [_row(row) for row in listing.models],
            )
        else:
            output.line("No model is registered. `synapse models load --help` shows how to load one.")


def load(
    model_id: Annotated[str, typer.Argument(metavar="MODEL_ID", help="The id to give the model.")],
    folder: Annotated[
        Path,
        typer.Option(exists=True, file_okay=False, help="Holds model.safetensors, tokenizer.json, config.json."),
    ],
    task: Annotated[Task, typer.Option(help="What the model is for.")] = Task.embed,
    engine: Annotated[str, typer.Option(help="What computes it.")] = "owned-cpu",
    pooling: Annotated[Pooling | None, typer.Option(help="How token vectors become one.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Longest text in tokens.")] = None,
    normalize: Annotated[bool | None, typer.Option("--normalize/--no-normalize", help="Vectors of length 1.")] = None,
    overlength: Annotated[Overlength | None, typer.Option(help="What becomes of longer texts.")] = None,
    wait: Wait = True,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Register a model from a local folder and load it. Its files are copied; the folder may go afterwards."""
    from synapse_cli.jobs import wait as wait_for
    from synapse_cli.model_folder import describe
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    options: ModelOptions = {"source": "file"}
    if pooling is not None:
        options["pooling"] = pooling.value
    if max_tokens is not None:
        options["max_tokens"] = max_tokens
    if normalize is not None:
        options["normalize"] = normalize
    if overlength is not None:
        options["overlength"] = overlength.value
    with reporting(output, f"load {model_id}"), open_client(home) as client:
        files = describe(folder, output)
        accepted = client.model_load(model_id, task=task.value, engine=engine, files=files, **options)
        if wait:
            final = wait_for(client, output, accepted.job_id, f"Loading {model_id}")
            _finished(output, final, f"{model_id} is loaded. Next: `synapse probe start {model_id}`.")
        elif as_json:
            output.json(accepted)
        else:
            output.line(f"Job {accepted.job_id} is {accepted.state}.")


def status(
    model_id: Annotated[str | None, typer.Argument(metavar="MODEL_ID", help="The id of a model.")] = None,
    job: Annotated[str | None, typer.Option(metavar="JOB_ID", help="The id of a job, instead of a model's.")] = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Show one model, or one job."""
    from synapse_cli.jobs import show
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    if (model_id is None) == (job is None):
        raise typer.BadParameter("give a model id or --job, and not both")
    with reporting(output, "look at it"), open_client(home) as client:
        if model_id is not None:
            row = client.model_status(model_id)
            if as_json:
                output.json(row)
            else:
                output.line(f"{row.model_id} is {row.state}")
                output.facts(_facts(row))
        elif job is not None:
            show(output, client.job_status(job))


def unload(model_id: ModelId, home: Home = None, as_json: Json = False) -> None:
    """Take a model out of memory. It stays registered, and loads again when it is needed."""
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    with reporting(output, f"unload {model_id}"), open_client(home) as client:
        unloaded = client.model_unload(model_id)
        if as_json:
            output.json(unloaded)
        else:
            output.line(f"{unloaded.model_id} is {unloaded.state}.")


def _finished(output: Output, status: JobStatus, text: str) -> None:
    if output.as_json:
        output.json(status)
    else:
        output.line(text)


def _known(value: object) -> str:
    """A value of an optional member; absent ones are a dash."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, int | float | str) else "-"


def _row(row: ModelRow) -> list[str]:
    return [
        row.model_id,
        row.task,
        row.engine,
        row.state,
        _known(row.dims),
        str(row.max_tokens),
        row.dtype,
        _known(row.certified),
    ]


def _facts(row: ModelRow) -> list[tuple[str, str]]:
    facts = [
        ("task", row.task),
        ("engine", f"{row.engine}, {row.dtype}, on {row.device_class}"),
        ("fingerprint", row.fingerprint),
        ("dims", _known(row.dims)),
        ("longest text", f"{row.max_tokens} tokens, beyond that: {row.overlength}"),
        ("certified", _known(row.certified)),
    ]
    if isinstance(row.last_error, dict):
        facts.append(("last error", f"{row.last_error.get('code')}: {row.last_error.get('message')}"))
    return facts
