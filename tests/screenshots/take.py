"""Photographs of the tray application on a real screen: ``make screenshots``, or ``take.py FOLDER [VARIANT ...]``.

Each variant gets a screen of its own with a window manager, a message bus and a panel that shows icons (lxqt-panel).
The application is started as a user starts it, over a real service with models of one's own and a
running job. Its icon is looked for by its colour and clicked, its pages are opened with their keys, and what is on the
screen is kept. Says for each variant where the icon was. Needs what packaging/linux/system-packages.sh installs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])

from PySide6.QtGui import QColor, QImage

from fixtures.desktop_bus import private_bus
from fixtures.model_files import tiny_model
from fixtures.screen import screen
from fixtures.service_process import ServiceProcess, load_and_probe, running_service
from synapse_app.pages import PAGES
from synapse_client import Client

ICON = QColor("#2f6fed")
TEXTS = (
    "The harbour is closed today.",
    "Ships can not enter the port.",
    "She baked bread with rye.",
    "A loaf of dark bread.",
    "Where is the railway station?",
)
PANEL = """panels=panel1
[panel1]
plugins=taskbar, statusnotifier, worldclock
position=Bottom
panelSize=32
iconSize=22
[statusnotifier]
type=statusnotifier
alignment=Right
[taskbar]
type=taskbar
[worldclock]
type=worldclock
"""


@dataclass(frozen=True)
class Variant:
    """One way in which the application is looked at. ``preferences`` are lines of its own settings file."""

    name: str
    preferences: tuple[str, ...] = ("theme=light", "language=en")
    environ: dict[str, str] = field(default_factory=dict)
    first_run: bool = False
    width: int = 1280
    height: int = 800


VARIANTS = (
    Variant("light"),
    Variant("dark", ("theme=dark", "language=en")),
    Variant("rtl", ("theme=light", "language=ar")),
    Variant("scaled", environ={"QT_SCALE_FACTOR": "1.5"}, width=1600, height=1100),
    Variant("welcome", first_run=True),
    Variant("small", ("theme=light", "language=de"), width=800, height=600),
)


def main(arguments: Sequence[str]) -> int:
    """Take them all, or those of the variants that are named."""
    folder = Path(arguments[0] if arguments else "docs/screenshots")
    wanted = set(arguments[1:]) or {variant.name for variant in VARIANTS}
    folder.mkdir(parents=True, exist_ok=True)
    found = True
    with tempfile.TemporaryDirectory(prefix="synapse-shots-") as name, _busy_service(Path(name) / "home") as service:
        for variant in VARIANTS:
            if variant.name in wanted:
                found &= _take(variant, service, Path(name) / variant.name, folder)
    return 0 if found else 1


def _take(variant: Variant, service: ServiceProcess, work: Path, folder: Path) -> bool:
    done = "no" if variant.first_run else "yes"
    lines = ["[General]", f"first_run_done={done}", *variant.preferences]
    (service.home / "config").mkdir(mode=0o700, exist_ok=True)
    (service.home / "config" / "tray.ini").write_text("\n".join(lines) + "\n")
    with ExitStack() as stack:
        display = stack.enter_context(screen(variant.width, variant.height))
        address = stack.enter_context(private_bus(work / "bus"))
        environ = os.environ | display | {"DBUS_SESSION_BUS_ADDRESS": address, "HOME": str(work)}
        environ["XDG_RUNTIME_DIR"] = str(work / "run")
        (work / "run").mkdir(mode=0o700)
        (work / ".config" / "lxqt").mkdir(parents=True)
        (work / ".config" / "lxqt" / "panel.conf").write_text(PANEL)
        stack.enter_context(_running(["openbox"], environ))
        stack.enter_context(_running(["lxqt-panel"], environ))
        time.sleep(3)
        command = [sys.executable, "-m", "synapse_app.main", "--home", str(service.home)]
        stack.enter_context(_running(command, environ | variant.environ))
        time.sleep(5)
        camera = Camera(environ, folder, variant.name)
        if variant.first_run:
            camera.shot("first_run")
            return True
        for number, page in enumerate(PAGES, start=1):
            if page.name == "first_run":
                continue  # it has left the navigation
            camera.keys(f"ctrl+{number}")
            time.sleep(1.2)
            if page.name == "playground":
                camera.compare(TEXTS)
            camera.shot(page.name)
        place = camera.find_icon()
        if place is None:
            print(f"{variant.name}: the icon was not found")
            return False
        camera.click(place, button=3)
        camera.shot("menu")
        print(f"{variant.name}: icon at {place[0]}, {place[1]}")
    return True


class Camera:
    """Eyes and hands on one screen."""

    def __init__(self, environ: dict[str, str], folder: Path, variant: str) -> None:
        self._environ = environ
        self._folder = folder
        self._variant = variant

    def shot(self, name: str) -> Path:
        """Keep what is on the screen, in few colours: nothing here is a photograph of nature."""
        path = self._folder / f"{name}-{self._variant}.png"
        self._run("import", "-window", "root", "-depth", "8", "+dither", "-colors", "255", f"png8:{path}")
        return path

    def keys(self, *keys: str) -> None:
        self._run("xdotool", "key", *keys)

    def compare(self, texts: Sequence[str]) -> None:
        """Fill in the first panel of the playground with the keyboard alone: tabs, model, texts, back to the button."""
        self.keys("Tab", "Tab", "Tab")
        for text in texts:
            self._run("xdotool", "type", "--delay", "15", text)
            self.keys("Return")
        self.keys("shift+Tab", "space")
        time.sleep(2.0)

    def click(self, place: tuple[int, int], button: int) -> None:
        self._run("xdotool", "mousemove", *map(str, place))
        time.sleep(0.4)
        self._run("xdotool", "click", str(button))
        time.sleep(1.5)

    def find_icon(self) -> tuple[int, int] | None:
        """The middle of what has the icon's colour at the lower edge of the screen."""
        self._run("import", "-window", "root", str(self._folder / "whole.png"))
        image = QImage(str(self._folder / "whole.png"))
        (self._folder / "whole.png").unlink()
        places = [
            (x, y)
            for y in range(image.height() - 32, image.height())
            for x in range(image.width() // 2, image.width())
            if _alike(image.pixelColor(x, y), ICON)
        ]
        if len(places) < 20:
            return None
        return sum(x for x, _ in places) // len(places), sum(y for _, y in places) // len(places)

    def _run(self, *command: str) -> None:
        subprocess.run(command, env=self._environ, check=True, timeout=30, capture_output=True)


def _alike(one: QColor, other: QColor) -> bool:
    return all(abs(a - b) < 16 for a, b in zip(one.getRgb(), other.getRgb(), strict=True))


@contextmanager
def _running(command: list[str], environ: dict[str, str]) -> Iterator[None]:
    process = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def _busy_service(home: Path) -> Iterator[ServiceProcess]:
    """A service that somebody works with: the shipped catalog, two models of one's own, a job."""
    with running_service(home, arguments=("--cpu-lanes",)) as service:
        stop = threading.Event()
        worker = threading.Thread(target=_work, args=(service, stop))
        with service.client() as client:
            load_and_probe(client, "my-notes", tiny_model("bert"), max_tokens=512, overlength="truncate")
            load_and_probe(client, "my-judge", tiny_model("modernbert-reranker"), task="rerank", max_tokens=400)
        worker.start()
        try:
            yield service
        finally:
            stop.set()
            worker.join(60)


def _work(service: ServiceProcess, stop: threading.Event) -> None:
    """An app that goes on embedding its notes."""
    with Client(service.address, name="Notebook") as client:
        for number in range(100_000):
            if stop.is_set():
                return
            texts = {f"note-{at}": f"boat {at} left the harbour at dawn " * 12 for at in range(4000)}
            for _ in client.embed_all("my-notes", texts, request_key=f"notes-{number}"):
                if stop.is_set():
                    return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
