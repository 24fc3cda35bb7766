from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from apps.core.db.row_locks import get_for_update, set_lock_timeout
from apps.core.tenancy.models import Shop
from tests.support.databases.database_code import NOT_RUN, DatabaseCodeCheck, find_database_code, record_database_code
from tests.support.second_database import PATHS, TESTS, is_in_second_run, may_hold_tests


def make_item(path: str, *markers: str, fixtures: tuple[str, ...] = ("db",), name: str = "test_x") -> pytest.Item:
    item: Any = SimpleNamespace(
        name=name,
        path=Path(TESTS / path),
        fixturenames=fixtures,
        get_closest_marker=lambda name: name if name in markers else None,
    )
    return cast(pytest.Item, item)


def is_found(path: str) -> bool:
    file, _, name = path.partition("::")
    return (TESTS / file).exists() and (not name or f"def {name}(" in (TESTS / file).read_text())


def test_every_path_exists() -> None:
    assert [path for path in PATHS if not is_found(path)] == []


@pytest.mark.parametrize(
    ("item", "selected"),
    [
        (make_item("orders/test_orders.py"), True),
        (make_item("jobs/test_jobs.py"), True),
        (make_item("jobs/test_workers.py", name="test_x[redis]"), True),
        (make_item("jobs/test_workers.py", name="test_x[filesystem]"), False),
        (make_item("jobs/test_workers.py", name="test_x[rabbitmq]"), False),
        (make_item("panel/test_lists.py", name="test_lists_never_count_a_whole_table[a]"), True),
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


@pytest.mark.parametrize(
    ("path", "is_imported"),
    [
        ("orders/test_orders.py", True),
        ("inventory/test_stock.py", True),
        ("panel/test_access.py", True),  # One test has a marker.
        ("panel/test_login.py", False),
        ("panel", True),
        ("panel/conftest.py", True),
    ],
)
def test_files_without_tests_of_the_second_run_are_not_imported(path: str, is_imported: bool) -> None:
    assert may_hold_tests(TESTS / path) is is_imported


def test_code_that_depends_on_the_database_is_found() -> None:
    found = find_database_code()

    assert {
        "apps/core/db/lookups.py InMaterialized.as_postgresql",
        "apps/core/db/row_locks.py get_for_update",
        "apps/inventory/domain/consistency_checks.py find_differences",
        "apps/inventory/domain/movements.py lock_active_locations",
    } <= found
    assert "apps/core/db/row_locks.py run_unless_locked" not in found
    assert found >= NOT_RUN


def test_code_that_runs_is_recorded(shop: Shop) -> None:
    with record_database_code() as recorded:
        get_for_update(Shop, shop.pk)
        set_lock_timeout("DEFAULT")

    assert recorded == {"apps/core/db/row_locks.py get_for_update", "apps/core/db/row_locks.py set_lock_timeout"}


@pytest.mark.parametrize("is_complete", [True, False])
def test_a_complete_run_fails_if_code_has_not_run(is_complete: bool) -> None:
    source = pytest.Config.ArgsSource.TESTPATHS if is_complete else pytest.Config.ArgsSource.ARGS
    config: Any = SimpleNamespace(args_source=source, option=SimpleNamespace(keyword=""))
    session: Any = SimpleNamespace(exitstatus=pytest.ExitCode.OK)
    check = DatabaseCodeCheck(config)
    *most, last = sorted(find_database_code() - NOT_RUN)
    first_node, second_node = (SimpleNamespace(workeroutput={"database_code": names}) for names in (most, [last]))

    check.pytest_testnodedown(cast(Any, first_node))
    check.pytest_sessionfinish(session)
    assert session.exitstatus == (pytest.ExitCode.TESTS_FAILED if is_complete else pytest.ExitCode.OK)

    session.exitstatus = pytest.ExitCode.OK
    check.pytest_testnodedown(cast(Any, second_node))
    check.pytest_sessionfinish(session)
    assert session.exitstatus == pytest.ExitCode.OK


def test_processes_report_the_code_that_they_have_run(shop: Shop) -> None:
    source = pytest.Config.ArgsSource.ARGS
    config: Any = SimpleNamespace(args_source=source, option=SimpleNamespace(keyword=""), workeroutput={})

    loop: Any = DatabaseCodeCheck(config).pytest_runtestloop()
    next(loop)
    get_for_update(Shop, shop.pk)
    next(loop, None)

    assert config.workeroutput == {"database_code": ["apps/core/db/row_locks.py get_for_update"]}
