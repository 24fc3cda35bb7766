"""The keys of theme files, which are their paths in a theme.

The REST API, the panel and archives have the same rules.
"""

import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from apps.core.db.case_folding import casefold_text
from apps.core.i18n.error_messages import too_long
from apps.core.i18n.messages import Message, define_message, define_text
from apps.core.media.zip_reader import is_reserved_name

MAX_KEY = 255
DIRECTORIES = frozenset({"assets", "blocks", "config", "layout", "locales", "sections", "snippets", "templates"})
# Every theme needs this file, because the storefront cannot render a page without it.
LAYOUT = "layout/theme.liquid"

_NO_DIRECTORY = define_message("theme_keys.no_directory", "must be a path in one of the folders {folders}")
_BAD_CHARACTER = define_text(
    "theme_keys.bad_character", "can't contain backslashes, colons, line breaks or invisible characters"
)
_TWO_DOTS = define_text("theme_keys.two_dots", "can't contain two dots in a row")
_BAD_PART = define_text(
    "theme_keys.bad_part", "can't contain a folder or file name that is empty or a dot, or starts or ends with a space"
)
_RESERVED = define_text("theme_keys.reserved", "can't contain a name that Windows reserves, such as “con” or “nul”")

# Emoji and several scripts join characters with these two, which are invisible.
_JOINERS = frozenset({"\N{ZERO WIDTH NON-JOINER}", "\N{ZERO WIDTH JOINER}"})


class KeyConflict(NamedTuple):
    """Two keys that can't be in one folder on every system.

    ``is_same_name`` is True if the keys differ only in case or in the Unicode form. Otherwise, one key is a folder of
    the other.
    """

    key: str
    other: str
    is_same_name: bool


def normalize_key(key: str) -> str:
    """Return the composed form (NFC) of a key. macOS sends the decomposed form of the same name."""
    return key if key.isascii() else unicodedata.normalize("NFC", key)


def find_key_problem(key: str) -> Message | None:
    """Return why a normalized key is not allowed, as a phrase that follows the key, or None if the key is allowed."""
    parts = key.split("/")
    if len(key) > MAX_KEY:
        return too_long(MAX_KEY)
    if len(parts) < 2 or parts[0] not in DIRECTORIES:
        return _NO_DIRECTORY(folders=", ".join(sorted(DIRECTORIES)))
    if not all(map(_is_allowed, key)):
        return _BAD_CHARACTER
    if ".." in key:
        return _TWO_DOTS
    if any(part in {"", "."} or part != part.strip() for part in parts):
        return _BAD_PART
    return _RESERVED if any(map(is_reserved_name, parts)) else None


def _is_allowed(character: str) -> bool:
    if character in "\\:":
        return False
    return character.isprintable() or character in _JOINERS or unicodedata.category(character) == "Zs"


def find_key_conflict(keys: Iterable[str], others: Iterable[str] = ()) -> KeyConflict | None:
    """Return the first of ``keys`` that conflicts with an earlier key or with one of ``others``."""
    files: dict[str, str] = {}
    folders: dict[str, str] = {}
    for key in others:
        _register(key, files, folders)
    for key in keys:
        folded = casefold_text(key)
        if folded in files:
            return KeyConflict(key, files[folded], is_same_name=True)
        inner = folders.get(folded) or next((files[parent] for parent in _parents(folded) if parent in files), None)
        if inner is not None:
            return KeyConflict(key, inner, is_same_name=False)
        _register(key, files, folders)
    return None


def _register(key: str, files: dict[str, str], folders: dict[str, str]) -> None:
    folded = casefold_text(key)
    files[folded] = key
    for parent in _parents(folded):
        folders.setdefault(parent, key)


def _parents(key: str) -> Iterable[str]:
    return (key[:end] for end, character in enumerate(key) if character == "/")
