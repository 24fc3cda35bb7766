"""Read theme archives: select the theme files of a ZIP file, and derive their keys.

``apps.core.media.zip_reader`` checks that the ZIP file itself is safe.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from apps.content.domain.theme_files.keys import DIRECTORIES, LAYOUT, find_key_conflict, find_key_problem, normalize_key
from apps.core.i18n.error_messages import format_bytes
from apps.core.i18n.messages import Message, define_message, define_text
from apps.core.media.zip_reader import MIB, ArchiveRefused, EntryReader, ValidatedZip, ZipEntry, quote_name, refuse_if

TEXT_SUFFIXES = frozenset(
    {".css", ".csv", ".html", ".js", ".json", ".liquid", ".map", ".md", ".mjs", ".sass", ".scss", ".svg", ".txt"}
    | {".xml", ".yaml", ".yml"}
)

_BAD_NAME = define_message(
    "theme_archive.name", "The name {key} {problem}. Rename the file and create the archive again."
)
_SAME_NAME = define_message(
    "theme_archive.same_name", "The archive contains {key} and {other}. Some systems can't tell these names apart."
)
_FILE_AND_FOLDER = define_message(
    "theme_archive.file_and_folder", "{key} and {other} conflict: a path can't be both a file and a folder."
)
_EMPTY = define_text("theme_archive.empty", "The archive contains no theme files.")
_SEVERAL = define_message(
    "theme_archive.several", "The archive contains several themes: {folders}. Upload each theme as its own archive."
)
_TOO_LARGE = define_message("theme_archive.file_too_large", "{key} is larger than {size}.")
_LEFT_OUT = define_message("theme_archive.left_out", "Not part of a theme and left out ({number}): {names}")
LISTED_NAMES = 10

# Files that systems and browsers add to folders.
_SYSTEM_FILES = frozenset({"__MACOSX", ".DS_Store", "Icon\r", "Thumbs.db", "desktop.ini"})


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """Limits of a theme archive.

    Attributes:
        unpacked_bytes: Maximum total size of all entries.
        entries: Maximum number of entries, including directories and skipped entries.
    """

    packed_bytes: int = 50 * MIB
    unpacked_bytes: int = 250 * MIB
    entries: int = 10_000
    text_bytes: int = 256 * 1024
    binary_bytes: int = 20 * MIB

    def asset_bytes(self, key: str) -> int:
        _, dot, suffix = key.rpartition("/")[2].lower().rpartition(".")
        return self.text_bytes if dot + suffix in TEXT_SUFFIXES else self.binary_bytes


DEFAULT_LIMITS = ArchiveLimits()


class ThemeArchive:
    """A validated theme archive. Iterating over the archive unpacks the theme files in archive order.

    The caller keeps the file open during the iteration and closes it afterwards. A completed iteration has verified
    every theme file, including files that were not read to the end. Damaged files raise ``ArchiveRefused``, so nothing
    may be published before the iteration is complete.
    """

    def __init__(self, archive: ValidatedZip, assets: dict[str, ZipEntry], left_out: list[str]) -> None:
        self._archive = archive
        self._assets = assets
        self._left_out = left_out

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self._assets)

    @property
    def left_out(self) -> Message | None:
        """Return which files of the archive are not part of the theme, or None if there are none."""
        return _LEFT_OUT(number=len(self._left_out), names=list_names(self._left_out)) if self._left_out else None

    def __len__(self) -> int:
        return len(self._assets)

    def __iter__(self) -> Iterator[tuple[str, EntryReader]]:
        unpacked = self._archive.unpack(self._assets.values())
        for key, (_, reader) in zip(self._assets, unpacked, strict=True):
            yield key, reader


def list_names(names: Iterable[str]) -> str:
    """Return the first names as a list for display."""
    shown = list(names)
    return ", ".join(map(quote_name, shown[:LISTED_NAMES])) + (", …" if len(shown) > LISTED_NAMES else "")


def open_theme(file: BinaryIO, *, limits: ArchiveLimits = DEFAULT_LIMITS) -> ThemeArchive:
    """Validate the central directory of a theme archive without unpacking any file, or raise ``ArchiveRefused``.

    The theme may be in a folder of the archive. Files outside the theme directories, and files that systems add to
    folders, are left out. The seekable file must stay open while the result is used.
    """
    archive = ValidatedZip(
        file,
        packed_bytes=limits.packed_bytes,
        unpacked_bytes=limits.unpacked_bytes,
        max_entries=limits.entries,
    )
    files = sorted((entry for entry in archive.entries if not entry.is_dir), key=lambda entry: entry.offset)
    root = _find_root(files)
    assets: dict[str, ZipEntry] = {}
    left_out: list[str] = []
    for entry in files:
        key = normalize_key(entry.name.removeprefix(root))
        directory, slash, _ = key.partition("/")
        if not entry.name.startswith(root) or not slash or directory not in DIRECTORIES or _is_system_file(key):
            left_out.append(entry.name)
            continue
        refuse_if(key in assets, _SAME_NAME(key=quote_name(key), other=quote_name(key)))
        _check_entry(key, entry, limits)
        assets[key] = entry
    refuse_if(not assets, _EMPTY)
    if conflict := find_key_conflict(assets):
        template = _SAME_NAME if conflict.is_same_name else _FILE_AND_FOLDER
        raise ArchiveRefused(template(key=quote_name(conflict.key), other=quote_name(conflict.other)))
    return ThemeArchive(archive, assets, left_out)


def _check_entry(key: str, entry: ZipEntry, limits: ArchiveLimits) -> None:
    if problem := find_key_problem(key):
        raise ArchiveRefused(_BAD_NAME(key=quote_name(key), problem=problem))
    limit = limits.asset_bytes(key)
    refuse_if(entry.size > limit, _TOO_LARGE(key=quote_name(key), size=format_bytes(limit)))


def _find_root(files: list[ZipEntry]) -> str:
    """Return the path of the folder with the theme, with a trailing slash, or "".

    The theme is where the layout is. Of several layouts, the one in the outermost folder counts. Without a layout, the
    theme is in the only folder of the archive.
    """
    layouts = (entry.name for entry in files if entry.name == LAYOUT or entry.name.endswith(f"/{LAYOUT}"))
    roots = dict.fromkeys(name.removesuffix(LAYOUT) for name in layouts)
    candidates = [root for root in roots if not _is_system_file(root) and DIRECTORIES.isdisjoint(root.split("/"))]
    if candidates:
        depth = min(root.count("/") for root in candidates)
        outermost = [root for root in candidates if root.count("/") == depth]
        refuse_if(len(outermost) > 1, _SEVERAL(folders=list_names(root.removesuffix("/") for root in outermost)))
        return outermost[0]
    folders = {entry.name.partition("/")[0] for entry in files if "/" in entry.name and not _is_system_file(entry.name)}
    return "" if len(folders) != 1 or folders <= DIRECTORIES else f"{folders.pop()}/"


def _is_system_file(path: str) -> bool:
    parts = path.split("/")
    # AppleDouble files start with "._". Windows stores where a file was downloaded from in the stream Zone.Identifier.
    return path.endswith(":Zone.Identifier") or any(part in _SYSTEM_FILES or part.startswith("._") for part in parts)
