"""`alias`: which fingerprints count as equivalent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from synapse_cli.operator.answers import moment, word
from synapse_cli.operator.session import Answer, session
from synapse_cli.output import Output

Left = Annotated[str, typer.Argument(metavar="LEFT", help="One fingerprint, as `models list` shows it.")]
Right = Annotated[str, typer.Argument(metavar="RIGHT", help="The other one. Their order has no meaning.")]
Evidence = Annotated[
    str | None, typer.Option(metavar="JSON", help="Why, as a JSON object; @FILE reads it from a file.")
]

ADVICE = {"substitution_rejected": "Run `synapse settings set alias_administration=true`, and off again afterwards."}


def register(app: typer.Typer) -> None:
    alias = typer.Typer(help="Which fingerprints count as equivalent.", no_args_is_help=True)
    alias.command()(declare)
    alias.command()(retract)
    alias.command()(check)
    alias.command("list")(list_pairs)
    app.add_typer(alias, name="alias")


def declare(context: typer.Context, left: Left, right: Right, evidence: Evidence = None) -> None:
    """Declare two fingerprints equivalent. Nothing changes if they are."""
    _change(context, "alias.declare", "declare the pair", left, right, evidence, "stands", "stood already")


def retract(context: typer.Context, left: Left, right: Right, evidence: Evidence = None) -> None:
    """Take a pair back, for what is asked from now on."""
    _change(context, "alias.retract", "retract the pair", left, right, evidence, "is retracted", "didn't stand")


def check(
    context: typer.Context,
    index: Annotated[str, typer.Argument(metavar="FINGERPRINT", help="What the index is kept under.")],
    others: Annotated[list[str] | None, typer.Argument(metavar="OTHERS", help="The fingerprints in it.")] = None,
) -> None:
    """Ask whether an index that holds vectors of several fingerprints may stay. Exits with 1 if it has to migrate."""

    def tell(output: Output, answer: Answer) -> None:
        if answer["status"] == "valid":
            output.line(f"The index is valid at epoch {answer['table_epoch']}.")
            return
        _, other = answer["retracted_pair"]
        output.line(f"The index has to migrate (epoch {answer['table_epoch']}): {other} is no equivalent.")
        output.line(f"Embed its texts again with {answer['rebuild_target']}.")

    with session(context, "check the index") as operator:
        answer = operator.run("aliases.check_index", tell, index_fingerprint=index, provenance_set=others or [])
    if answer["status"] != "valid":
        raise typer.Exit(1)


def list_pairs(context: typer.Context) -> None:
    """List the pairs that stand."""

    def tell(output: Output, answer: Answer) -> None:
        output.line(f"The table is at epoch {answer['table_epoch']}.")
        pairs = answer["aliases"]
        if pairs:
            rows = [
                [each["left"], each["right"], moment(each["declared_at_ms"]), word(each["evidence"])] for each in pairs
            ]
            output.table(["left", "right", "since", "evidence"], rows)

    with session(context, "list the pairs") as operator:
        answer, output = operator.ask("models.list"), operator.output
        if output.as_json:
            output.json({"table_epoch": answer["table_epoch"], "aliases": answer["aliases"]})
        else:
            tell(output, answer)


def _change(
    context: typer.Context, method: str, doing: str, left: str, right: str, evidence: str | None, did: str, was: str
) -> None:
    facts = _evidence(evidence)

    def tell(output: Output, answer: Answer) -> None:
        output.line(f"The pair {did if answer['changed'] else was}. The table is at epoch {answer['table_epoch']}.")

    with session(context, doing, advice=ADVICE) as operator:
        operator.run(method, tell, left=left, right=right, evidence=facts)


def _evidence(text: str | None) -> Any:
    if text is None:
        return None
    try:
        data = Path(text[1:]).read_bytes() if text.startswith("@") else text.encode()
        facts = msgspec.json.decode(data)
    except OSError as error:
        raise typer.BadParameter(f"{text[1:]} can't be read ({error.strerror})") from error
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise typer.BadParameter(f"the evidence is not JSON: {error}") from error
    if not isinstance(facts, dict):
        raise typer.BadParameter('the evidence must be a JSON object, such as {"mean_cosine": 0.9995}')
    return facts
