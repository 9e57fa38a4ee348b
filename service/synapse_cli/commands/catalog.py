"""The part of `synapse models` about the catalog and the disk: catalog, download, cancel, remove, pin, gc, usage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from synapse_cli.options import Home, Json, Wait

if TYPE_CHECKING:
    from synapse_cli.output import Output
    from synapse_wire.results import CacheUsage, CatalogModel

CatalogId = Annotated[
    str, typer.Argument(metavar="CATALOG_ID", help="The id of a model, as `synapse models catalog` shows it.")
]


def register(models: typer.Typer) -> None:
    models.command()(catalog)
    models.command()(download)
    models.command()(cancel)
    models.command()(remove)
    models.command()(pin)
    models.command()(gc)
    models.command()(usage)


def catalog(
    query: Annotated[str | None, typer.Argument(metavar="TEXT", help="Only models with this text.")] = None,
    task: Annotated[str | None, typer.Option(help="Only models for this task: embed or rerank.")] = None,
    here: Annotated[bool, typer.Option("--here", help="Only models that this machine can run.")] = False,
    installed: Annotated[bool, typer.Option("--installed", help="Only models that are installed.")] = False,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """List the models that can be installed."""
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    with reporting(output, "list the catalog"), open_client(home) as client:
        found = client.models_catalog(query, task=task, runnable_here=here or None, installed=installed or None)
    if as_json:
        output.json(found)
        return
    output.table(["model", "task", "size", "runs on", "state"], [_row(row) for row in found.models])
    if not any(backend.runnable for row in found.models for backend in row.backends):
        output.line("Nothing here can run on this machine; `synapse doctor` says why.")


def download(
    catalog_id: CatalogId,
    wait: Wait = True,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Install a model of the catalog. What is here already isn't fetched again."""
    from synapse_cli import downloads
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    with reporting(output, f"download {catalog_id}"), open_client(home) as client:
        status = client.models_download(catalog_id)
        if wait:
            status = downloads.wait(client, output, status.job_id, f"Downloading {catalog_id}")
    if as_json:
        output.json(status)
    elif status.state == "committed":
        output.line(f"{catalog_id} is installed.")
    else:
        output.line(f"Download {status.job_id} is {status.state}. `synapse jobs wait {status.job_id}` waits for it.")


def cancel(
    wanted: Annotated[str, typer.Argument(metavar="JOB_ID", help="The id of a download, or of its model.")],
    home: Home = None,
    as_json: Json = False,
) -> None:
    """End a download, for everyone who waits for it."""
    from synapse_cli import downloads
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    with reporting(output, f"cancel {wanted}"), open_client(home) as client:
        row = downloads.running(client, wanted)
        downloads.show_cancelled(output, client.models_download_cancel(wanted if row is None else row.job_id))


def remove(catalog_id: CatalogId, home: Home = None, as_json: Json = False) -> None:
    """Remove a model of the catalog and the files that nothing else needs."""
    from synapse_cli import figures
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    with reporting(output, f"remove {catalog_id}"), open_client(home) as client:
        removed = client.models_remove(catalog_id)
    if as_json:
        output.json(removed)
    elif removed.removed_manifests:
        output.line(f"{catalog_id} is removed; {figures.size(removed.freed_bytes)} are free again.")
    else:
        output.line(f"{catalog_id} was not installed.")


def pin(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The id of a registered or installed model.")],
    off: Annotated[bool, typer.Option("--off", help="Let go of them again.")] = False,
    owner: Annotated[str | None, typer.Option(help="In whose name; others can't undo it.")] = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Keep the files of a model, even when the model is removed."""
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    with reporting(output, f"pin {model}"), open_client(home) as client:
        of_catalog = any(row.id == model for row in client.models_catalog().models)
        ids = {"catalog_id": model} if of_catalog else {"model_id": model}
        pins = client.cache_pin(**ids, pinned=not off, owner=owner).pins
    if as_json:
        output.json({"pins": pins})
        return
    owners = ", ".join(sorted({each.owner for each in pins}))
    output.line(f"The files of {model} are kept for {owners}." if pins else f"Nobody keeps the files of {model}.")


def gc(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Remove the files that nobody needs."""
    from synapse_cli import figures
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    with reporting(output, "collect files"), open_client(home) as client:
        collected = client.cache_gc(dry_run=dry_run)
    if as_json:
        output.json(collected)
        return
    files = f"{len(collected.unlinked)} files" if len(collected.unlinked) != 1 else "1 file"
    would = "would go, and give back" if dry_run else "removed, which gives back"
    output.line(f"{files} {would} {figures.size(collected.freed_bytes)}. {len(collected.kept)} are needed.")


def usage(home: Home = None, as_json: Json = False) -> None:
    """Show what the models take on the disk, and what removing each of them would give back."""
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    with reporting(output, "look at the disk"), open_client(home) as client:
        found = client.cache_usage()
    if as_json:
        output.json(found)
    else:
        _report(output, found)


def _report(output: Output, found: CacheUsage) -> None:
    from synapse_cli.figures import size

    output.line(f"Models in {found.path}")
    output.facts(
        [
            ("used", size(found.used_bytes)),
            ("needed by nobody", f"{size(found.reclaimable_bytes)}; `synapse models gc` removes it"),
            ("arriving", size(found.arriving_bytes)),
            ("free on this disk", size(found.free_bytes)),
        ]
    )
    if found.models:
        output.table(
            ["model", "used", "shared", "reclaimable", "pinned"],
            [
                [
                    str(row.catalog_id if isinstance(row.catalog_id, str) else row.model_id),
                    size(row.used_bytes),
                    size(row.shared_bytes),
                    size(row.reclaimable_bytes),
                    "yes" if row.pinned else "no",
                ]
                for row in found.models
            ],
        )
    if found.used_bytes > found.limit_bytes:
        output.line(f"That is more than the {size(found.limit_bytes)} of the setting cache_max_bytes; remove a model.")


def _row(row: CatalogModel) -> list[str]:
    from synapse_cli.figures import size

    runnable = [backend.backend for backend in row.backends if backend.runnable]
    return [
        row.id,
        row.task,
        size(row.download_bytes) if row.download_bytes else "-",
        ", ".join(runnable) or "-",
        row.install_state.replace("_", " "),
    ]
