"""Tests that every race test names a control without the guard, or explains why there is no guard to turn off."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.conf import settings

from tests.support.databases import races

TESTS = Path(settings.BASE_DIR) / "tests"
RACES = {races.run_concurrently.__name__, races.run_while_uncommitted.__name__}


@dataclass(frozen=True)
class RaceCase:
    name: str  # as ``file.py::name``, like the control
    control: str
    bare: bool  # the test runs code concurrently but has no mark


def get_race_mark(function: ast.FunctionDef) -> dict[str, str]:
    for mark in function.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.race":
            return {str(word.arg): ast.literal_eval(word.value) for word in mark.keywords}
    return {}


def get_cases(path: Path) -> Iterator[RaceCase]:
    """Yield the tests in a file. Tests can run code concurrently through helper functions in the same file."""
    file = str(path.relative_to(TESTS))
    functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
    calls = {
        node.name: {getattr(call.func, "id", "") for call in ast.walk(node) if isinstance(call, ast.Call)}
        for node in functions
    }
    racing = set(RACES)
    while more := {name for name, called in calls.items() if called & racing} - racing:
        racing |= more
    for node in functions:
        if node.name.startswith("test_"):
            mark = get_race_mark(node)
            control = mark.get("control", "")
            if control and "::" not in control:
                control = f"{file}::{control}"
            yield RaceCase(f"{file}::{node.name}", control, node.name in racing and not mark)


@pytest.fixture(scope="module")
def race_cases() -> list[RaceCase]:
    return [test for path in sorted(TESTS.rglob("test_*.py")) for test in get_cases(path)]


def test_every_race_names_its_control(race_cases: list[RaceCase]) -> None:
    controls = {test.control for test in race_cases}

    assert race_cases
    assert [test.name for test in race_cases if test.bare and test.name not in controls] == []


def test_every_control_is_there(race_cases: list[RaceCase]) -> None:
    assert {test.control for test in race_cases if test.control} - {test.name for test in race_cases} == set()
    assert [test.name for test in race_cases if test.control == test.name] == []


def test_a_race_is_found_behind_a_helper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "test_a.py").write_text(
        "def both(): return run_concurrently(1)\n"
        "def test_one(): both()\n"
        "@pytest.mark.race(control='test_three')\n"
        "def test_two(): run_while_uncommitted(1)\n"
        "def test_three(): run_unguarded(1)\n"
        "@pytest.mark.race(no_guard='it is the same twice')\n"
        "def test_four(): both()\n"
    )
    monkeypatch.setattr("tests.test_race_controls.TESTS", tmp_path)

    assert list(get_cases(tmp_path / "test_a.py")) == [
        RaceCase("test_a.py::test_one", "", True),
        RaceCase("test_a.py::test_two", "test_a.py::test_three", False),
        RaceCase("test_a.py::test_three", "", False),
        RaceCase("test_a.py::test_four", "", False),
    ]
