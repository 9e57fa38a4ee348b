"""`lanes` and `service`: look at the lanes, take hardware away for a while, and give it back."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from synapse_cli.operator.answers import moment, table, word
from synapse_cli.operator.session import TRY_LATER, Answer, session
from synapse_cli.output import Output

Minutes = Annotated[float, typer.Option(min=0.001, max=120, help="For how long, two hours at most.")]
Reason = Annotated[str, typer.Option(help="Why, for others to read.")]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until the hardware is free.")]

MINUTE_MS: Final = 60_000
SETTLED: Final = ("paused", "drain_failed", "running", "waiting_for_lock")
"""Phases in which draining is over, one way or the other."""


def register(app: typer.Typer) -> None:
    lanes = typer.Typer(help="Lanes, and taking the Neural Engine away from them.", no_args_is_help=True)
    lanes.command("list")(list_lanes)
    lanes.command()(load)
    lanes.command()(keep_warm)
    lanes.command()(pause)
    lanes.command()(resume)
    lanes.command()(status)
    app.add_typer(lanes, name="lanes")
    service = typer.Typer(help="The whole service.", no_args_is_help=True)
    service.command("pause")(pause_service)
    service.command("resume")(resume_service)
    app.add_typer(service, name="service")


def list_lanes(context: typer.Context) -> None:
    """List every lane with its state, its load and who uses it."""
    columns = {
        "lane": "lane_id",
        "task": "task",
        "engine": "engine",
        "state": "state",
        "running": "in_flight",
        "waiting": "waiting",
        "done": "requests_done",
        "refused": "requests_refused",
        "p95 ms": "p95_ms",
        "used by": "users",
    }
    with session(context, "list the lanes") as operator:
        operator.run("lanes.list", lambda output, answer: table(output, answer["lanes"], columns, "There is no lane."))


def load(context: typer.Context, lane_id: Annotated[str, typer.Argument(metavar="LANE_ID")]) -> None:
    """Load a lane now, instead of with its first request."""
    with session(context, f"load {lane_id}") as operator:
        operator.run(
            "lanes.load", lambda output, answer: output.line(f"{lane_id} is {answer['state']}."), lane_id=lane_id
        )


def keep_warm(
    context: typer.Context,
    lane_id: Annotated[str, typer.Argument(metavar="LANE_ID")],
    off: Annotated[bool, typer.Option("--off", help="Let it unload when idle again.")] = False,
) -> None:
    """Keep a lane loaded when nobody uses it."""

    def tell(output: Output, answer: Answer) -> None:
        stays = "stays loaded" if answer["keep_warm"] else "unloads when it is idle"
        output.line(f"{lane_id} {stays}; it is {answer['state']}.")

    with session(context, f"keep {lane_id} warm") as operator:
        operator.run("lanes.keep_warm", tell, lane_id=lane_id, on=not off)


def pause(context: typer.Context, minutes: Minutes, reason: Reason, wait: Wait = False) -> None:
    """Take the Neural Engine away from all lanes that use it. Others go on serving.

    With --wait: exits with 0 once the hardware is free, and with 4 when it could not be freed.
    """
    with session(context, "pause the lanes") as operator:
        params = {"scope": "neural_engine", "duration_ms": round(minutes * MINUTE_MS), "reason": reason}
        if not wait:
            operator.run("lanes.pause", _tell, **params)
            return
        operator.ask("lanes.pause", **params)
        answer = operator.until("lanes.status", lambda answer: answer["phase"] in SETTLED, minutes * 60)
        if operator.output.as_json:
            operator.output.json(answer)
        else:
            _tell(operator.output, answer)
        if not answer["hardware_free"]:
            raise typer.Exit(TRY_LATER)


def resume(context: typer.Context) -> None:
    """Give the Neural Engine back before the time is over."""
    with session(context, "resume the lanes") as operator:
        operator.run("lanes.resume", _tell)


def status(context: typer.Context) -> None:
    """Show whether lanes are paused, and whether the hardware is free."""
    with session(context, "look at the pause") as operator:
        operator.run("lanes.status", _tell)


def pause_service(
    context: typer.Context,
    reason: Reason,
    minutes: Annotated[float | None, typer.Option(min=0.001, help="For how long; absent, until resumed.")] = None,
) -> None:
    """Pause every local lane: running work ends, and memory is given back."""
    with session(context, "pause the service") as operator:
        until_resumed = True if minutes is None else None
        duration_ms = None if minutes is None else round(minutes * MINUTE_MS)
        operator.run("service.pause", _tell, duration_ms=duration_ms, until_resumed=until_resumed, reason=reason)


def resume_service(context: typer.Context) -> None:
    """End a pause of the whole service."""
    with session(context, "resume the service") as operator:
        operator.run("service.resume", _tell)


def _tell(output: Output, answer: Answer) -> None:
    if answer["phase"] == "running":
        output.line("Nothing is paused.")
        return
    free = "the hardware is free" if answer["hardware_free"] else "the hardware is NOT free"
    output.line(f"{answer['phase'].replace('_', ' ')}: {free}")
    facts = [("reason", word(answer.get("reason"))), ("until", moment(answer.get("paused_until_ms")))]
    facts.append(("lanes", word(answer["lane_ids"])))
    error = answer.get("drain_error")
    if isinstance(error, dict):
        facts.append(("failed at", f"{error['stage']} of {error['lane_id'] or 'the global lock'}"))
        facts.append(("why", f"{error['code']}: {error['message']}"))
    output.facts(facts)
    if not answer["hardware_free"]:
        output.line("Don't start a measurement: `lanes status` says when the hardware is free.")
