from pathlib import Path

import pytest

from tests.support.quick import PATHS, TESTS, is_in_quick_run


def test_every_path_exists() -> None:
    assert [path for path in PATHS if not (TESTS / path).exists()] == []


@pytest.mark.parametrize(
    ("path", "selected"),
    [
        ("orders", True),
        ("orders/test_orders.py", True),
        ("orders/test_races.py", False),
        ("graphql/test_graphql.py", True),
        ("browser", False),
        ("browser/test_pages.py", False),
    ],
)
def test_a_path_is_selected_by_itself_or_its_folder(path: str, selected: bool) -> None:
    assert is_in_quick_run(Path(TESTS, path)) is selected
