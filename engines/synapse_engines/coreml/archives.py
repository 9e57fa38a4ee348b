"""A zipped ``.mlmodelc`` folder: what it may hold, and unpacking it into a folder that only its own digest names.

Nothing here trusts an archive. What would be written outside its folder, a link, a name that two files share, an
encrypted or oddly packed member, and sizes that no model has are refused before a byte is written. The service lists
archives, the worker unpacks them; needs no array library.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import shutil
import stat
import tempfile
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from synapse_engines.errors import ArtifactError, StorageError

SUFFIX: Final = ".mlmodelc"
UNPACKING: Final = ".unpacking-"
"""Begins the name of a folder that is being filled; the id of the process that does it comes next, then a dash."""

MAX_MEMBERS: Final = 4096
MAX_UNPACKED_BYTES: Final = 8 << 30
"""More than any model that a Neural Engine holds: past 2 GiB a package runs on the processor instead."""

MAX_RATIO: Final = 100
"""Unpacked bytes for each byte of the archive. Weights hardly shrink; a bomb of zeros shrinks a thousandfold."""

RATIO_FREE_BYTES: Final = 1 << 20
"""Below this size nobody needs protection, and a small text may well shrink more."""

MAX_NAME_CHARS: Final = 1024
_CHUNK: Final = 1 << 20
_PACKING: Final = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_ENCRYPTED: Final = 0x1
_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


@dataclass(frozen=True, slots=True)
class Listing:
    """What an archive unpacks to.

    Attributes:
        bundle: name of its one folder, which ends in ``.mlmodelc``.
        members: its files in the order of the archive, with their paths from above that folder.
    """

    bundle: str
    members: tuple[tuple[PurePosixPath, zipfile.ZipInfo], ...]

    def member(self, name: str) -> zipfile.ZipInfo | None:
        """The file of this path inside the folder."""
        wanted = PurePosixPath(self.bundle, name)
        return next((info for path, info in self.members if path == wanted), None)


@contextmanager
def opened(path: Path) -> Iterator[tuple[zipfile.ZipFile, io.BufferedReader]]:
    """An archive, and the file it is read from, which never is a link.

    Raises:
        ArtifactError: `bad_archive`, here or while members are read.
        OSError: the file can't be read.
    """
    with os.fdopen(os.open(path, os.O_RDONLY | _NO_FOLLOW), "rb") as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                yield archive, stream
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, UnicodeDecodeError) as error:
            raise ArtifactError("bad_archive", f"not a sound zip archive: {error}") from error


def listing(archive: zipfile.ZipFile, archive_bytes: int) -> Listing:
    """The files of an archive of `archive_bytes` bytes; what the Finder adds is passed over.

    Raises:
        ArtifactError: `bad_archive`, naming the member and what is wrong with it.
    """
    infos = archive.infolist()
    if len(infos) > MAX_MEMBERS:
        raise _refused(f"{len(infos)} members, at most {MAX_MEMBERS} are taken")
    members = []
    files: set[str] = set()
    folders: set[str] = set()
    for info in infos:
        path = _path(info)
        if not 0 <= info.header_offset < archive_bytes:
            raise _refused(f"{info.filename!r} lies outside of it")
        if info.is_dir() or _of_the_finder(path):
            continue
        above = {_on_a_mac(parent) for parent in path.parents}
        name = _on_a_mac(path)
        if name in files | folders or above & files:
            raise _refused(f"{info.filename!r} stands in it twice")
        files.add(name)
        folders |= above
        members.append((path, info))
    _require_size([info for _, info in members], archive_bytes)
    bundles = {path.parts[0] for path, _ in members}
    if len(bundles) != 1 or not (bundle := bundles.pop()).endswith(SUFFIX) or len(bundle) == len(SUFFIX):
        raise _refused(f"it has to hold exactly one folder, whose name ends in {SUFFIX}")
    if bundle.startswith(".") or any(len(path.parts) == 1 for path, _ in members):
        raise _refused(f"{bundle} is not a folder that can be unpacked")
    return Listing(bundle, tuple(members))


def read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limit: int) -> bytes:
    """A small file of an archive.

    Raises:
        ArtifactError: `bad_archive`, also for more than `limit` bytes.
    """
    if info.file_size > limit:
        raise _refused(f"{info.filename!r} has {info.file_size} bytes, at most {limit} are read")
    return b"".join(_bytes_of(archive, info))


def materialise(archive_path: Path, sha256: str, root: Path) -> Path:
    """The unpacked folder of an archive: `root`/`sha256`/`<name>.mlmodelc`.

    The path depends on the archive's bytes alone, because Core ML keeps what it compiled by path. A folder that is
    there already is compared with the archive byte for byte, and put right if it differs. A crash leaves nothing under
    the final name, and what it leaves under another says whose it was, see :data:`UNPACKING`.

    Raises:
        ArtifactError: `wrong_digest` if the archive is not the one named, `bad_archive` if it can't be unpacked.
        StorageError: no room is left.
        OSError: the disk fails otherwise.
    """
    with opened(archive_path) as (archive, stream):
        size = os.fstat(stream.fileno()).st_size
        stream.seek(0)
        actual = hashlib.file_digest(stream, "sha256").hexdigest()
        if actual != sha256:
            raise ArtifactError("wrong_digest", f"the archive has SHA-256 {actual}, expected {sha256}")
        found = listing(archive, size)
        home = root / sha256
        if not _holds(home, found, archive):
            try:
                _unpack(home, found, archive)
            except OSError as error:
                if error.errno in _FULL:
                    raise StorageError(f"no room is left to unpack {found.bundle}") from error
                # Another worker of the same archive may have been first.
                if not _holds(home, found, archive):
                    raise
        return home / found.bundle


def _unpack(home: Path, found: Listing, archive: zipfile.ZipFile) -> None:
    home.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f"{UNPACKING}{os.getpid()}-", dir=home.parent))
    try:
        for path, info in found.members:
            target = temporary.joinpath(*path.parts)
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with target.open("xb") as out:
                for chunk in _bytes_of(archive, info):
                    out.write(chunk)
                out.flush()
                os.fsync(out.fileno())
        if home.is_symlink() or home.is_file():
            home.unlink()
        elif home.exists():
            shutil.rmtree(home)
        temporary.rename(home)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _holds(home: Path, found: Listing, archive: zipfile.ZipFile) -> bool:
    """Whether a folder holds exactly the files of the archive, links not counted as such."""
    if home.is_symlink() or not home.is_dir():
        return False
    expected = dict(found.members)
    here = set()
    for folder, names, files in os.walk(home):
        below = PurePosixPath(Path(folder).relative_to(home).as_posix())
        if any(Path(folder, name).is_symlink() for name in names):
            return False
        here |= {below / name for name in files}
    return here == expected.keys() and all(
        _same_bytes(home.joinpath(*path.parts), archive, info) for path, info in expected.items()
    )


def _same_bytes(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bool:
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode) or status.st_size != info.file_size:
        return False
    with path.open("rb") as stream:
        return all(stream.read(len(chunk)) == chunk for chunk in _bytes_of(archive, info))


def _bytes_of(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """The member's bytes, which have to be as many as the directory says; their checksum is verified on the way."""
    left = info.file_size
    with archive.open(info) as stream:
        while chunk := stream.read(_CHUNK):
            left -= len(chunk)
            if left < 0:
                break
            yield chunk
    if left != 0:
        raise _refused(f"{info.filename!r} has another size than the archive says")


def _path(info: zipfile.ZipInfo) -> PurePosixPath:
    """The member's path; refuses every name that could lead elsewhere, and everything that is no plain file."""
    name = info.orig_filename
    kind = stat.S_IFMT(info.external_attr >> 16)
    if len(name) > MAX_NAME_CHARS or not name.isprintable() or "\\" in name or ":" in name:
        raise _refused(f"{name[:80]!r} is no name for a file in it")
    path = PurePosixPath(name)
    if path.is_absolute() or not path.parts or ".." in path.parts or "" in name.removesuffix("/").split("/"):
        raise _refused(f"{name!r} would be written outside its folder")
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise _refused(f"{name!r} is a link or a device")
    if info.flag_bits & _ENCRYPTED:
        raise _refused(f"{name!r} is encrypted")
    if info.compress_type not in _PACKING:
        raise _refused(f"{name!r} is packed in a way that is not read")
    return path


def _of_the_finder(path: PurePosixPath) -> bool:
    return path.parts[0] == "__MACOSX" or path.name.startswith("._") or path.name == ".DS_Store"


def _on_a_mac(path: PurePosixPath) -> str:
    """What a Mac's disk takes a name for: it tells neither case nor composition apart."""
    return unicodedata.normalize("NFC", str(path)).casefold()


def _require_size(infos: list[zipfile.ZipInfo], archive_bytes: int) -> None:
    unpacked = sum(info.file_size for info in infos)
    if unpacked > MAX_UNPACKED_BYTES:
        raise _refused(f"{unpacked} bytes unpacked, at most {MAX_UNPACKED_BYTES} are taken")
    if unpacked > max(RATIO_FREE_BYTES, MAX_RATIO * archive_bytes):
        raise _refused(f"{archive_bytes} bytes would become {unpacked}, more than {MAX_RATIO} times as many")
    if sum(info.compress_size for info in infos) > archive_bytes:
        raise _refused("its members overlap")


def _refused(problem: str) -> ArtifactError:
    return ArtifactError("bad_archive", f"the archive can't be taken: {problem}")
