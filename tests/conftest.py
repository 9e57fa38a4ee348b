"""Fixtures of the whole tree. The one that every test gets: a warning in the log that nobody expected is a failure."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import synapse_service.logs  # noqa: F401  Importing it brings what structlog logs to the standard library's logging.
from fixtures.expected_warnings import Collector, ExpectedWarnings

# Tests that look at pixels need a real screen and start their own; all others draw into memory.
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
try:
    import PySide6.QtWidgets  # noqa: F401  Fails without PySide6 and where a library that it needs is missing.
except ImportError:
    collect_ignore = ["app"]
else:
    pytest_plugins = ["pytestqt.plugin"]

# Read by NumPy's matrix library when a test first imports it. Its threads wait for each other by spinning, which on a
# busy machine makes small products a hundred times slower than one thread does.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def pytest_configure() -> None:
    """Take interrupts even where a background shell has told us to ignore them: programs under test inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def expected_warnings() -> Iterator[ExpectedWarnings]:
    """Fails a test that logs a warning, or anything worse, unless it named it: ``expected_warnings("lane_stuck")``."""
    expected = ExpectedWarnings()
    collector = Collector(expected.records)
    logging.getLogger().addHandler(collector)
    yield expected
    logging.getLogger().removeHandler(collector)
    if problem := expected.problem():
        pytest.fail(problem, pytrace=False)


@pytest.fixture
def quick_dir(tmp_path: Path) -> Iterator[Path]:
    """An empty folder in memory where the system has that: flushing to disk costs nothing there."""
    memory = Path("/dev/shm")
    if not memory.is_dir():
        yield tmp_path
        return
    folder = Path(tempfile.mkdtemp(dir=memory))
    yield folder
    shutil.rmtree(folder)
