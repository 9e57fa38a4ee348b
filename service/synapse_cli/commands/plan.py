"""`synapse plan`: what would come of a file of models, without calling any of them.

Reads the named files, and the catalogue of models that ships, and nothing else: no server is asked, no secret is
fetched, no service has to run.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from synapse_cli import exits
from synapse_cli.options import Json

if TYPE_CHECKING:
    from synapse_cli.output import Output
    from synapse_models.declaration import Declarations
    from synapse_models.leaf_view import LeafView
    from synapse_models.parts import JSONValue
    from synapse_models.plans import ReconcileResult
    from synapse_models.yaml_loader import Problem


_EXAMPLE_WIDTH = 40


def register(app: typer.Typer) -> None:
    app.command()(plan)


def plan(
    models: Annotated[
        Path, typer.Argument(metavar="MODELS_YAML", exists=True, dir_okay=False, help="Declares the models.")
    ],
    profiles: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="Facts of your own about models; they go before ours."),
    ] = None,
    show_leaves: Annotated[
        bool, typer.Option("--leaves", help="Also show where each part of a request would go, or why it would not.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show what a file of models can and can't do. Exits with 1 when something in it can't work.

    For every model: which capabilities it has, what is still to be checked, and what to change where something
    doesn't fit. Nothing is called.
    """
    from synapse_cli.output import Output
    from synapse_models.declaration import read_declarations
    from synapse_models.planning import leaves, profile_notes
    from synapse_models.planning import plan as reconciled
    from synapse_models.profiles.loading import read_profiles, shipped
    from synapse_models.yaml_loader import DocumentError

    output = Output(as_json)
    catalogue = shipped()
    reading = models
    try:
        if profiles is not None:
            reading = profiles
            catalogue = catalogue.under(read_profiles(profiles.read_bytes(), "user"))
            reading = models
        declarations = read_declarations(models.read_bytes())
    except DocumentError as error:
        _refuse(output, reading, error.problems)
        raise typer.Exit(exits.FAILED) from None
    result = reconciled(declarations, catalogue)
    notes = profile_notes(declarations, catalogue)
    views = leaves(declarations, result)
    if as_json:
        output.json(_document(declarations, result, notes, views))
    else:
        _print(output, declarations, result, notes)
        if show_leaves:
            _print_leaves(output, views)
    if not result.ok:
        raise typer.Exit(exits.FAILED)


def _refuse(output: Output, path: Path, problems: tuple[Problem, ...]) -> None:
    from synapse_models.yaml_loader import shown

    if output.as_json:
        told = [{"path": shown(one.path), "line": one.line, "message": one.message} for one in problems]
        output.json({"ok": False, "file": str(path), "problems": told})
    for problem in problems:
        output.note(f"{path}: {problem}")


def _document(
    declarations: Declarations,
    result: ReconcileResult,
    notes: dict[str, JSONValue],
    views: dict[str, tuple[LeafView, ...]],
) -> JSONValue:
    return {
        "ok": result.ok,
        "declared": declarations.canonical(),
        "profiles": notes,
        "bindings": result.bindings,
        "deployments": result.deployments,
        "runtime_plans": {
            name: {"fingerprint": plan.fingerprint, "plan": plan} for name, plan in result.runtime_plans.items()
        },
        "diagnostics": result.diagnostics,
        "leaves": views,
    }


def _print(output: Output, declarations: Declarations, result: ReconcileResult, notes: dict[str, JSONValue]) -> None:
    from synapse_models.capabilities import CAPABILITY_SPECS

    rows = []
    for name in declarations.models:
        binding = result.bindings.get(name)
        if binding is None:
            rows.append([name, declarations.models[name].dialect, "", "error", "see below"])
            continue
        final = result.runtime_plans.get(name)
        unavailable = binding.unavailable if final is None else final.unavailable
        for key in CAPABILITY_SPECS:
            wanted = binding.intents.get(key)
            if key in unavailable:
                state, why = "no", unavailable[key]
            elif key in binding.available:
                state, why = "required" if wanted is not None and wanted.required else "on demand", ""
                checks = () if final is None else final.request_checks
                if any(check.capability == key for check in checks):
                    why = "replies are checked"
            else:
                state, why = "no", ""
            rows.append([name, f"{binding.dialect_id} {binding.wire_version}", key, state, why])
    output.table(["model", "dialect", "capability", "available", "note"], rows)
    for name, model in declarations.models.items():
        base = declarations.models.get(model.base or "")
        if base is not None and (base.args or base.options or base.capabilities):
            output.line(f"{name}: has the server of {base.name} and none of its args and capabilities")
    for name, note in notes.items():
        if note["overridden"]:
            output.line(f"{name}: your profile replaces {', '.join(note['overridden'])}")
    for root, deployment in result.deployments.items():
        for difference in deployment.differences:
            output.line(
                f"{root}: {difference.parameter} stays {difference.user}, as declared; the plan would have "
                f"{difference.plan} ({difference.reason})"
            )
    for finding in result.diagnostics:
        output.line()
        for line in (f"{finding.severity}: {finding.lines()[0]}", *finding.lines()[1:]):
            output.line(line)
    errors = len(result.errors)
    output.line()
    output.line("Everything fits." if errors == 0 else f"{errors} of these must be settled first.")


def _print_leaves(output: Output, views: dict[str, tuple[LeafView, ...]]) -> None:
    rows = []
    for name, every in views.items():
        for view in every:
            shown = json.dumps(view.example, ensure_ascii=False)
            shown = shown if len(shown) <= _EXAMPLE_WIDTH else shown[: _EXAMPLE_WIDTH - 1] + "…"
            decision = view.decision.replace("_", " ")
            rows.append(
                [
                    name,
                    view.leaf,
                    shown + (" (default)" if view.is_default else ""),
                    decision,
                    view.wire_path or view.reason or "",
                ]
            )
    output.line()
    output.table(["model", "leaf", "of a value such as", "decision", "where to, or why"], rows)
