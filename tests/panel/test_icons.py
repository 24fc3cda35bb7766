"""Tests that the icon font contains all icons that the panel uses."""

import re
from pathlib import Path
from runpy import run_path

from fontTools.ttLib import TTFont

ROOT = Path(__file__).parents[2]


def test_the_font_has_each_icon_that_a_style_names() -> None:
    fonts = run_path(str(ROOT / "frontend/fonts.py"))
    existing = fonts["ligatures"](TTFont(fonts["OWN"] / fonts["ICONS"]))
    styles = "".join(path.read_text() for path in (ROOT / "static/panel").glob("*.css"))

    matches = set(re.findall(r'content: "(\w+)"[^}]*Material Symbols', styles))

    assert "add_a_photo" in matches
    assert matches <= {*existing}
