"""Find code that depends on the database, and record which of this code has run.

``make test ARGS=--second-database`` fails if a function has not run on PostgreSQL although the function

- has different code for each database (``connection.vendor``, ``as_postgresql``),
- locks rows (``select_for_update``), or
- runs SQL text (``cursor.execute``).
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from importlib import import_module
from pathlib import Path
from types import CodeType
from typing import Any

import django
import django_scopes
import pytest
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.utils import CursorWrapper
from django.db.models import QuerySet
from django.utils.connection import ConnectionProxy
from xdist.workermanage import WorkerController  # type: ignore[import-untyped]

# A function of one of these groups uses all names of the group.
_NAMES = (
    {"connection", "vendor"},
    {"connections", "vendor"},
    {"database", "vendor"},
    {"select_for_update"},
    {"cursor", "execute"},
)
# Functions that no test of the second run can execute in its own process, by reason.
NOT_RUN_BY_REASON = {
    "code for SQLite only": """
        apps/core/db/prepared_sql.py _run_sequentially
        apps/customers/domain/search_columns.py _changed_so_far
        apps/customers/domain/search_columns.py clear_erased_text
        apps/webhooks/domain/engine/claims.py _claim_one_by_one
    """,
    "uses psycopg's cursor, whose calls are not recorded": "apps/core/db/prepared_sql.py _run_bound",
    "runs in the processes that tests start": """
        apps/backups/domain/create_restore.py _write_backup
        apps/backups/domain/create_restore.py restore_backup
        apps/backups/domain/databases.py _dump
        apps/backups/domain/databases.py copy_database
        apps/backups/domain/databases.py count_rows
        apps/backups/domain/databases.py restore_database
        apps/core/db/postgresql/connections.py _limit_new_connection
        apps/core/db/migration_operations.py _PostgresOperation._run
        backoffice/observability/metrics/database.py _measure_connection
        backoffice/observability/tracing.py instrument_database
    """,
}
NOT_RUN = {line.strip() for lines in NOT_RUN_BY_REASON.values() for line in lines.splitlines() if line.strip()}
# ``connection`` from ``django.db`` is a proxy.
_PROXY = ConnectionProxy.__getattr__.__code__
_LIBRARIES = (str(Path(django.__file__).parent), str(Path(django_scopes.__file__).parent), __file__)


@cache
def find_database_code() -> frozenset[str]:
    """Return the functions that depend on the database, such as ``apps/core/db/row_locks.py get_for_update``."""
    return frozenset(
        _describe(code)
        for folder in ("apps", "backoffice")
        for path in (settings.BASE_DIR / folder).rglob("*.py")
        if "migrations" not in path.parts
        for code in _iterate_functions(compile(path.read_text(), path, "exec"))
        if code.co_name == "as_postgresql" or any(names <= _get_names(code) for names in _NAMES)
    )


def _iterate_functions(module: CodeType) -> Iterator[CodeType]:
    for code in module.co_consts:
        if isinstance(code, CodeType):
            yield code
            yield from _iterate_functions(code)


def _get_names(code: CodeType) -> set[str]:
    return {*code.co_names, *code.co_varnames, *code.co_freevars}


def _describe(code: CodeType) -> str:
    """Return the file and the function's name. Comprehensions and lambdas belong to the function around them."""
    name = code.co_qualname.partition(".<locals>.<")[0]
    return f"{Path(code.co_filename).relative_to(settings.BASE_DIR)} {name}"


class _RecordedVendor:
    """Replaces ``connection.vendor`` and records the code that reads the value."""

    def __init__(self, vendor: str, codes: set[CodeType]) -> None:
        self._vendor = vendor
        self._codes = codes

    def __get__(self, instance: object, owner: type) -> str:
        frame = sys._getframe(1)
        if frame.f_code is _PROXY and frame.f_back:
            frame = frame.f_back
        self._codes.add(frame.f_code)
        return self._vendor


@contextmanager
def record_database_code() -> Iterator[set[str]]:
    """Yield a set. When the block ends, the set contains the functions that have run and depend on the database."""
    codes: set[CodeType] = set()
    recorded: set[str] = set()

    def record_calls(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def recorder(*args: Any, **options: Any) -> Any:
            frame = sys._getframe(1)
            while frame.f_code.co_filename.startswith(_LIBRARIES) and frame.f_back:
                frame = frame.f_back
            codes.add(frame.f_code)
            return function(*args, **options)

        return recorder

    def record_own_code(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def recorder(*args: Any, **options: Any) -> Any:
            codes.add(function.__code__)
            return function(*args, **options)

        return recorder

    with pytest.MonkeyPatch.context() as patch:
        wrapper = type(connections[DEFAULT_DB_ALIAS])
        patch.setattr(wrapper, "vendor", _RecordedVendor(wrapper.vendor, codes))
        patch.setattr(QuerySet, "select_for_update", record_calls(QuerySet.select_for_update))
        patch.setattr(CursorWrapper, "execute", record_calls(CursorWrapper.execute))
        for name in find_database_code():
            path, _, qualified = name.partition(" ")
            if qualified.endswith(".as_postgresql"):
                module = import_module(path.removesuffix(".py").replace("/", "."))
                node = getattr(module, qualified.removesuffix(".as_postgresql"))
                patch.setattr(node, "as_postgresql", record_own_code(node.as_postgresql))
        yield recorded
    recorded |= find_database_code() & {
        _describe(code) for code in codes if code.co_filename.startswith(f"{settings.BASE_DIR}/")
    }


class DatabaseCodeCheck:
    """A pytest plugin that fails a complete run if code that depends on the database has not run."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._is_complete = config.args_source is pytest.Config.ArgsSource.TESTPATHS and not config.option.keyword
        self._missing = find_database_code() - NOT_RUN

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Iterator[None]:
        with record_database_code() as recorded:
            result = yield
        self._missing -= recorded
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput["database_code"] = sorted(recorded)
        return result

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: WorkerController) -> None:
        """Add the functions that ran in one of xdist's processes."""
        self._missing -= {*getattr(node, "workeroutput", {}).get("database_code", ())}

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._missing and self._is_complete and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._missing and self._is_complete:
            terminalreporter.section("code that depends on the database and has not run", red=True)
            for name in sorted(self._missing):
                terminalreporter.line(name)
            terminalreporter.line("Add tests of this code to PATHS_BY_REASON in tests/support/second_database.py.")
