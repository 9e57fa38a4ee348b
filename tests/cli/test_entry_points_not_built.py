"""Commands that are installed before what they start: they say so, name what works meanwhile, and exit with 2."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig

import pytest

COMMANDS = {
    "synapse-tray": ("has no tray application yet", ["synapse serve", "synapse status", "synapse models"]),
}


@pytest.mark.parametrize("arguments", [[], ["--help"], ["lanes", "pause", "--minutes", "45"]])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_without_its_capability_exits_with_2_and_says_what_works(command: str, arguments: list[str]) -> None:
    installed = shutil.which(command, path=sysconfig.get_path("scripts"))
    assert installed is not None
    done = subprocess.run([installed, *arguments], capture_output=True, text=True, timeout=30, check=False)
    fact, alternatives = COMMANDS[command]
    first, *rest = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (2, "")
    assert first == f"{command}: this version of Synapse {fact}."
    for alternative in alternatives:
        assert any(line.strip().startswith(alternative) for line in rest), alternative
