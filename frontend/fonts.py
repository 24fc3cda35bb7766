"""Build small versions of the panel's fonts, with only the icons in use and the letters of European languages.

``python frontend/fonts.py`` writes the fonts to ``static/unfold/fonts``, where they override the fonts of the theme.
The browser uses a system font for missing letters. Run the script after adding an icon or updating the theme.
"""

import re
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import unfold
from fontTools.subset import Options, Subsetter, parse_unicodes
from fontTools.ttLib import TTFont

ROOT = Path(__file__).resolve().parent.parent
THEME = Path(unfold.__file__).parent
OWN, OTHERS = ROOT / "static/unfold/fonts", THEME / "static/unfold/fonts"
ICONS = "material-symbols/Material-Symbols-Outlined.woff2"
TEXTS = tuple(f"inter/Inter-{weight}.woff2" for weight in ("Regular", "Medium", "SemiBold"))
# Latin with extensions, general punctuation, currency signs, and the symbols, arrows and mathematical signs in use.
LETTERS = (
    "U+0000-017F,U+0192,U+01CD-01DC,U+0218-021B,U+02C6-02DD,U+1E9E,U+2000-206F,U+20A0-20BF,U+2113,U+2122,"
    "U+2190-2193,U+2212,U+2260-2265"
)
# Files that may contain icon names. Every word in these files that is an icon name counts as used.
SOURCES = (
    *(ROOT / name for name in ("templates", "apps", "backoffice")),
    *sorted(ROOT.glob("static/panel/*.css")),
    ROOT / "frontend/visual/toolbar.js",
    *(THEME / name for name in ("templates", "static/unfold/js/app.js", "static/unfold/css/styles.css")),
)
_WORD = re.compile(r"[a-z0-9_]{3,}")


def ligatures(font: TTFont) -> dict[str, tuple[tuple[str, ...], str]]:
    """Return the letter glyphs and the icon glyph of each icon name."""
    letters = {glyph: chr(code) for code, glyph in font.getBestCmap().items()}
    result = {}
    for lookup in font["GSUB"].table.LookupList.Lookup:
        for table in lookup.SubTable:
            for first, ends in getattr(getattr(table, "ExtSubTable", table), "ligatures", {}).items():
                for end in ends:
                    glyphs = (first, *end.Component)
                    result["".join(letters.get(glyph, "?") for glyph in glyphs)] = (glyphs, end.LigGlyph)
    return result


def words() -> set[str]:
    """Return all words of the files that may contain icon names."""
    return {word for text in _texts() for word in _WORD.findall(text)}


def _texts() -> Iterator[str]:
    for source in SOURCES:
        files = [source] if source.is_file() else sorted(source.rglob("*"))
        for file in files:
            if file.suffix in {".html", ".py", ".js", ".css"} and "migrations" not in file.parts:
                yield file.read_text()


def small_icons() -> bytes:
    """Return the icon font with only the icons in use."""
    font = TTFont(OTHERS / ICONS)
    icons = ligatures(font)
    used_icons = [icons[word] for word in sorted(words() & icons.keys())]
    options = _options(layout_closure=False)
    subsetter = Subsetter(options)
    letters = {glyph for glyphs, _ in used_icons for glyph in glyphs}
    subsetter.populate(glyphs=[*sorted(letters), *(glyph for _, glyph in used_icons)])
    return _subset(font, subsetter, options)


def small_text(name: str) -> bytes:
    """Return a text font with only the letters of European languages."""
    options = _options(layout_features=["kern", "mark", "mkmk", "ccmp", "locl", "calt", "tnum"])
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=parse_unicodes(LETTERS))
    return _subset(TTFont(OTHERS / name), subsetter, options)


def _options(**values: object) -> Options:
    return Options(flavor="woff2", hinting=False, desubroutinize=True, notdef_outline=True, **values)


def _subset(font: TTFont, subsetter: Subsetter, options: Options) -> bytes:
    subsetter.subset(font)
    font.flavor = options.flavor
    font.recalcTimestamp = False
    file = BytesIO()
    font.save(file)
    return file.getvalue()


def main() -> None:
    """Write all font files."""
    for name in (ICONS, *TEXTS):
        data = small_icons() if name == ICONS else small_text(name)
        target = OWN / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        sys.stdout.write(f"{name}: {(OTHERS / name).stat().st_size:,} to {len(data):,} bytes\n")
    for folder in ("inter", "material-symbols"):
        (OWN / folder / "LICENSE").write_bytes((OTHERS / folder / "LICENSE").read_bytes())


if __name__ == "__main__":
    main()
