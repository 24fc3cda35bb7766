from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.support.second_database import PATHS, TESTS, is_in_second_run


def make_item(path: str, *markers: str, fixtures: tuple[str, ...] = ("db",), name: str = "test_x") -> pytest.Item:
    item: Any = SimpleNamespace(
        name=name,
        path=Path(TESTS / path),
        fixturenames=fixtures,
        get_closest_marker=lambda name: name if name in markers else None,
    )
    return cast(pytest.Item, item)


def test_every_path_exists() -> None:
    assert [path for path in PATHS if not (TESTS / path).exists()] == []


@pytest.mark.parametrize(
    ("item", "selected"),
    [
        (make_item("orders/test_orders.py"), True),
        (make_item("jobs/test_jobs.py"), True),
        (make_item("jobs/test_workers.py", name="test_x[redis]"), True),
        (make_item("jobs/test_workers.py", name="test_x[filesystem]"), False),
        (make_item("faults/test_outages.py", "browser"), False),
        (make_item("orders/test_orders.py", fixtures=()), False),
        (make_item("orders/test_orders.py", "django_db", fixtures=()), True),
        (make_item("panel/test_login.py"), False),
        (make_item("panel/test_login.py", "race"), True),
        (make_item("panel/test_login.py", "postgres", fixtures=()), True),
        (make_item("panel/test_login.py", "both_databases"), True),
    ],
)
def test_a_test_is_selected_by_its_path_or_a_marker(item: pytest.Item, selected: bool) -> None:
    assert is_in_second_run(item) is selected
