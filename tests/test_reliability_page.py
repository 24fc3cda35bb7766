import ast
import difflib
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest
from django.conf import settings

from apps.core.types import Attrs

PAGE = Path(settings.BASE_DIR) / "docs" / "reliability.md"
TESTS = Path(settings.BASE_DIR) / "tests"
CHECKS: dict[str, Attrs] = tomllib.loads((TESTS / "reliability.toml").read_text())
# The number of checks per letter, in the page's order.
NUMBERS = {"A": 21, "M": 18, "U": 15, "W": 15, "D": 13, "F": 18, "B": 33, "X": 13, "P": 12, "L": 10}
_ROW = re.compile(r"^\| ([A-Z])(\d+)(?:–([A-Z])(\d+))? \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
_FILE = re.compile(r"`([\w/]+\.py)`")
# The checks and test files in each table row on the page.
ROWS = [
    ([f"{letter}{number}" for number in range(int(first), int(last or first) + 1)], _FILE.findall(files))
    for letter, first, _, last, _, files in _ROW.findall(PAGE.read_text())
]


@cache
def find_tests(file: str) -> frozenset[str]:
    source = (TESTS / file).read_text() if (TESTS / file).exists() else ""
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    return frozenset(node.name for node in functions if node.name.startswith(("test_", "check_")))


def test_every_check_is_on_the_page_once() -> None:
    expected = [f"{letter}{number}" for letter, count in NUMBERS.items() for number in range(1, count + 1)]

    assert list(CHECKS) == expected
    assert [check for checks, _ in ROWS for check in checks] == expected
    assert f"all {len(expected)} checks" in PAGE.read_text()


@pytest.mark.parametrize("check", CHECKS)
def test_each_check_names_existing_tests_or_a_reason(check: str) -> None:
    entry = CHECKS[check]

    assert entry.keys() <= {"promise", "limits", "tests", "open"}
    assert entry["promise"].endswith(".")
    assert ("tests" in entry) != ("open" in entry)
    missing = {
        name: difflib.get_close_matches(name.partition("::")[2], find_tests(name.partition("::")[0]), n=1)
        for name in entry.get("tests", [])
        if name.partition("::")[2] not in find_tests(name.partition("::")[0])
    }
    assert missing == {}, "rename them in tests/reliability.toml; the nearest name is shown"


@pytest.mark.parametrize(("checks", "files"), ROWS, ids=lambda value: value[0])
def test_each_line_names_files_that_test_its_checks(checks: list[str], files: list[str]) -> None:
    used = {name.partition("::")[0] for check in checks for name in CHECKS[check].get("tests", [])}

    assert files
    assert [file for file in files if file not in used] == []
