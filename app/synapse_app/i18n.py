"""The reader's language: finding sentences, plural forms, switching at run time, and the locale's figures.

Every sentence in the application goes through :func:`tr`, whose first argument is a literal in English; that is what
``i18n/update.py`` collects into the ``.ts`` files, and the files are read here as they are. Placeholders have names
(``{name}``); where a number decides the form, the literal says ``{n}`` and ``n`` is given. A widget applies its texts
again when it gets ``QEvent.LanguageChange``. Figures are in :mod:`synapse_app.figures`.

Qt's own buttons and dialogs use Qt's translations, which :class:`Languages` installs beside ours.
"""

from __future__ import annotations

import unicodedata
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

from PySide6.QtCore import QEvent, QLibraryInfo, QLocale, QObject, Qt, QTranslator, Signal
from PySide6.QtWidgets import QApplication

SOURCE_LANGUAGE: Final = "en"
LANGUAGES: Final[Mapping[str, str]] = {"en": "English", "de": "Deutsch", "pl": "Polski", "ar": "العربية"}
"""Code and own name of each language, which is never translated."""

FSI, PDI = "\u2068", "\u2069"
"""Around a value in a sentence, so that its direction can't turn the sentence's own around."""


@dataclass(frozen=True, slots=True)
class Messages:
    """The translations of one language: (source, comment) to one text, or to one for each plural form."""

    language: str
    texts: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)


def plural_form(language: str, n: int) -> int:
    """Which of the language's plural forms is used for ``n`` things, in the order of the ``.ts`` file."""
    return _PLURALS[language](abs(n))


def _polish(n: int) -> int:
    if n == 1:
        return 0
    return 1 if 2 <= n % 10 <= 4 and not 12 <= n % 100 <= 14 else 2


def _arabic(n: int) -> int:
    if n <= 2:
        return n
    if 3 <= n % 100 <= 10:
        return 3
    return 4 if n % 100 >= 11 else 5


_PLURALS: Final[Mapping[str, Callable[[int], int]]] = {
    "en": lambda n: 0 if n == 1 else 1,
    "de": lambda n: 0 if n == 1 else 1,
    "pl": _polish,
    "ar": _arabic,
}
PLURAL_FORMS: Final[Mapping[str, int]] = {"en": 2, "de": 2, "pl": 3, "ar": 6}


def translations_folder() -> Path:
    """Where the ``.ts`` files are: in an installed package beside this file, in a source tree at its root."""
    installed = Path(__file__).parent / "translations"
    return installed if installed.is_dir() else Path(__file__).parents[2] / "i18n"


@cache
def load(language: str) -> Messages:
    """The messages of ``language``. What a translator hasn't finished is left out, so the English text is shown."""
    texts: dict[tuple[str, str], tuple[str, ...]] = {}
    for message in ET.parse(translations_folder() / f"synapse_{language}.ts").iter("message"):
        translation = message.find("translation")
        if translation is None or translation.get("type") in ("unfinished", "vanished", "obsolete"):
            continue
        forms = tuple(form.text or "" for form in translation.iter("numerusform")) or (translation.text or "",)
        texts[message.findtext("source") or "", message.findtext("comment") or ""] = forms
    return Messages(language, texts)


class _Current:
    messages = Messages(SOURCE_LANGUAGE)


def tr(source: str, /, *, about: str = "", n: int | None = None, **values: object) -> str:
    """``source`` in the reader's language, with ``values`` in its placeholders.

    ``about`` tells two meanings of the same English text apart. With ``n`` the plural form is chosen, and ``{n}``
    becomes the number as the locale writes it.
    """
    messages = _Current.messages
    forms = messages.texts.get((source, about))
    if forms is None:
        text = source
    elif n is None or len(forms) == 1:
        text = forms[0]
    else:
        text = forms[min(plural_form(messages.language, n), len(forms) - 1)]
    if n is not None:
        values["n"] = QLocale().toString(n)
    return text.format(**{name: isolated(value) for name, value in values.items()}) if values else text


def isolated(value: object) -> str:
    """``value`` as text whose direction stays its own. Text that can't be turned around is left as it is."""
    text = str(value)
    if text.startswith(FSI):
        return text
    leftward = not text.isascii() and any(unicodedata.bidirectional(char) in ("R", "AL", "AN") for char in text)
    return f"{FSI}{text}{PDI}" if leftward or QLocale().textDirection() is not _LTR else text


_LTR: Final = Qt.LayoutDirection.LeftToRight


def system_language() -> str:
    """The first of the user's languages that we speak, else English."""
    for name in QLocale.system().uiLanguages():
        code = name.replace("_", "-").split("-")[0]
        if code in LANGUAGES:
            return code
    return SOURCE_LANGUAGE


class Languages(QObject):
    """The language in use. ``changed`` is emitted after every widget has been told."""

    changed = Signal(str)

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        self._app = app
        self._qt: QTranslator | None = None

    @property
    def current(self) -> str:
        return _Current.messages.language

    def use(self, choice: str) -> None:
        """Switch to ``choice``, a code of :data:`LANGUAGES`, or the system's language when it is empty or unknown."""
        language = choice if choice in LANGUAGES else system_language()
        _Current.messages = load(language)
        system = QLocale.system()
        same = system.name().split("_")[0] == language
        locale = system if same else QLocale(language)
        QLocale.setDefault(locale)
        if self._qt is not None:
            self._app.removeTranslator(self._qt)
        self._qt = QTranslator(self)
        folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
        if self._qt.load(f"qtbase_{language}", folder):
            self._app.installTranslator(self._qt)
        self._app.setLayoutDirection(locale.textDirection())
        for widget in self._app.allWidgets():
            self._app.sendEvent(widget, QEvent(QEvent.Type.LanguageChange))
        self.changed.emit(language)
