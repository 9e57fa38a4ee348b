"""What the three programs have in common."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from synapse_cli import certify, main, opctl
from synapse_wire import __version__

PROGRAMS = {"synapse": main.app, "ck-synapse-opctl": opctl.app, "ckdev-synapse-certify": certify.app}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_tells_its_version_and_nothing_else(name: str) -> None:
    result = CliRunner().invoke(PROGRAMS[name], ["--version"])
    assert (result.exit_code, result.stdout) == (0, f"{name} {__version__}\n")


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_help_of_a_program_explains_how_it_ends(name: str) -> None:
    result = CliRunner().invoke(PROGRAMS[name], ["-h"])
    assert result.exit_code == 0
    assert "Exit status: 0 " in result.stdout
    assert "130 interrupted" in " ".join(result.stdout.split())
