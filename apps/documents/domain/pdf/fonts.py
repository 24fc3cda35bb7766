"""The fonts of PDF documents, and which of them a text needs.

The main font has Latin, Greek, Cyrillic, Hebrew and Arabic letters. The second font has Chinese, Japanese and Korean
letters. ``BACKOFFICE_DOCUMENT_FONTS`` adds fonts for other scripts. The large fonts are only read for documents that
need them. A character that no font has is printed as an empty box, so the panel names these characters.
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from unicodedata import category

from django.conf import settings
from fontTools.ttLib import TTFont

_FOLDER = Path(__file__).resolve().parent.parent.parent / "fonts"
MAIN, MAIN_BOLD = _FOLDER / "DejaVuSansCondensed.ttf", _FOLDER / "DejaVuSansCondensed-Bold.ttf"
_CJK = _FOLDER / "WenQuanYiMicroHei.ttf"


def get_more_fonts() -> tuple[Path, ...]:
    """Return the fonts for characters that the main font lacks, in the order of preference."""
    return (_CJK, *map(Path, settings.DOCUMENT_FONTS))


@cache
def _get_characters(path: Path) -> frozenset[int]:
    with TTFont(path, lazy=True) as font:
        return frozenset(font.getBestCmap())


def choose_fonts(texts: Iterable[str]) -> tuple[list[Path], str]:
    """Return the additional fonts that the texts need, and the characters that no font has."""
    needed = {ord(character) for text in texts for character in text if _is_visible(character)}
    needed -= _get_characters(MAIN)
    fonts = []
    for path in get_more_fonts():
        if needed and (found := needed & _get_characters(path)):
            fonts.append(path)
            needed -= found
    return fonts, "".join(map(chr, sorted(needed)))


def _is_visible(character: str) -> bool:
    return category(character) not in {"Cc", "Cf", "Zs", "Mn"}
