"""`probe`, `jobs`, `admission` and `cache`: certify lanes, look after jobs, and look after files."""

from __future__ import annotations

from typing import Annotated

import typer

from synapse_cli.operator.answers import facts, table
from synapse_cli.operator.models import JobId, ModelId
from synapse_cli.operator.session import Answer, session
from synapse_cli.options import Wait
from synapse_cli.output import Output


def register(app: typer.Typer) -> None:
    probe = typer.Typer(help="Certification of lanes on this machine.", no_args_is_help=True)
    probe.command("start")(start_probe)
    probe.command("status")(probe_status)
    probe.command("report")(report)
    app.add_typer(probe, name="probe")
    jobs = typer.Typer(help="Durable jobs.", no_args_is_help=True)
    jobs.command("list")(list_jobs)
    jobs.command("resume")(resume_job)
    jobs.command("cancel")(cancel_job)
    app.add_typer(jobs, name="jobs")
    admission = typer.Typer(help="How busy the service is.", no_args_is_help=True)
    admission.command("status")(admission_status)
    app.add_typer(admission, name="admission")
    cache = typer.Typer(help="Stored files.", no_args_is_help=True)
    cache.command("pin")(pin)
    cache.command("gc")(collect)
    app.add_typer(cache, name="cache")


def start_probe(context: typer.Context, model_id: ModelId, wait: Wait = True) -> None:
    """Compare a lane with the reference and measure it. A probe that is under way is joined."""
    with session(context, f"probe {model_id}") as operator:
        if not wait:
            operator.run("probe.start", _job, model_id=model_id)
            return
        accepted = operator.ask("probe.start", model_id=model_id)
        operator.client.wait_job(accepted["job_id"])
        operator.run("probe.report", _report, model_id=model_id)


def probe_status(context: typer.Context, job_id: JobId) -> None:
    """Show how far a probe is."""
    with session(context, "look at the probe") as operator:
        operator.run("probe.status", _job, job_id=job_id)


def report(context: typer.Context, model_id: Annotated[str | None, typer.Argument(metavar="MODEL_ID")] = None) -> None:
    """Show what was proven and measured on this machine."""
    with session(context, "read the report") as operator:
        operator.run("probe.report", _report, model_id=model_id)


def list_jobs(context: typer.Context) -> None:
    """List the jobs that are kept, the newest first."""
    columns = {
        "job": "job_id",
        "kind": "kind",
        "state": "state",
        "done": "items_done",
        "of": "items_total",
        "model": "model_id",
        "error": "error.code",
    }
    with session(context, "list the jobs") as operator:
        operator.run("jobs.list", lambda output, answer: table(output, answer["jobs"], columns, "There is no job."))


def resume_job(context: typer.Context, job_id: JobId) -> None:
    """Take up a job that waits for a credential, after the credential was renewed."""
    with session(context, f"resume {job_id}") as operator:
        operator.run("job.resume", _job, job_id=job_id)


def cancel_job(context: typer.Context, job_id: JobId) -> None:
    """End a job. What it has committed stays readable."""
    with session(context, f"cancel {job_id}") as operator:
        operator.run("jobs.cancel", _job, job_id=job_id)


def admission_status(context: typer.Context) -> None:
    """Show queues, certification and the fate of jobs."""
    names = {
        "interactive waiting": "queues.interactive",
        "bulk waiting": "queues.bulk",
        "knob": "knob",
        "lanes": "catalog_lanes",
        "certified": "certified_lanes",
        "stale certifications": "certification_stale",
        "jobs open": "jobs_open",
        "jobs completed": "jobs_completed",
        "jobs failed": "jobs_failed",
        "jobs inherited": "jobs_inherited",
    }
    columns = {
        "loaded lane": "lane_id",
        "in time": "meeting_deadlines",
        "delay ms": "start_delay_ms",
        "waiting": "waiters",
        "running": "in_flight",
    }

    def tell(output: Output, answer: Answer) -> None:
        facts(output, answer, names)
        table(output, answer["lanes"], columns, "No lane is loaded.")

    with session(context, "look at the admission") as operator:
        operator.run("admission.status", tell)


def pin(
    context: typer.Context,
    model: Annotated[str | None, typer.Option(metavar="MODEL_ID", help="A registered model.")] = None,
    catalog: Annotated[str | None, typer.Option(metavar="CATALOG_ID", help="A model of the catalog.")] = None,
    off: Annotated[bool, typer.Option("--off", help="Let go of the files again.")] = False,
    owner: Annotated[str | None, typer.Option(help="In whose name; nobody else's pin is touched.")] = None,
) -> None:
    """Keep the files of a model, whatever else becomes of it. Give --model or --catalog."""
    with session(context, "pin the files") as operator:
        operator.run(
            "cache.pin",
            lambda output, answer: table(
                output, answer["pins"], {"owner": "owner", "file": "blob"}, "Nobody keeps the files."
            ),
            model_id=model,
            catalog_id=catalog,
            pinned=not off,
            owner=owner,
        )


def collect(
    context: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
) -> None:
    """Remove the files that nobody needs."""

    def tell(output: Output, answer: Answer) -> None:
        would = "would go" if dry_run else "are gone"
        output.line(f"{len(answer['unlinked'])} files {would}, {answer['freed_bytes']} bytes.")
        table(output, answer["kept"], {"kept": "blob", "held by": "holders"}, "No file is left.")

    with session(context, "collect the files") as operator:
        operator.run("cache.gc", tell, dry_run=dry_run or None)


def _job(output: Output, answer: Answer) -> None:
    output.line(f"Job {answer['job_id']} is {answer['state']}.")
    names = {"done": "items_done", "of": "items_total", "error": "error.code", "because": "error.message"}
    facts(output, answer, names)


def _report(output: Output, answer: Answer) -> None:
    columns = {
        "model": "model_id",
        "engine": "engine",
        "certification": "certification_status",
        "because": "blocking_reason",
        "self-check": "self_check.state",
    }
    table(output, answer["lanes"], columns, "No lane is known.")
