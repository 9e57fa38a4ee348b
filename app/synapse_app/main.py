"""The entry point of `synapse-tray`: one application for each user, on Qt's event loop with asyncio in it."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from synapse_wire import __version__
from synapse_wire.endpoint import Endpoint, resolve_endpoint

if TYPE_CHECKING:  # Qt may not be installed, and this module has to be able to say so.
    from PySide6.QtWidgets import QApplication

    from synapse_app.single_instance import SingleInstance

EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2

_NO_QT: Final = """\
synapse-tray: the tray application needs Qt, which isn't installed.
Install it with: pip install 'synapse[tray]'
The service can be used from a terminal meanwhile:
  synapse serve    start the service
  synapse status   see what it is doing
  synapse models   see, load and unload models
"""
_NO_SCREEN: Final = """\
synapse-tray: there is no screen to show anything on (neither DISPLAY nor WAYLAND_DISPLAY is set).
Start it in a desktop session, or use the service from a terminal: synapse --help
"""


def run() -> NoReturn:
    """Ends with the application's exit status."""
    sys.exit(main(sys.argv[1:]))


def main(arguments: Sequence[str]) -> int:
    """Run the application until it is closed. A second start shows the first one's window and ends with 0."""
    options = _options(arguments)
    if find_spec("PySide6") is None or find_spec("qasync") is None:
        sys.stderr.write(_NO_QT)
        return EXIT_USAGE
    if not _has_screen():
        sys.stderr.write(_NO_SCREEN)
        return EXIT_FAILED
    from PySide6.QtWidgets import QApplication

    from synapse_app.single_instance import SingleInstance

    app = QApplication(["synapse-tray"])
    app.setApplicationName("Synapse")
    app.setDesktopFileName("org.synapse.Tray")
    home = _home(options.home)
    endpoint = resolve_endpoint(home=home)
    instance = SingleInstance(endpoint)
    try:
        first = instance.become_first()
    except OSError as error:
        sys.stderr.write(f"synapse-tray: {error}\n")
        return EXIT_FAILED
    if not first:
        return _show_first(instance)
    try:
        return _run(app, instance, endpoint, home, background=options.background)
    finally:
        instance.release()


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="synapse-tray", description="The tray application of Synapse.")
    parser.add_argument("--home", help="the one folder that everything is in, instead of the system's usual folders")
    parser.add_argument("--background", action="store_true", help="start in the tray without opening the window")
    parser.add_argument("--version", action="version", version=f"synapse-tray {__version__}")
    return parser.parse_args(arguments)


def _home(given: str | None) -> Path | None:
    value = given or os.environ.get("SYNAPSE_HOME")
    return Path(value).expanduser().absolute() if value else None


def _has_screen() -> bool:
    if not sys.platform.startswith("linux") or os.environ.get("QT_QPA_PLATFORM"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _show_first(instance: SingleInstance) -> int:
    if instance.ask_first_to_show():
        return 0
    sys.stderr.write("synapse-tray: it runs already and doesn't react. End that process, then start it again.\n")
    return EXIT_FAILED


def _run(
    app: QApplication, instance: SingleInstance, endpoint: Endpoint, home: Path | None, *, background: bool
) -> int:
    import qasync

    from synapse_app.application import Application

    loop = qasync.QEventLoop(app)
    asyncio.set_event_loop(loop)

    async def live() -> None:
        ended = asyncio.Event()
        application = Application(app, endpoint, home=home, background=background, quit=ended.set)
        instance.shown.connect(application.open)
        app.aboutToQuit.connect(ended.set)
        if sys.platform != "win32":
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                loop.add_signal_handler(number, ended.set)
        application.start()
        await ended.wait()
        await application.close()

    with loop:
        loop.run_until_complete(live())
    return 0


if __name__ == "__main__":
    run()
