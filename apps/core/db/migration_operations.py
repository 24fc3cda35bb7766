"""Migration operations for indexes, page fill factors and statistics that do not block a table in use."""

from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently, TrigramExtension
from django.db.migrations import AddIndex
from django.db.migrations.operations.base import Operation


class AddIndexWithoutBlocking(AddIndexConcurrently):
    """Adds an index without blocking writers. The migration must set ``atomic = False``.

    PostgreSQL builds the index concurrently. An invalid index from a failed attempt is dropped first. On SQLite,
    Django's usual operation creates the index, because only one connection can write at a time anyway.
    """

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if schema_editor.connection.vendor != "postgresql":
            AddIndex.database_forwards(self, app_label, schema_editor, from_state, to_state)
            return
        if self.allow_migrate_model(
            schema_editor.connection.alias, to_state.apps.get_model(app_label, self.model_name)
        ):
            self._ensure_not_in_transaction(schema_editor)
            name = schema_editor.quote_name(self.index.name)
            schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        super().database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if schema_editor.connection.vendor == "postgresql":
            super().database_backwards(app_label, schema_editor, from_state, to_state)
        else:
            AddIndex.database_backwards(self, app_label, schema_editor, from_state, to_state)


class AddPostgresIndex(Operation):
    """Adds an index that only PostgreSQL supports (for substring or prefix searches), without blocking writers.

    The migration must set ``atomic = False``, unless it also creates the table. The index is not part of the model,
    because SQLite does not support this type of index. SQLite scans the rows of the shop instead.

    Args:
        model_name: The model's name.
        name: The index name.
        definition: The SQL after the table's name, e.g. ``USING gin (upper(title) gin_trgm_ops)``.
    """

    reduces_to_sql = True
    reversible = True
    atomic = False

    def __init__(self, model_name: str, name: str, definition: str) -> None:
        self.model_name, self.name, self.definition = model_name, name, definition

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Leave the model state unchanged."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Build the index, after dropping an invalid index from a failed attempt."""
        self._build(schema_editor, app_label, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        self._drop(schema_editor)

    def _build(self, schema_editor: Any, app_label: str, state: Any) -> None:
        if schema_editor.connection.vendor == "postgresql":
            self._drop(schema_editor)
            table = state.apps.get_model(app_label, self.model_name)._meta.db_table
            name, table = schema_editor.quote_name(self.name), schema_editor.quote_name(table)
            command = "CREATE INDEX" if schema_editor.atomic_migration else "CREATE INDEX CONCURRENTLY"
            schema_editor.execute(f"{command} {name} ON {table} {self.definition}", params=None)

    def _drop(self, schema_editor: Any) -> None:
        if schema_editor.connection.vendor == "postgresql":
            name = schema_editor.quote_name(self.name)
            command = "DROP INDEX" if schema_editor.atomic_migration else "DROP INDEX CONCURRENTLY"
            schema_editor.execute(f"{command} IF EXISTS {name}", params=None)

    def describe(self) -> str:
        return f"Create the index {self.name} on {self.model_name}, on PostgreSQL"


class SetFillFactor(Operation):
    """Sets PostgreSQL's fill factor, which reserves space for updated rows in each page of a table.

    With this space, an update that changes no indexed column stores the new row version in the same page and does not
    write to any index. The setting only affects pages written later. Changing the setting does not block.

    Args:
        model_name: The model's name.
        percent: The percentage of a page that inserts may fill.
    """

    reduces_to_sql = True
    reversible = True

    def __init__(self, model_name: str, percent: int) -> None:
        self.model_name, self.percent = model_name, percent

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Leave the model state unchanged."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        self._set(app_label, schema_editor, to_state, f"SET (fillfactor = {self.percent})")

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        self._set(app_label, schema_editor, to_state, "RESET (fillfactor)")

    def _set(self, app_label: str, schema_editor: Any, state: Any, clause: str) -> None:
        if schema_editor.connection.vendor == "postgresql":
            table = state.apps.get_model(app_label, self.model_name)._meta.db_table
            schema_editor.execute(f"ALTER TABLE {schema_editor.quote_name(table)} {clause}", params=None)

    def describe(self) -> str:
        return f"Set the fill factor of {self.model_name}, on PostgreSQL"


class AddExpressionStatistics(Operation):
    """Creates PostgreSQL statistics for the values of an expression.

    PostgreSQL collects statistics for expressions in full indexes, but not for expressions in partial indexes. Without
    statistics, the planner assumes that each value matches one of 200 rows.

    Args:
        model_name: The model's name.
        name: The name of the statistics.
        expression: An SQL expression with columns of the model, e.g. ``upper(title)``.
    """

    reduces_to_sql = True
    reversible = True

    def __init__(self, model_name: str, name: str, expression: str) -> None:
        self.model_name, self.name, self.expression = model_name, name, expression

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Leave the model state unchanged."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Create the statistics, and collect them once with ``ANALYZE``, without blocking."""
        if schema_editor.connection.vendor == "postgresql":
            table = schema_editor.quote_name(to_state.apps.get_model(app_label, self.model_name)._meta.db_table)
            name = schema_editor.quote_name(self.name)
            schema_editor.execute(f"CREATE STATISTICS {name} ON ({self.expression}) FROM {table}", params=None)
            schema_editor.execute(f"ANALYZE {table}", params=None)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if schema_editor.connection.vendor == "postgresql":
            schema_editor.execute(f"DROP STATISTICS {schema_editor.quote_name(self.name)}", params=None)

    def describe(self) -> str:
        return f"Create statistics for {self.expression} of {self.model_name}, on PostgreSQL"


class EnsureTrigramExtension(TrigramExtension):
    """Creates PostgreSQL's trigram extension if it does not exist.

    Several apps need the extension, so reversing the migration of one app does not drop it.
    """

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Leave the extension in the database."""
