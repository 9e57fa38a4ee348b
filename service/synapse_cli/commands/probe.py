"""`synapse probe`: measure and certify models on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from synapse_cli.options import Home, Json, ModelId, Wait

if TYPE_CHECKING:
    from synapse_cli.output import Output
    from synapse_wire.results import ProbeReport

_FIGURES: Final = ("cold_load_ms", "tokens_per_second", "latency_ms")


def register(app: typer.Typer) -> None:
    probe = typer.Typer(help="Measure and certify models on this machine.", no_args_is_help=True)
    probe.command()(start)
    probe.command()(status)
    probe.command()(report)
    app.add_typer(probe, name="probe")


def start(model_id: ModelId, wait: Wait = True, home: Home = None, as_json: Json = False) -> None:
    """Compare a model with the reference and measure it. A probe that is already under way is joined."""
    from synapse_cli.jobs import wait as wait_for
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    with reporting(output, f"probe {model_id}"), open_client(home) as client:
        accepted = client.probe_start(model_id)
        if wait:
            wait_for(client, output, accepted.job_id, f"Probing {model_id}")
            _show(output, client.probe_report(model_id))
        elif as_json:
            output.json(accepted)
        else:
            output.line(f"Job {accepted.job_id} is {accepted.state}.")


def status(
    job_id: Annotated[str, typer.Argument(metavar="JOB_ID", help="The id that `probe start` printed.")],
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Show how far a probe is."""
    from synapse_cli.jobs import show
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    with reporting(output, "look at the probe"), open_client(home) as client:
        show(output, client.probe_status(job_id))


def report(
    model_id: Annotated[str | None, typer.Argument(metavar="MODEL_ID", help="Only this model.")] = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Show what probes found on this machine."""
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    with reporting(output, "read the report"), open_client(home) as client:
        _show(output, client.probe_report(model_id), knobs=model_id is None)


def _show(output: Output, report: ProbeReport, *, knobs: bool = False) -> None:
    if output.as_json:
        output.json(report)
        return
    if not report.lanes:
        output.line("No model is registered.")
        return
    output.table(
        ["model", "task", "engine", "certification", "reason", "measured"],
        [
            [
                lane.model_id,
                lane.task,
                lane.engine,
                lane.certification_status,
                lane.blocking_reason if isinstance(lane.blocking_reason, str) else "-",
                _measured(lane.performance) if isinstance(lane.performance, dict) else "-",
            ]
            for lane in report.lanes
        ],
    )
    if knobs:
        _show_knobs(output, report)


def _show_knobs(output: Output, report: ProbeReport) -> None:
    output.line(f"The knob stands at {report.knob}. What each position recommends:")
    positions = report.knobs
    named = (("performance", positions.performance), ("balanced", positions.balanced), ("quiet", positions.quiet))
    rows = [[name, lanes.embed or "-", lanes.rerank or "-"] for name, lanes in named]
    output.table(["knob", "embed", "rerank"], rows)


def _measured(performance: dict[str, object]) -> str:
    shown = ", ".join(f"{name} {_figure(performance[name])}" for name in _FIGURES if name in performance)
    return f"{shown} (stale)" if performance.get("stale") else shown


def _figure(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
