"""Statements that run again skip psycopg's cursor, and behave exactly like statements of a cursor."""

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from django.db import DataError, IntegrityError, connection, transaction

from apps.core.db.postgresql.repeated_statements import RepeatedStatements
from apps.core.db.prepared_sql import execute_prepared

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

INSERT = "INSERT INTO repeated (id, name) VALUES (%s, %s)"
COUNT = "SELECT count(*) FROM repeated"


@pytest.fixture(autouse=True)
def table(db: None) -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE repeated (id bigint PRIMARY KEY, name text)")
    yield
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE repeated")


@pytest.fixture
def reused(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that ran without a cursor."""
    run, statements = RepeatedStatements.run, list[str]()

    def record(self: RepeatedStatements, sql: str, parameters: Any) -> list[Any] | None:
        rows = run(self, sql, parameters)
        if rows is not None:
            statements.append(sql)
        return rows

    monkeypatch.setattr(RepeatedStatements, "run", record)
    return statements


def test_rows_are_the_same_as_with_a_cursor(reused: list[str]) -> None:
    sql = (
        "SELECT 7::bigint, 'ä'::text, NULL::text, 12.50::numeric, true, %s::timestamptz, '{\"a\": [1]}'::jsonb,"
        " ARRAY[1, 2]::bigint[], %s::text FROM generate_series(1, 3)"
    )
    moment = datetime(2026, 11, 27, 4, 5, 6, 789, UTC)

    first, second, other = (execute_prepared(sql, [moment, text]) for text in ("x", "x", "y"))

    assert first == second
    assert first[0] == (7, "ä", None, Decimal("12.50"), True, moment, '{"a": [1]}', [1, 2], "x")
    assert [row[-1] for row in other] == ["y"] * 3
    assert reused == [sql] * 2


@pytest.mark.parametrize(
    "texts",
    [["plain", "", "NULL", 'a "quoted" word', "a\\b", "{a,b}", " space ", "ä\n日本"], ["only"], [""], ["a", None]],
)
def test_lists_of_texts_arrive_as_they_are(texts: list[str | None]) -> None:
    for _ in range(3):
        assert execute_prepared("SELECT * FROM unnest(%s::text[])", [texts]) == [(text,) for text in texts]


@pytest.mark.parametrize("texts", [["a\0b"], ["a", "\0"]])
def test_a_nul_in_a_list_of_texts_is_refused(texts: list[str]) -> None:
    with pytest.raises(DataError, match="NUL"):
        execute_prepared("SELECT %s::text[]", [texts])


def test_parameters_of_other_types_are_prepared_separately(reused: list[str]) -> None:
    sql = "SELECT %s::text"

    rows = [execute_prepared(sql, [value]) for value in ("a", None, 5, 2**40, "b", None, 6, 2**41)]

    assert rows == [[(value,)] for value in ("a", None, "5", str(2**40), "b", None, "6", str(2**41))]
    # Texts and None have the same type, so one of the eight statements is prepared for each of three types.
    assert len(reused) == 5


def test_the_first_statement_of_a_transaction_opens_it(reused: list[str]) -> None:
    execute_prepared(INSERT, [1, "one"])

    with transaction.atomic():
        execute_prepared(INSERT, [2, "two"])
        transaction.set_rollback(True)

    assert reused == [INSERT]
    assert execute_prepared(COUNT, []) == [(1,)]


def test_statements_are_prepared_again_after_a_rollback(reused: list[str]) -> None:
    execute_prepared(COUNT, [])
    with pytest.raises(DataError), transaction.atomic():
        execute_prepared("SELECT 1 / %s::int", [0])

    assert [execute_prepared(COUNT, []) for _ in range(2)] == [[(0,)]] * 2
    assert reused == [COUNT]


def test_errors_are_djangos(reused: list[str]) -> None:
    for pk in (1, 2):
        execute_prepared(INSERT, [pk, ""])

    with pytest.raises(IntegrityError, match="repeated_pkey"), transaction.atomic():
        execute_prepared(INSERT, [1, ""])

    assert reused == [INSERT]
    assert execute_prepared(COUNT, []) == [(2,)]
