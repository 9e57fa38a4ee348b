"""Collects the sentences of the tray application into the ``.ts`` files: python i18n/update.py [--check]

Every call ``tr("…")`` in ``app/`` is found by its syntax tree, so a sentence that isn't a literal is an error. What
was translated stays, what is new is marked unfinished, what is no longer said is dropped. English needs an entry only
where a number decides the form; all others are the source itself. With ``--check`` nothing is written, and the exit
status says whether something would be.
"""

from __future__ import annotations

import ast
import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LANGUAGES = {"en": 2, "de": 2, "pl": 3, "ar": 6}
"""Code and number of plural forms."""


@dataclass(frozen=True)
class Sentence:
    """One thing that the application says; ``plural`` when a number decides its form."""

    source: str
    comment: str
    plural: bool
    file: str


def collect(folder: Path = ROOT / "app") -> dict[tuple[str, str], Sentence]:
    """All sentences by source and comment, in the order of files and lines."""
    found: dict[tuple[str, str], Sentence] = {}
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "tr":
                sentence = _sentence(node, name)
                found.setdefault((sentence.source, sentence.comment), sentence)
    return found


def _sentence(call: ast.Call, file: str) -> Sentence:
    source = call.args[0] if call.args else None
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    about = keywords.get("about", ast.Constant(""))
    if not isinstance(source, ast.Constant) or not isinstance(about, ast.Constant):
        raise SystemExit(f"{file}:{call.lineno}: tr() takes a literal")
    return Sentence(str(source.value), str(about.value), "n" in keywords, file)


def read(language: str) -> dict[tuple[str, str], tuple[str, ...]]:
    """What is translated, finished or not."""
    path = ROOT / "i18n" / f"synapse_{language}.ts"
    if not path.exists():
        return {}
    texts = {}
    for message in ET.parse(path).iter("message"):
        translation = message.find("translation")
        if translation is None or translation.get("type") == "unfinished":
            continue
        forms = tuple(form.text or "" for form in translation.iter("numerusform")) or (translation.text or "",)
        texts[message.findtext("source") or "", message.findtext("comment") or ""] = forms
    return texts


def document(language: str, sentences: dict[tuple[str, str], Sentence]) -> str:
    """The ``.ts`` file of one language."""
    known = read(language)
    ts = ET.Element("TS", version="2.1", language=language, sourcelanguage="en")
    context = ET.SubElement(ts, "context")
    ET.SubElement(context, "name").text = "Synapse"
    for key, sentence in sorted(sentences.items(), key=lambda item: (item[1].file, item[0])):
        if language == "en" and not sentence.plural:
            continue
        message = ET.SubElement(context, "message", {"numerus": "yes"} if sentence.plural else {})
        ET.SubElement(message, "location", filename=f"../{sentence.file}")
        ET.SubElement(message, "source").text = sentence.source
        if sentence.comment:
            ET.SubElement(message, "comment").text = sentence.comment
        forms = known.get(key, ())
        wanted = LANGUAGES[language] if sentence.plural else 1
        finished = len(forms) == wanted and all(forms)
        translation = ET.SubElement(message, "translation", {} if finished else {"type": "unfinished"})
        if sentence.plural:
            for at in range(wanted):
                ET.SubElement(translation, "numerusform").text = forms[at] if finished else ""
        elif finished:
            translation.text = forms[0]
    ET.indent(ts, "  ")
    body = ET.tostring(ts, encoding="unicode", short_empty_elements=False)
    return f'<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE TS>\n{body}\n'


def main(check: bool) -> int:
    """Write the files, or only look. Returns the exit status."""
    sentences = collect()
    stale = []
    for language in LANGUAGES:
        path = ROOT / "i18n" / f"synapse_{language}.ts"
        text = document(language, sentences)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.name)
            if not check:
                path.write_text(text, encoding="utf-8")
        print(f"{path.name}: {text.count('unfinished')} of {text.count('<message')} unfinished")
    return 1 if check and stale else 0


if __name__ == "__main__":
    raise SystemExit(main("--check" in sys.argv[1:]))
