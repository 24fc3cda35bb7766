"""Tests of template formatting that the formatter does not check."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
LONGEST = 160


def test_no_line_of_a_template_is_longer_than_a_screen() -> None:
    templates = [*(ROOT / "templates").rglob("*.html"), *(ROOT / "apps").glob("*/templates/**/*.html")]

    long = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in templates
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if len(line) > LONGEST
    ]

    assert templates
    assert not long
