"""Tests that accepted HTML is sanitized quickly, although the time is quadratic in the nesting depth."""

import time

import pytest

from apps.core.sanitizing import MAX_BYTES, MAX_TAGS, find_html_error, sanitize_html

WORST = {
    "nested blocks": "<div>" * MAX_TAGS,
    "nested inline": "<b><i>" * (MAX_TAGS // 2),
    "nested lists": "<ul><li>" * (MAX_TAGS // 2),
    "closed in the wrong order": "<b><p>" * (MAX_TAGS // 4) + "</b></p>" * (MAX_TAGS // 4),
    "one long text": "<div>" * 5_000 + "&" * (MAX_BYTES - 25_000),
}


# The limit in seconds of CPU time. The worst case on an idle machine takes 0.6 seconds.
LIMIT = 2


@pytest.mark.parametrize("markup", WORST.values(), ids=WORST)
def test_the_worst_markup_that_is_taken_is_soon_harmless(markup: str) -> None:
    assert find_html_error(markup) is None

    assert min(measure_seconds(markup) for _ in range(3)) < LIMIT


def measure_seconds(markup: str) -> float:
    began = time.process_time()
    sanitize_html(markup)
    return time.process_time() - began
