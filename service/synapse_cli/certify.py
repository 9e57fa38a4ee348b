"""`ckdev-synapse-certify`: proves a lane of the catalog on declared hardware, for those who make releases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from synapse_cli.options import program, start, version_option

app = program(
    "ckdev-synapse-certify",
    "Certify models of the catalog on declared hardware.",
    "Exit status: 0 certified, 1 not certified, 2 wrong usage, 130 interrupted.",
)


@app.callback()
def certify(
    _version: Annotated[bool, version_option("ckdev-synapse-certify")] = False,
) -> None:
    """Certify models of the catalog on declared hardware."""


@app.command("run")
def run_model(
    row: Annotated[str, typer.Option(metavar="ROW", help="The hardware, such as metal-m5 or cpu-x86_64.")],
    model: Annotated[str, typer.Option(metavar="CATALOG_ID", help="The model of the catalog.")],
    assets: Annotated[Path, typer.Option(exists=True, file_okay=False, help="Holds the figures of each model.")],
    checkout: Annotated[Path, typer.Option(exists=True, file_okay=False, help="Root of the source tree.")],
    mirror: Annotated[Path, typer.Option(exists=True, file_okay=False, help="Holds <hf_repo>/resolve/<revision>/.")],
    record: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Where the record goes; MODEL.ROW.json when absent.")
    ] = None,
    salt: Annotated[
        Path | None, typer.Option(dir_okay=False, help="The file with this machine's salt; made when it is missing.")
    ] = None,
    work: Annotated[
        Path | None, typer.Option(file_okay=False, help="Keep the service's home here, instead of removing it.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, errors included.")] = False,
    catalog: Annotated[Path | None, typer.Option(exists=True, dir_okay=False, hidden=True)] = None,
) -> None:
    """Certify one lane: download, compute every fixture, compare, and write a record.

    A service of its own is started for that, in a fresh home, with a mirror on loopback. Nothing is written when
    anything is wrong.
    """
    from synapse_cli.certification import machine as machines
    from synapse_cli.certification import record as records
    from synapse_cli.certification.procedure import Clocks, Request
    from synapse_cli.certification.procedure import certify as prove
    from synapse_cli.output import Output
    from synapse_cli.reporting import reporting

    output = Output(as_json)
    request = Request(row, model, assets, checkout, mirror, catalog, work)
    target = record or Path(f"{model}.{row}.json")
    with reporting(output, f"certify {model} as {row}"):
        salted = machines.read_salt(salt or machines.default_salt_file())
        found = prove(request, machines.this_machine(), salted, output.note, Clocks())
        records.write(found, target)
    if as_json:
        output.json({"record": str(target), "outcome": found.outcome, "figures": found.figures})
        return
    output.line(f"{found.subject.lane_id} is certified on {row}.")
    output.facts([(name.replace("_", " "), f"{value:.6g}") for name, value in found.figures.items()])
    output.line(f"The record is in {target}.")


def run() -> None:
    """The entry point of `ckdev-synapse-certify`."""
    start(app)
