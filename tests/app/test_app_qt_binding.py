"""The Qt binding keeps count of None and True: a release that drops one too many ends the process after minutes."""

from __future__ import annotations

import sys

import pytest
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QApplication


class Emitter(QObject):
    happened = Signal(bool)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="None and True are immortal there")
def test_calls_and_signals_release_no_reference_that_they_did_not_take(qapp: QApplication) -> None:
    emitter = Emitter()
    emitter.happened.connect(lambda value: None)
    before = (sys.getrefcount(None), sys.getrefcount(True))
    for _ in range(1000):
        emitter.killTimer(emitter.startTimer(60_000))
        emitter.happened.emit(True)
    after = (sys.getrefcount(None), sys.getrefcount(True))
    assert after[0] - before[0] > -50
    assert after[1] - before[1] > -50
