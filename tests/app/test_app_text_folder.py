"""Reading a folder of texts into passages: exact offsets, and every file that is left out is named with its reason."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synapse_app.playground.text_folder import PASSAGE_CHARS, LeftOut, Limits, cut, read_folder


@given(st.text(alphabet=st.sampled_from("ab \n.é🚢\u2029"), max_size=4000))
def test_passages_are_what_stands_at_their_offsets_and_nothing_visible_is_lost(text: str) -> None:
    passages = list(cut("f", text))
    rest = text
    for passage in reversed(passages):
        assert text[passage.start : passage.end] == passage.text
        assert passage.line == text.count("\n", 0, passage.start) + 1
        assert 0 < len(passage.text) <= PASSAGE_CHARS
        rest = rest[: passage.start] + rest[passage.end :]
    assert rest.strip() == ""
    assert [passage.id for passage in passages] == [str(number) for number in range(len(passages))]


def test_a_cut_is_made_at_a_paragraph_before_a_line_before_a_word() -> None:
    paragraph, line = "x" * 300 + "\n\n", "y" * 300 + "\n"
    assert [len(passage.text) for passage in cut("f", paragraph + line + "z" * 700)] == [300, 300, 700]
    assert [len(passage.text) for passage in cut("f", "w" * (PASSAGE_CHARS + 5))] == [PASSAGE_CHARS, 5]


def test_every_file_that_is_left_out_is_named_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.txt").write_text("ahoy")
    (tmp_path / "sub" / "b.md").write_text("été 🚢")
    (tmp_path / "latin").write_bytes("é".encode("latin-1"))
    (tmp_path / "zeros").write_bytes(b"a\0b")
    (tmp_path / "blank").write_text(" \n")
    (tmp_path / "huge").write_text("x" * 101)
    (tmp_path / "link").symlink_to("a.txt")
    (tmp_path / "sub" / "linked").symlink_to(tmp_path)
    (tmp_path / ".hidden").write_text("no")
    os.mkfifo(tmp_path / "pipe")
    found = read_folder(tmp_path, Limits(file_bytes=100))
    assert found.files == 2
    assert [(passage.file, passage.text) for passage in found.passages] == [("a.txt", "ahoy"), ("sub/b.md", "été 🚢")]
    assert {file.file: file.reason for file in found.left_out} == {
        "latin": "binary",
        "zeros": "binary",
        "blank": "empty",
        "huge": "large",
        "link": "link",
        "sub/linked/": "link",
        "pipe": "special",
    }


def test_a_file_that_cannot_be_opened_is_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_text("x")
    real = Path.open

    def refused(path: Path, *arguments: object, **options: object) -> object:
        raise PermissionError(13, "Permission denied") if path.name == "secret" else AssertionError(real)

    monkeypatch.setattr(Path, "open", refused)
    assert read_folder(tmp_path, Limits()).left_out == [LeftOut("secret", "unreadable")]


def test_what_is_over_the_limits_is_counted_too(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_text("word " * 400)
    by_files = read_folder(tmp_path, Limits(files=2))
    assert (by_files.files, by_files.left_out) == (2, [LeftOut("c", "limit")])
    by_passages = read_folder(tmp_path, Limits(passages=4))
    assert len(by_passages.passages) == 4
    assert by_passages.left_out == [LeftOut("b", "limit"), LeftOut("c", "limit")]


def test_a_folder_that_is_not_there_is_an_error_and_stopping_ends_the_reading(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_folder(tmp_path / "nowhere", Limits())
    (tmp_path / "a").write_text("x")
    assert read_folder(tmp_path, Limits(), lambda: True).files == 0
