"""Read theme archives: select the theme files of a ZIP file, and derive their keys.

``apps.core.media.zip_reader`` checks that the ZIP file itself is safe.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from apps.core.i18n.error_messages import format_bytes
from apps.core.i18n.messages import define_message, define_text
from apps.core.media.zip_reader import (
    MIB,
    EntryReader,
    ValidatedZip,
    ZipEntry,
    is_plain_path,
    quote_name,
    refuse_if,
)

DIRECTORIES = frozenset({"assets", "blocks", "config", "layout", "locales", "sections", "snippets", "templates"})
TEXT_SUFFIXES = frozenset(
    {".css", ".csv", ".html", ".js", ".json", ".liquid", ".map", ".md", ".mjs", ".sass", ".scss", ".svg", ".txt"}
    | {".xml", ".yaml", ".yml"}
)

# Every theme needs this file, because the storefront cannot render a page without it.
LAYOUT = "layout/theme.liquid"

_BAD_NAME = define_message(
    "theme_archive.bad_name",
    "A theme file name can only contain A-Z, a-z, 0-9 and . _ - /, but not two dots in a row: {key}",
)
_EMPTY = define_text("theme_archive.empty", "The archive contains no theme files.")
_TOO_LARGE = define_message("theme_archive.file_too_large", "{key} is larger than {size}.")
_KEY = re.compile(r"(?!.*\.\.)[A-Za-z0-9._/-]+")
# Entries that macOS adds to an archive next to the compressed folder.
_MACOS_ENTRIES = frozenset({"__MACOSX", ".DS_Store"})


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


def is_theme_key(key: str) -> bool:
    return (
        _KEY.fullmatch(key) is not None and is_plain_path(key) and "/" in key and key.partition("/")[0] in DIRECTORIES
    )


class ThemeArchive:
    """A validated theme archive. Iterating over the archive unpacks the theme files in archive order.

    The caller keeps the file open during the iteration and closes it afterwards. A completed iteration has verified
    every theme file, including files that were not read to the end. Damaged files raise ``ArchiveRefused``, so nothing
    may be published before the iteration is complete.
    """

    def __init__(self, archive: ValidatedZip, assets: tuple[ZipEntry, ...], *, wrapper: str) -> None:
        self._archive = archive
        self._assets = assets
        self._wrapper = wrapper

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self._key(asset) for asset in self._assets)

    def __len__(self) -> int:
        return len(self._assets)

    def __iter__(self) -> Iterator[tuple[str, EntryReader]]:
        for asset, reader in self._archive.unpack(self._assets):
            yield self._key(asset), reader

    def _key(self, asset: ZipEntry) -> str:
        return asset.name.removeprefix(self._wrapper)


def open_theme(file: BinaryIO, *, limits: ArchiveLimits = DEFAULT_LIMITS) -> ThemeArchive:
    """Validate the central directory of a theme archive without unpacking any file, or raise ``ArchiveRefused``.

    If a single folder contains all files, the keys do not include the name of this folder. Entries outside the theme
    directories are checked like all others, and then skipped. The seekable file must stay open while the result is
    used.
    """
    archive = ValidatedZip(
        file,
        packed_bytes=limits.packed_bytes,
        unpacked_bytes=limits.unpacked_bytes,
        max_entries=limits.entries,
    )
    wrapper = _get_single_folder(archive.entries)
    assets: list[ZipEntry] = []
    for entry in sorted(archive.entries, key=lambda entry: entry.offset):
        key = entry.name.removeprefix(wrapper)
        directory, slash, _ = key.partition("/")
        if entry.is_dir or not slash or directory not in DIRECTORIES:
            continue
        refuse_if(not is_theme_key(key), _BAD_NAME(key=quote_name(key)))
        limit = limits.asset_bytes(key)
        refuse_if(entry.size > limit, _TOO_LARGE(key=quote_name(key), size=format_bytes(limit)))
        assets.append(entry)
    refuse_if(not assets, _EMPTY)
    return ThemeArchive(archive, tuple(assets), wrapper=wrapper)


def _get_single_folder(entries: tuple[ZipEntry, ...]) -> str:
    """Return the only top-level folder with a trailing slash, or "" if there are several or it is a theme directory."""
    roots = {entry.name.partition("/")[0] for entry in entries} - _MACOS_ENTRIES
    return "" if len(roots) != 1 or roots <= DIRECTORIES else f"{roots.pop()}/"
