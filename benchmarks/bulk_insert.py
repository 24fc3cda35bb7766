"""Fill tables with millions of rows in seconds, with ``INSERT … SELECT`` from a series and without indexes.

Columns that the caller does not set have the field's default. So a new column in the product only requires changes in
the benchmarks if the column has no default.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import connection, transaction
from django.db.models import NOT_PROVIDED, DateTimeField, Field, Model, UUIDField

if TYPE_CHECKING:
    from apps.core.db.sort_tables import Rank


def is_postgres() -> bool:
    return connection.vendor == "postgresql"


def cycle_values(number: str, values: Sequence[str]) -> str:
    """Return SQL that cycles through the values."""
    cases = " ".join(f"WHEN {index} THEN {quote_literal(value)}" for index, value in enumerate(values))
    return f"(CASE ({number}) % {len(values)} {cases} END)"


def quote_literal(text: str) -> str:
    """Return a string as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def number_as_text(number: str) -> str:
    """Return SQL that formats a number as text."""
    return f"CAST({number} AS text)"


def time_literal(seconds: str) -> str:
    """Return SQL that converts seconds since 1970 to a time in Django's storage format."""
    if is_postgres():
        return f"to_timestamp({seconds})"
    return f"(datetime({seconds}, 'unixepoch') || '.000001')"


def random_uuid() -> str:
    """Return SQL for a new UUID per row, in Django's storage format."""
    return "gen_random_uuid()" if is_postgres() else "lower(hex(randomblob(16)))"


class Rows:
    """Rows with the numbers ``first`` to ``last``. In SQL expressions, the number is ``n``."""

    def __init__(self, first: int, last: int) -> None:
        self.first, self.last = first, last

    def insert(self, model: type[Model], **expressions: str) -> None:
        """Insert one row per number into the model's table. ``expressions`` maps column names to SQL."""
        from apps.core.db.case_folding import get_folded_columns

        fields = {field.column: field for field in model._meta.concrete_fields if field.column}
        if unknown := expressions.keys() - fields.keys():
            raise ValueError(f"{model._meta.label} has no columns {', '.join(sorted(unknown))}")
        for name, copy in get_folded_columns(model).items():
            if name in expressions and copy.attname not in expressions:
                # lower() is sufficient, because the only uppercase letters in benchmark data are ASCII letters.
                expressions[copy.attname] = f"lower({expressions[name]})"
        values = {
            column: expressions.get(column) or get_default_literal(field)
            for column, field in fields.items()
            if column in expressions or not (field.primary_key or is_generated(field))
        }
        columns = ", ".join(f'"{column}"' for column in values)
        selected = ", ".join(values.values())
        with connection.cursor() as cursor:
            cursor.execute(f'INSERT INTO "{model._meta.db_table}" ({columns}) SELECT {selected} FROM {self._series()}')

    def _series(self) -> str:
        if is_postgres():
            return f"generate_series({self.first}, {self.last}) AS series(n)"
        return (
            f"(WITH RECURSIVE series(n) AS (SELECT {self.first} UNION ALL"
            f" SELECT n + 1 FROM series WHERE n < {self.last}) SELECT n FROM series) AS series"
        )


def is_generated(field: "Field[Any, Any]") -> bool:
    return bool(getattr(field, "generated", False))


def get_default_literal(field: "Field[Any, Any]") -> str:
    """Return a field's default as an SQL literal.

    Raises:
        ValueError: The field has no default and is not nullable.
    """
    if field.default is NOT_PROVIDED:
        if field.null:
            return "NULL"
        if field.empty_strings_allowed and field.blank:
            return "''"
        raise ValueError(f"{field.model._meta.label}.{field.name} has no default: pass an expression")
    value = field.get_db_prep_save(field.get_default(), connection)
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return str(value)
    if field.get_internal_type() == "JSONField":
        text = quote_literal(str(getattr(value, "obj", value)) if not isinstance(value, str) else value)
        return f"{text}::jsonb" if is_postgres() else text
    return quote_literal(value.isoformat() if isinstance(value, datetime) else str(value))


def set_column_defaults(*models: type[Model]) -> None:
    """Give the columns of PostgreSQL tables the defaults of their models' fields.

    Then programs without the models need not write all columns, even if a model gets a new required field.
    """
    with connection.cursor() as cursor:
        for model in models:
            for field in model._meta.concrete_fields:
                if default := get_column_default(field):
                    column = f'"{model._meta.db_table}" ALTER COLUMN "{field.column}"'
                    cursor.execute(f"ALTER TABLE {column} SET DEFAULT {default}")


def get_column_default(field: "Field[Any, Any]") -> str | None:
    """Return PostgreSQL's default for a required column, or None if each row needs its own value."""
    if field.null or field.primary_key or is_generated(field) or field.db_default is not NOT_PROVIDED:
        return None
    if isinstance(field, DateTimeField | UUIDField) and (field.default is NOT_PROVIDED or callable(field.default)):
        return "now()" if isinstance(field, DateTimeField) else "gen_random_uuid()"
    try:
        return get_default_literal(field)
    except ValueError:
        return None


@contextmanager
def load_without_indexes(*models: type[Model]) -> Iterator[None]:
    """Fill tables in one transaction without their indexes.

    The indexes are rebuilt at the end of the transaction. Then the planner statistics are updated.
    """
    from apps.core.db.id_sequences import LAST_RESERVED_ID

    tables = [model._meta.db_table for model in models]
    if not is_postgres():
        # Without indexes, each foreign key check would scan the whole table.
        connection.disable_constraint_checking()
    with transaction.atomic(), connection.cursor() as cursor:
        if is_postgres():
            cursor.execute("SET LOCAL statement_timeout = 0")
            cursor.execute("SET LOCAL maintenance_work_mem = '512MB'")
            cursor.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
            if cursor.fetchone()[0]:
                # Foreign keys are valid by construction. Checking three million keys individually would take minutes.
                cursor.execute("SET LOCAL session_replication_role = replica")
        definitions = drop_indexes(cursor, tables)
        of_ranks = drop_indexes(cursor, [rank._meta.db_table for rank in _ranks_of(models)]) if is_postgres() else []
        yield
        if is_postgres():
            for table in tables:
                cursor.execute(
                    "SELECT setval(pg_get_serial_sequence(%s, 'id'),"
                    f' (SELECT greatest(coalesce(max(id), 0), %s) FROM "{table}"))',
                    [table, LAST_RESERVED_ID],
                )
        for definition in definitions:
            cursor.execute(definition)
    if is_postgres():
        _rank(models)
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL maintenance_work_mem = '512MB'; SET LOCAL statement_timeout = 0")
            for definition in of_ranks:
                cursor.execute(definition)
    else:
        connection.enable_constraint_checking()
        connection.check_constraints(tables)
    with connection.cursor() as cursor:
        if is_postgres():
            cursor.execute("SET statement_timeout = 0")
            filled = [*tables, *(rank._meta.db_table for rank in _ranks_of(models))]
            cursor.execute(f"VACUUM ANALYZE {', '.join(filled)}")
            cursor.execute("RESET statement_timeout")
        else:
            cursor.execute("ANALYZE")


def _rank(models: Sequence[type[Model]]) -> None:
    """Fill the sort tables for rows that were inserted while triggers were off."""
    from apps.core.db import sort_tables

    for rank in _ranks_of(models):
        sort_tables.create_sort_triggers(rank, connection.alias)


def _ranks_of(models: Sequence[type[Model]]) -> "list[type[Rank]]":
    from apps.core.db import sort_tables

    return [rank for rank in sort_tables.Rank.__subclasses__() if rank._meta.get_field("of").related_model in models]


def drop_indexes(cursor: Any, tables: Sequence[str]) -> list[str]:
    """Drop the indexes of tables; return the statements that recreate the indexes."""
    definitions = []
    for table in tables:
        if is_postgres():
            cursor.execute(
                "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = %s AND indexname NOT IN"
                " (SELECT conname FROM pg_constraint)",
                [table],
            )
        else:
            cursor.execute(
                "SELECT name, sql FROM sqlite_master WHERE tbl_name = %s AND type = 'index' AND sql IS NOT NULL",
                [table],
            )
        for name, definition in cursor.fetchall():
            cursor.execute(f'DROP INDEX "{name}"')
            definitions.append(definition)
    return definitions
