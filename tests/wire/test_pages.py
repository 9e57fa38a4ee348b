"""The pages of the repository: their links lead somewhere, and the maps of the source tree name what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [ROOT / "README.md", *ROOT.glob("*/README.md"), *ROOT.glob("tests/*/README.md"), *ROOT.glob("docs/**/[!R]*.md")]
)


def anchors(page: Path) -> set[str]:
    """What can be linked to within a page, spelled as the usual viewers do."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def leads_nowhere(page: Path, target: str, anchor: str) -> bool:
    other = page.parent / target if target else page
    return not other.exists() or bool(anchor and anchor not in anchors(other))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)", page.read_text())
    assert [link for link in links if leads_nowhere(page, *link)] == []


def test_the_map_of_the_service_has_every_room_of_it() -> None:
    page = (ROOT / "service" / "README.md").read_text()
    service = ROOT / "service" / "synapse_service"
    assert set(re.findall(r"^\| `(\w+)/` \|", page, re.MULTILINE)) == {
        each.parent.name for each in service.glob("*/__init__.py")
    }
    (alone,) = re.findall(r"^Single files beside them serve several rooms: (.+?)\.$", page, re.MULTILINE | re.DOTALL)
    assert set(re.findall(r"`(\w+)`", alone)) == {each.stem for each in service.glob("*.py") if each.stem[0] != "_"}


def test_the_map_of_the_model_plane_has_every_room_of_it() -> None:
    page = (ROOT / "engines" / "README.md").read_text().partition("**`synapse_models`**")[2]
    plane = ROOT / "engines" / "synapse_models"
    named = {
        name.rstrip("/")
        for row in re.findall(r"^\| (`.+`) \|", page, re.MULTILINE)
        for name in re.findall(r"`([\w/]+)`", row)
    }
    files = {each.stem for each in plane.glob("*.py") if each.stem[0] != "_"}
    assert named >= files | {each.parent.name for each in plane.glob("*/__init__.py")}
