"""The page of what the product promises names every check once, and no test that is not there."""

import re
from functools import cache
from pathlib import Path

import pytest
from django.conf import settings

PAGE = Path(settings.BASE_DIR) / "docs" / "reliability.md"
TESTS = Path(settings.BASE_DIR) / "tests"
# How many checks there are of each kind, in the order of the page.
NUMBERS = {"A": 17, "M": 18, "U": 14, "W": 15, "F": 16, "B": 30, "X": 13, "P": 12, "L": 8}
STATES = ("holds", "not yet built: ", "open: ")
_ROW = re.compile(r"^\| ([A-Z]\d+) \| ([^|]+) \| ([^|]+) \| ([^|]*) \|$", re.MULTILINE)
_TEST = re.compile(r"`([\w/]+\.py)::(\w+)`")
ROWS = _ROW.findall(PAGE.read_text())


@cache
def names_of(file: str) -> frozenset[str]:
    """Return the names of the tests in a file below ``tests/``."""
    return frozenset(re.findall(r"^ *def (test_\w+)", (TESTS / file).read_text(), re.MULTILINE))


def test_every_check_stands_on_the_page_once() -> None:
    expected = [f"{letter}{number}" for letter, count in NUMBERS.items() for number in range(1, count + 1)]

    assert [row[0] for row in ROWS] == expected


def test_every_test_that_is_named_anywhere_on_the_page_is_there() -> None:
    named = set(_TEST.findall(PAGE.read_text()))

    assert named
    assert [(file, name) for file, name in sorted(named) if name not in names_of(file)] == []


@pytest.mark.parametrize(("number", "state", "tests"), [(row[0], row[2], row[3]) for row in ROWS])
def test_what_is_promised_is_tested_or_says_why_not(number: str, state: str, tests: str) -> None:
    named = _TEST.findall(tests)

    assert state.startswith(STATES)
    assert named or not state.startswith("holds")
    assert _TEST.sub("", tests).strip(" ,") == ""
    assert [(file, name) for file, name in named if name not in names_of(file)] == []
