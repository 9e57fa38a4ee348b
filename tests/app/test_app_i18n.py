"""Translations: every sentence in every language, with the same placeholders, in all plural forms."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from PySide6.QtWidgets import QApplication

from synapse_app import figures, i18n
from synapse_app.i18n import FSI, LANGUAGES, PDI, PLURAL_FORMS, Languages, load, plural_form, tr

ROOT = Path(__file__).resolve().parents[2]
SAME_IN_ALL = {
    "{lane} — {state}",
    "{model} — {progress}",
    "{n} s",
    "{size}/s",
    "{minutes} min {seconds} s",
    "{value} ms",
    "min",
    "s",
    "Neural Engine",
}
"""Sentences that may be equal to their source: signs and units."""
SAME = {"de": {"GB", "MB", "Python", "Node", "Shell"}, "pl": {"GB", "MB", "Folder", "Python", "Node"}, "ar": set[str]()}


@pytest.fixture(scope="module")
def update() -> ModuleType:
    spec = importlib.util.spec_from_file_location("i18n_update", ROOT / "i18n" / "update.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["i18n_update"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def languages(qapp: QApplication) -> Iterator[Languages]:
    languages = Languages(qapp)
    yield languages
    languages.use("en")


def placeholders(text: str) -> list[str]:
    return sorted(re.findall(r"\{(\w+)\}", text))


def test_the_files_are_what_the_code_says() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "i18n" / "update.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"run: python i18n/update.py\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_is_missing_and_placeholders_and_plural_forms_match(language: str, update: ModuleType) -> None:
    texts = load(language).texts
    for key, sentence in update.collect().items():
        if language == "en" and not sentence.plural:
            continue
        assert key in texts, f"{key} has no translation into {language}"
        forms = texts[key]
        assert len(forms) == (PLURAL_FORMS[language] if sentence.plural else 1), key
        for form in forms:
            assert placeholders(form) == placeholders(sentence.source), form
            assert form.count("&") == sentence.source.count("&"), form
        if language != "en" and not sentence.plural and sentence.source not in SAME_IN_ALL | SAME[language]:
            assert forms[0] != sentence.source, f"{key} is not translated into {language}"


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("en", {0: 1, 1: 0, 2: 1, 21: 1}),
        ("pl", {0: 2, 1: 0, 2: 1, 4: 1, 5: 2, 12: 2, 21: 2, 22: 1, 112: 2, 122: 1}),
        ("ar", {0: 0, 1: 1, 2: 2, 3: 3, 10: 3, 11: 4, 99: 4, 100: 5, 102: 5, 103: 3, 111: 4}),
    ],
)
def test_plural_forms_are_those_of_the_language(language: str, expected: dict[int, int]) -> None:
    assert {n: plural_form(language, n) for n in expected} == expected


def test_numbers_choose_the_form_and_are_written_as_the_locale_does(languages: Languages) -> None:
    languages.use("pl")
    assert [tr("{n} entries", n=n) for n in (1, 3, 5)] == ["1 wpis", "3 wpisy", "5 wpisów"]
    languages.use("de")
    assert tr("{n} entries", n=12345) == "12.345 Einträge"


def test_values_keep_their_direction_among_arabic_words(languages: Languages) -> None:
    languages.use("ar")
    text = tr("{model} is ready to use.", model="gte-small")
    assert f"{FSI}gte-small{PDI}" in text
    assert figures.size(4_600_000_000).startswith(FSI)
    assert tr("{model} is ready to use.", model=f"{FSI}x{PDI}").count(FSI) == 1


def test_an_unknown_language_is_the_systems_or_english(languages: Languages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(i18n, "system_language", lambda: "de")
    languages.use("xx")
    assert languages.current == "de"


def test_durations_shares_and_rates_are_written_for_people(languages: Languages) -> None:
    languages.use("en")
    assert [figures.duration(ms) for ms in (4_400, 75_000, 3_725_000)] == ["4 s", "1 min 15 s", "1 h 2 min"]
    assert [figures.share(done, 1000) for done in (0, 999, 1000)] == ["0\u00a0%", "99\u00a0%", "100\u00a0%"]
    assert figures.share(1, 0) == "0\u00a0%"
    assert figures.rate(1_500_000) == "1.5 MB/s"


def test_no_text_for_people_is_a_bare_literal(update: ModuleType) -> None:
    import ast

    setters = {"setText", "setToolTip", "setPlaceholderText", "setAccessibleName", "setWindowTitle", "addAction"}
    bare = []
    for path in (ROOT / "app").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in setters and node.args:
                text = node.args[0]
                if isinstance(text, ast.Constant) and text.value not in ("", "Synapse"):
                    bare.append(f"{path.name}:{node.lineno}")
    assert bare == []
