"""`synapse lanes`: what each lane is doing; load one, keep one loaded, and take the Neural Engine away for a while."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from synapse_cli.options import Home, Json

if TYPE_CHECKING:
    from synapse_wire.results import LaneRow

LaneId = Annotated[str, typer.Argument(metavar="LANE_ID", help="The id of a lane, as `synapse lanes` shows it.")]


def register(app: typer.Typer) -> None:
    lanes = typer.Typer(help="Look at lanes, load them, keep them loaded, pause them.", invoke_without_command=True)
    lanes.callback()(default)
    lanes.command("list")(list_lanes)
    lanes.command()(load)
    lanes.command("keep-warm")(keep_warm)
    lanes.command()(pause)
    lanes.command()(resume)
    lanes.command("status")(pause_status)
    app.add_typer(lanes, name="lanes")


def default(context: typer.Context, home: Home = None, as_json: Json = False) -> None:
    """Look at lanes, load them, keep them loaded, pause them. Without a subcommand: list."""
    if context.invoked_subcommand is None:
        list_lanes(home, as_json)


def list_lanes(home: Home = None, as_json: Json = False) -> None:
    """Show every lane: its state, its memory, how much it did and how fast, and who uses it."""
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    with reporting(output, "list the lanes"), open_client(home) as client:
        listing = client.lanes_list()
    if as_json:
        output.json(listing)
    elif listing.lanes:
        headings = ["lane", "task", "engine", "state", "memory", "done", "refused", "waiting", "p50", "p95", "used by"]
        output.table(headings, [_cells(lane) for lane in listing.lanes])
    else:
        output.line("There are no lanes. `synapse models catalog` shows what can be installed.")


def load(lane_id: LaneId, home: Home = None, as_json: Json = False) -> None:
    """Load a lane now, and wait until it is ready. Lanes also load by themselves when they are asked."""
    from synapse_cli import figures
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    with reporting(output, f"load {lane_id}"), open_client(home) as client:
        lane = client.lanes_load(lane_id)
    if as_json:
        output.json(lane)
    else:
        memory = f", in {figures.size(lane.rss_bytes)} of memory" if isinstance(lane.rss_bytes, int) else ""
        output.line(f"{lane_id} is {lane.state}{memory}.")


def keep_warm(
    lane_id: LaneId,
    off: Annotated[bool, typer.Option("--off", help="Let idleness unload it again.")] = False,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Let a lane stay loaded when nobody uses it. This holds until it is taken back, over restarts too."""
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    with reporting(output, f"keep {lane_id} warm"), open_client(home) as client:
        lane = client.lanes_keep_warm(lane_id, on=not off)
    if as_json:
        output.json(lane)
        return
    what = "stays loaded once it is loaded" if lane.keep_warm else "is unloaded when nobody uses it"
    output.line(f"{lane_id} {what}; now it is {lane.state}.")


def pause(
    minutes: Annotated[float, typer.Option(min=0.001, max=120, help="For how long, two hours at most.")],
    reason: Annotated[str, typer.Option(help="Why, for others to read.")],
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Take the Neural Engine away from all lanes that use it. `synapse lanes status` says when it is free."""
    from synapse_cli import pauses
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    with reporting(output, "pause the lanes"), open_client(home) as client:
        pauses.show(output, client.lanes_pause(minutes, reason=reason))


def resume(home: Home = None, as_json: Json = False) -> None:
    """Give the Neural Engine back before the time is over."""
    from synapse_cli import pauses
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    with reporting(output, "resume the lanes"), open_client(home) as client:
        pauses.show(output, client.lanes_resume())


def pause_status(home: Home = None, as_json: Json = False) -> None:
    """Show whether the Neural Engine is taken away, and whether it is free."""
    from synapse_cli import pauses
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    with reporting(output, "look at the pause"), open_client(home) as client:
        pauses.show(output, client.lanes_status())


def _cells(lane: LaneRow) -> list[str]:
    from synapse_cli import figures

    def milliseconds(value: object) -> str:
        if not isinstance(value, float | int):
            return "-"
        return f"{value:.0f} ms" if value >= 100 else f"{value:.3g} ms"

    state = lane.state + (", warm" if lane.keep_warm else "") + (", paused" if _is_set(lane.pause) else "")
    return [
        lane.lane_id,
        lane.task,
        lane.engine,
        state,
        figures.size(lane.rss_bytes) if isinstance(lane.rss_bytes, int) else "-",
        figures.count(lane.requests_done),
        figures.count(lane.requests_refused),
        figures.count(lane.waiting),
        milliseconds(lane.p50_ms),
        milliseconds(lane.p95_ms),
        ", ".join(lane.users) or "-",
    ]


def _is_set(value: object) -> bool:
    import msgspec

    return value is not msgspec.UNSET
