"""Read theme archives: which files of a ZIP make a theme, and under which keys.

That the ZIP itself is harmless is the matter of `apps.media.zips`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from django.utils.translation import gettext_noop

from apps.ground.phrases import size_of
from apps.ground.retelling import tells
from apps.media.zips import MIB, ArchiveRefused, EntryReader, VettedZip, ZipEntry, is_plain_path, refuse_if, shown

__all__ = [
    "DEFAULT",
    "LAYOUT",
    "TEXT_SUFFIXES",
    "ArchiveLimits",
    "ArchiveRefused",
    "EntryReader",
    "ThemeArchive",
    "is_key",
    "open_theme",
]

DIRECTORIES = frozenset({"assets", "blocks", "config", "layout", "locales", "sections", "snippets", "templates"})
TEXT_SUFFIXES = frozenset(
    {".css", ".csv", ".html", ".js", ".json", ".liquid", ".map", ".md", ".mjs", ".sass", ".scss", ".svg", ".txt"}
    | {".xml", ".yaml", ".yml"}
)

# Without it a theme shows nothing.
LAYOUT = "layout/theme.liquid"

_BAD_NAME = tells(gettext_noop("The name of a theme file may only hold A-Z, a-z, 0-9 and . _ - /, and no ..: {key}"))
_TOO_LARGE = tells(gettext_noop("{key} is larger than {size}."))
_KEY = re.compile(r"(?!.*\.\.)[A-Za-z0-9._/-]+")
# What macOS adds beside the folder that was compressed.
_FOREIGN_ROOTS = frozenset({"__MACOSX", ".DS_Store"})


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """What an archive may cost.

    Attributes:
        packed_bytes: Size of the ZIP file.
        unpacked_bytes: Size of all entries together.
        entries: Number of entries, directories and skipped ones included.
        text_bytes: Size of one text asset.
        binary_bytes: Size of one other asset.
        text_suffixes: File name endings, in lower case, of what counts as text.
    """

    packed_bytes: int = 50 * MIB
    unpacked_bytes: int = 250 * MIB
    entries: int = 10_000
    text_bytes: int = 256 * 1024
    binary_bytes: int = 20 * MIB
    text_suffixes: frozenset[str] = TEXT_SUFFIXES

    def asset_bytes(self, key: str) -> int:
        """Say how many bytes the asset of a key may hold."""
        _, dot, suffix = key.rpartition("/")[2].lower().rpartition(".")
        return self.text_bytes if dot + suffix in self.text_suffixes else self.binary_bytes


DEFAULT = ArchiveLimits()


def is_key(key: str) -> bool:
    """Whether a file of a theme may have this key, whichever way it comes: what is saved alone also fits an archive."""
    return (
        _KEY.fullmatch(key) is not None and is_plain_path(key) and "/" in key and key.partition("/")[0] in DIRECTORIES
    )


class ThemeArchive:
    """A vetted archive; iterating unpacks it, asset by asset, in the order of the file.

    The caller keeps the file open while it iterates, and closes it. An iteration that ends without an exception has
    verified every asset, also those that were not read to their end. Iterating raises `ArchiveRefused` on damage, so
    nothing may be made visible before the end.
    """

    def __init__(self, archive: VettedZip, assets: tuple[ZipEntry, ...], *, wrapper: str) -> None:
        self._archive = archive
        self._assets = assets
        self._wrapper = wrapper

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of all assets, in the order of the file."""
        return tuple(self._key(asset) for asset in self._assets)

    def __len__(self) -> int:
        return len(self._assets)

    def __iter__(self) -> Iterator[tuple[str, EntryReader]]:
        for asset, reader in self._archive.unpack(self._assets):
            yield self._key(asset), reader

    def _key(self, asset: ZipEntry) -> str:
        return asset.name.removeprefix(self._wrapper)


def open_theme(file: BinaryIO, *, limits: ArchiveLimits = DEFAULT) -> ThemeArchive:
    """Vet the whole directory of a theme archive, without unpacking anything yet.

    A single folder around everything is dropped from the keys. Entries outside the directories of a theme are skipped,
    but vetted like the others. Rule: decisions, Themes.

    Args:
        file: A seekable binary file; it must stay open for as long as the result is used.
        limits: What the archive may cost.

    Raises:
        ArchiveRefused: Something about the archive is unsafe, damaged, too large, or it holds no theme.
    """
    archive = VettedZip(
        file,
        packed_bytes=limits.packed_bytes,
        unpacked_bytes=limits.unpacked_bytes,
        max_entries=limits.entries,
    )
    wrapper = _single_folder(archive.entries)
    assets: list[ZipEntry] = []
    for entry in sorted(archive.entries, key=lambda entry: entry.offset):
        key = entry.name.removeprefix(wrapper)
        directory, slash, _ = key.partition("/")
        if entry.is_dir or not slash or directory not in DIRECTORIES:
            continue
        refuse_if(
            not is_key(key),
            _BAD_NAME.format(key=shown(key)),
        )
        limit = limits.asset_bytes(key)
        refuse_if(entry.size > limit, _TOO_LARGE.format(key=shown(key), size=size_of(limit)))
        assets.append(entry)
    refuse_if(not assets, gettext_noop("The archive holds no theme files."))
    return ThemeArchive(archive, tuple(assets), wrapper=wrapper)


def _single_folder(entries: tuple[ZipEntry, ...]) -> str:
    """Find the folder that holds everything, with its slash; empty if there is none or it is a theme's own."""
    roots = {entry.name.partition("/")[0] for entry in entries} - _FOREIGN_ROOTS
    return "" if len(roots) != 1 or roots <= DIRECTORIES else f"{roots.pop()}/"
