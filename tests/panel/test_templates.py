"""Tests for formatting rules for templates that the formatter does not check."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
LONGEST = 160
# Django renders a tag as text if the tag does not end on the line on which it begins.
OPEN_TAG = re.compile(r"\{\{(?!.*\}\})|\{%(?!.*%\})")


def get_templates() -> list[Path]:
    return [*(ROOT / "templates").rglob("*.html"), *(ROOT / "apps").glob("*/templates/**/*.html")]


def find_lines(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{number}"
        for path in get_templates()
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if pattern.search(line)
    ]


def test_no_line_of_a_template_is_longer_than_a_screen() -> None:
    assert get_templates()
    assert find_lines(re.compile(f".{{{LONGEST + 1}}}")) == []


def test_no_tag_of_a_template_continues_on_the_next_line() -> None:
    assert OPEN_TAG.search("{{ name")
    assert OPEN_TAG.search("{{ one }} {% if two")
    assert not OPEN_TAG.search("{{ one }}")
    assert find_lines(OPEN_TAG) == []
