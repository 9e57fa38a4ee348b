"""The package from outside: its names, and what importing it doesn't load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import synapse_models


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    return {name.partition(".")[0] for name in done.stdout.split()} | set(done.stdout.split())


def test_every_exported_name_is_there_whatever_was_imported_before() -> None:
    import synapse_models.reconciliation

    assert synapse_models.reconcile is synapse_models.reconciliation.reconcile
    for name in synapse_models.__all__:
        assert getattr(synapse_models, name) is not None


def test_a_name_that_is_not_exported_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Transport'"):
        synapse_models.Transport  # noqa: B018


def test_planning_loads_neither_an_http_client_nor_any_other_part_of_the_product() -> None:
    modules = loaded_by("from synapse_models import Request, plan, read_declarations, reconcile")
    assert "synapse_models.dialects.openai_chat" in modules
    others = {"aiohttp", "synapse_wire", "synapse_client", "synapse_service", "synapse_engines", "synapse_cli"}
    assert not modules & others


def test_the_map_of_the_package_names_every_room() -> None:
    note = (Path(__file__).parents[2] / "engines" / "README.md").read_text(encoding="utf-8")
    rooms = {path.stem for path in Path(synapse_models.__path__[0]).glob("*.py")} - {"__init__"}
    assert [room for room in sorted(rooms) if f"`{room}`" not in note] == []
