"""`models`: bring models in, take them out of memory, remove them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from synapse_cli.operator.answers import facts, table
from synapse_cli.operator.session import Answer, session
from synapse_cli.options import Wait
from synapse_cli.output import Output

ModelId = Annotated[str, typer.Argument(metavar="MODEL_ID", help="The id of a lane or a registered model.")]
CatalogId = Annotated[str, typer.Argument(metavar="CATALOG_ID", help="The id of a model of the catalog.")]
JobId = Annotated[str, typer.Argument(metavar="JOB_ID", help="The id of a job.")]


def register(app: typer.Typer) -> None:
    models = typer.Typer(help="Models and their files.", no_args_is_help=True)
    models.command("list")(list_models)
    models.command()(catalog)
    models.command()(load)
    models.command()(unload)
    models.command()(download)
    models.command()(cancel)
    models.command()(remove)
    app.add_typer(models, name="models")


def list_models(context: typer.Context) -> None:
    """List the lanes that exist, with their fingerprints."""
    columns = {
        "model": "model_id",
        "task": "task",
        "engine": "engine",
        "state": "state",
        "certified": "certified",
        "self-check": "self_check.state",
        "fingerprint": "fingerprint",
        "equivalent to": "equivalent_to",
    }
    with session(context, "list the models") as operator:
        operator.run(
            "models.list", lambda output, answer: table(output, answer["models"], columns, "No model is registered.")
        )


def catalog(context: typer.Context) -> None:
    """List the models that can be installed."""
    columns = {"model": "id", "task": "task", "state": "install_state", "revision": "upstream.revision"}
    with session(context, "list the catalog") as operator:
        operator.run(
            "models.catalog", lambda output, answer: table(output, answer["models"], columns, "The catalog is empty.")
        )


def load(
    context: typer.Context,
    manifest: Annotated[str, typer.Argument(metavar="FILE", help="The parameters of model.load as JSON; - is stdin.")],
    wait: Wait = True,
) -> None:
    """Register a free-form model from its manifest."""
    params = _manifest(manifest)
    with session(context, "load the model") as operator:
        if not wait:
            operator.run("model.load", _accepted, **params)
            return
        accepted = operator.ask("model.load", **params)
        final = operator.client.wait_job(accepted["job_id"])
        if operator.output.as_json:
            operator.output.json(final)
        else:
            operator.output.line(f"{accepted['model_id']} is registered. Certify it with `probe start`.")


def unload(context: typer.Context, model_id: ModelId) -> None:
    """End a lane's worker. The lane stays, and loads again when it is asked."""
    with session(context, f"unload {model_id}") as operator:
        operator.run(
            "model.unload", lambda output, answer: output.line(f"{model_id} is {answer['state']}."), model_id=model_id
        )


def download(context: typer.Context, catalog_id: CatalogId, wait: Wait = True) -> None:
    """Install a model of the catalog."""
    with session(context, f"download {catalog_id}") as operator:
        if not wait:
            operator.run("models.download", _download, catalog_id=catalog_id)
            return
        started = operator.ask("models.download", catalog_id=catalog_id)
        final = operator.client.wait_download(started["job_id"])
        if operator.output.as_json:
            operator.output.json(final)
        else:
            operator.output.line(f"{catalog_id} is installed.")


def cancel(context: typer.Context, job_id: JobId) -> None:
    """End a download, for everyone who waits for it."""
    with session(context, f"cancel {job_id}") as operator:
        operator.run("models.download.cancel", _download, job_id=job_id)


def remove(context: typer.Context, catalog_id: CatalogId) -> None:
    """Remove a model of the catalog and the files that nothing else needs."""
    with session(context, f"remove {catalog_id}") as operator:
        names = {"manifests": "removed_manifests", "bytes freed": "freed_bytes"}

        def tell(output: Output, answer: Answer) -> None:
            gone = "is removed" if answer["removed_manifests"] else "was not installed"
            output.line(f"{catalog_id} {gone}.")
            facts(output, answer, names)

        operator.run("models.remove", tell, catalog_id=catalog_id)


def _accepted(output: Output, answer: Answer) -> None:
    output.line(f"Job {answer['job_id']} is {answer['state']}.")


def _download(output: Output, answer: Answer) -> None:
    output.line(f"Download {answer['job_id']} is {answer['state']}.")


def _manifest(path: str) -> dict[str, Any]:
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        manifest = msgspec.json.decode(data)
    except OSError as error:
        raise typer.BadParameter(f"{path} can't be read ({error.strerror})") from error
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise typer.BadParameter(f"{path} is not JSON: {error}") from error
    if not isinstance(manifest, dict):
        raise typer.BadParameter(f"{path} must hold a JSON object, the parameters of model.load")
    return manifest
